/// The application behind an ``EdgeServer``.
public protocol EdgeHandler: Sendable {
    /// Called on the loop when a request's head is complete: how much body to accept, or refuse at once, or upgrade.
    /// A body that is longer than the limit said here is answered with 413 before it is read.
    func admit(_ head: HTTPRequestHead) -> Admission

    /// Called on the loop with the whole request; answer through `responder`, from any thread, once.
    func handle(_ request: HTTPRequest, _ responder: HTTPResponder)

    /// Called on the loop for ``Admission/stream``; the body's chunks come with back-pressure.
    func handleStream(_ head: HTTPRequestHead, body: HTTPBodyStream, _ responder: HTTPResponder)

    /// Makes the response to a fault that the server found itself.
    /// - Parameters:
    ///   - status: 400, 408, 413, 414, 417, 426, 431, 500, 501, 503 or 505.
    ///   - code: the problem's stable word, as in ``HTTPFault``.
    func fault(_ status: Int, code: String, requestID: String) -> HTTPResponse
}

extension EdgeHandler {
    public func handleStream(_ head: HTTPRequestHead, body: HTTPBodyStream, _ responder: HTTPResponder) {
        responder.respond(fault(501, code: "notImplemented", requestID: head.requestID))
    }
}

public enum Admission: Sendable {
    /// Gather the body, up to this many bytes, then call ``EdgeHandler/handle(_:_:)``.
    case buffer(limit: Int)
    /// Call ``EdgeHandler/handleStream(_:body:_:)`` now. A `limit` bounds the whole body; nil leaves that to the application.
    case stream(limit: Int? = nil)
    /// Answer at once without the body.
    case respond(HTTPResponse)
    /// Upgrade; a request that is no well-formed WebSocket handshake is answered with 400 or 426.
    case webSocket(WebSocketAcceptance)
}

public struct HTTPRequest: Sendable {
    public var head: HTTPRequestHead
    public var body: [UInt8]

    public init(head: HTTPRequestHead, body: [UInt8] = []) {
        self.head = head
        self.body = body
    }
}

/// A response. The server adds `Content-Length` or chunking, `Date`, `X-Request-Id` and `Connection`; do not set those here.
public struct HTTPResponse: Sendable {
    public var status: Int
    public var headers: [(String, String)]
    public var body: ResponseBody

    public init(status: Int, headers: [(String, String)] = [], body: ResponseBody = .empty) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    public static func json(_ bytes: [UInt8], status: Int = 200, headers: [(String, String)] = []) -> HTTPResponse {
        HTTPResponse(status: status, headers: [("Content-Type", "application/json")] + headers, body: .bytes(bytes))
    }
}

public enum ResponseBody: Sendable {
    case empty
    case bytes([UInt8])
    case stream(HTTPBodyProducer)
}

/// A body that is pulled piece by piece as the peer takes it.
public struct HTTPBodyProducer: Sendable {
    /// The exact number of bytes; nil sends chunks.
    public var length: Int?
    /// The next piece, or nil at the end. An error, or a length that does not match, drops the connection, so that the peer sees it.
    public var next: @Sendable () async throws -> [UInt8]?

    public init(length: Int? = nil, next: @escaping @Sendable () async throws -> [UInt8]?) {
        self.length = length
        self.next = next
    }

    /// Pulls from any asynchronous sequence of pieces.
    public init<Pieces: AsyncSequence & Sendable>(length: Int? = nil, _ pieces: Pieces) where Pieces.Element == [UInt8] {
        let puller = Puller(pieces)
        self.init(length: length) { try await puller.next() }
    }

    /// Called by one task at a time, each call after the last has returned.
    private final class Puller<Pieces: AsyncSequence>: @unchecked Sendable where Pieces.Element == [UInt8] {
        private var iterator: Pieces.AsyncIterator
        init(_ pieces: Pieces) { iterator = pieces.makeAsyncIterator() }
        func next() async throws -> [UInt8]? { try await iterator.next() }
    }
}

import EdgeCodec
import EventLoop
import Synchronization

public struct HTTPClientResponse: Sendable {
    public var status: Int
    public var headers: HTTPHeaders
    public var body: [UInt8]

    public var text: String { String(decoding: body, as: UTF8.self) }
}

/// A small HTTP/1.1 client for one server: a bounded pool of kept-alive connections on one loop.
public final class HTTPClient: Sendable {
    public struct Configuration: Sendable {
        /// A numeric address.
        public var host: String
        public var port: Int
        public var maxConnections = 8
        /// Requests that may wait for a connection; more fail with ``ClientFailure/overloaded``.
        public var maxWaiting = 10_000
        public var maxResponseBytes = 64 << 20
        /// From the call to the end of the response.
        public var timeout = Duration.seconds(30)
        public var sourceAddress: String?

        public init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    public let configuration: Configuration
    private let context: ClientLoop
    private let pool: Pool

    public init(_ context: ClientLoop, _ configuration: Configuration) {
        self.context = context
        self.configuration = configuration
        pool = Pool(context, configuration)
    }

    deinit {
        let pool = pool
        context.loop.execute { pool.close() }
    }

    /// Sends one request and gathers the response.
    ///
    /// A kept connection that the server has closed meanwhile is replaced once, but only for a method that may be repeated
    /// (RFC 9110 §9.2.2): others fail with ``ClientFailure/broken``.
    /// - Parameter path: the target as sent: already percent-encoded, with its query.
    /// - Throws: ``ClientFailure``.
    public func send(
        _ method: String, _ path: String, headers: [(String, String)] = [], body: [UInt8]? = nil
    ) async throws -> HTTPClientResponse {
        let request = Request(
            method: method, bytes: Self.encode(method, path, headers, body, configuration), deadline: .now + configuration.timeout
        )
        let pool = pool
        let context = context
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                context.loop.execute {
                    request.continuation = continuation
                    pool.submit(request)
                }
            }
        } onCancel: {
            context.loop.execute { pool.cancel(request) }
        }
    }

    /// Sends a JSON body; `token` goes into `Authorization`.
    public func json(_ method: String, _ path: String, _ body: String? = nil, token: String? = nil) async throws
        -> HTTPClientResponse
    {
        var headers: [(String, String)] = []
        if body != nil { headers.append(("Content-Type", "application/json")) }
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        return try await send(method, path, headers: headers, body: body.map { Array($0.utf8) })
    }

    /// Closes idle connections; what is under way fails with ``ClientFailure/cancelled``.
    public func close() async {
        let pool = pool
        await withCheckedContinuation { continuation in
            context.loop.execute {
                pool.close()
                continuation.resume()
            }
        }
    }

    private static func encode(
        _ method: String, _ path: String, _ headers: [(String, String)], _ body: [UInt8]?, _ configuration: Configuration
    ) -> [UInt8] {
        var text = "\(method) \(path) HTTP/1.1\r\nHost: \(configuration.host):\(configuration.port)\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if let body { text += "Content-Length: \(body.count)\r\n" } else if method == "POST" { text += "Content-Length: 0\r\n" }
        text += "\r\n"
        return Array(text.utf8) + (body ?? [])
    }

    /// One call under way. Confined to the loop but for its constants.
    final class Request: @unchecked Sendable {
        let method: String
        let bytes: [UInt8]
        let deadline: MonotonicTime
        var continuation: CheckedContinuation<HTTPClientResponse, any Error>?
        var isRetry = false
        var isCancelled = false

        init(method: String, bytes: [UInt8], deadline: MonotonicTime) {
            self.method = method
            self.bytes = bytes
            self.deadline = deadline
        }

        var mayRepeat: Bool { ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"].contains(method) }

        func complete(_ result: Result<HTTPClientResponse, ClientFailure>) {
            let continuation = self.continuation
            self.continuation = nil
            continuation?.resume(with: result.mapError { $0 })
        }
    }

    /// Connections and waiting requests. Confined to the loop but for making it.
    final class Pool: @unchecked Sendable {
        private let context: ClientLoop
        private let configuration: Configuration
        private var connections: [HTTPClientConnection] = []
        private var idle: [HTTPClientConnection] = []
        private var waiting: [Request] = []
        private var head = 0

        init(_ context: ClientLoop, _ configuration: Configuration) {
            self.context = context
            self.configuration = configuration
        }

        func submit(_ request: Request) {
            if request.isCancelled { return request.complete(.failure(.cancelled)) }
            if let connection = idle.popLast() { return connection.send(request, isReused: true) }
            if connections.count < configuration.maxConnections { return open(request) }
            if waiting.count - head >= configuration.maxWaiting { return request.complete(.failure(.overloaded)) }
            waiting.append(request)
        }

        private func open(_ request: Request) {
            let connection = HTTPClientConnection(context, configuration, pool: self)
            connections.append(connection)
            connection.connect(request)
        }

        func cancel(_ request: Request) {
            request.isCancelled = true
            if let connection = connections.first(where: { $0.request === request }) {
                connection.abandon(.cancelled)
            } else {
                request.complete(.failure(.cancelled))
            }
        }

        /// A connection has become free.
        func free(_ connection: HTTPClientConnection) {
            if let next = nextWaiting() { connection.send(next, isReused: true) } else { idle.append(connection) }
        }

        /// A connection has ended; its place may go to a request that waits.
        /// - Parameter request: one that it should have served, tried again before those that wait.
        func lost(_ connection: HTTPClientConnection, replacing request: Request? = nil) {
            connections.removeAll { $0 === connection }
            idle.removeAll { $0 === connection }
            if let next = request ?? nextWaiting() { open(next) }
        }

        private func nextWaiting() -> Request? {
            let now = MonotonicTime.now
            while head < waiting.count {
                let request = waiting[head]
                head += 1
                if head == waiting.count {
                    waiting.removeAll(keepingCapacity: true)
                    head = 0
                }
                if request.continuation == nil { continue }
                if request.deadline < now {
                    request.complete(.failure(.timeout))
                    continue
                }
                return request
            }
            return nil
        }

        func close() {
            let requests = waiting[head...]
            waiting = []
            head = 0
            for request in requests { request.complete(.failure(.cancelled)) }
            for connection in connections { connection.abandon(.cancelled) }
        }
    }
}

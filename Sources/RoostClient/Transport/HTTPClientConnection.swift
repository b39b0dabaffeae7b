import EdgeCodec
import EventLoop

/// One connection of an ``HTTPClient``, with at most one request under way. Confined to its loop.
final class HTTPClientConnection: ClientSocketOwner, @unchecked Sendable {
    private let configuration: HTTPClient.Configuration
    private let pool: HTTPClient.Pool
    private let context: ClientLoop
    private var socket: ClientSocket!
    private var parser = HTTPResponseParser()
    private(set) var request: HTTPClient.Request?
    private var isReused = false
    private var isConnected = false
    private var isClosed = false
    private var head: HTTPResponseHead?
    private var body: [UInt8] = []

    init(_ context: ClientLoop, _ configuration: HTTPClient.Configuration, pool: HTTPClient.Pool) {
        self.context = context
        self.configuration = configuration
        self.pool = pool
    }

    func connect(_ request: HTTPClient.Request) {
        self.request = request
        socket = ClientSocket(context, owner: self)
        do {
            try socket.connect(host: configuration.host, port: configuration.port, source: configuration.sourceAddress)
        } catch {
            let reason = error.errno
            context.loop.execute { self.abandon(.cannotConnect(errno: reason)) }
        }
    }

    func send(_ request: HTTPClient.Request, isReused: Bool) {
        self.request = request
        self.isReused = isReused
        parser.expect(method: request.method)
        request.bytes.withUnsafeBytes { socket.open().append($0) }
        socket.markDirty()
    }

    func connected() {
        isConnected = true
        if let request { send(request, isReused: false) }
    }

    func flushed() {}

    func received(_ bytes: UnsafeMutableRawBufferPointer) {
        var input = UnsafeRawBufferPointer(bytes)
        while true {
            if request == nil {
                // Bytes that nobody asked for.
                if !input.isEmpty { abandon(.malformed) }
                return
            }
            switch parser.next(&input) {
            case .needMore: return
            case .malformed: return abandon(.malformed)
            case .head(let head):
                self.head = head
                body = []
            case .body(let piece):
                if body.count + piece.count > configuration.maxResponseBytes { return abandon(.overloaded) }
                body.append(contentsOf: piece)
            case .end: complete()
            }
            if isClosed { return }
        }
    }

    private func complete() {
        guard let request, let head else { return abandon(.malformed) }
        let response = HTTPClientResponse(status: head.status, headers: head.headers, body: body)
        self.request = nil
        self.head = nil
        body = []
        if head.keepAlive {
            pool.free(self)
        } else {
            close()
        }
        request.complete(.success(response))
    }

    func swept(_ now: MonotonicTime) {
        if let request, now > request.deadline { abandon(.timeout) }
    }

    func ended(_ failure: ClientFailure) {
        if parser.finish() {
            complete()
            if !isClosed { close() }
            return
        }
        if let request, isReused, !parser.isMidResponse, !request.isRetry, request.mayRepeat {
            self.request = nil
            request.isRetry = true
            // First the retry: its place must not go to a request that waits behind it.
            isClosed = true
            pool.lost(self, replacing: request)
            return
        }
        abandon(failure)
    }

    /// Ends the connection and fails its request.
    func abandon(_ failure: ClientFailure) {
        let request = request
        self.request = nil
        close()
        request?.complete(.failure(failure))
    }

    private func close() {
        if isClosed { return }
        isClosed = true
        socket?.close()
        pool.lost(self)
    }
}

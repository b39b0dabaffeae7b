import CEpoll
import EdgeServer
import EventLoop
import Glibc
import RoostClient
import Synchronization

/// The application of the edge's tests: a few paths, and a record of what happened to its WebSockets.
final class TestHandler: EdgeHandler {
    struct Log {
        var closures: [WebSocketClosure] = []
        var drained = 0
        var waiters: [(count: Int, CheckedContinuation<[WebSocketClosure], Never>)] = []
        var sockets: [WebSocketConnection] = []
        var refusedAt: [Int] = []
    }

    let log = Mutex(Log())
    let held = Mutex<[HTTPResponder]>([])

    func admit(_ head: HTTPRequestHead) -> Admission {
        switch head.pathSegments.first {
        case "ws":
            .webSocket(
                WebSocketAcceptance(
                    subprotocol: WebSocketHandshake.subprotocols(head).first { $0 == "test.v1" }, maxMessageBytes: 1000
                ) { [self] in Socket($0, self) })
        case "deflate":
            .webSocket(
                WebSocketAcceptance(maxMessageBytes: 1 << 20, compression: true, compressionThreshold: 100) { [self] in
                    Socket($0, self)
                })
        case "echo": .webSocket(EchoEndpoint.acceptance())
        case "stream": .stream(limit: 10_000_000)
        case "refuse": .respond(HTTPResponse(status: 403, body: .bytes(Array("no".utf8))))
        default: .buffer(limit: 1000)
        }
    }

    func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
        switch request.head.pathSegments.first {
        case "later": Task.detached { responder.respond(self.echo(request)) }
        case "hold": held.withLock { $0.append(responder) }
        case "drop": break
        case "big": responder.respond(HTTPResponse(status: 200, body: .bytes([UInt8](repeating: 120, count: 100_000))))
        case "empty": responder.respond(HTTPResponse(status: 204))
        case "pieces":
            let count = request.head.queryValue("count").flatMap(Int.init) ?? 3
            let size = request.head.queryValue("size").flatMap(Int.init) ?? 10
            let left = Mutex(count)
            let length = request.head.queryValue("length").flatMap(Int.init)
            responder.respond(
                HTTPResponse(
                    status: 200,
                    body: .stream(
                        HTTPBodyProducer(length: length) {
                            let more = left.withLock { left in
                                left -= 1
                                return left >= 0
                            }
                            return more ? [UInt8](repeating: 120, count: size) : nil
                        })))
        default: responder.respond(echo(request))
        }
    }

    func handleStream(_ head: HTTPRequestHead, body: HTTPBodyStream, _ responder: HTTPResponder) {
        if head.pathSegments.contains("early") { return responder.respond(HTTPResponse(status: 409)) }
        Task {
            var count = 0
            do {
                for try await piece in body { count += piece.count }
                responder.respond(HTTPResponse(status: 200, body: .bytes(Array("\(count)".utf8))))
            } catch {
                responder.respond(HTTPResponse(status: 500))
            }
        }
    }

    private func echo(_ request: HTTPRequest) -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: [("X-Path", request.head.path), ("X-Evil", "a\r\nInjected: b")],
            body: .bytes(Array("\(request.head.method) ".utf8) + request.body))
    }

    func fault(_ status: Int, code: String, requestID: String) -> HTTPResponse {
        HTTPResponse(status: status, body: .bytes(Array(code.utf8)))
    }

    /// Waits until this many WebSockets have ended, and tells how.
    func closures(_ count: Int) async -> [WebSocketClosure] {
        await withCheckedContinuation { continuation in
            let ready = log.withLock { log -> [WebSocketClosure]? in
                if log.closures.count >= count { return log.closures }
                log.waiters.append((count, continuation))
                return nil
            }
            if let ready { continuation.resume(returning: ready) }
        }
    }

    /// Echoes, and does what a text asks for.
    private final class Socket: WebSocketHandler {
        private let owner: TestHandler

        init(_ socket: WebSocketConnection, _ owner: TestHandler) {
            self.owner = owner
            owner.log.withLock { $0.sockets.append(socket) }
        }

        func received(text: UnsafeRawBufferPointer, _ socket: WebSocketConnection) {
            let words = String(decoding: text, as: UTF8.self).split(separator: " ")
            switch words.first {
            case "close": socket.close(code: UInt16(words[1])!, reason: "asked")
            case "flood":
                let frame = SharedFrame.text([UInt8](repeating: 120, count: 10_000))
                while socket.send(frame) {}
                owner.log.withLock { $0.refusedAt.append(socket.outboxBytes) }
            case "twice":
                let frame = SharedFrame.text("twice".utf8)
                socket.send(frame)
                socket.send(frame)
            default: socket.sendText(text)
            }
        }

        func received(binary: UnsafeRawBufferPointer, _ socket: WebSocketConnection) { socket.sendBinary(binary) }

        func drained(_ socket: WebSocketConnection) {
            owner.log.withLock { $0.drained += 1 }
            socket.sendText("drained")
        }

        func closed(_ how: WebSocketClosure, _ socket: WebSocketConnection) {
            let (ready, closures) = owner.log.withLock { log in
                log.closures.append(how)
                let count = log.closures.count
                let ready = log.waiters.filter { $0.count <= count }
                log.waiters.removeAll { $0.count <= count }
                return (ready, log.closures)
            }
            for (_, continuation) in ready { continuation.resume(returning: closures) }
        }
    }
}

/// A server with loops of its own, and a client loop.
struct Harness {
    let app: TestHandler
    let server: EdgeServer
    let port: Int
    let client: ClientLoop

    static func with(
        loops count: Int = 1, _ configure: (inout EdgeConfiguration) -> Void = { _ in }, _ body: (Harness) async throws -> Void
    ) async throws {
        var configuration = EdgeConfiguration()
        configuration.sweepInterval = .milliseconds(20)
        // A test's own steps may be long apart on a busy machine; tests of time-outs set theirs.
        configuration.headTimeout = .seconds(600)
        configuration.bodyProgressInterval = .seconds(600)
        configuration.idleTimeout = .seconds(600)
        configuration.writeStallTimeout = .seconds(600)
        configuration.silenceTimeout = .seconds(600)
        configure(&configuration)
        let loops = try (0..<count).map { try EventLoop(name: "edge-\($0)") }
        let clientLoop = try EventLoop(name: "client")
        for loop in loops + [clientLoop] { loop.start() }
        let handler = TestHandler()
        let server = EdgeServer(configuration: configuration, loops: loops, handler: handler)
        let port = try await server.start()
        let harness = Harness(app: handler, server: server, port: port, client: ClientLoop(clientLoop))
        let result: Result<Void, any Error>
        do { result = .success(try await body(harness)) } catch { result = .failure(error) }
        await server.stop(grace: .milliseconds(50))
        for loop in loops + [clientLoop] { await loop.stop() }
        try result.get()
    }

    func raw() async throws -> RawSocket { try await RawSocket(client, port: port) }

    func socket(_ path: String = "/ws", _ configure: (inout WebSocketClientConfiguration) -> Void = { _ in }) async throws
        -> WebSocketChannel
    {
        var configuration = WebSocketClientConfiguration(host: "127.0.0.1", port: port, path: path)
        configuration.openTimeout = .seconds(600)
        configuration.silenceTimeout = nil
        configure(&configuration)
        return try await WebSocketChannel.connect(client, configuration)
    }

    func http(_ configure: (inout HTTPClient.Configuration) -> Void = { _ in }) -> HTTPClient {
        var configuration = HTTPClient.Configuration(host: "127.0.0.1", port: port)
        configuration.timeout = .seconds(600)
        configure(&configuration)
        return HTTPClient(client, configuration)
    }
}

/// A TCP connection of which tests see every byte. Never blocks a pool thread: it lives on the client's loop.
final class RawSocket: ReadinessHandler, @unchecked Sendable {
    private let loop: EventLoop
    private var descriptor: Int32 = -1
    // Confined to the loop.
    private var received: [UInt8] = []
    private var hasEnded = false
    private var isOpen = true
    private var waiters: [(until: @Sendable ([UInt8], Bool) -> Bool, CheckedContinuation<String, Never>)] = []

    init(_ context: ClientLoop, port: Int) async throws {
        loop = context.loop
        descriptor = try SocketAddress.connect(host: "127.0.0.1", port: port, source: nil)
        await onLoop { try? self.loop.watch(self.descriptor, .readable, handler: self) }
    }

    private func onLoop<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in loop.execute { continuation.resume(returning: work()) } }
    }

    func ready(_ readiness: Readiness) {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count > 0 {
            received += buffer[..<count]
        } else if count == 0 || errno != EAGAIN {
            hasEnded = true
            loop.unwatch(descriptor)
        }
        check()
    }

    private func check() {
        let text = String(decoding: received, as: UTF8.self)
        waiters.removeAll { until, continuation in
            guard until(received, hasEnded) || hasEnded else { return false }
            continuation.resume(returning: text)
            return true
        }
    }

    /// Small amounts only: the socket's own buffer takes them.
    func send(_ text: String) async { await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async {
        await onLoop {
            var sent = 0
            while sent < bytes.count {
                let rest = Array(bytes[sent...])
                let count = rest.withUnsafeBytes { bytes -> Int in
                    var segment = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
                    return roost_send(self.descriptor, &segment, 1)
                }
                if count < 0 && errno != EINTR && errno != EAGAIN { return }
                sent += max(0, count)
            }
        }
    }

    /// Leaves what comes in the kernel's buffer.
    func stopReading() async { await onLoop { self.loop.update(self.descriptor, []) } }

    /// One TCP segment for each byte.
    func sendSingly(_ bytes: [UInt8]) async { for byte in bytes { await send([byte]) } }

    func finishWriting() async { await onLoop { _ = shutdown(self.descriptor, Int32(SHUT_WR)) } }

    /// All that came so far, once it satisfies `until`, or the connection has ended.
    func text(until: @escaping @Sendable (String) -> Bool) async -> String {
        await withCheckedContinuation { continuation in
            loop.execute {
                self.waiters.append(({ bytes, _ in until(String(decoding: bytes, as: UTF8.self)) }, continuation))
                self.check()
            }
        }
    }

    /// All that came, once the server has ended the connection.
    func end() async -> String { await text { _ in false } }

    func close() async {
        await onLoop {
            guard self.isOpen else { return }
            self.isOpen = false
            self.loop.unwatch(self.descriptor)
            Glibc.close(self.descriptor)
        }
    }
}

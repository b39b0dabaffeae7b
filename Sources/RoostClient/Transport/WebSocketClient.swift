import EdgeCodec
import EventLoop

public struct WebSocketClientConfiguration: Sendable {
    /// A numeric address.
    public var host: String
    public var port: Int
    public var path: String
    public var headers: [(String, String)] = []
    public var subprotocols: [String] = []
    public var compression = false
    /// Whether compressed messages may refer back to earlier ones.
    public var contextTakeover = false
    public var compressionThreshold = 1024
    public var maxMessageBytes = 1 << 20
    /// Bytes that may wait to be sent.
    public var outboxLimit = 1 << 20
    /// The own address to connect from, such as 127.0.0.2: one address has some 28,000 ports for one server.
    public var sourceAddress: String?
    /// From connecting to the end of the handshake.
    public var openTimeout = Duration.seconds(10)
    /// For the server to answer a close frame, and to end after its own.
    public var closeTimeout = Duration.seconds(5)
    /// Without a byte from the server (it pings); nil waits for ever.
    public var silenceTimeout: Duration? = .seconds(60)

    public init(host: String, port: Int, path: String) {
        self.host = host
        self.port = port
        self.path = path
    }
}

/// How a WebSocket of the client ended.
public enum WebSocketClientClosure: Sendable, Equatable {
    /// The server closed with this code, if any.
    case closeFrame(UInt16?, reason: String)
    /// We closed with this code: the application, or the client for a protocol violation.
    case local(UInt16)
    /// The server answered the handshake with another status than 101.
    case refused(status: Int)
    case failed(ClientFailure)
}

/// The application's end of a client's WebSocket. All calls come on its loop.
public protocol WebSocketClientDelegate: AnyObject {
    /// The handshake is done; `subprotocol` is the server's choice.
    func opened(_ socket: WebSocketClient, subprotocol: String?)
    /// Valid UTF-8, valid only during the call.
    func received(text: UnsafeRawBufferPointer, _ socket: WebSocketClient)
    func received(binary: UnsafeRawBufferPointer, _ socket: WebSocketClient)
    /// Nothing waits to be sent any more.
    func drained(_ socket: WebSocketClient)
    /// Exactly once, last.
    func closed(_ how: WebSocketClientClosure, _ socket: WebSocketClient)
}

extension WebSocketClientDelegate {
    public func received(binary: UnsafeRawBufferPointer, _ socket: WebSocketClient) {}
    public func drained(_ socket: WebSocketClient) {}
}

/// One WebSocket of the client, with callbacks on its loop: thousands fit in one process. Confined to its loop.
public final class WebSocketClient: ClientSocketOwner, @unchecked Sendable {
    private enum State {
        case idle
        case opening(HTTPResponseParser, key: String)
        case open
        case closing
        /// The close handshake is done; the server ends the connection.
        case draining
        case closed
    }

    public let configuration: WebSocketClientConfiguration
    public let context: ClientLoop
    private var socket: ClientSocket!
    private var delegate: (any WebSocketClientDelegate)?
    private var state = State.idle
    private var closure: WebSocketClientClosure?
    private var deadline: MonotonicTime?
    private var lastActivity = MonotonicTime.now
    private var reader: WebSocketReader
    private var writer: WebSocketWriter

    /// - Parameter delegate: retained until ``WebSocketClientDelegate/closed(_:_:)``.
    public init(_ context: ClientLoop, _ configuration: WebSocketClientConfiguration, delegate: any WebSocketClientDelegate) {
        self.context = context
        self.configuration = configuration
        self.delegate = delegate
        reader = WebSocketReader(role: .client, maxMessageBytes: configuration.maxMessageBytes)
        writer = WebSocketWriter(role: .client)
    }

    public var loop: EventLoop { context.loop }

    /// Begins to connect; the delegate hears of the outcome. The loop retains the socket until it has closed.
    public func connect() {
        guard case .idle = state else { return }
        let socket = ClientSocket(context, owner: self)
        self.socket = socket
        keepAlive = self
        var generator = SystemRandomNumberGenerator()
        state = .opening(HTTPResponseParser(), key: WebSocketHandshake.makeKey(using: &generator))
        deadline = MonotonicTime.now + configuration.openTimeout
        do {
            try socket.connect(host: configuration.host, port: configuration.port, source: configuration.sourceAddress)
        } catch {
            let reason = error.errno
            // Not from within the caller's call.
            loop.execute { self.finish(.failed(.cannotConnect(errno: reason))) }
        }
    }

    /// Broken when closed: the socket does not own its owner.
    private var keepAlive: WebSocketClient?

    // MARK: Sending

    public var isOpen: Bool { if case .open = state { true } else { false } }
    public var outboxBytes: Int { socket?.pending ?? 0 }

    /// - Returns: false where the outbox would pass its limit or the socket is not open: nothing is queued then.
    @discardableResult
    public func sendText(_ payload: UnsafeRawBufferPointer) -> Bool { send(.text, payload) }

    @discardableResult
    public func sendText(_ payload: [UInt8]) -> Bool { payload.withUnsafeBytes { send(.text, $0) } }

    @discardableResult
    public func sendText(_ payload: String) -> Bool {
        var payload = payload
        return payload.withUTF8 { send(.text, UnsafeRawBufferPointer($0)) }
    }

    @discardableResult
    public func sendBinary(_ payload: UnsafeRawBufferPointer) -> Bool { send(.binary, payload) }

    public func sendPing(_ payload: [UInt8] = []) {
        guard isOpen, payload.count <= 125 else { return }
        payload.withUnsafeBytes { WebSocketWriter.frame(.ping, $0, to: socket.open(), mask: context.mask()) }
        socket.markDirty()
    }

    /// Appends bytes to the stream as they are: for tests of the server.
    public func sendRaw(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { socket.open().append($0) }
        socket.markDirty()
    }

    private func send(_ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer) -> Bool {
        guard isOpen, socket.pending + WebSocketWriter.bound(payload: payload.count) <= configuration.outboxLimit else {
            return false
        }
        writer.message(opcode, payload, to: socket.open(), pool: context.compression, mask: context.mask())
        socket.markDirty()
        return true
    }

    /// Stops reading until told otherwise: back-pressure to the server.
    public func pauseReading(_ paused: Bool) { socket.pauseReading(paused) }

    /// Sends a close frame and waits for the server's; ``WebSocketClientDelegate/closed(_:_:)`` comes when the connection has ended.
    public func close(code: UInt16 = WebSocketCloseCode.normal, reason: String = "") {
        switch state {
        case .idle, .closing, .draining, .closed: return
        case .opening: finish(.local(code))
        case .open:
            closure = .local(code)
            WebSocketWriter.close(code, reason: reason, to: socket.open(), mask: context.mask())
            socket.markDirty()
            state = .closing
            deadline = MonotonicTime.now + configuration.closeTimeout
        }
    }

    /// Ends the connection without a close frame, as a crash would.
    public func abort() { finish(.failed(.cancelled)) }

    // MARK: ClientSocketOwner

    func connected() {
        guard case .opening(_, let key) = state else { return }
        var lines = [
            "GET \(configuration.path) HTTP/1.1", "Host: \(configuration.host):\(configuration.port)", "Upgrade: websocket",
            "Connection: Upgrade", "Sec-WebSocket-Key: \(key)", "Sec-WebSocket-Version: 13",
        ]
        if !configuration.subprotocols.isEmpty {
            lines.append("Sec-WebSocket-Protocol: \(configuration.subprotocols.joined(separator: ", "))")
        }
        if configuration.compression {
            lines.append("Sec-WebSocket-Extensions: \(WebSocketDeflate.offer(contextTakeover: configuration.contextTakeover))")
        }
        for (name, value) in configuration.headers { lines.append("\(name): \(value)") }
        sendRaw(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
    }

    func received(_ bytes: UnsafeMutableRawBufferPointer) {
        lastActivity = MonotonicTime.now
        var input = bytes
        if case .opening = state {
            guard shake(&input) else { return }
        }
        process(&input)
    }

    func flushed() {
        if isOpen { delegate?.drained(self) }
    }

    func swept(_ now: MonotonicTime) {
        if let deadline, now > deadline {
            finish(closure ?? .failed(.timeout))
        } else if let silence = configuration.silenceTimeout, isOpen, now - lastActivity > silence {
            finish(.failed(.timeout))
        }
    }

    func ended(_ failure: ClientFailure) { finish(closure ?? .failed(failure)) }

    // MARK: Handshake

    /// - Returns: whether the socket is open now.
    private func shake(_ input: inout UnsafeMutableRawBufferPointer) -> Bool {
        guard case .opening(var parser, let key) = state else { return false }
        var bytes = UnsafeRawBufferPointer(input)
        let event = parser.next(&bytes)
        state = .opening(parser, key: key)
        switch event {
        case .needMore: return false
        case .malformed, .body, .end:
            finish(.failed(.malformed))
            return false
        case .head(let head):
            guard head.status == 101 else {
                finish(.refused(status: head.status))
                return false
            }
            guard let deflate = check(head, key: key) else {
                finish(.failed(.malformed))
                return false
            }
            input = UnsafeMutableRawBufferPointer(rebasing: input[(input.count - bytes.count)...])
            reader = WebSocketReader(role: .client, maxMessageBytes: configuration.maxMessageBytes, deflate: deflate.agreed)
            writer = WebSocketWriter(
                role: .client, deflate: deflate.agreed, compressionThreshold: configuration.compressionThreshold)
            state = .open
            deadline = nil
            delegate?.opened(self, subprotocol: head.headers["Sec-WebSocket-Protocol"])
            return true
        }
    }

    private struct Agreement { var agreed: WebSocketDeflate? }

    /// The client's duties of RFC 6455 §4.1.
    private func check(_ head: HTTPResponseHead, key: String) -> Agreement? {
        let headers = head.headers
        guard headers.contains("Upgrade", token: "websocket"), headers.contains("Connection", token: "upgrade"),
            headers["Sec-WebSocket-Accept"] == WebSocketHandshake.accept(key)
        else { return nil }
        if let chosen = headers["Sec-WebSocket-Protocol"], !configuration.subprotocols.contains(chosen) { return nil }
        let extensions = WebSocketHandshake.extensions(headers)
        if extensions.isEmpty { return Agreement() }
        guard configuration.compression, extensions.count == 1,
            let agreed = WebSocketDeflate.confirm(extensions[0], offeredTakeover: configuration.contextTakeover)
        else { return nil }
        return Agreement(agreed: agreed)
    }

    // MARK: Frames

    private func process(_ input: inout UnsafeMutableRawBufferPointer) {
        while true {
            switch state {
            case .open, .closing: break
            case .idle, .opening, .draining, .closed: return
            }
            switch reader.next(&input, context.compression) {
            case .needMore: return
            case .text(let payload): if isOpen { delegate?.received(text: payload, self) }
            case .binary(let payload): if isOpen { delegate?.received(binary: payload, self) }
            case .ping(let payload):
                guard isOpen, socket.pending <= configuration.outboxLimit else { continue }
                WebSocketWriter.frame(.pong, payload, to: socket.open(), mask: context.mask())
                socket.markDirty()
            case .pong: break
            case .close(let code, let reason):
                if isOpen {
                    closure = .closeFrame(code, reason: String(decoding: reason, as: UTF8.self))
                    answerClose(code)
                }
                drain()
            case .failure(let code):
                if isOpen {
                    closure = .local(code)
                    answerClose(code)
                }
                drain()
            }
        }
    }

    private func answerClose(_ code: UInt16?) {
        WebSocketWriter.close(code, to: socket.open(), mask: context.mask())
        socket.markDirty()
    }

    private func drain() {
        state = .draining
        deadline = MonotonicTime.now + configuration.closeTimeout
    }

    private func finish(_ how: WebSocketClientClosure) {
        if case .closed = state { return }
        state = .closed
        deadline = nil
        socket?.close()
        let delegate = delegate
        self.delegate = nil
        delegate?.closed(how, self)
        // A later turn drops it: the socket that called us still names its owner.
        loop.execute { self.keepAlive = nil }
    }
}

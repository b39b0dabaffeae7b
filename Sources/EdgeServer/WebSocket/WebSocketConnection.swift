import EventLoop
import Glibc

/// One WebSocket of the server. Confined to its loop: all of it, but ``loop`` and ``remoteAddress``, must be used there only.
///
/// An idle one holds no buffer and no zlib state: it is read from the loop's buffer, and its outbox comes from the loop's reserve.
public final class WebSocketConnection: EdgeConnection, @unchecked Sendable {
    private enum State {
        case open
        /// We have sent a close frame and wait for the peer's.
        case closing(since: MonotonicTime)
        /// No frame will follow: flush, say so, and wait for the peer to end.
        case draining(since: MonotonicTime)
        case closed
    }

    var slot = -1
    private var transport: Transport
    private var reader: WebSocketReader
    private var writer: WebSocketWriter
    private var handler: (any WebSocketHandler)?
    private var state = State.open
    private var closure: WebSocketClosure?
    private var isDirty = false
    private var hasShutDown = false
    private var isOverHighWater = false
    private var pinged = false
    private let outboxLimit: Int
    public let remoteAddress: String
    /// When the last byte came.
    public private(set) var lastActivity: MonotonicTime

    public var loop: EventLoop { transport.edge.loop }
    private var edge: EdgeLoop { transport.edge }

    init(
        transport: Transport, remoteAddress: String, acceptance: WebSocketAcceptance, deflate: WebSocketDeflate?,
        replacing old: HTTPConnection
    ) {
        self.transport = transport
        self.remoteAddress = remoteAddress
        let edge = transport.edge
        reader = WebSocketReader(role: .server, maxMessageBytes: acceptance.maxMessageBytes, deflate: deflate)
        writer = WebSocketWriter(role: .server, deflate: deflate, compressionThreshold: acceptance.compressionThreshold)
        outboxLimit = acceptance.outboxLimit ?? edge.configuration.outboxLimit
        lastActivity = MonotonicTime.now
        edge.replace(old, with: self)
        edge.loop.rewatch(transport.descriptor, handler: self)
        edge.counters.webSocketsOpened.bump()
        edge.counters.webSocketsOpen.bump()
        handler = acceptance.makeHandler(self)
    }

    /// Begins, with what the client sent behind its handshake.
    func take(over input: UnsafeRawBufferPointer) {
        transport.pauseReading(false)
        markDirty()
        handler?.opened(self)
        if edge.isStopping { windDown() }
        if input.isEmpty { return }
        // A copy, as frames are unmasked in place and these bytes are not ours to change.
        var copy = Array(input)
        copy.withUnsafeMutableBytes { process($0) }
    }

    // MARK: Sending

    /// Bytes that wait for the peer.
    public var outboxBytes: Int { transport.pending }

    /// Whether messages can still be sent.
    public var isOpen: Bool { if case .open = state { true } else { false } }

    /// Queues one text message; the bytes must be valid UTF-8 (not checked).
    /// - Returns: false where the outbox would pass its limit, or the socket is closing: nothing is queued then.
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

    /// Queues a frame that many connections share, without copying it (tiny ones are copied).
    @discardableResult
    public func send(_ frame: SharedFrame) -> Bool {
        guard admits(frame.bytes.count) else { return false }
        transport.open().append(frame)
        sent()
        return true
    }

    private func send(_ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer) -> Bool {
        guard admits(WebSocketWriter.bound(payload: payload.count)) else { return false }
        writer.message(opcode, payload, to: transport.open(), pool: edge.compression)
        sent()
        return true
    }

    @inline(__always)
    private func admits(_ size: Int) -> Bool {
        assert(loop.isCurrent, "a WebSocket is used on its loop")
        guard case .open = state else { return false }
        if transport.pending + size > outboxLimit {
            edge.counters.sendsRefused.bump()
            return false
        }
        return true
    }

    @inline(__always)
    private func sent() {
        edge.counters.messagesSent.bump()
        if transport.pending > edge.configuration.outboxHighWater { isOverHighWater = true }
        if !isDirty { markDirty() }
    }

    /// - Parameter payload: at most 125 bytes.
    public func sendPing(_ payload: [UInt8] = []) {
        guard isOpen, payload.count <= 125 else { return }
        payload.withUnsafeBytes { control(.ping, $0) }
    }

    /// Control frames do not count for the limit but for a little beyond it: pings of a peer that does not read are not answered.
    private func control(_ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer) {
        if transport.pending > outboxLimit + 64 * 1024 { return }
        WebSocketWriter.frame(opcode, payload, to: transport.open())
        if !isDirty { markDirty() }
    }

    /// Sends a close frame and waits for the peer's, for a bounded time. ``WebSocketHandler/closed(_:_:)`` comes in this turn.
    /// - Parameter reason: at most 123 bytes of UTF-8; more is cut.
    public func close(code: UInt16, reason: String = "") {
        guard isOpen else { return }
        WebSocketWriter.close(code, reason: reason, to: transport.open())
        state = .closing(since: MonotonicTime.now)
        end(.local(code))
        if !isDirty { markDirty() }
    }

    private func markDirty() {
        if isDirty { return }
        isDirty = true
        edge.flushAtEndOfTurn(self)
    }

    func flush() {
        isDirty = false
        if case .closed = state { return }
        switch transport.flush() {
        case .broken: finish(.broken)
        case .blocked: break
        case .done:
            if isOverHighWater {
                isOverHighWater = false
                if closure == nil { handler?.drained(self) }
            }
            if case .draining = state, !hasShutDown {
                hasShutDown = true
                transport.shutDownWriting()
            }
        }
    }

    // MARK: Receiving

    /// For the loop only.
    public func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        if case .closed = state { return }
        if readiness.contains(.readable) {
            readAvailable()
        } else if readiness.contains(.error) || readiness.contains(.hangUp) {
            finish(.broken)
        }
    }

    private func readAvailable() {
        switch transport.read() {
        case .nothing: return
        case .end, .broken: finish(.broken)
        case .bytes(let bytes):
            lastActivity = MonotonicTime.now
            pinged = false
            process(bytes)
        }
    }

    private func process(_ bytes: UnsafeMutableRawBufferPointer) {
        var input = bytes
        let pool = edge.compression
        while true {
            switch state {
            case .open, .closing: break
            case .draining, .closed: return
            }
            switch reader.next(&input, pool) {
            case .needMore: return
            case .text(let payload):
                edge.counters.messagesReceived.bump()
                if closure == nil { handler?.received(text: payload, self) }
            case .binary(let payload):
                edge.counters.messagesReceived.bump()
                if closure == nil { handler?.received(binary: payload, self) }
            case .ping(let payload): if closure == nil { control(.pong, payload) }
            case .pong: if closure == nil { handler?.pong(self) }
            case .close(let code, _):
                if case .open = state { answerClose(code, .closeFrame(code)) }
                drain()
            case .failure(let code):
                if case .open = state { answerClose(code, .local(code)) }
                drain()
            }
        }
    }

    private func answerClose(_ code: UInt16?, _ how: WebSocketClosure) {
        WebSocketWriter.close(code, to: transport.open())
        end(how)
    }

    // MARK: End

    private func drain() {
        state = .draining(since: MonotonicTime.now)
        markDirty()
    }

    /// Settles how the connection ended, for the application; the socket may live on a little.
    private func end(_ how: WebSocketClosure) {
        guard closure == nil else { return }
        closure = how
        edge.counters.webSocketsOpen.bump(-1)
        edge.announceClosedAtEndOfTurn(self)
    }

    func announceClosed() {
        guard let handler, let closure else { return }
        self.handler = nil
        handler.closed(closure, self)
    }

    private func finish(_ how: WebSocketClosure) {
        if case .closed = state { return }
        end(how)
        state = .closed
        edge.remove(self)
        transport.close()
    }

    func windDown() { close(code: WebSocketCloseCode.goingAway) }

    func drop() { finish(.broken) }

    func sweep(_ now: MonotonicTime) {
        let configuration = edge.configuration
        switch state {
        case .open:
            if transport.pending > 0, now - transport.lastProgress > configuration.writeStallTimeout {
                edge.counters.timeouts.bump()
                finish(.broken)
                return
            }
            let silent = now - lastActivity
            if silent > configuration.silenceTimeout {
                edge.counters.timeouts.bump()
                finish(.silent)
            } else if silent > configuration.pingInterval, !pinged {
                pinged = true
                sendPing()
            }
        case .closing(let since): if now - since > configuration.closeTimeout { finish(.broken) }
        case .draining(let since): if now - since > configuration.lingerTimeout { finish(.broken) }
        case .closed: break
        }
    }
}

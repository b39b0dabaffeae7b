/// How the application takes an upgrade.
public struct WebSocketAcceptance: Sendable {
    /// The one chosen among the client's offers, if any.
    public var subprotocol: String?
    /// Of a message after inflation; a longer one closes with 1009.
    public var maxMessageBytes: Int
    /// Whether permessage-deflate is agreed to where the client offers it.
    public var compression: Bool
    /// Whether compressed messages may refer back to earlier ones: smaller messages for some 75 kB a connection that uses it.
    public var contextTakeover: Bool
    /// Outgoing messages below this size go uncompressed.
    public var compressionThreshold: Int
    /// Bytes that may wait for this connection; nil takes the server's ``EdgeConfiguration/outboxLimit``.
    public var outboxLimit: Int?
    /// Called on the connection's loop after the handshake's answer is queued.
    public var makeHandler: @Sendable (WebSocketConnection) -> any WebSocketHandler

    public init(
        subprotocol: String? = nil, maxMessageBytes: Int = 64 * 1024, compression: Bool = false, contextTakeover: Bool = false,
        compressionThreshold: Int = 1024, outboxLimit: Int? = nil,
        makeHandler: @escaping @Sendable (WebSocketConnection) -> any WebSocketHandler
    ) {
        self.subprotocol = subprotocol
        self.maxMessageBytes = maxMessageBytes
        self.compression = compression
        self.contextTakeover = contextTakeover
        self.compressionThreshold = compressionThreshold
        self.outboxLimit = outboxLimit
        self.makeHandler = makeHandler
    }
}

/// The application's end of one WebSocket. All calls come on the connection's loop.
public protocol WebSocketHandler: AnyObject {
    func opened(_ socket: WebSocketConnection)
    /// Valid UTF-8; the bytes are valid only during the call.
    func received(text: UnsafeRawBufferPointer, _ socket: WebSocketConnection)
    /// The bytes are valid only during the call.
    func received(binary: UnsafeRawBufferPointer, _ socket: WebSocketConnection)
    func pong(_ socket: WebSocketConnection)
    /// The outbox is empty again after it was over the high-water mark.
    func drained(_ socket: WebSocketConnection)
    /// Exactly once, at the end of the turn in which the connection ended; nothing else is called afterwards.
    /// For a local close that is the turn of the call, not the end of the close handshake.
    func closed(_ how: WebSocketClosure, _ socket: WebSocketConnection)
}

extension WebSocketHandler {
    public func opened(_ socket: WebSocketConnection) {}
    public func pong(_ socket: WebSocketConnection) {}
    public func drained(_ socket: WebSocketConnection) {}
}

/// Why a WebSocket ended.
public enum WebSocketClosure: Sendable, Equatable {
    /// The peer sent a close frame, with this code if any.
    case closeFrame(UInt16?)
    /// FIN, RST or a stalled write, without a close frame.
    case broken
    /// No byte came for the silence time-out.
    case silent
    /// We closed with this code: the application, or the server for a protocol violation (1002, 1007, 1009).
    case local(UInt16)
}

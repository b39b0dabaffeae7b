@_exported import EdgeCodec

/// What an ``EdgeServer`` listens on, and its bounds. Every time-out is kept by a sweep, so it fires up to one sweep interval late.
public struct EdgeConfiguration: Sendable {
    /// A numeric IPv4 or IPv6 address.
    public var host = "127.0.0.1"
    /// 0 lets the system choose; ``EdgeServer/start()`` tells which.
    public var port = 0
    public var backlog: Int32 = 4096

    /// Over all loops; more are accepted and closed at once.
    public var maxConnections = 20_000
    public var http = HTTPLimits()

    public var sweepInterval = Duration.seconds(1)
    /// From the first byte (or the accept) to the end of the head; then 408 and close.
    public var headTimeout = Duration.seconds(10)
    /// A body must bring ``bodyProgressBytes`` in each such time; then 408 and close.
    public var bodyProgressInterval = Duration.seconds(10)
    public var bodyProgressBytes = 1024
    /// Between requests; then close.
    public var idleTimeout = Duration.seconds(75)
    /// Without the peer taking a byte of what waits for it; then the connection is dropped.
    public var writeStallTimeout = Duration.seconds(20)
    /// How long a closed connection may still send before the socket goes.
    public var lingerTimeout = Duration.seconds(2)

    /// A ping goes to a WebSocket that has been silent this long.
    public var pingInterval = Duration.seconds(25)
    /// A WebSocket from which no byte has come this long is hung up on.
    public var silenceTimeout = Duration.seconds(40)
    /// For the peer to answer a close frame.
    public var closeTimeout = Duration.seconds(5)
    /// Bytes that may wait for one WebSocket; a send beyond it is refused.
    public var outboxLimit = 1 << 20
    /// Above it a connection counts as slow: ``WebSocketHandler/drained(_:)`` tells when it has caught up.
    public var outboxHighWater = 256 * 1024

    /// Bytes of a streamed request body that wait for the application before the socket is read no further.
    public var bodyStreamBytes = 256 * 1024

    public init(host: String = "127.0.0.1", port: Int = 0) {
        self.host = host
        self.port = port
    }
}

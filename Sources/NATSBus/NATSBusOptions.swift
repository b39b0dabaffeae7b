import Runtime

/// How a node speaks to NATS.
public struct NATSBusOptions: Sendable {
    /// Where the servers are, separated by commas; with user and password where they ask for them.
    public var url: String
    /// Shown by the server's monitoring.
    public var name: String
    /// A silent server is given up after this times ``pingsUnanswered`` + 1.
    public var pingInterval: Duration = .seconds(5)
    public var pingsUnanswered = 2
    /// Between two tries to reconnect, without end: the wait and up to the jitter more.
    public var reconnectWait: Duration = .milliseconds(100)
    public var reconnectJitter: Duration = .milliseconds(400)
    public var connectTimeout: Duration = .seconds(2)
    /// How long a server that does not read can hold up a publisher before the connection is given up.
    public var writeDeadline: Duration = .milliseconds(500)
    /// The bound of each subscription's backlog; what comes on top is dropped: ``BusEvent/slowConsumer``.
    public var backlogMessages = 65_536
    public var backlogBytes = 64 << 20
    /// Requests that may wait for their answers; more fail with `overloaded`.
    public var pendingRequests = 65_536
    /// Threads that call handlers, for all connections of the process; the first connection decides.
    public var deliveryThreads = 2

    public init(url: String, name: String) {
        self.url = url
        self.name = name
    }

    public static let urlSetting = Setting<String>.url(
        "ROOST_NATS_URL", default: "nats://127.0.0.1:4222", schemes: ["nats", "tls"],
        help: "the NATS server, or several separated by commas; credentials stand in the URL")
}

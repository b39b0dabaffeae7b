/// What an operator sees of one actor.
public struct ActorStatus: Hashable, Sendable {
    public let actor: ActorAddress
    /// The node that hosts it, or would.
    public var node: String?
    public var epoch: Epoch
    /// Since when its node has it, and why.
    public var since: Timestamp?
    public var reason: PlacementReason
    /// Nil where it sleeps.
    public var activity: ActorActivity?

    public init(
        actor: ActorAddress, node: String?, epoch: Epoch, since: Timestamp?, reason: PlacementReason, activity: ActorActivity?
    ) {
        self.actor = actor
        self.node = node
        self.epoch = epoch
        self.since = since
        self.reason = reason
        self.activity = activity
    }
}

/// What an awake actor is doing.
public struct ActorActivity: Hashable, Sendable {
    /// A moving average with a half-life of about seven seconds.
    public var messagesPerSecond: Double
    /// Calls that wait, and those being committed.
    public var mailboxDepth: Int
    public var idleSeconds: Double
    /// Names of the nodes that are told of what happens in it.
    public var routes: [String]

    public init(messagesPerSecond: Double, mailboxDepth: Int, idleSeconds: Double, routes: [String]) {
        self.messagesPerSecond = messagesPerSecond
        self.mailboxDepth = mailboxDepth
        self.idleSeconds = idleSeconds
        self.routes = routes
    }
}

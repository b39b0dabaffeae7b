import RoostModel

/// A node as operators see it. What only the node itself can count is nil until it has told.
public struct NodeStatus: Sendable {
    public enum State: String, Sendable { case up, suspect, cordoned, draining, drained, dead }

    public let name: String
    public let incarnation: IncarnationID
    public let state: State
    public let version: String
    public let startedAt: Timestamp
    public let url: String
    public let isLeader: Bool
    /// What the node last said of its work; nil where it said nothing lately.
    public let report: LoadReport?
    /// Shards and pinned actors that it owns.
    public let places: Int

    public init(
        name: String, incarnation: IncarnationID, state: State, version: String, startedAt: Timestamp, url: String,
        isLeader: Bool, report: LoadReport? = nil, places: Int = 0
    ) {
        self.name = name
        self.incarnation = incarnation
        self.state = state
        self.version = version
        self.startedAt = startedAt
        self.url = url
        self.isLeader = isLeader
        self.report = report
        self.places = places
    }
}

/// A shard as operators see it.
public struct ShardStatus: Sendable {
    public let record: ShardRecord
    /// Its cost, as ``RoostModel/LoadReport`` counts it; nil where its owner has not told.
    public let load: Double?
}

/// Some of the awake actors of the cluster.
public struct ActorPage: Sendable {
    public let items: [ActorStatus]
    public let nextCursor: String?
    /// Nodes that did not answer in time: what lives there is missing.
    public let missing: [String]

    public init(items: [ActorStatus], nextCursor: String?, missing: [String]) {
        self.items = items
        self.nextCursor = nextCursor
        self.missing = missing
    }
}

/// Which actors are asked for.
public struct ActorQuery: Hashable, Sendable {
    public var node: String?
    public var kind: ShardKind?
    /// By load, the busiest first; by address otherwise.
    public var byLoad: Bool
    public var cursor: String?
    public var limit: Int

    public init(node: String? = nil, kind: ShardKind? = nil, byLoad: Bool = false, cursor: String? = nil, limit: Int) {
        self.node = node
        self.kind = kind
        self.byLoad = byLoad
        self.cursor = cursor
        self.limit = limit
    }
}

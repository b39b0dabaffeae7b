/// A node's row as the cluster's store holds it.
public struct NodeRecord: Hashable, Sendable {
    public enum State: String, Sendable { case up, dead, left }

    public let identity: NodeIdentity
    public var state: State
    /// Seconds left by the database's clock at the time of the snapshot; negative when expired.
    public var leaseRemaining: Double
    public var url: String
    public var adminURL: String
    public var version: String
    public var startedAt: Timestamp

    public init(
        identity: NodeIdentity, state: State, leaseRemaining: Double, url: String, adminURL: String, version: String,
        startedAt: Timestamp
    ) {
        self.identity = identity
        self.state = state
        self.leaseRemaining = leaseRemaining
        self.url = url
        self.adminURL = adminURL
        self.version = version
        self.startedAt = startedAt
    }
}

/// A shard's row: who owns it, and who is to own it next.
public struct ShardRecord: Hashable, Sendable {
    public let id: ShardID
    public var owner: NodeIdentity?
    public var epoch: Epoch
    /// Set while the shard is moving.
    public var target: NodeIdentity?

    public init(id: ShardID, owner: NodeIdentity?, epoch: Epoch, target: NodeIdentity?) {
        self.id = id
        self.owner = owner
        self.epoch = epoch
        self.target = target
    }
}

/// A change of one shard's owner: at once where `isMove` is false, by the present owner's release otherwise.
public struct ShardPlacement: Hashable, Sendable {
    public let shard: ShardID
    public let to: NodeIdentity
    public let ifEpoch: Epoch
    public let isMove: Bool

    public init(shard: ShardID, to: NodeIdentity, ifEpoch: Epoch, isMove: Bool) {
        self.shard = shard
        self.to = to
        self.ifEpoch = ifEpoch
        self.isMove = isMove
    }
}

/// The cluster at one moment, from one database snapshot.
public struct ClusterSnapshot: Hashable, Sendable {
    public var version: Int64
    /// The newest incarnation of each name, and older ones that still own shards.
    public var nodes: [NodeRecord]
    /// All 1,280, missing rows as unowned with epoch 0.
    public var shards: [ShardRecord]
    public var leader: IncarnationID?
    public var leaderTerm: Int64
    /// Seconds by the database's clock.
    public var leaderLeaseRemaining: Double

    public init(
        version: Int64, nodes: [NodeRecord], shards: [ShardRecord], leader: IncarnationID?, leaderTerm: Int64,
        leaderLeaseRemaining: Double
    ) {
        self.version = version
        self.nodes = nodes
        self.shards = shards
        self.leader = leader
        self.leaderTerm = leaderTerm
        self.leaderLeaseRemaining = leaderLeaseRemaining
    }
}

import RoostModel

/// The cluster's truth: who is alive, who owns which shard, who leads. All times are the database's.
public protocol ClusterStore: Sendable {
    /// Enters a node as a new incarnation, with open fences for `lanes` lanes and a fresh lease. An older incarnation of the name
    /// is declared dead in the same transaction (its fences closed first), and its shards pass to the new one with the next epoch.
    func register(_ node: NodeIdentity, lanes: Int, url: String, adminURL: String, version: String, leaseSeconds: Double)
        async throws(StoreError)

    /// Prolongs the lease. False where the incarnation was declared dead.
    func renewLease(_ node: NodeIdentity, leaseSeconds: Double) async throws(StoreError) -> Bool

    /// Leaves in good order: fences closed, state `left`; shards stay until the leader places them.
    func leave(_ node: NodeIdentity) async throws(StoreError)

    /// Rises by one with every change of nodes, shards or leader; cheap to poll.
    func viewVersion() async throws(StoreError) -> Int64

    /// All in one snapshot.
    func view() async throws(StoreError) -> ClusterSnapshot

    /// Takes or prolongs the leadership; nil where another holds it. With `displacing`, takes it from that incarnation even
    /// though its lease runs. Answers the term, which rises with each change of leader.
    func lead(_ node: NodeIdentity, displacing: IncarnationID?, leaseSeconds: Double) async throws(StoreError) -> Int64?

    /// Declares an incarnation dead: closes its fences (waiting for its commits in flight), then applies `placements`, in one
    /// transaction. Nothing happens, and false comes back, where `term` is no longer the leader's.
    func declareDead(_ incarnation: IncarnationID, placements: [ShardPlacement], term: Int64) async throws(StoreError) -> Bool

    /// Gives shards without a live owner to nodes at once, and marks owned ones as moving to a target. Each placement holds only
    /// if the shard's epoch is still the stated one. False where `term` is no longer the leader's.
    func place(_ placements: [ShardPlacement], term: Int64) async throws(StoreError) -> Bool

    /// The owner itself hands over shards that are moving, after its last commit in them: target becomes owner, epoch + 1.
    func release(_ shards: [ShardID], by owner: NodeIdentity) async throws(StoreError)
}

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

/// A change of one shard's owner: at once where `isMove` is false, by the present owner's ``ClusterStore/release(_:by:)`` otherwise.
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

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
    /// What operators want of it.
    public var use: NodeUse

    public init(
        identity: NodeIdentity, state: State, leaseRemaining: Double, url: String, adminURL: String, version: String,
        startedAt: Timestamp, use: NodeUse = .open
    ) {
        self.identity = identity
        self.state = state
        self.leaseRemaining = leaseRemaining
        self.url = url
        self.adminURL = adminURL
        self.version = version
        self.startedAt = startedAt
        self.use = use
    }
}

/// What operators want of a node that is up.
public enum NodeUse: String, Hashable, Sendable, CaseIterable {
    /// It takes what it is given.
    case open
    /// It keeps what it has and is given nothing more. Stays over restarts of the node.
    case cordoned
    /// Everything is being moved off it. Ends with the incarnation.
    case draining
    /// It has nothing any more, and its clients were sent elsewhere. Ends with the incarnation.
    case drained
}

/// Why a node owns a shard or an actor.
public enum PlacementReason: String, Hashable, Sendable, CaseIterable {
    /// Nobody owned it before, or its owner left in good order.
    case placement
    /// Its owner died.
    case failover
    /// Loads or numbers were evened out.
    case rebalance
    case drain
    case pin
}

/// A shard's row: who owns it, and who is to own it next.
public struct ShardRecord: Hashable, Sendable {
    public let id: ShardID
    public var owner: NodeIdentity?
    public var epoch: Epoch
    /// Set while the shard is moving.
    public var target: NodeIdentity?
    /// Since when the owner has it; nil where it never had one.
    public var since: Timestamp?
    public var reason: PlacementReason
    /// What the move belongs to, while it is moving.
    public var operation: OperationID?

    public init(
        id: ShardID, owner: NodeIdentity?, epoch: Epoch, target: NodeIdentity?, since: Timestamp? = nil,
        reason: PlacementReason = .placement, operation: OperationID? = nil
    ) {
        self.id = id
        self.owner = owner
        self.epoch = epoch
        self.target = target
        self.since = since
        self.reason = reason
        self.operation = operation
    }
}

/// A single actor that lives, or is to live, apart from its shard.
public struct PinRecord: Hashable, Sendable {
    public let actor: ActorAddress
    /// The name of the node where operators want it; nil while it is on its way back to its shard, after which the row is gone.
    public var node: String?
    /// Who owns it apart from its shard; nil while it lives with its shard, wherever that is.
    public var owner: NodeIdentity?
    /// Rises with each change of owner.
    public var epoch: Epoch
    public var isMoving: Bool
    /// While it is moving: its next owner; nil for its shard.
    public var target: NodeIdentity?
    public var since: Timestamp
    public var operation: OperationID?

    public init(
        actor: ActorAddress, node: String?, owner: NodeIdentity?, epoch: Epoch, isMoving: Bool = false,
        target: NodeIdentity? = nil, since: Timestamp, operation: OperationID? = nil
    ) {
        self.actor = actor
        self.node = node
        self.owner = owner
        self.epoch = epoch
        self.isMoving = isMoving
        self.target = target
        self.since = since
        self.operation = operation
    }
}

/// What has one owner and moves as one: a shard, or an actor that is pinned.
public enum Place: Hashable, Sendable, CustomStringConvertible {
    case shard(ShardID)
    case actor(ActorAddress)

    public var description: String {
        switch self {
        case .shard(let shard): "shard \(shard)"
        case .actor(let actor): "\(actor)"
        }
    }
}

/// A change of one shard's owner: at once where `isMove` is false, by the present owner's release otherwise.
public struct ShardPlacement: Hashable, Sendable {
    public let shard: ShardID
    public let to: NodeIdentity
    public let ifEpoch: Epoch
    public let isMove: Bool
    public let reason: PlacementReason
    /// What a move belongs to.
    public let operation: OperationID?

    public init(
        shard: ShardID, to: NodeIdentity, ifEpoch: Epoch, isMove: Bool, reason: PlacementReason = .placement,
        operation: OperationID? = nil
    ) {
        self.shard = shard
        self.to = to
        self.ifEpoch = ifEpoch
        self.isMove = isMove
        self.reason = reason
        self.operation = operation
    }
}

/// Begins the move of one pinned actor: to a node, or back to its shard where `to` is nil. Its present owner releases it.
public struct PinPlacement: Hashable, Sendable {
    public let actor: ActorAddress
    public let to: NodeIdentity?
    public let ifEpoch: Epoch

    public init(actor: ActorAddress, to: NodeIdentity?, ifEpoch: Epoch) {
        self.actor = actor
        self.to = to
        self.ifEpoch = ifEpoch
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
    /// At most ``PinLimits/count``.
    public var pins: [PinRecord]
    /// Those that run or are paused, the oldest first.
    public var operations: [OperationRecord]
    /// The database's clock at the snapshot: what `since` and the deadlines of operations are compared with.
    public var time: Timestamp

    public init(
        version: Int64, nodes: [NodeRecord], shards: [ShardRecord], leader: IncarnationID?, leaderTerm: Int64,
        leaderLeaseRemaining: Double, pins: [PinRecord] = [], operations: [OperationRecord] = [],
        time: Timestamp = Timestamp(milliseconds: 0)
    ) {
        self.version = version
        self.nodes = nodes
        self.shards = shards
        self.leader = leader
        self.leaderTerm = leaderTerm
        self.leaderLeaseRemaining = leaderLeaseRemaining
        self.pins = pins
        self.operations = operations
        self.time = time
    }
}

public enum PinLimits {
    /// Pins in a cluster; each is part of every node's view.
    public static let count = 1_000
}

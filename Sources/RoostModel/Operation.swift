/// A drain, a rebalance or a pin as it is stored: any leader can go on with it.
public struct OperationRecord: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable { case pin, drain, rebalance }

    public enum State: String, Hashable, Sendable, CaseIterable {
        case running, paused, done, cancelled, failed

        /// Nothing follows.
        public var isEnd: Bool {
            switch self {
            case .running, .paused: false
            case .done, .cancelled, .failed: true
            }
        }
    }

    public let id: OperationID
    public let kind: Kind
    public var state: State
    /// Why it failed or was cancelled, or what set it off; a short text without the words of users.
    public var reason: String?
    /// The node that is drained, or that the actor is pinned to; nil for a rebalance and where a pin is taken away.
    public let node: String?
    /// The life of the node that is drained.
    public let incarnation: IncarnationID?
    /// The actor that is pinned, or no longer.
    public let actor: ActorAddress?
    /// What a rebalance is to do; empty for the others.
    public let moves: [PlannedMove]
    /// Hand-offs at a time; at least 1.
    public let maxConcurrentMoves: Int
    public let startedAt: Timestamp
    public var endedAt: Timestamp?
    /// When a drain gives up; nil for never.
    public let deadline: Timestamp?
    /// What the operators call whoever began it; `cluster` for the cluster itself.
    public let startedBy: String
    public var progress: OperationProgress

    public init(
        id: OperationID, kind: Kind, state: State = .running, reason: String? = nil, node: String? = nil,
        incarnation: IncarnationID? = nil, actor: ActorAddress? = nil, moves: [PlannedMove] = [], maxConcurrentMoves: Int = 4,
        startedAt: Timestamp, endedAt: Timestamp? = nil, deadline: Timestamp? = nil, startedBy: String,
        progress: OperationProgress = OperationProgress()
    ) {
        self.id = id
        self.kind = kind
        self.state = state
        self.reason = reason
        self.node = node
        self.incarnation = incarnation
        self.actor = actor
        self.moves = moves
        self.maxConcurrentMoves = maxConcurrentMoves
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.deadline = deadline
        self.startedBy = startedBy
        self.progress = progress
    }
}

public struct OperationProgress: Hashable, Sendable {
    public var movesPlanned: Int
    public var movesDone: Int
    public var movesFailed: Int
    /// The longest time from the end of admission at the old owner until the new one stood in the database; nil before the first.
    public var longestPauseMilliseconds: Double?
    /// What keeps it from going on, in words; empty while it goes on.
    public var blockedBy: [String]

    public init(
        movesPlanned: Int = 0, movesDone: Int = 0, movesFailed: Int = 0, longestPauseMilliseconds: Double? = nil,
        blockedBy: [String] = []
    ) {
        self.movesPlanned = movesPlanned
        self.movesDone = movesDone
        self.movesFailed = movesFailed
        self.longestPauseMilliseconds = longestPauseMilliseconds
        self.blockedBy = blockedBy
    }
}

/// How an operation came to its end.
public struct OperationEnd: Hashable, Sendable {
    public let state: OperationRecord.State
    public let reason: String?

    public init(_ state: OperationRecord.State, reason: String? = nil) {
        self.state = state
        self.reason = reason
    }
}

/// One move of a plan.
public struct PlannedMove: Hashable, Sendable {
    public let place: Place
    /// Names of nodes: a plan outlives their restarts.
    public let from: String
    public let to: String
    /// The cost of what moves, as ``LoadReport`` counts it.
    public let load: Double
    public let expectedPauseMilliseconds: Double

    public init(place: Place, from: String, to: String, load: Double, expectedPauseMilliseconds: Double) {
        self.place = place
        self.from = from
        self.to = to
        self.load = load
        self.expectedPauseMilliseconds = expectedPauseMilliseconds
    }
}

public struct NodeLoad: Hashable, Sendable {
    public let node: String
    public let load: Double

    public init(node: String, load: Double) {
        self.node = node
        self.load = load
    }
}

/// What would be moved, and what that would give. Drawn up from one view; of no use for another.
public struct RebalancePlan: Hashable, Sendable {
    public let id: PlanID
    public let viewVersion: Int64
    public let moves: [PlannedMove]
    /// By name.
    public let before: [NodeLoad]
    public let after: [NodeLoad]

    public init(id: PlanID, viewVersion: Int64, moves: [PlannedMove], before: [NodeLoad], after: [NodeLoad]) {
        self.id = id
        self.viewVersion = viewVersion
        self.moves = moves
        self.before = before
        self.after = after
    }
}

/// What a node says of its work, every ``ClusterTimings/loadInterval``.
public struct LoadReport: Hashable, Sendable {
    public let node: NodeIdentity
    public var sessions: Int
    public var conversationActors: Int
    public var presenceActors: Int
    public var residentBytes: Int
    /// The cost of each shard owned there: commits a second, plus a tenth of the deliveries a second, as moving averages, plus a
    /// little for each actor that is awake. An idle shard costs ``idleCost``.
    public var shards: [ShardID: Double]
    /// The cost of each actor that is pinned there.
    public var pins: [ActorAddress: Double]
    public var rates: LoadRates

    public static let idleCost = 0.05
    public static let costOfActor = 0.002
    public static let costOfDelivery = 0.1

    public init(
        node: NodeIdentity, sessions: Int = 0, conversationActors: Int = 0, presenceActors: Int = 0, residentBytes: Int = 0,
        shards: [ShardID: Double] = [:], pins: [ActorAddress: Double] = [:], rates: LoadRates = LoadRates()
    ) {
        self.node = node
        self.sessions = sessions
        self.conversationActors = conversationActors
        self.presenceActors = presenceActors
        self.residentBytes = residentBytes
        self.shards = shards
        self.pins = pins
        self.rates = rates
    }

    public var total: Double { shards.values.reduce(0, +) + pins.values.reduce(0, +) }
}

/// What a node did in the last period.
public struct LoadRates: Hashable, Sendable {
    /// Changes that were committed there, a second.
    public var commitsPerSecond: Double
    /// Events that went to sessions there, a second.
    public var deliveriesPerSecond: Double
    /// How long commits took; 0 where there were none.
    public var commitMillisecondsP50: Double
    public var commitMillisecondsP99: Double

    public init(
        commitsPerSecond: Double = 0, deliveriesPerSecond: Double = 0, commitMillisecondsP50: Double = 0,
        commitMillisecondsP99: Double = 0
    ) {
        self.commitsPerSecond = commitsPerSecond
        self.deliveriesPerSecond = deliveriesPerSecond
        self.commitMillisecondsP50 = commitMillisecondsP50
        self.commitMillisecondsP99 = commitMillisecondsP99
    }
}

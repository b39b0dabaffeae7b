import RoostModel

/// What the leader has to do next: bury the dead, give their shards away, carry out what operators wish, even out. One duty at a time, each
/// decided from a view that was loaded after the one before; the store refuses what a newer view has overtaken.
public struct LeaderDuties: Sendable {
    public enum Duty: Hashable, Sendable {
        case declareDead(NodeIdentity, DeathReason, [ShardPlacement])
        /// Shards that have no living owner, or whose move leads nowhere.
        case repair([ShardPlacement])
        /// The next hand-offs of running operations.
        case move([ShardPlacement])
        case movePins([PinPlacement])
        /// An operation has come further, or to its end.
        case note(OperationID, OperationProgress, OperationEnd?)
        /// The cluster evens itself out; the plan's id means nothing.
        case beginRebalance(RebalancePlan, RebalanceReason)

        /// Whether the view has another version afterwards, so that the others should hear of it.
        var changesView: Bool {
            switch self {
            case .declareDead, .repair, .move, .movePins, .beginRebalance: true
            case .note(_, _, let end): end != nil
            }
        }
    }

    public enum RebalanceReason: String, Hashable, Sendable {
        /// A node has less than half of an even share.
        case nodeJoined
        case loadImbalance
    }

    public enum DeathReason: String, Hashable, Sendable, CaseIterable {
        /// Silent on the bus, and its probe failed.
        case silent
        case leaseExpired
        /// Did not release shards that it was told to move.
        case moveStalled
    }

    /// What is known of the others at this moment.
    public struct Judgement: Hashable, Sendable {
        public var silent: Set<NodeIdentity> = []
        public var expired: Set<NodeIdentity> = []
        /// Heard on the bus, so of use; this node among them.
        public var ready: Set<NodeIdentity> = []
        /// Nobody is suspect or being probed.
        public var isCalm = true

        public init() {}
    }

    /// What is decided from, beside the snapshot.
    public struct Surroundings: Sendable {
        public var judgement: Judgement
        /// What the nodes say of their work, of any age.
        public var loads = LoadBook()
        /// The database's clock, as far as it is known between two snapshots.
        public var databaseTime: Timestamp
        /// Whether uneven loads are evened out without being asked.
        public var balancesLoads = false
        /// Since when the store answers without a gap; nil while it does not. Nobody can release anything while it is away.
        public var storeAnswersSince: Duration? = .zero

        public init(_ judgement: Judgement, databaseTime: Timestamp = Timestamp(milliseconds: 0)) {
            self.judgement = judgement
            self.databaseTime = databaseTime
        }
    }

    private struct Move: Sendable {
        let epoch: Epoch
        let holder: NodeIdentity?
        let target: NodeIdentity?
        let since: Duration
    }

    private let timings: ClusterTimings
    private var moves: [Place: Move] = [:]
    /// Nodes that are up, and what is wanted of them.
    private var members: [NodeIdentity: NodeUse] = [:]
    private var membersChangedAt = Duration.zero
    /// For this view and judgement there was nothing to do, and time alone does not change that.
    private var idle: (version: Int64, judgement: Judgement)?
    private var nextLoadCheck = Duration.zero
    /// When something was last on the move: what came anew has no history yet.
    private var lastMove = Duration.zero

    public init(timings: ClusterTimings) {
        self.timings = timings
    }

    /// - Parameter node: this node, the leader.
    public mutating func next(
        _ snapshot: ClusterSnapshot, by node: NodeIdentity, in surroundings: Surroundings, at now: Duration
    ) -> Duty? {
        let judgement = surroundings.judgement
        if let idle, idle.version == snapshot.version, idle.judgement == judgement {
            return balanceLoads(snapshot, surroundings, at: now)
        }
        idle = nil
        let up = Set(snapshot.nodes.lazy.filter { $0.state == .up }.map(\.identity))
        note(snapshot, at: now)
        let dead = up.intersection(judgement.silent.union(judgement.expired)).subtracting([node])
        let stalled = stalledMovers(surroundings, at: now)
        let living = up.subtracting(dead)
        // This node is alive and can be given shards even when nobody is heard: someone must have them.
        let ready = living.intersection(judgement.ready.union([node])).subtracting(stalled)
        let heirs = snapshot.heirs(among: ready)
        let buried = Set(snapshot.nodes.lazy.filter { $0.state == .dead }.map(\.identity))
        // A leader that stalls fences itself, and comes back like any other.
        if let victim = dead.union(stalled.intersection(up)).min(by: { $0.name < $1.name }) {
            let rest = living.subtracting([victim])
            let placements = Placement(nodes: heirs).repairs(
                of: snapshot.shards, owners: rest, dead: buried.union([victim]))
            let reason: DeathReason =
                judgement.silent.contains(victim) ? .silent : judgement.expired.contains(victim) ? .leaseExpired : .moveStalled
            return .declareDead(victim, reason, placements)
        }
        let closed = Set(snapshot.nodes.lazy.filter { $0.use != .open }.map(\.identity))
        let repairs = Placement(nodes: heirs).repairs(of: snapshot.shards, owners: living, closed: closed, dead: buried)
        if !repairs.isEmpty { return .repair(repairs) }
        if let duty = operate(snapshot, surroundings, ready: ready, at: now) { return duty }
        // Evening out is for quiet times: everybody is well and heard, and no one has come or gone just now.
        guard judgement.isCalm, ready == up, now - membersChangedAt >= timings.joinSettling else { return nil }
        if let duty = evenOut(snapshot, surroundings, at: now) { return duty }
        if moves.isEmpty, snapshot.operations.isEmpty { idle = (snapshot.version, judgement) }
        return balanceLoads(snapshot, surroundings, at: now)
    }

    /// Who has kept something for too long that it was told to hand over, while the store was there for it.
    private func stalledMovers(_ surroundings: Surroundings, at now: Duration) -> Set<NodeIdentity> {
        guard let answering = surroundings.storeAnswersSince else { return [] }
        return Set(
            moves.values.compactMap { move in
                now - max(move.since, answering) >= timings.moverPatience ? move.holder : nil
            })
    }

    /// The next step of what is wished. Nothing begins to move while somebody is in doubt, but what has come about is noted.
    private func operate(
        _ snapshot: ClusterSnapshot, _ surroundings: Surroundings, ready: Set<NodeIdentity>, at now: Duration
    ) -> Duty? {
        guard !snapshot.operations.isEmpty || !snapshot.pins.isEmpty else { return nil }
        let isOpen = Set(snapshot.nodes.filter { $0.use == .open }.map(\.identity))
        let steps = OperationSteps(
            snapshot: snapshot, timings: timings, heirs: ready.intersection(isOpen).sorted { $0.name < $1.name },
            ready: ready, isCalm: surroundings.judgement.isCalm, reports: surroundings.loads.reports,
            now: surroundings.databaseTime,
            slowMoves: moves.filter { now - $0.value.since >= .seconds(2) }.keys.sorted { "\($0)" < "\($1)" })
        if surroundings.judgement.isCalm {
            let pins = steps.pinMoves()
            if !pins.isEmpty { return .movePins(pins) }
            let handOffs = steps.handOffs()
            if !handOffs.isEmpty { return .move(handOffs) }
        }
        return steps.note().map { .note($0.id, $0.progress, $0.end) }
    }

    private func evenOut(_ snapshot: ClusterSnapshot, _ surroundings: Surroundings, at now: Duration) -> Duty? {
        guard !isRebalancing(snapshot), moves.isEmpty else { return nil }
        let planner = RebalancePlanner(
            snapshot, reports: surroundings.loads.reports, now: surroundings.databaseTime)
        guard planner.hasPoorNode else { return nil }
        // A newcomer has nothing to tell; what the others tell means something where nothing has moved lately.
        let owners = Set(snapshot.shards.compactMap(\.owner))
        let isKnown =
            surroundings.loads.fresh(Array(owners), maximumAge: timings.loadInterval * 2, at: now) != nil
            && now - lastMove >= timings.loadSettling
        let plan = planner.evenOut(id: PlanID(high: 0, low: 0), levels: surroundings.balancesLoads && isKnown)
        return plan.moves.isEmpty ? nil : .beginRebalance(plan, .nodeJoined)
    }

    private mutating func balanceLoads(
        _ snapshot: ClusterSnapshot, _ surroundings: Surroundings, at now: Duration
    ) -> Duty? {
        guard surroundings.balancesLoads, now >= nextLoadCheck, now - max(membersChangedAt, lastMove) >= timings.loadSettling,
            snapshot.operations.isEmpty, moves.isEmpty, surroundings.judgement.isCalm
        else { return nil }
        nextLoadCheck = now + timings.loadCheckInterval
        let up = snapshot.nodes.filter { $0.state == .up }.map(\.identity)
        guard let reports = surroundings.loads.fresh(up, maximumAge: timings.loadInterval * 2, at: now) else { return nil }
        let planner = RebalancePlanner(snapshot, reports: reports, now: surroundings.databaseTime)
        let plan = planner.rebalance(.automatic, id: PlanID(high: 0, low: 0))
        return plan.moves.isEmpty ? nil : .beginRebalance(plan, .loadImbalance)
    }

    private func isRebalancing(_ snapshot: ClusterSnapshot) -> Bool {
        snapshot.operations.contains { $0.kind == .rebalance }
    }

    /// Remembers since when each move and the present set of nodes has been seen.
    private mutating func note(_ snapshot: ClusterSnapshot, at now: Duration) {
        var present: [NodeIdentity: NodeUse] = [:]
        for node in snapshot.nodes where node.state == .up { present[node.identity] = node.use }
        if present != members {
            members = present
            membersChangedAt = now
        }
        var moving: [Place: Move] = [:]
        func see(_ place: Place, _ epoch: Epoch, from holder: NodeIdentity?, to target: NodeIdentity?) {
            if let known = moves[place], known.epoch == epoch, known.holder == holder, known.target == target {
                moving[place] = known
            } else {
                moving[place] = Move(epoch: epoch, holder: holder, target: target, since: now)
            }
        }
        for shard in snapshot.shards {
            if let target = shard.target, let owner = shard.owner { see(.shard(shard.id), shard.epoch, from: owner, to: target) }
        }
        for pin in snapshot.pins where pin.isMoving {
            let holder = pin.owner ?? snapshot.shards[pin.actor.shard.tableIndex].owner
            see(.actor(pin.actor), pin.epoch, from: holder, to: pin.target)
        }
        moves = moving
        if !moving.isEmpty { lastMove = now }
    }
}

extension ClusterSnapshot {
    /// Those of `nodes` that may be given shards which have no owner: the open ones; where there are none, those that are better
    /// than nobody.
    func heirs(among nodes: Set<NodeIdentity>) -> [NodeIdentity] {
        let records = self.nodes.filter { $0.state == .up && nodes.contains($0.identity) }
        for uses in [[NodeUse.open], [.cordoned], [.draining, .drained]] {
            let heirs = records.filter { uses.contains($0.use) }.map(\.identity)
            if !heirs.isEmpty { return heirs }
        }
        return []
    }
}

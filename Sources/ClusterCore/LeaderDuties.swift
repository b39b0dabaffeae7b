import RoostModel

/// What the leader has to do next: bury the dead, give their shards away, even out. One duty at a time, each decided from a view
/// that was loaded after the one before; the store refuses what a newer view has overtaken.
public struct LeaderDuties: Sendable {
    public enum Duty: Hashable, Sendable {
        case declareDead(NodeIdentity, DeathReason, [ShardPlacement])
        /// Shards that have no living owner, or whose move leads nowhere.
        case repair([ShardPlacement])
        case move([ShardPlacement])
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

    private struct Move: Sendable {
        let epoch: Epoch
        let target: NodeIdentity
        let since: Duration
    }

    private let timings: ClusterTimings
    private var moves: [ShardID: Move] = [:]
    private var members: Set<NodeIdentity> = []
    private var membersChangedAt = Duration.zero
    /// For this view and judgement there was nothing to do, and time alone does not change that.
    private var idle: (version: Int64, judgement: Judgement)?

    public init(timings: ClusterTimings) {
        self.timings = timings
    }

    /// - Parameter node: this node, the leader.
    public mutating func next(
        _ snapshot: ClusterSnapshot, by node: NodeIdentity, judgement: Judgement, at now: Duration
    ) -> Duty? {
        if let idle, idle.version == snapshot.version, idle.judgement == judgement { return nil }
        idle = nil
        let up = Set(snapshot.nodes.lazy.filter { $0.state == .up }.map(\.identity))
        note(up, snapshot.shards, at: now)
        let dead = up.intersection(judgement.silent.union(judgement.expired)).subtracting([node])
        let stalled = Set(
            snapshot.shards.compactMap { shard in
                if let move = moves[shard.id], now - move.since >= timings.moverPatience { shard.owner } else { nil }
            })
        let living = up.subtracting(dead)
        // This node is alive and can be given shards even when nobody is heard: someone must have them.
        let heirs = living.intersection(judgement.ready.union([node])).subtracting(stalled)
        // A leader that stalls fences itself, and comes back like any other.
        if let victim = dead.union(stalled.intersection(up)).min(by: { $0.name < $1.name }) {
            let rest = living.subtracting([victim])
            let placements = Placement(nodes: Array(heirs)).repairs(of: snapshot.shards, owners: rest)
            let reason: DeathReason =
                judgement.silent.contains(victim) ? .silent : judgement.expired.contains(victim) ? .leaseExpired : .moveStalled
            return .declareDead(victim, reason, placements)
        }
        let placement = Placement(nodes: Array(heirs))
        let repairs = placement.repairs(of: snapshot.shards, owners: living)
        if !repairs.isEmpty { return .repair(repairs) }
        // Moves are for quiet times: everybody is well and heard, and no one has come or gone just now.
        guard judgement.isCalm, heirs == up, now - membersChangedAt >= timings.joinSettling else { return nil }
        let planned = placement.moves(of: snapshot.shards, limit: timings.maximumMoves)
        if !planned.isEmpty { return .move(planned) }
        if moves.isEmpty { idle = (snapshot.version, judgement) }
        return nil
    }

    /// Remembers since when each move and the present set of nodes has been seen.
    private mutating func note(_ up: Set<NodeIdentity>, _ shards: [ShardRecord], at now: Duration) {
        if up != members {
            members = up
            membersChangedAt = now
        }
        var moving: [ShardID: Move] = [:]
        for shard in shards {
            guard let target = shard.target, shard.owner != nil else { continue }
            if let known = moves[shard.id], known.epoch == shard.epoch, known.target == target {
                moving[shard.id] = known
            } else {
                moving[shard.id] = Move(epoch: shard.epoch, target: target, since: now)
            }
        }
        moves = moving
    }
}

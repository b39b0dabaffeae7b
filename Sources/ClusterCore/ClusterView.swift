import RoostModel

/// What one node knows of the cluster, and what changed for it since the view before.
public struct ClusterView: Hashable, Sendable {
    /// The node whose view this is.
    public let identity: NodeIdentity
    public let table: ShardTable
    /// Nodes that are up, one per name, ordered by name; this node among them.
    public let nodes: [NodeRecord]
    /// The newest lives of names that have none that is up, ordered by name.
    public let gone: [NodeRecord]
    /// Nil while nobody leads.
    public let leader: IncarnationID?
    public let leaderTerm: Int64
    /// This node's shards that came, went or are on the move.
    public let changes: ShardChanges
    /// As ``ShardChanges/gained``, with the reason of each.
    public let gained: [GainedShard]
    /// Actors that came here by themselves: they live apart from their shard now, or have come home to it.
    public let gainedPins: Set<ActorAddress>
    /// Actors whose owner, apart from their shard, died, and whose shard is this node's: they may have committed what they told nobody.
    public let orphanedPins: [ActorAddress]
    /// Nodes that were not up in the view before.
    public let joined: [NodeIdentity]
    /// Nodes that were up in the view before and are no longer: dead, left or replaced by a new incarnation.
    public let departed: [NodeIdentity]

    public var version: Int64 { table.version }

    /// What operators want of this node.
    public var ownUse: NodeUse { nodes.first { $0.identity == identity }?.use ?? .open }

    /// - Parameter previous: the view before; nil for the first of an incarnation.
    public init(of identity: NodeIdentity, snapshot: ClusterSnapshot, previous: ClusterView?) {
        self.identity = identity
        table = ShardTable(snapshot)
        nodes = snapshot.nodes.filter { $0.state == .up }.sorted { $0.identity.name < $1.identity.name }
        let names = Set(nodes.map(\.identity.name))
        gone = snapshot.nodes.filter { $0.state != .up && !names.contains($0.identity.name) }
            .sorted { ($0.identity.name, $0.startedAt) < ($1.identity.name, $1.startedAt) }
        leader = snapshot.leader
        leaderTerm = snapshot.leaderTerm
        let before = previous?.table ?? .empty
        changes = table.changes(since: before, for: identity)
        let states = Dictionary(snapshot.nodes.map { ($0.identity, $0.state) }, uniquingKeysWith: { first, _ in first })
        gained = changes.gained.map { shard in
            GainedShard(
                shard: shard.id, epoch: shard.epoch,
                reason: GainReason(of: shard, before: previous?.table[shard.id], states: states, identity: identity))
        }
        let table = table
        // Shards bring their own along; these are the ones that came by themselves, to live apart or back with their shard.
        gainedPins = Set(table.pins.keys).union(before.pins.keys).filter { actor in
            guard table.owner(of: actor) == identity else { return false }
            let isNew = before.owner(of: actor) != identity || before.epoch(of: actor) != table.epoch(of: actor)
            let cameWithShard = table.place(of: actor) == .shard(actor.shard) && before.place(of: actor) == .shard(actor.shard)
            return isNew && !cameWithShard
        }
        let orphans = before.pins.values.filter { pin in
            // A pin that came home in good order is gone, or its owner is up.
            guard let owner = pin.owner, states[owner] == .dead || states[owner] == nil else { return false }
            return table.pins[pin.actor]?.owner != owner && table.owner(of: pin.actor) == identity
        }
        // Those whose owner came and died between the two views.
        let unseen = table.pins.values.filter { pin in
            guard previous != nil, pin.owner == nil, before.pins[pin.actor]?.owner == nil else { return false }
            return pin.epoch.value > (before.pins[pin.actor]?.epoch.value ?? 0) + 1 && table.owner(of: pin.actor) == identity
        }
        orphanedPins = (orphans + unseen).map(\.actor)
        let present = Set(nodes.map(\.identity))
        let past = Set(previous?.nodes.map(\.identity) ?? [])
        joined = nodes.map(\.identity).filter { !past.contains($0) }
        departed = (previous?.nodes.map(\.identity) ?? []).filter { !present.contains($0) }
    }

    public func isUp(_ node: NodeIdentity) -> Bool { nodes.contains { $0.identity == node } }
}

public struct GainedShard: Hashable, Sendable {
    public let shard: ShardID
    public let epoch: Epoch
    public let reason: GainReason

    public init(shard: ShardID, epoch: Epoch, reason: GainReason) {
        self.shard = shard
        self.epoch = epoch
        self.reason = reason
    }
}

/// Why a node owns a shard now.
public enum GainReason: String, Hashable, Sendable {
    /// Nobody owned it, or its owner left in good order.
    case placement
    /// Its owner died, and may have committed what it told nobody. Also where that cannot be ruled out.
    case failover
    /// Its owner handed it over after its last commit.
    case join

    init(of shard: ShardRecord, before: ShardRecord?, states: [NodeIdentity: NodeRecord.State], identity: NodeIdentity) {
        guard let before, before.epoch.next == shard.epoch else {
            // The first owner ever has nothing to recover; of any other history we have seen too little.
            self = shard.epoch <= Epoch(1) ? .placement : .failover
            return
        }
        guard let owner = before.owner else {
            self = .placement
            return
        }
        switch states[owner] {
        case .up: self = .join
        case .left: self = .placement
        case .dead, nil: self = .failover
        }
    }
}

import RoostModel

/// Decides which node gets which shard. Rendezvous weights propose, even counts decide: of each kind, nodes differ by at most
/// one shard once all is placed and moved.
public struct Placement {
    /// Nodes that may be given shards, ordered by name.
    public let nodes: [NodeIdentity]
    private let seeds: [UInt64]
    private let indexOf: [NodeIdentity: Int]

    public init(nodes: [NodeIdentity]) {
        self.nodes = nodes.sorted { $0.name < $1.name }
        seeds = self.nodes.map { Rendezvous.seed(ofNode: $0.name) }
        indexOf = Dictionary(self.nodes.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { first, _ in first })
    }

    /// Gives every shard without a living owner to a node, at once, and turns moves towards a node that is gone, or no longer to be
    /// given anything, back: to the owner itself, which then keeps the shard under the next epoch.
    ///
    /// - Parameters:
    ///   - owners: nodes that keep what they own, whether or not they may be given more.
    ///   - closed: those of them to which nothing must move.
    ///   - dead: owners that did not leave in good order.
    public func repairs(
        of shards: [ShardRecord], owners: Set<NodeIdentity>, closed: Set<NodeIdentity> = [], dead: Set<NodeIdentity> = []
    ) -> [ShardPlacement] {
        guard !nodes.isEmpty else { return [] }
        var placements: [ShardPlacement] = []
        for kind in ShardKind.allCases {
            let ofKind = shards.filter { $0.id.kind == kind }
            var quota = Quota(nodes: nodes.count, shards: ofKind.count)
            var orphans: [ShardRecord] = []
            for shard in ofKind {
                guard let owner = shard.owner, owners.contains(owner) else {
                    orphans.append(shard)
                    continue
                }
                guard let target = shard.target else {
                    if let index = indexOf[owner] { quota.counts[index] += 1 }
                    continue
                }
                let heir = owners.contains(target) && !closed.contains(target) ? target : owner
                if heir != target {
                    placements.append(
                        ShardPlacement(
                            shard: shard.id, to: owner, ifEpoch: shard.epoch, isMove: true, reason: shard.reason,
                            operation: shard.operation))
                }
                if let index = indexOf[heir] { quota.counts[index] += 1 }
            }
            for shard in orphans {
                // Where its owner died on the way, the target is ready for it.
                let chosen = shard.target.flatMap { indexOf[$0] } ?? heaviest(for: shard.id) { quota.hasRoom($0) }
                guard let chosen else { continue }
                quota.counts[chosen] += 1
                placements.append(
                    ShardPlacement(
                        shard: shard.id, to: nodes[chosen], ifEpoch: shard.epoch, isMove: false,
                        reason: shard.owner.map(dead.contains) == true ? .failover : .placement))
            }
        }
        return placements
    }

    /// Moves that bring the counts of each kind within one of each other: as few as can be, each to the node that has the
    /// greatest weight for a shard of the fullest node. What others own, or what is on the move, takes no part.
    ///
    /// - Parameter limit: at most this many; a later round plans the rest.
    public func moves(of shards: [ShardRecord], limit: Int) -> [ShardPlacement] {
        guard nodes.count > 1 else { return [] }
        var moves: [ShardPlacement] = []
        for kind in ShardKind.allCases {
            var owned = [[ShardRecord]](repeating: [], count: nodes.count)
            for shard in shards where shard.id.kind == kind {
                guard shard.target == nil, let owner = shard.owner, let index = indexOf[owner] else { continue }
                owned[index].append(shard)
            }
            var donations = Donations(placement: self, owned: owned)
            while moves.count < limit {
                // Of equal nodes, the first by name.
                let counts = donations.counts
                let fullest = counts.indices.max { (counts[$0], -$0) < (counts[$1], -$1) }!
                let emptiest = counts.indices.min { (counts[$0], $0) < (counts[$1], $1) }!
                guard counts[fullest] - counts[emptiest] > 1 else { break }
                let shard = donations.take(from: fullest, for: emptiest)
                moves.append(ShardPlacement(shard: shard.id, to: nodes[emptiest], ifEpoch: shard.epoch, isMove: true))
            }
        }
        return moves
    }

    /// What a node would rather have: first shards that it is proposed for, then the heaviest; the number settles ties.
    fileprivate func appeal(of shard: ShardID, to node: Int) -> (Int, UInt64, Int) {
        let isProposal = heaviest(for: shard, where: { _ in true }) == node
        return (isProposal ? 1 : 0, Rendezvous.weight(of: shard, nodeSeed: seeds[node]), -shard.number)
    }

    private func heaviest(for shard: ShardID, where isAllowed: (Int) -> Bool) -> Int? {
        var best: (index: Int, weight: UInt64)?
        for index in seeds.indices where isAllowed(index) {
            let weight = Rendezvous.weight(of: shard, nodeSeed: seeds[index])
            if best == nil || weight > best!.weight { best = (index, weight) }
        }
        return best?.index
    }
}

/// How many shards of one kind each node may have: an even share, rounded up for as many nodes as the remainder needs.
private struct Quota {
    var counts: [Int]
    private let share: Int
    private let remainder: Int

    init(nodes: Int, shards: Int) {
        counts = [Int](repeating: 0, count: nodes)
        (share, remainder) = shards.quotientAndRemainder(dividingBy: nodes)
    }

    func hasRoom(_ index: Int) -> Bool {
        if counts[index] < share { return true }
        if counts[index] > share { return false }
        let extras = counts.reduce(0) { $0 + max(0, $1 - share) }
        return extras < remainder
    }
}

/// Which shards of the full nodes go to the empty ones; each pair's candidates are ranked once.
private struct Donations {
    private(set) var counts: [Int]
    private let placement: Placement
    private let owned: [[ShardRecord]]
    private var ranked: [[Int]: [ShardRecord]] = [:]
    private var taken: Set<ShardID> = []

    init(placement: Placement, owned: [[ShardRecord]]) {
        self.placement = placement
        self.owned = owned
        counts = owned.map(\.count)
    }

    /// - Precondition: `counts[donor]` is above that of the receiver, which has received all it got so far through this.
    mutating func take(from donor: Int, for receiver: Int) -> ShardRecord {
        let pair = [donor, receiver]
        var candidates =
            ranked.removeValue(forKey: pair)
            ?? owned[donor].map { (shard: $0, appeal: placement.appeal(of: $0.id, to: receiver)) }
            .sorted { $0.appeal < $1.appeal }.map(\.shard)
        // A donor never becomes a receiver, so an untaken one of its own is left.
        var shard = candidates.removeLast()
        while !taken.insert(shard.id).inserted { shard = candidates.removeLast() }
        ranked[pair] = candidates
        counts[donor] -= 1
        counts[receiver] += 1
        return shard
    }
}

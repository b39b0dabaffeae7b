import RoostModel

/// Draws up moves that even out what the nodes have to do. Sees one snapshot and one set of load reports, and decides nothing: a plan is
/// shown, stored, and applied while the view it was drawn from still holds.
///
/// The hottest node gives to the coldest, the shard that evens the two out best; never one that would make the receiver the hotter of
/// the two, nor one whose move costs more than it gains. Nodes that are not open take no part; what is pinned counts and stays.
public struct RebalancePlanner: Sendable {
    public struct Options: Hashable, Sendable {
        /// Nothing is planned up to this max/mean.
        public var startAbove = 1.10
        /// Planning stops at this max/mean.
        public var stopBelow = 1.10
        /// Nothing is planned where the hottest node is above the mean by less than this, in units of cost.
        public var minimumDifference = 0.0
        public var maximumMoves = Int.max
        /// Shards that moved less than this ago stay. An operator's word goes before it.
        public var coolDown = Duration.zero

        public init() {}

        /// What the leader does by itself: only where it is worth it, and 5 % of the shards at most.
        public static var automatic: Options {
            var options = Options()
            options.startAbove = 1.25
            options.minimumDifference = 20
            options.maximumMoves = ShardID.all.count / 20
            options.coolDown = .seconds(60)
            return options
        }
    }

    /// Milliseconds that a hand-off keeps a shard from its callers: the way there, and the waking of its actors.
    static let pauseOfHandOff = 15.0
    static let pauseOfCost = 0.2
    /// Of the mean: a node with less load than this may be given more.
    private static let littleToDo = 0.75

    private let snapshot: ClusterSnapshot
    private let reports: [IncarnationID: LoadReport]
    private let now: Timestamp
    /// Open nodes, by name.
    private let nodes: [NodeIdentity]

    /// - Parameters:
    ///   - reports: by incarnation; shards of nodes without one cost what idle ones do.
    ///   - now: the database's time, for the cool-down.
    public init(_ snapshot: ClusterSnapshot, reports: [IncarnationID: LoadReport], now: Timestamp) {
        self.snapshot = snapshot
        self.reports = reports
        self.now = now
        nodes = snapshot.nodes.filter { $0.state == .up && $0.use == .open }.map(\.identity).sorted { $0.name < $1.name }
    }

    // MARK: Plans

    /// Evens out what the nodes have to do.
    public func rebalance(_ options: Options = Options(), id: PlanID) -> RebalancePlan {
        var loads = nodes.map { load(of: $0) }
        var moves: [PlannedMove] = []
        if nodes.count > 1, isUneven(loads, options) { level(&loads, options, except: [], &moves) }
        return plan(id, moves, after: loads)
    }

    private func level(_ loads: inout [Double], _ options: Options, except moved: Set<Place>, _ moves: inout [PlannedMove]) {
        var candidates = nodes.map { node in
            movable(of: node, options).filter { !moved.contains(.shard($0.id)) }.sorted { $0.cost < $1.cost }
        }
        // A node whose heat is one shard has nothing to give; the others still have.
        var givers = Set(loads.indices)
        let mean = loads.reduce(0, +) / Double(loads.count)
        while moves.count < options.maximumMoves {
            let coldest = loads.indices.min { (loads[$0], $0) < (loads[$1], $1) }!
            guard let hottest = givers.max(by: { (loads[$0], -$0) < (loads[$1], -$1) }), loads[hottest] > mean * options.stopBelow
            else { break }
            guard let index = best(candidates[hottest], difference: loads[hottest] - loads[coldest]) else {
                givers.remove(hottest)
                continue
            }
            let shard = candidates[hottest].remove(at: index)
            loads[hottest] -= shard.cost
            loads[coldest] += shard.cost
            moves.append(move(shard.id, cost: shard.cost, from: nodes[hottest], to: nodes[coldest]))
        }
    }

    /// Gives nodes that have less than half of an even share, in numbers, their share of each kind, as far as that does not make them
    /// hotter than the mean. A node that has few shards because they are hot is none of them: what a rebalance took from it would come
    /// back. Empty where there is none.
    ///
    /// - Parameter levels: whether loads that are uneven after that are evened out in the same plan; for reports that can be trusted.
    public func evenOut(id: PlanID, levels: Bool = false) -> RebalancePlan {
        var loads = nodes.map { load(of: $0) }
        let mean = loads.reduce(0, +) / Double(max(1, loads.count))
        var moves: [PlannedMove] = []
        let poor = Set(
            ShardKind.allCases.flatMap { kind in
                nodes.filter { isPoor($0, kind) }.map { PoorNode(node: $0, kind: kind) }
            })
        for placement in shuffled(Placement(nodes: nodes).moves(of: snapshot.shards, limit: .max))
        where poor.contains(PoorNode(node: placement.to, kind: placement.shard.kind)) {
            guard let owner = snapshot.shards[placement.shard.tableIndex].owner, let from = nodes.firstIndex(of: owner),
                let to = nodes.firstIndex(of: placement.to)
            else { continue }
            let cost = cost(of: placement.shard, at: owner)
            guard loads[to] + cost / 2 <= mean else { continue }
            loads[from] -= cost
            loads[to] += cost
            moves.append(move(placement.shard, cost: cost, from: owner, to: placement.to))
        }
        if levels, !moves.isEmpty, isUneven(loads, .automatic) {
            level(&loads, Options(), except: Set(moves.map(\.place)), &moves)
        }
        return plan(id, moves, after: loads)
    }

    /// Kinds in turn, in proportion: what stops half-way has given some of each.
    private func shuffled(_ placements: [ShardPlacement]) -> [ShardPlacement] {
        var position: [ShardKind: Int] = [:]
        let counts = Dictionary(grouping: placements, by: \.shard.kind).mapValues(\.count)
        let keyed = placements.enumerated().map { index, placement in
            let kind = placement.shard.kind
            position[kind, default: 0] += 1
            return (key: Double(position[kind]!) / Double(counts[kind]!), index: index, placement: placement)
        }
        return keyed.sorted { ($0.key, $0.index) < ($1.key, $1.index) }.map(\.placement)
    }

    private struct PoorNode: Hashable {
        let node: NodeIdentity
        let kind: ShardKind
    }

    /// Everything off `node`, to those that have least to do. Empty where no other node is open.
    public func drain(_ node: NodeIdentity, id: PlanID) -> RebalancePlan {
        let heirs = nodes.filter { $0 != node }
        var loads = heirs.map { load(of: $0) }
        var moves: [PlannedMove] = []
        let leaving = snapshot.shards.filter { $0.owner == node }.map { (id: $0.id, cost: cost(of: $0.id, at: node)) }
            .sorted { ($0.cost, -$0.id.tableIndex) > ($1.cost, -$1.id.tableIndex) }
        for shard in heirs.isEmpty ? [] : leaving {
            let heir = loads.indices.min { (loads[$0], $0) < (loads[$1], $1) }!
            loads[heir] += shard.cost
            moves.append(move(shard.id, cost: shard.cost, from: node, to: heirs[heir]))
        }
        for pin in snapshot.pins where pin.owner == node && !heirs.isEmpty {
            guard let home = snapshot.shards[pin.actor.shard.tableIndex].owner else { continue }
            let to = moves.first { $0.place == .shard(pin.actor.shard) }?.to ?? home.name
            let cost = reports[node.incarnation]?.pins[pin.actor] ?? LoadReport.idleCost
            moves.append(
                PlannedMove(
                    place: .actor(pin.actor), from: node.name, to: to, load: cost,
                    expectedPauseMilliseconds: Self.pauseOfHandOff))
        }
        let after = zip(heirs, loads).map { NodeLoad(node: $0.name, load: $1) }
        return RebalancePlan(
            id: id, viewVersion: snapshot.version, moves: moves,
            before: (heirs + [node]).sorted { $0.name < $1.name }.map { NodeLoad(node: $0.name, load: load(of: $0)) },
            after: (after + [NodeLoad(node: node.name, load: 0)]).sorted { $0.node < $1.node })
    }

    /// Whether a node that could be given shards has less than half of an even share of a kind, and little else to do.
    public var hasPoorNode: Bool {
        nodes.count > 1 && nodes.contains { node in ShardKind.allCases.contains { isPoor(node, $0) } }
    }

    // MARK: Costs

    /// What the node's shards and pinned actors cost.
    public func load(of node: NodeIdentity) -> Double {
        let shards = snapshot.shards.lazy.filter { $0.owner == node }.map { cost(of: $0.id, at: node) }.reduce(0, +)
        return shards + (reports[node.incarnation]?.pins.values.reduce(0, +) ?? 0)
    }

    /// As its owner tells; where it came a moment ago, as the owner before told.
    func cost(of shard: ShardID, at owner: NodeIdentity) -> Double {
        if let cost = reports[owner.incarnation]?.shards[shard] { return max(LoadReport.idleCost, cost) }
        return reports.values.reduce(LoadReport.idleCost) { max($0, $1.shards[shard] ?? 0) }
    }

    /// The hottest node by the mean; 1 where there is nothing to compare.
    public static func unevenness(_ loads: [Double]) -> Double {
        let total = loads.reduce(0, +)
        guard total > 0, let max = loads.max() else { return 1 }
        return max * Double(loads.count) / total
    }

    // MARK: Inside

    private func isUneven(_ loads: [Double], _ options: Options) -> Bool {
        let mean = loads.reduce(0, +) / Double(loads.count)
        return Self.unevenness(loads) > options.startAbove && loads.max()! - mean >= options.minimumDifference
    }

    private func movable(of node: NodeIdentity, _ options: Options) -> [(id: ShardID, cost: Double)] {
        snapshot.shards.filter { shard in
            shard.owner == node && shard.target == nil
                && (shard.since.map { now - $0 >= options.coolDown || shard.reason == .placement } ?? true)
        }.map { ($0.id, cost(of: $0.id, at: node)) }
    }

    /// The shard whose move evens out two nodes best, of `shards` ordered by cost.
    private func best(_ shards: [(id: ShardID, cost: Double)], difference: Double) -> Int? {
        // Half of the difference would be perfect; the more costly neighbours may be nearer to it than the cheaper one.
        let above = shards.partitioningIndex { $0.cost >= difference / 2 }
        var best: (index: Int, gain: Double)?
        for index in [above, above - 1] where shards.indices.contains(index) {
            let cost = shards[index].cost
            let gain = difference / 2 - abs(difference / 2 - cost)
            let price = 0.01 + cost * (Self.pauseOfHandOff + Self.pauseOfCost * cost) / 1000
            if cost < difference, gain > price, gain > best?.gain ?? 0 { best = (index, gain) }
        }
        return best?.index
    }

    private func count(_ node: NodeIdentity, _ kind: ShardKind) -> Int {
        snapshot.shards.count { $0.id.kind == kind && $0.owner == node }
    }

    private func isPoor(_ node: NodeIdentity, _ kind: ShardKind) -> Bool {
        let owned = nodes.reduce(0) { $0 + count($1, kind) }
        guard count(node, kind) * 2 * nodes.count < owned else { return false }
        let total = nodes.reduce(0) { $0 + load(of: $1) }
        return load(of: node) * Double(nodes.count) < total * Self.littleToDo
    }

    private func move(_ shard: ShardID, cost: Double, from: NodeIdentity, to: NodeIdentity) -> PlannedMove {
        PlannedMove(
            place: .shard(shard), from: from.name, to: to.name, load: cost,
            expectedPauseMilliseconds: Self.pauseOfHandOff + Self.pauseOfCost * cost)
    }

    private func plan(_ id: PlanID, _ moves: [PlannedMove], after: [Double]) -> RebalancePlan {
        RebalancePlan(
            id: id, viewVersion: snapshot.version, moves: moves,
            before: nodes.map { NodeLoad(node: $0.name, load: load(of: $0)) },
            after: zip(nodes, after).map { NodeLoad(node: $0.name, load: $1) })
    }
}

extension Array {
    /// The first index whose element fulfils `belongs`, which holds for all after one for which it holds; `endIndex` for none.
    fileprivate func partitioningIndex(_ belongs: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if belongs(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

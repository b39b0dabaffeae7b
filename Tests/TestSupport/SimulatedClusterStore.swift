import RoostModel

/// The cluster store's semantics (see `ClusterStore` in Ports) in memory, in virtual time: what simulations of membership run against.
public struct SimulatedClusterStore: Sendable {
    private struct Node: Sendable {
        var state: NodeRecord.State
        var leaseUntil: Duration
        var isOpen: Bool
    }

    private var nodes: [NodeIdentity: Node] = [:]
    public private(set) var shards = ShardKind.allCases.flatMap { kind in
        (0..<kind.count).map { ShardRecord(id: ShardID(kind: kind, number: $0), owner: nil, epoch: Epoch(0), target: nil) }
    }
    public private(set) var version: Int64 = 1
    public private(set) var leader: IncarnationID?
    public private(set) var term: Int64 = 0
    private var leaderUntil = Duration.zero
    /// Nodes declared dead by leaders, in order.
    public private(set) var deaths: [NodeIdentity] = []

    private static let lease = Duration.seconds(6)

    public init() {}

    public func isFenceOpen(_ node: NodeIdentity) -> Bool { nodes[node]?.isOpen ?? false }

    public mutating func register(_ node: NodeIdentity, at now: Duration) {
        for old in nodes.keys where old.name == node.name {
            nodes[old]!.isOpen = false
            if nodes[old]!.state == .up { nodes[old]!.state = .dead }
            for index in shards.indices {
                if shards[index].owner == old {
                    shards[index].owner = node
                    shards[index].epoch = shards[index].epoch.next
                    shards[index].target = nil
                }
            }
        }
        nodes[node] = Node(state: .up, leaseUntil: now + Self.lease, isOpen: true)
        version += 1
    }

    public mutating func renew(_ node: NodeIdentity, at now: Duration) -> Bool {
        guard nodes[node]?.state == .up else { return false }
        nodes[node]!.leaseUntil = now + Self.lease
        return true
    }

    public mutating func leave(_ node: NodeIdentity) {
        guard nodes[node]?.state == .up else { return }
        nodes[node]!.state = .left
        nodes[node]!.isOpen = false
        version += 1
    }

    public mutating func lead(_ node: NodeIdentity, displacing: IncarnationID?, at now: Duration) -> Int64? {
        guard nodes[node]?.state == .up else { return nil }
        if leader == node.incarnation {
            leaderUntil = now + Self.lease
            return term
        }
        guard leader == nil || leaderUntil <= now || leader == displacing else { return nil }
        leader = node.incarnation
        leaderUntil = now + Self.lease
        term += 1
        version += 1
        return term
    }

    public mutating func declareDead(_ victim: NodeIdentity, _ placements: [ShardPlacement], term: Int64) -> Bool {
        guard term == self.term else { return false }
        if nodes[victim]?.state == .up {
            nodes[victim]!.state = .dead
            deaths.append(victim)
        }
        nodes[victim]?.isOpen = false
        return place(placements, term: term)
    }

    public mutating func place(_ placements: [ShardPlacement], term: Int64) -> Bool {
        guard term == self.term else { return false }
        for placement in placements {
            let index = Self.index(placement.shard)
            guard shards[index].epoch == placement.ifEpoch, nodes[placement.to]?.state == .up else { continue }
            let isOwned = shards[index].owner.map { nodes[$0]?.state == .up } ?? false
            if placement.isMove {
                if isOwned { shards[index].target = placement.to }
            } else if !isOwned {
                shards[index].owner = placement.to
                shards[index].epoch = shards[index].epoch.next
                shards[index].target = nil
            }
        }
        version += 1
        return true
    }

    public mutating func release(_ places: [Place], by node: NodeIdentity) {
        guard isFenceOpen(node) else { return }
        for case .shard(let id) in places where shards[Self.index(id)].owner == node {
            guard let target = shards[Self.index(id)].target else { continue }
            shards[Self.index(id)].owner = target
            shards[Self.index(id)].epoch = shards[Self.index(id)].epoch.next
            shards[Self.index(id)].target = nil
        }
        version += 1
    }

    public func snapshot(at now: Duration) -> ClusterSnapshot {
        let owners = Set(shards.compactMap(\.owner))
        var newest: [String: NodeIdentity] = [:]
        for node in nodes.keys where newest[node.name].map({ $0.incarnation < node.incarnation }) ?? true {
            newest[node.name] = node
        }
        let records = nodes.filter { newest[$0.key.name] == $0.key || owners.contains($0.key) }.map { identity, node in
            NodeRecord(
                identity: identity, state: node.state, leaseRemaining: (node.leaseUntil - now) / .seconds(1), url: "",
                adminURL: "",
                version: "1", startedAt: Timestamp(milliseconds: 0))
        }
        return ClusterSnapshot(
            version: version, nodes: records, shards: shards, leader: leader, leaderTerm: term,
            leaderLeaseRemaining: (leaderUntil - now) / .seconds(1))
    }

    private static func index(_ shard: ShardID) -> Int {
        switch shard.kind {
        case .conversation: shard.number
        case .presence: ShardKind.conversation.count + shard.number
        }
    }
}

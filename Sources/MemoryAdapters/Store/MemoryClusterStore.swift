import Ports
import RoostModel

/// The memory twin of the cluster's tables. Its database clock is the process's monotonic one.
public struct MemoryClusterStore: ClusterStore {
    private let database: MemoryDatabase

    public init(_ database: MemoryDatabase) { self.database = database }

    public func register(
        _ node: NodeIdentity, lanes: Int, url: String, adminURL: String, version: String, leaseSeconds: Double
    ) async throws(StoreError) {
        try await database.writeExclusively({ $0.olderLives(of: node) }) { tables in
            for old in tables.olderLives(of: node) {
                tables.closeFences(of: old)
                tables.setState(.dead, of: old)
            }
            for lane in 0..<lanes { tables.fences[JournalFence(incarnation: node.incarnation, lane: lane)] = true }
            let record = NodeRecord(
                identity: node, state: .up, leaseRemaining: 0, url: url, adminURL: adminURL, version: version, startedAt: .now)
            tables.nodes.append(NodeRow(record: record, leaseUntil: .now + .seconds(leaseSeconds)))
            let lives = Set(tables.nodes.filter { $0.record.identity.name == node.name }.map(\.record.identity.incarnation))
            for (id, row) in tables.shards {
                if let owner = row.owner, lives.contains(owner), owner != node.incarnation {
                    tables.shards[id] = ShardRow(owner: node.incarnation, epoch: row.epoch.next, target: nil)
                } else if let target = row.target, lives.contains(target), target != node.incarnation {
                    tables.shards[id]?.target = nil
                }
            }
            if let leader = tables.leader, !tables.isUp(leader) { tables.leaderUntil = .now }
            tables.viewVersion += 1
        }
    }

    public func renewLease(_ node: NodeIdentity, leaseSeconds: Double) async throws(StoreError) -> Bool {
        try database.write { tables in
            guard let index = tables.nodes.firstIndex(where: { $0.record.identity == node && $0.record.state == .up }) else {
                return false
            }
            tables.nodes[index].leaseUntil = .now + .seconds(leaseSeconds)
            return true
        }
    }

    public func leave(_ node: NodeIdentity) async throws(StoreError) {
        try await database.writeExclusively({ _ in [node.incarnation] }) { tables in
            tables.closeFences(of: node.incarnation)
            guard tables.isUp(node.incarnation) else { return }
            tables.setState(.left, of: node.incarnation)
            tables.clearTarget(node.incarnation)
            if tables.leader == node.incarnation { tables.leaderUntil = .now }
            tables.viewVersion += 1
        }
    }

    public func viewVersion() async throws(StoreError) -> Int64 { try database.read { $0.viewVersion } }

    public func view() async throws(StoreError) -> ClusterSnapshot {
        try database.read { tables in
            let now = ContinuousClock.now
            var newest: [String: IncarnationID] = [:]
            for node in tables.nodes { newest[node.record.identity.name] = node.record.identity.incarnation }
            let needed = Set(newest.values).union(tables.shards.values.flatMap { [$0.owner, $0.target].compactMap { $0 } })
            let nodes = tables.nodes.filter { needed.contains($0.record.identity.incarnation) }.map { row in
                var record = row.record
                record.leaseRemaining = (row.leaseUntil - now) / .seconds(1)
                return record
            }
            func identity(_ incarnation: IncarnationID?) -> NodeIdentity? {
                nodes.first { $0.identity.incarnation == incarnation }?.identity
            }
            let shards = ShardKind.allCases.flatMap { kind in
                (0..<kind.count).map { number in
                    let id = ShardID(kind: kind, number: number)
                    let row = tables.shards[id] ?? ShardRow()
                    return ShardRecord(id: id, owner: identity(row.owner), epoch: row.epoch, target: identity(row.target))
                }
            }
            return ClusterSnapshot(
                version: tables.viewVersion, nodes: nodes, shards: shards, leader: tables.leader, leaderTerm: tables.leaderTerm,
                leaderLeaseRemaining: (tables.leaderUntil - now) / .seconds(1))
        }
    }

    public func lead(_ node: NodeIdentity, displacing: IncarnationID?, leaseSeconds: Double) async throws(StoreError) -> Int64? {
        try database.write { tables in
            guard tables.isUp(node.incarnation) else { return nil }
            if tables.leader != node.incarnation {
                let isFree = tables.leader == nil || tables.leader == displacing || tables.leaderUntil <= .now
                guard isFree else { return nil }
                tables.leader = node.incarnation
                tables.leaderTerm += 1
                tables.viewVersion += 1
            }
            tables.leaderUntil = .now + .seconds(leaseSeconds)
            return tables.leaderTerm
        }
    }

    public func declareDead(
        _ incarnation: IncarnationID, placements: [ShardPlacement], term: Int64
    ) async throws(StoreError) -> Bool {
        try await database.writeExclusively({ $0.leaderTerm == term ? [incarnation] : [] }) { tables in
            guard tables.leaderTerm == term else { return false }
            tables.closeFences(of: incarnation)
            tables.setState(.dead, of: incarnation)
            tables.clearTarget(incarnation)
            _ = tables.apply(placements)
            tables.viewVersion += 1
            return true
        }
    }

    public func place(_ placements: [ShardPlacement], term: Int64) async throws(StoreError) -> Bool {
        try database.write { tables in
            guard tables.leaderTerm == term else { return false }
            if tables.apply(placements) { tables.viewVersion += 1 }
            return true
        }
    }

    public func move(_ pins: [PinPlacement], term: Int64) async throws(StoreError) -> Bool { true }

    public func release(_ places: [Place], by owner: NodeIdentity, closedFor: Duration) async throws(StoreError) {
        try database.write { tables in
            var isChanged = false
            for place in places {
                guard case .shard(let id) = place, let row = tables.shards[id], row.owner == owner.incarnation,
                    let target = row.target
                else { continue }
                tables.shards[id] = ShardRow(owner: target, epoch: row.epoch.next, target: nil)
                isChanged = true
            }
            if isChanged { tables.viewVersion += 1 }
        }
    }
}

extension MemoryTables {
    func isUp(_ incarnation: IncarnationID?) -> Bool {
        nodes.contains { $0.record.identity.incarnation == incarnation && $0.record.state == .up }
    }

    func olderLives(of node: NodeIdentity) -> [IncarnationID] {
        nodes.map(\.record).filter { $0.identity.name == node.name && $0.identity != node && $0.state != .dead }
            .map(\.identity.incarnation)
    }

    mutating func closeFences(of incarnation: IncarnationID) {
        for fence in fences.keys where fence.incarnation == incarnation { fences[fence] = false }
    }

    mutating func setState(_ state: NodeRecord.State, of incarnation: IncarnationID) {
        for index in nodes.indices where nodes[index].record.identity.incarnation == incarnation {
            nodes[index].record.state = state
            if state == .left { nodes[index].leaseUntil = .now }
        }
    }

    mutating func clearTarget(_ incarnation: IncarnationID) {
        for (id, row) in shards where row.target == incarnation { shards[id]?.target = nil }
    }

    /// Whether any of them held.
    mutating func apply(_ placements: [ShardPlacement]) -> Bool {
        var isChanged = false
        for placement in placements {
            let row = shards[placement.shard] ?? ShardRow()
            guard row.epoch == placement.ifEpoch, isUp(placement.to.incarnation), isUp(row.owner) == placement.isMove else {
                continue
            }
            shards[placement.shard] =
                placement.isMove
                ? ShardRow(owner: row.owner, epoch: row.epoch, target: placement.to.incarnation)
                : ShardRow(owner: placement.to.incarnation, epoch: row.epoch.next, target: nil)
            isChanged = true
        }
        return isChanged
    }
}

import Ports
import RoostModel

/// A moment of the cluster's database clock: since any fixed one, and what a calendar says.
public struct DatabaseTime: Hashable, Sendable {
    public let elapsed: Duration
    public let wall: Timestamp

    public init(elapsed: Duration, wall: Timestamp) {
        self.elapsed = elapsed
        self.wall = wall
    }
}

/// The cluster's tables and what the functions of migrations/0003 and 0007 do to them, as one value: the memory stores keep one, and
/// simulations run against one in virtual time. Whoever calls holds the lock that PostgreSQL has on `cluster_state`.
public struct ClusterTables: Sendable {
    struct Node: Sendable {
        var record: NodeRecord
        var leaseUntil: Duration
        var isFenceOpen: Bool
    }

    /// In the order of registration.
    var nodes: [Node] = []
    /// By ``RoostModel/ShardID/tableIndex``.
    public private(set) var shards = ShardID.all.map { ShardRecord(id: $0, owner: nil, epoch: Epoch(0), target: nil) }
    var pins: [ActorAddress: PinRecord] = [:]
    var operations: [OperationID: OperationRecord] = [:]
    var plans: [RebalancePlan] = []
    public private(set) var version: Int64 = 1
    public private(set) var leader: IncarnationID?
    public private(set) var term: Int64 = 0
    private var leaderUntil = Duration.zero
    /// Incarnations that leaders declared dead, in order.
    public private(set) var deaths: [NodeIdentity] = []
    /// Why shards that move do so.
    private var nextReasons: [Int: PlacementReason] = [:]

    public init() {}

    // MARK: Nodes

    public func isFenceOpen(_ incarnation: IncarnationID) -> Bool {
        nodes.contains { $0.record.identity.incarnation == incarnation && $0.isFenceOpen }
    }

    func isUp(_ node: NodeIdentity?) -> Bool {
        guard let node else { return false }
        return nodes.contains { $0.record.identity == node && $0.record.state == .up }
    }

    private func isOpen(_ node: NodeIdentity) -> Bool {
        nodes.contains { $0.record.identity == node && $0.record.state == .up && $0.record.use == .open }
    }

    /// Lives of the same name that are not dead.
    func olderLives(of node: NodeIdentity) -> [NodeIdentity] {
        nodes.map(\.record).filter { $0.identity.name == node.name && $0.identity != node && $0.state != .dead }.map(\.identity)
    }

    public mutating func register(
        _ node: NodeIdentity, url: String = "", adminURL: String = "", version release: String = "1", lease: Duration,
        at time: DatabaseTime
    ) {
        let older = nodes.filter { $0.record.identity.name == node.name && $0.record.identity != node }.map(\.record)
        for record in older { end(record.identity, as: .dead) }
        let record = NodeRecord(
            identity: node, state: .up, leaseRemaining: 0, url: url, adminURL: adminURL, version: release, startedAt: time.wall,
            use: older.last?.use == .cordoned ? .cordoned : .open)
        nodes.append(Node(record: record, leaseUntil: time.elapsed + lease, isFenceOpen: true))
        let lives = Set(older.map(\.identity))
        for index in shards.indices where shards[index].owner.map(lives.contains) == true {
            give(index, to: node, .failover, at: time)
        }
        for (actor, pin) in pins where pin.owner.map(lives.contains) == true && pin.node != nil {
            pins[actor] = PinRecord(
                actor: actor, node: pin.node, owner: node, epoch: pin.epoch.next, since: time.wall, operation: pin.operation)
        }
        for life in lives { forget(life, .failed, "nodeDied", at: time) }
        if let leader, !nodes.contains(where: { $0.record.identity.incarnation == leader && $0.record.state == .up }) {
            leaderUntil = time.elapsed
        }
        version += 1
    }

    public mutating func renew(_ node: NodeIdentity, lease: Duration, at time: DatabaseTime) -> Bool {
        guard let index = nodes.firstIndex(where: { $0.record.identity == node && $0.record.state == .up }) else { return false }
        nodes[index].leaseUntil = time.elapsed + lease
        return true
    }

    public mutating func leave(_ node: NodeIdentity, at time: DatabaseTime) {
        guard isUp(node) else { return closeFence(of: node) }
        end(node, as: .left)
        for index in nodes.indices where nodes[index].record.identity == node { nodes[index].leaseUntil = time.elapsed }
        forget(node, .done, "nodeLeft", at: time)
        if leader == node.incarnation { leaderUntil = time.elapsed }
        version += 1
    }

    private mutating func closeFence(of node: NodeIdentity) {
        for index in nodes.indices where nodes[index].record.identity == node { nodes[index].isFenceOpen = false }
    }

    private mutating func end(_ node: NodeIdentity, as state: NodeRecord.State) {
        closeFence(of: node)
        for index in nodes.indices where nodes[index].record.identity == node { nodes[index].record.state = state }
    }

    /// What a life that is over leaves to its shards, and the end of its drain.
    private mutating func forget(
        _ node: NodeIdentity, _ state: OperationRecord.State, _ reason: String, at time: DatabaseTime
    ) {
        for index in shards.indices where shards[index].target == node {
            shards[index].target = nil
            shards[index].operation = nil
            nextReasons[index] = nil
        }
        for (actor, pin) in pins {
            if pin.owner == node {
                if pin.node == nil {
                    dropPin(actor)
                } else {
                    pins[actor] = PinRecord(
                        actor: actor, node: pin.node, owner: nil, epoch: pin.epoch.next, since: time.wall,
                        operation: pin.operation)
                }
            } else if pin.target == node {
                pins[actor]?.isMoving = false
                pins[actor]?.target = nil
            }
        }
        endDrain(of: node.incarnation, OperationEnd(state, reason: reason), at: time)
    }

    /// What presence tells is ordered by the epochs of shard and pin together, which must not fall when the pin goes.
    mutating func dropPin(_ actor: ActorAddress) {
        guard let pin = pins.removeValue(forKey: actor), actor.kind == .presence, pin.epoch > Epoch(0) else { return }
        let index = actor.shard.tableIndex
        shards[index].epoch = Epoch(shards[index].epoch.value + pin.epoch.value + 1)
    }

    mutating func endDrain(of incarnation: IncarnationID, _ end: OperationEnd, at time: DatabaseTime) {
        for (id, operation) in operations
        where operation.kind == .drain && operation.incarnation == incarnation && !operation.state.isEnd {
            finish(id, end, at: time)
        }
    }

    mutating func finish(_ id: OperationID, _ end: OperationEnd, at time: DatabaseTime) {
        operations[id]?.state = end.state
        if let reason = end.reason { operations[id]?.reason = reason }
        operations[id]?.endedAt = time.wall
        operations[id]?.progress.blockedBy = []
    }

    mutating func setUse(_ use: NodeUse, of incarnation: IncarnationID) {
        for index in nodes.indices where nodes[index].record.identity.incarnation == incarnation {
            nodes[index].record.use = use
        }
    }

    mutating func changed() { version += 1 }

    // MARK: Leading

    public mutating func lead(
        _ node: NodeIdentity, displacing: IncarnationID?, lease: Duration, at time: DatabaseTime
    ) -> Int64? {
        guard isUp(node) else { return nil }
        if leader != node.incarnation {
            guard leader == nil || leader == displacing || leaderUntil <= time.elapsed else { return nil }
            leader = node.incarnation
            term += 1
            version += 1
        }
        leaderUntil = time.elapsed + lease
        return term
    }

    public mutating func declareDead(
        _ incarnation: IncarnationID, _ placements: [ShardPlacement], term: Int64, at time: DatabaseTime
    ) -> Bool {
        guard term == self.term else { return false }
        if let victim = nodes.first(where: { $0.record.identity.incarnation == incarnation })?.record {
            if victim.state == .up { deaths.append(victim.identity) }
            end(victim.identity, as: .dead)
            forget(victim.identity, .failed, "nodeDied", at: time)
        }
        _ = apply(placements, at: time)
        version += 1
        return true
    }

    public mutating func place(_ placements: [ShardPlacement], term: Int64, at time: DatabaseTime) -> Bool {
        guard term == self.term else { return false }
        if apply(placements, at: time) { version += 1 }
        return true
    }

    /// Whether any of them held.
    private mutating func apply(_ placements: [ShardPlacement], at time: DatabaseTime) -> Bool {
        var isChanged = false
        for placement in placements {
            let index = placement.shard.tableIndex
            let shard = shards[index]
            guard shard.epoch == placement.ifEpoch, isUp(placement.to), isUp(shard.owner) == placement.isMove else { continue }
            if placement.isMove {
                guard isOpen(placement.to) || placement.to == shard.owner else { continue }
                shards[index].target = placement.to
                shards[index].operation = placement.operation
                nextReasons[index] = placement.reason
            } else {
                give(index, to: placement.to, placement.reason, at: time)
            }
            isChanged = true
        }
        return isChanged
    }

    private mutating func give(_ index: Int, to node: NodeIdentity, _ reason: PlacementReason, at time: DatabaseTime) {
        shards[index].owner = node
        shards[index].epoch = shards[index].epoch.next
        shards[index].target = nil
        shards[index].since = time.wall
        shards[index].reason = reason
        shards[index].operation = nil
        nextReasons[index] = nil
    }

    // MARK: Moves

    public mutating func move(_ placements: [PinPlacement], term: Int64) -> Bool {
        guard term == self.term else { return false }
        var isChanged = false
        for placement in placements {
            guard let pin = pins[placement.actor], pin.epoch == placement.ifEpoch, !pin.isMoving,
                placement.to.map({ isUp($0) }) ?? true
            else { continue }
            pins[placement.actor]!.isMoving = true
            pins[placement.actor]!.target = placement.to
            isChanged = true
        }
        if isChanged { version += 1 }
        return true
    }

    public mutating func release(_ places: [Place], by owner: NodeIdentity, pause: Duration, at time: DatabaseTime) {
        var ended: Set<OperationID> = []
        var isChanged = false
        // Actors first: one that lives with a shard which moves in the same call is still this owner's to give.
        for case .actor(let actor) in places {
            guard let pin = pins[actor], pin.isMoving, (pin.owner ?? shards[actor.shard.tableIndex].owner) == owner else {
                continue
            }
            pins[actor] = PinRecord(
                actor: actor, node: pin.node, owner: pin.target, epoch: pin.epoch.next, since: time.wall,
                operation: pin.operation)
            if pin.target == nil && pin.node == nil { dropPin(actor) }
            if let operation = pin.operation { ended.insert(operation) }
            isChanged = true
        }
        for case .shard(let id) in places {
            let index = id.tableIndex
            guard shards[index].owner == owner, let target = shards[index].target else { continue }
            if let operation = shards[index].operation { ended.insert(operation) }
            give(index, to: target, nextReasons[index] ?? .rebalance, at: time)
            isChanged = true
        }
        guard isChanged else { return }
        for id in ended {
            let longest = operations[id]?.progress.longestPauseMilliseconds ?? 0
            operations[id]?.progress.longestPauseMilliseconds = max(longest, pause / .milliseconds(1))
        }
        version += 1
    }

    // MARK: The view

    public func snapshot(at time: DatabaseTime) -> ClusterSnapshot {
        var newest: [String: NodeIdentity] = [:]
        for node in nodes { newest[node.record.identity.name] = node.record.identity }
        var needed = Set(newest.values).union(shards.compactMap(\.owner)).union(shards.compactMap(\.target))
        needed.formUnion(pins.values.compactMap(\.owner))
        needed.formUnion(pins.values.compactMap(\.target))
        let records = nodes.filter { needed.contains($0.record.identity) }.map { node in
            var record = node.record
            record.leaseRemaining = (node.leaseUntil - time.elapsed) / .seconds(1)
            return record
        }
        return ClusterSnapshot(
            version: version, nodes: records, shards: shards, leader: leader, leaderTerm: term,
            leaderLeaseRemaining: (leaderUntil - time.elapsed) / .seconds(1),
            pins: pins.values.sorted { "\($0.actor)" < "\($1.actor)" },
            operations: operations.values.filter { !$0.state.isEnd }.sorted { ($0.startedAt, $0.id) < ($1.startedAt, $1.id) },
            time: time.wall)
    }
}

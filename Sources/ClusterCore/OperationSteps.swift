import RoostModel

/// What running operations need next, from one snapshot: hand-offs to begin, how far each is, and whether it has come to its end. Nothing
/// is remembered between two snapshots, so any leader can go on.
struct OperationSteps {
    let snapshot: ClusterSnapshot
    let timings: ClusterTimings
    /// Nodes that may be given shards: open, and heard.
    let heirs: [NodeIdentity]
    /// Nodes that are well and heard, whatever operators want of them.
    let ready: Set<NodeIdentity>
    /// Nobody is in doubt: moves may begin.
    let isCalm: Bool
    let reports: [IncarnationID: LoadReport]
    /// The database's time.
    let now: Timestamp
    /// Moves that have taken noticeably long: why an operation waits.
    let slowMoves: [Place]

    private var table: [ShardRecord] { snapshot.shards }

    // MARK: Hand-offs

    /// The shards that may begin to move now: one hand-off for each source and target, at most `maximumHandOffs` with those under way.
    func handOffs() -> [ShardPlacement] {
        var busy = Busy(table, limit: timings.maximumHandOffs)
        var placements: [ShardPlacement] = []
        for operation in snapshot.operations where operation.state == .running {
            switch operation.kind {
            case .drain: placements += drainHandOffs(operation, &busy)
            case .rebalance: placements += rebalanceHandOffs(operation, &busy)
            case .pin: break
            }
        }
        return placements
    }

    private func drainHandOffs(_ operation: OperationRecord, _ busy: inout Busy) -> [ShardPlacement] {
        guard let node = drained(operation), !busy.sources.contains(node) else { return [] }
        let leaving = table.filter { $0.owner == node && $0.target == nil }
        guard !leaving.isEmpty else { return [] }
        let planner = RebalancePlanner(snapshot, reports: reports, now: now)
        let free = heirs.filter { $0 != node && !busy.targets.contains($0) }
        let loads = free.map { heir in
            planner.load(of: heir) + table.filter { $0.target == heir }.map { planner.cost(of: $0.id, at: node) }.reduce(0, +)
        }
        guard let coldest = loads.indices.min(by: { (loads[$0], $0) < (loads[$1], $1) }),
            busy.take(node, free[coldest], limit: operation.maxConcurrentMoves)
        else { return [] }
        return leaving.prefix(timings.shardsPerHandOff).map {
            ShardPlacement(
                shard: $0.id, to: free[coldest], ifEpoch: $0.epoch, isMove: true, reason: .drain, operation: operation.id)
        }
    }

    private func rebalanceHandOffs(_ operation: OperationRecord, _ busy: inout Busy) -> [ShardPlacement] {
        var batches: [[NodeIdentity]: [ShardPlacement]] = [:]
        for move in operation.moves {
            guard case .shard(let id) = move.place else { continue }
            let shard = table[id.tableIndex]
            guard shard.target == nil, let from = shard.owner, from.name == move.from,
                let to = heirs.first(where: { $0.name == move.to }), from != to
            else { continue }
            let pair = [from, to]
            if batches[pair] == nil {
                guard busy.take(from, to, limit: operation.maxConcurrentMoves) else { continue }
                batches[pair] = []
            }
            guard batches[pair]!.count < timings.shardsPerHandOff else { continue }
            batches[pair]!.append(
                ShardPlacement(
                    shard: id, to: to, ifEpoch: shard.epoch, isMove: true, reason: .rebalance, operation: operation.id))
        }
        return batches.values.flatMap { $0 }.sorted { $0.shard.tableIndex < $1.shard.tableIndex }
    }

    // MARK: Pins

    /// Pinned actors that are not where they are wanted, at most one hand-off's worth.
    func pinMoves() -> [PinPlacement] {
        let paused = Set(snapshot.operations.filter { $0.state == .paused }.map(\.id))
        let moving = snapshot.pins.count { $0.isMoving }
        return snapshot.pins.filter { pin in
            let wanted = wanted(pin)
            return !pin.isMoving && pin.owner != wanted && wanted.map(ready.contains) != false
                && !(pin.operation.map(paused.contains) ?? false)
                && isUp(pin.owner ?? table[pin.actor.shard.tableIndex].owner)
        }.prefix(max(0, timings.shardsPerHandOff - moving)).map {
            PinPlacement(actor: $0.actor, to: wanted($0), ifEpoch: $0.epoch)
        }
    }

    /// The node that is to own the actor; nil for its shard's owner.
    private func wanted(_ pin: PinRecord) -> NodeIdentity? {
        guard let name = pin.node else { return nil }
        return snapshot.nodes.first { node in
            node.identity.name == name && node.state == .up && (node.use == .open || node.use == .cordoned)
        }?.identity
    }

    // MARK: Progress

    struct Note: Equatable {
        let id: OperationID
        let progress: OperationProgress
        let end: OperationEnd?
    }

    /// The first operation of which more is to be noted than stands in the snapshot.
    func note() -> Note? {
        for operation in snapshot.operations {
            let note = note(of: operation)
            var stored = operation.progress
            stored.longestPauseMilliseconds = note.progress.longestPauseMilliseconds
            if note.end != nil || note.progress != stored { return note }
        }
        return nil
    }

    private func note(of operation: OperationRecord) -> Note {
        var progress = operation.progress
        var end: OperationEnd?
        switch operation.kind {
        case .drain: end = drainProgress(operation, &progress)
        case .rebalance: end = rebalanceProgress(operation, &progress)
        case .pin: end = pinProgress(operation, &progress)
        }
        if end != nil && end?.state != .failed { progress.blockedBy = [] }
        return Note(id: operation.id, progress: progress, end: end)
    }

    private func drainProgress(_ operation: OperationRecord, _ progress: inout OperationProgress) -> OperationEnd? {
        guard let node = drained(operation) else { return OperationEnd(.failed, reason: "nodeDied") }
        let remaining = table.count { $0.owner == node } + snapshot.pins.count { $0.owner == node }
        progress.movesPlanned = max(progress.movesPlanned, remaining)
        progress.movesDone = progress.movesPlanned - remaining
        progress.blockedBy = blockers(operation, isWaiting: remaining > 0, heirs: heirs.filter { $0 != node })
        if let deadline = operation.deadline, now >= deadline { return OperationEnd(.failed, reason: "timeout") }
        return nil
    }

    private func rebalanceProgress(_ operation: OperationRecord, _ progress: inout OperationProgress) -> OperationEnd? {
        var open = 0
        var unheard: Set<String> = []
        progress.movesDone = 0
        progress.movesFailed = 0
        for move in operation.moves {
            switch state(of: move) {
            case .done: progress.movesDone += 1
            case .failed: progress.movesFailed += 1
            case .open:
                open += 1
                if !heirs.contains(where: { $0.name == move.to }) { unheard.insert(move.to) }
            }
        }
        progress.movesPlanned = operation.moves.count
        progress.blockedBy = blockers(operation, isWaiting: open > 0, heirs: heirs)
        if progress.blockedBy.isEmpty, operation.state == .running {
            progress.blockedBy = unheard.sorted().prefix(8).map { "\($0) is not heard" }
        }
        guard open == 0 else { return nil }
        return progress.movesDone == 0 ? OperationEnd(.failed, reason: "overtaken") : OperationEnd(.done)
    }

    private enum MoveState { case open, done, failed }

    private func state(of move: PlannedMove) -> MoveState {
        guard case .shard(let id) = move.place else { return .failed }
        let shard = table[id.tableIndex]
        if shard.owner?.name == move.to { return .done }
        let target = snapshot.nodes.first { $0.identity.name == move.to && $0.state == .up && $0.use == .open }
        guard shard.owner?.name == move.from, isUp(shard.owner), let target else { return .failed }
        // Another operation takes it elsewhere.
        if let other = shard.target, other != target.identity { return .failed }
        return .open
    }

    private func pinProgress(_ operation: OperationRecord, _ progress: inout OperationProgress) -> OperationEnd? {
        let pin = snapshot.pins.first { $0.actor == operation.actor }
        if operation.node == nil {
            if let pin {
                let home = table[pin.actor.shard.tableIndex].owner
                progress.blockedBy = blockers(operation, isWaiting: true, heirs: [home].compactMap(\.self))
                return nil
            }
            progress.movesDone = 1
            return OperationEnd(.done)
        }
        guard let pin, pin.operation == operation.id else { return OperationEnd(.cancelled, reason: "superseded") }
        guard let wanted = wanted(pin) else {
            // The pin itself stays: the actor goes there once the node is back in use, as it would after any absence.
            let isThere = snapshot.nodes.contains { $0.identity.name == operation.node && $0.state == .up }
            progress.movesFailed = 1
            return OperationEnd(.failed, reason: isThere ? "nodeNotInUse" : "nodeDied")
        }
        progress.blockedBy = blockers(operation, isWaiting: true, heirs: [wanted])
        guard pin.owner == wanted, !pin.isMoving else { return nil }
        progress.movesDone = 1
        return OperationEnd(.done)
    }

    private func blockers(_ operation: OperationRecord, isWaiting: Bool, heirs: [NodeIdentity]) -> [String] {
        guard isWaiting, operation.state == .running else { return [] }
        if heirs.isEmpty { return ["no other node is open"] }
        if !isCalm { return ["a node is not heard"] }
        return slowMoves.prefix(8).compactMap { place in
            switch place {
            case .shard(let id):
                guard table[id.tableIndex].operation == operation.id, let owner = table[id.tableIndex].owner else { return nil }
                return "\(owner.name) has not finished with \(place)"
            case .actor(let actor):
                guard actor == operation.actor else { return nil }
                return "the owner has not finished with \(actor)"
            }
        }
    }

    // MARK: Nodes

    private func drained(_ operation: OperationRecord) -> NodeIdentity? {
        snapshot.nodes.first { $0.identity.incarnation == operation.incarnation && $0.state == .up }?.identity
    }

    private func isUp(_ node: NodeIdentity?) -> Bool {
        snapshot.nodes.contains { $0.identity == node && $0.state == .up }
    }
}

/// Which nodes give and take at this moment.
private struct Busy {
    private(set) var sources: Set<NodeIdentity> = []
    private(set) var targets: Set<NodeIdentity> = []
    private let limit: Int

    init(_ shards: [ShardRecord], limit: Int) {
        self.limit = limit
        for shard in shards {
            guard let target = shard.target, let owner = shard.owner else { continue }
            sources.insert(owner)
            targets.insert(target)
        }
    }

    /// Begins one more hand-off, where neither has one.
    mutating func take(_ source: NodeIdentity, _ target: NodeIdentity, limit wanted: Int) -> Bool {
        guard !sources.contains(source), !targets.contains(target), sources.count < min(limit, wanted) else { return false }
        sources.insert(source)
        targets.insert(target)
        return true
    }
}

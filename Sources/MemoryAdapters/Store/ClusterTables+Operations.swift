import Ports
import RoostModel

/// What operators do; see migrations/0007_operations.sql. The audit is the caller's, who notes what did not answer "not found".
extension ClusterTables {
    private func upNode(named name: String) -> NodeRecord? {
        nodes.last { $0.record.identity.name == name && $0.record.state == .up }?.record
    }

    private func isKnown(_ name: String) -> Bool { nodes.contains { $0.record.identity.name == name } }

    public mutating func setUse(_ use: NodeUse, of name: String, at time: DatabaseTime) -> Bool {
        guard let node = upNode(named: name) else { return false }
        if node.use == use || (use == .cordoned && node.use != .open) { return true }
        setUse(use, of: node.identity.incarnation)
        endDrain(of: node.identity.incarnation, OperationEnd(.cancelled, reason: "uncordoned"), at: time)
        changed()
        return true
    }

    public mutating func beginDrain(
        _ id: OperationID, of name: String, timeout: Duration?, by operatorName: String, at time: DatabaseTime
    ) -> OperationOutcome {
        guard let node = upNode(named: name) else { return isKnown(name) ? .conflict : .notFound }
        let identity = node.identity
        if let running = operations.values.first(where: {
            $0.kind == .drain && $0.incarnation == identity.incarnation && !$0.state.isEnd
        }) {
            return .operation(running)
        }
        setUse(.draining, of: identity.incarnation)
        let planned = shards.count { $0.owner == identity } + pins.values.count { $0.owner == identity }
        let operation = OperationRecord(
            id: id, kind: .drain, node: name, incarnation: identity.incarnation, startedAt: time.wall,
            deadline: timeout.map { time.wall + $0 }, startedBy: operatorName,
            progress: OperationProgress(movesPlanned: planned))
        operations[id] = operation
        changed()
        return .operation(operation)
    }

    public mutating func endDrain(of node: NodeIdentity, at time: DatabaseTime) -> Bool {
        guard let record = upNode(named: node.name), record.identity == node, record.use == .draining,
            !shards.contains(where: { $0.owner == node }), !pins.values.contains(where: { $0.owner == node })
        else { return false }
        setUse(.drained, of: node.incarnation)
        for (id, operation) in operations where operation.kind == .drain && operation.incarnation == node.incarnation {
            guard !operation.state.isEnd else { continue }
            operations[id]?.progress.movesDone = operation.progress.movesPlanned
        }
        endDrain(of: node.incarnation, OperationEnd(.done), at: time)
        changed()
        return true
    }

    public mutating func save(_ plan: RebalancePlan) {
        plans.append(plan)
        if plans.count > 100 { plans.removeFirst(plans.count - 100) }
    }

    public func plan(_ id: PlanID) -> RebalancePlan? { plans.last { $0.id == id } }

    public mutating func beginRebalance(
        _ id: OperationID, _ plan: RebalancePlan, maxConcurrentMoves: Int, reason: String?, by operatorName: String,
        at time: DatabaseTime
    ) -> OperationOutcome {
        guard plan.viewVersion == version else { return .planOutdated }
        if operations.values.contains(where: { $0.kind == .rebalance && !$0.state.isEnd }) { return .conflict }
        let operation = OperationRecord(
            id: id, kind: .rebalance, state: plan.moves.isEmpty ? .done : .running, reason: reason, moves: plan.moves,
            maxConcurrentMoves: maxConcurrentMoves, startedAt: time.wall, endedAt: plan.moves.isEmpty ? time.wall : nil,
            startedBy: operatorName, progress: OperationProgress(movesPlanned: plan.moves.count))
        operations[id] = operation
        if !plan.moves.isEmpty { changed() }
        return .operation(operation)
    }

    public mutating func pin(
        _ id: OperationID, _ actor: ActorAddress, to name: String, by operatorName: String, at time: DatabaseTime
    ) -> OperationOutcome {
        guard isKnown(name) else { return .notFound }
        guard upNode(named: name)?.use == .open, pins.keys.count(where: { $0 != actor }) < PinLimits.count else {
            return .conflict
        }
        supersede(actor, at: time)
        let operation = OperationRecord(
            id: id, kind: .pin, node: name, actor: actor, startedAt: time.wall, startedBy: operatorName,
            progress: OperationProgress(movesPlanned: 1))
        operations[id] = operation
        var pin = pins[actor] ?? PinRecord(actor: actor, node: name, owner: nil, epoch: Epoch(0), since: time.wall)
        pin.node = name
        pin.operation = id
        pins[actor] = pin
        changed()
        return .operation(operation)
    }

    public mutating func unpin(
        _ id: OperationID, _ actor: ActorAddress, by operatorName: String, at time: DatabaseTime
    ) -> OperationRecord? {
        guard let pin = pins[actor], pin.node != nil else { return nil }
        supersede(actor, at: time)
        let isHome = pin.owner == nil && !pin.isMoving
        let operation = OperationRecord(
            id: id, kind: .pin, state: isHome ? .done : .running, actor: actor, startedAt: time.wall,
            endedAt: isHome ? time.wall : nil, startedBy: operatorName,
            progress: OperationProgress(movesPlanned: isHome ? 0 : 1))
        operations[id] = operation
        if isHome {
            dropPin(actor)
        } else {
            pins[actor]?.node = nil
            pins[actor]?.operation = id
        }
        changed()
        return operation
    }

    private mutating func supersede(_ actor: ActorAddress, at time: DatabaseTime) {
        for (id, operation) in operations where operation.kind == .pin && operation.actor == actor && !operation.state.isEnd {
            finish(id, OperationEnd(.cancelled, reason: "superseded"), at: time)
        }
    }

    public func operation(_ id: OperationID) -> OperationRecord? { operations[id] }

    public mutating func change(_ id: OperationID, _ change: OperationChange, at time: DatabaseTime) -> OperationOutcome {
        guard let operation = operations[id] else { return .notFound }
        guard !operation.state.isEnd else { return .conflict }
        switch change {
        case .pause: operations[id]?.state = .paused
        case .resume: operations[id]?.state = .running
        case .cancel:
            finish(id, OperationEnd(.cancelled, reason: "cancelled"), at: time)
            cordonAfterDrain(operation)
        }
        changed()
        return .operation(operations[id]!)
    }

    public mutating func note(
        _ progress: OperationProgress, of id: OperationID, end: OperationEnd?, term: Int64, at time: DatabaseTime
    ) -> Bool {
        guard term == self.term else { return false }
        guard let operation = operations[id], !operation.state.isEnd else { return true }
        var noted = progress
        noted.longestPauseMilliseconds = operation.progress.longestPauseMilliseconds
        operations[id]?.progress = noted
        guard let end else { return true }
        operations[id]?.state = end.state
        operations[id]?.reason = end.reason ?? operation.reason
        operations[id]?.endedAt = time.wall
        cordonAfterDrain(operation)
        changed()
        return true
    }

    private mutating func cordonAfterDrain(_ operation: OperationRecord) {
        guard operation.kind == .drain, let incarnation = operation.incarnation else { return }
        for node in nodes where node.record.identity.incarnation == incarnation && node.record.use == .draining {
            setUse(.cordoned, of: incarnation)
        }
    }
}

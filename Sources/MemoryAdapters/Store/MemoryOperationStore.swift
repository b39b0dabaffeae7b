import Ports
import RoostModel

/// The memory twin of operators' wishes.
public struct MemoryOperationStore: OperationStore {
    private let database: MemoryDatabase

    public init(_ database: MemoryDatabase) { self.database = database }

    /// Does `body`, and notes it where it did something.
    private func act<Answer: Sendable>(
        _ action: String, _ subject: String, by name: String, _ body: (inout ClusterTables, DatabaseTime) -> Answer,
        if isNoted: (Answer) -> Bool
    ) throws(StoreError) -> Answer {
        try database.write { tables in
            let time = database.time
            let answer = body(&tables.cluster, time)
            if isNoted(answer) { tables.note(action, subject: subject, by: name, at: time.wall) }
            return answer
        }
    }

    public func setUse(_ use: NodeUse, of node: String, by name: String) async throws(StoreError) -> Bool {
        try act(use == .open ? "node.uncordon" : "node.cordon", node, by: name, { $0.setUse(use, of: node, at: $1) }, if: { $0 })
    }

    public func beginDrain(of node: String, timeout: Duration?, by name: String) async throws(StoreError) -> OperationOutcome {
        let id = OperationID.make()
        return try act(
            "node.drain", node, by: name, { $0.beginDrain(id, of: node, timeout: timeout, by: name, at: $1) },
            if: { if case .operation(let operation) = $0 { operation.id == id } else { false } })
    }

    public func endDrain(of node: NodeIdentity) async throws(StoreError) -> Bool {
        try database.write { $0.cluster.endDrain(of: node, at: database.time) }
    }

    public func save(_ plan: RebalancePlan) async throws(StoreError) { try database.write { $0.cluster.save(plan) } }

    public func plan(_ id: PlanID) async throws(StoreError) -> RebalancePlan? { try database.read { $0.cluster.plan(id) } }

    public func beginRebalance(
        _ plan: RebalancePlan, maxConcurrentMoves: Int, reason: String?, by name: String
    ) async throws(StoreError) -> OperationOutcome {
        let id = OperationID.make()
        return try act(
            "rebalance", "\(id)", by: name,
            {
                $0.beginRebalance(
                    id, plan, maxConcurrentMoves: maxConcurrentMoves, reason: reason, by: name, at: $1)
            }, if: \.isDone)
    }

    public func pin(_ actor: ActorAddress, to node: String, by name: String) async throws(StoreError) -> OperationOutcome {
        let id = OperationID.make()
        return try act("actor.pin", "\(actor)", by: name, { $0.pin(id, actor, to: node, by: name, at: $1) }, if: \.isDone)
    }

    public func unpin(_ actor: ActorAddress, by name: String) async throws(StoreError) -> OperationRecord? {
        let id = OperationID.make()
        return try act("actor.unpin", "\(actor)", by: name, { $0.unpin(id, actor, by: name, at: $1) }, if: { $0 != nil })
    }

    public func operations(cursor: String?, limit: Int) async throws(StoreError) -> Page<OperationRecord> {
        var before: OperationID?
        if let cursor {
            var reader = try CursorReader(cursor, .operations)
            before = OperationID(high: try reader.integer(), low: try reader.integer())
            try reader.end()
        }
        let records = try database.read { tables in
            tables.cluster.operations.values.filter { operation in before.map { operation.id < $0 } ?? true }
                .sorted { $0.id > $1.id }
        }
        guard records.count > limit else { return Page(items: records, nextCursor: nil) }
        var writer = CursorWriter(.operations)
        writer.write(records[limit - 1].id.high)
        writer.write(records[limit - 1].id.low)
        return Page(items: Array(records.prefix(limit)), nextCursor: writer.text)
    }

    public func operation(_ id: OperationID) async throws(StoreError) -> OperationRecord? {
        try database.read { $0.cluster.operations[id] }
    }

    public func change(
        _ id: OperationID, _ change: OperationChange, by name: String
    ) async throws(StoreError) -> OperationOutcome {
        try act("operation.\(change.rawValue)", "\(id)", by: name, { $0.change(id, change, at: $1) }, if: \.isDone)
    }

    public func note(
        _ progress: OperationProgress, of id: OperationID, end: OperationEnd?, term: Int64
    ) async throws(StoreError) -> Bool {
        try database.write { $0.cluster.note(progress, of: id, end: end, term: term, at: database.time) }
    }
}

extension OperationOutcome {
    fileprivate var isDone: Bool { if case .operation = self { true } else { false } }
}

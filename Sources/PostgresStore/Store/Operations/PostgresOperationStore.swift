import Ports
import RoostModel

/// What operators wish of the cluster, in PostgreSQL. Every act is one call of a function in migrations/0007_operations.sql.
public struct PostgresOperationStore: OperationStore {
    private let pool: PostgresPool

    public init(pool: PostgresPool) { self.pool = pool }

    // MARK: Nodes

    public func setUse(_ use: NodeUse, of node: String, by name: String) async throws(StoreError) -> Bool {
        try await pool.query(OperationStatements.setUse) {
            $0.add(use.rawValue)
            $0.add(node)
            $0.add(name)
        }[0].bool(0)
    }

    public func beginDrain(of node: String, timeout: Duration?, by name: String) async throws(StoreError) -> OperationOutcome {
        let rows = try await pool.query(OperationStatements.beginDrain) {
            $0.add(OperationID.make())
            $0.add(node)
            if let timeout { $0.add(timeout / .seconds(1)) } else { $0.null() }
            $0.add(name)
        }
        return try await outcome(rows[0].int16(0)) { rows[0].id(1) }
    }

    public func endDrain(of node: NodeIdentity) async throws(StoreError) -> Bool {
        try await pool.query(OperationStatements.endDrain) { $0.add(node.incarnation) }[0].bool(0)
    }

    // MARK: Rebalancing

    public func save(_ plan: RebalancePlan) async throws(StoreError) {
        _ = try await pool.query(OperationStatements.savePlan) {
            $0.add(plan.id)
            $0.add(plan.viewVersion)
            $0.add(PlanText.text(plan.moves))
            $0.add(PlanText.text(plan.before))
            $0.add(PlanText.text(plan.after))
        }
    }

    public func plan(_ id: PlanID) async throws(StoreError) -> RebalancePlan? {
        try await pool.query(OperationStatements.plan) { $0.add(id) }.first.map { row in
            RebalancePlan(
                id: id, viewVersion: row.int64(0), moves: PlanText.moves(row.text(1)), before: PlanText.loads(row.text(2)),
                after: PlanText.loads(row.text(3)))
        }
    }

    public func beginRebalance(
        _ plan: RebalancePlan, maxConcurrentMoves: Int, reason: String?, by name: String
    ) async throws(StoreError) -> OperationOutcome {
        let id = OperationID.make()
        let rows = try await pool.query(OperationStatements.beginRebalance) {
            $0.add(id)
            $0.add(plan.viewVersion)
            $0.add(PlanText.text(plan.moves))
            $0.add(Int32(plan.moves.count))
            $0.add(Int32(maxConcurrentMoves))
            $0.add(reason)
            $0.add(name)
        }
        return try await outcome(rows[0].int16(0)) { id }
    }

    // MARK: Pins

    public func pin(_ actor: ActorAddress, to node: String, by name: String) async throws(StoreError) -> OperationOutcome {
        let id = OperationID.make()
        let rows = try await pool.query(OperationStatements.pin) {
            $0.add(id)
            $0.add(actor.kind.stored)
            $0.add(actor.conversationID)
            $0.add(Int16(actor.shard.number))
            $0.add(node)
            $0.add(Int64(PinLimits.count))
            $0.add(name)
        }
        return try await outcome(rows[0].int16(0)) { id }
    }

    public func unpin(_ actor: ActorAddress, by name: String) async throws(StoreError) -> OperationRecord? {
        let id = OperationID.make()
        let rows = try await pool.query(OperationStatements.unpin) {
            $0.add(id)
            $0.add(actor.kind.stored)
            $0.add(actor.conversationID)
            $0.add(name)
        }
        return rows[0].int16(0) == 0 ? try await operation(id) : nil
    }

    // MARK: Operations

    public func operations(cursor: String?, limit: Int) async throws(StoreError) -> Page<OperationRecord> {
        var before: OperationID?
        if let cursor {
            var reader = try CursorReader(cursor, .operations)
            before = OperationID(high: try reader.integer(), low: try reader.integer())
            try reader.end()
        }
        let rows = try await pool.query(OperationStatements.page) {
            $0.add(before)
            $0.add(Int64(limit + 1))
        }
        var records = rows.map { OperationRecord($0) }
        guard records.count > limit else { return Page(items: records, nextCursor: nil) }
        records.removeLast()
        var writer = CursorWriter(.operations)
        writer.write(records[limit - 1].id.high)
        writer.write(records[limit - 1].id.low)
        return Page(items: records, nextCursor: writer.text)
    }

    public func operation(_ id: OperationID) async throws(StoreError) -> OperationRecord? {
        try await pool.query(OperationStatements.one) { $0.add(id) }.first.map { OperationRecord($0) }
    }

    public func change(
        _ id: OperationID, _ change: OperationChange, by name: String
    ) async throws(StoreError) -> OperationOutcome {
        let rows = try await pool.query(OperationStatements.change) {
            $0.add(id)
            $0.add(change.rawValue)
            $0.add(name)
        }
        return try await outcome(rows[0].int16(0)) { id }
    }

    public func note(
        _ progress: OperationProgress, of id: OperationID, end: OperationEnd?, term: Int64
    ) async throws(StoreError) -> Bool {
        try await pool.query(OperationStatements.note) {
            $0.add(term)
            $0.add(id)
            $0.add(Int32(progress.movesPlanned))
            $0.add(Int32(progress.movesDone))
            $0.add(Int32(progress.movesFailed))
            $0.add(texts: progress.blockedBy)
            $0.add(end?.state.rawValue)
            $0.add(end?.reason)
        }[0].bool(0)
    }

    private func outcome(_ status: Int16, _ id: () -> OperationID) async throws(StoreError) -> OperationOutcome {
        switch status {
        case 0: try await operation(id()).map { .operation($0) } ?? .notFound
        case 1: .notFound
        case 3: .planOutdated
        default: .conflict
        }
    }
}

private enum OperationStatements {
    static let setUse = PostgresStatement("set use", "SELECT set_node_use($1::text, $2::text, $3::text)")
    static let beginDrain = PostgresStatement(
        "begin drain", "SELECT status, operation FROM begin_drain($1::uuid, $2::text, $3::float8, $4::text)")
    static let endDrain = PostgresStatement("end drain", "SELECT end_drain($1::uuid)")
    static let beginRebalance = PostgresStatement(
        "begin rebalance",
        "SELECT begin_rebalance($1::uuid, $2::bigint, $3::text, $4::int, $5::int, $6::text, $7::text)")
    static let pin = PostgresStatement(
        "pin", "SELECT pin_actor($1::uuid, $2::smallint, $3::uuid, $4::smallint, $5::text, $6::bigint, $7::text)")
    static let unpin = PostgresStatement("unpin", "SELECT unpin_actor($1::uuid, $2::smallint, $3::uuid, $4::text)")
    static let change = PostgresStatement("change operation", "SELECT change_operation($1::uuid, $2::text, $3::text)")
    static let note = PostgresStatement(
        "note operation",
        "SELECT note_operation($1::bigint, $2::uuid, $3::int, $4::int, $5::int, $6::text[], $7::text, $8::text)")

    static let savePlan = PostgresStatement(
        "save plan",
        """
        WITH saved AS (
            INSERT INTO rebalance_plans (id, view_version, moves, before_loads, after_loads)
            VALUES ($1::uuid, $2::bigint, $3::text, $4::text, $5::text) ON CONFLICT (id) DO NOTHING
        )
        DELETE FROM rebalance_plans WHERE id IN (SELECT id FROM rebalance_plans ORDER BY id DESC OFFSET 99)
        """)

    static let plan = PostgresStatement(
        "plan", "SELECT view_version, moves, before_loads, after_loads FROM rebalance_plans WHERE id = $1::uuid")

    static let one = PostgresStatement(
        "operation", "SELECT \(OperationRecord.columns("o")) FROM operations o WHERE o.id = $1::uuid")

    static let page = PostgresStatement(
        "operations",
        """
        SELECT \(OperationRecord.columns("o")) FROM operations o
        WHERE $1::uuid IS NULL OR o.id < $1::uuid ORDER BY o.id DESC LIMIT $2::bigint
        """)
}

import Ports
import RoostModel
import Testing

@testable import PostgresStore

/// That what is asked often finds its rows by keys: a plan that reads a whole table is quick in a test, and a standstill years later.
@Suite struct PostgresPlanTests {
    private static let someone = "'\(UserID.make())'"
    private static let somewhere = "'\(ConversationID.make())'"
    private static let now = "'2026-01-01T00:00:00Z'"

    /// Statements with parameters of their types, as in `EXECUTE name(…)`.
    private static let hotReads: [(statement: PostgresStatement, parameters: [String])] = [
        (ViewStatements.view, [someone, somewhere]),
        (ViewStatements.firstPage, [someone, "51", "false"]),
        (ViewStatements.laterPage, [someone, "51", "false", "'1:1:'", now, "false", now, somewhere]),
        (ViewStatements.channelSearch, [someone, "NULL", "NULL", "51", "'a'", "'b'"]),
        (SyncStatements.page, [someone, "'1'", "NULL", "51"]),
        (SyncStatements.removed, [someone, "'1'"]),
        (MessageStatements.history, [someone, somewhere, "100", "51", "1"]),
        (MessageStatements.message, [someone, somewhere, "100"]),
        (MessageStatements.changes, [someone, somewhere, "100", "51"]),
        (MessageStatements.others, [someone, "ARRAY[\(somewhere)]::uuid[]"]),
        (MessageStatements.receipts, [someone, somewhere, "100"]),
        (MessageStatements.counts, [someone, somewhere]),
        (MemberStatements.page, [someone, somewhere, "NULL", "NULL", "NULL", "51"]),
        (MemberStatements.member, [someone, somewhere, someone]),
        (MemberStatements.standing, [someone, somewhere]),
        (MemberStatements.memberships, [someone]),
        (JournalReads.load, ["ARRAY[\(somewhere)]::uuid[]"]),
        (JournalReads.stored, ["'{0}'", "ARRAY[\(somewhere)]::uuid[]", "ARRAY[\(someone)]::uuid[]", "'{a}'"]),
        (JournalReads.targets, ["'{0}'", "ARRAY[\(somewhere)]::uuid[]", "'{1}'"]),
        (JournalReads.recent, ["'{1,2}'", now]),
        (SearchStatements.unprepared, ["50"]),
        (SearchStatements.changed, [somewhere, "1", "500"]),
        (SearchStatements.prepared, [someone, "ARRAY['''m:a'':* & ''m:b'':*']", "NULL", "NULL", "NULL", "51"]),
        (SearchStatements.unpreparedMessages, [someone, "ARRAY[\(somewhere)]::uuid[]", "NULL", "NULL", "NULL", "51"]),
    ]

    @Test func hotReadsFindTheirRowsByKeys() async throws {
        for (name, plan) in try await plans(of: Self.hotReads) {
            #expect(plan.count > 1 && !plan.contains { $0.contains("Seq Scan") }, "\(name): \(plan)")
        }
    }

    /// While a table is small the planner likes to read all of it into a hash; the plan is kept while the table grows.
    @Test func commitsLookAtNoMoreThanTheirOwn() async throws {
        let (ids, number) = ("ARRAY[\(Self.somewhere)]::uuid[]", "'{2}'")
        let rows = [
            ids, "ARRAY[\(Self.someone)]::uuid[]", number, "ARRAY[\(Self.now)]::timestamptz[]", "'{0}'", "'{c}'", "'{t}'", number,
        ]
        let commit = JournalStatements.commit([.messages])
        let parameters = [Self.someone, "0", ids, number] + rows
        for (name, plan) in try await plans(of: [(commit, parameters)]) {
            #expect(plan.contains { $0.contains("messages_pkey") }, "\(name): \(plan)")
            #expect(!plan.contains { $0.contains("hashed SubPlan") || $0.contains("Seq Scan") }, "\(name): \(plan)")
        }
    }

    /// Those for any parameters, on tables that are empty.
    private func plans(
        of statements: [(statement: PostgresStatement, parameters: [String])]
    ) async throws -> [(name: String, plan: [String])] {
        let server = try await StoreWorld.server()
        let configuration = PostgresConfiguration(url: server.url(database: try await server.createDatabase()))
        // One connection: what is prepared on it is explained on it.
        let pool = try await StoreWorld.postgres(configuration: configuration, connections: 1).pool
        let generic = "SELECT set_config('plan_cache_mode', 'force_generic_plan', false)"
        _ = try await pool.query(PostgresStatement("generic", generic))
        var plans: [(name: String, plan: [String])] = []
        for (number, item) in statements.enumerated() {
            let prepare = "PREPARE hot\(number) AS \(item.statement.text)"
            _ = try await pool.query(PostgresStatement("prepare \(number)", prepare))
            let explain = "EXPLAIN EXECUTE hot\(number)(\(item.parameters.joined(separator: ", ")))"
            let plan = try await pool.query(PostgresStatement("explain \(number)", explain)).map { $0.text(0) }
            plans.append((item.statement.name, plan))
        }
        await pool.stop()
        return plans
    }
}

import Ports
import StoreBench
import TestSupport
import Testing

@testable import PostgresStore

/// The queries' plans on a small database that is filled as the one for measuring is: docs/queries.md.
@Suite struct SeededPlanTests {
    /// Filled with made-up texts; its URL.
    private func seeded() async throws -> (url: String, pool: PostgresPool) {
        let server = try await StoreWorld.server()
        let url = server.url(database: try await server.createDatabase())
        let pool = try await StoreWorld.postgres(configuration: .patient(url: url), connections: 1).pool
        try await Seeder(SeedScale(fraction: 0.01), url: url, texts: nil).run()
        return (url, pool)
    }

    @Test func noPlanReadsAWholeTableOrIndex() async throws {
        let (url, pool) = try await seeded()
        let findings = try PlanCheck(url: url).run()
        #expect(findings.count > 50)
        #expect(findings.flatMap(\.faults) == [])
        // What has no other way in is noticed.
        try PlainDatabase(url).run("DROP INDEX members_user; DROP INDEX users_changed")
        let faults = try PlanCheck(url: url).run().flatMap(\.faults)
        #expect(faults.contains { $0.hasPrefix("memberships (") && $0.hasSuffix("is read whole") }, "\(faults)")
        #expect(faults.contains { $0.hasPrefix("sync, nothing (") }, "\(faults)")
        await pool.stop()
    }

    /// What is made in bulk is what the journal and the store would have made.
    @Test func theSeedKeepsTheRules() async throws {
        let (url, pool) = try await seeded()
        let database = try PlainDatabase(url)
        func expectNone(_ query: String, _ rule: Comment) throws { #expect(try database.run(query).isEmpty, rule) }
        try expectNone(
            """
            SELECT conversation_id FROM (
                SELECT conversation_id, seq AS value FROM messages
                UNION ALL SELECT conversation_id, change_seq FROM messages WHERE change_seq > seq) v
            GROUP BY 1 HAVING count(*) <> max(value) OR count(DISTINCT value) <> count(*)
            """, "every value of the counter once")
        try expectNone(
            "SELECT id FROM conversations WHERE NOT is_active AND last_seq <> stored_head(id)",
            "rows that are settled have the counter")
        try expectNone(
            """
            SELECT c.id FROM conversations c JOIN members m ON m.conversation_id = c.id
            GROUP BY c.id HAVING count(*) <> c.member_count OR c.kind = 0 AND count(*) <> 2
            """, "members are counted")
        try expectNone(
            """
            SELECT m.user_id FROM members m
            WHERE m.read_seq > m.delivered_seq OR m.delivered_seq > stored_head(m.conversation_id) OR m.read_seq < m.since_seq
            """, "positions within the counter")
        try expectNone(
            """
            SELECT m.seq FROM messages m WHERE m.deleted_at IS NOT NULL AND (m.text <> '' OR m.reply_to IS NOT NULL
                OR EXISTS (SELECT FROM message_words w WHERE w.conversation_id = m.conversation_id AND w.seq = m.seq))
            """, "nothing is left of deleted messages")

        // The store itself prepares the same words.
        let words = "SELECT conversation_id, seq, created_at, words FROM message_words ORDER BY 1, 2"
        let bulk = try database.run(words)
        try database.run("UPDATE conversations SET searchable_seq = 0")
        let store = PostgresConversationStore(pool: pool)
        while try await store.prepareSearch(limit: 500, all: true) > 0 {}
        #expect(bulk.count > 5_000)
        #expect(try database.run(words) == bulk)
        await pool.stop()
    }
}

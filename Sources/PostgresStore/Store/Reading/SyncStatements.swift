import RoostModel

/// What changed for a user since a transaction horizon. Parameter 1 is the user, 2 the horizon.
enum SyncStatements {
    /// Asked before the page in the same transaction: what commits in between comes twice at worst.
    static let horizon = PostgresStatement(
        "horizon", "SELECT pg_snapshot_xmin(pg_current_snapshot()), pg_snapshot_xmax(pg_current_snapshot())")

    /// Whether the newest message, or the newest change of one, was written by a transaction from `horizon` on. A conversation's own row
    /// is not written with every message. A row names its writer by 32 bits of the transaction's number; those of the last two
    /// billion are told apart, and an older one at worst counts as a change.
    private static func hasNews(_ conversation: String, since horizon: String) -> String {
        """
        EXISTS (SELECT FROM (
            (SELECT n.xmin FROM messages n WHERE n.conversation_id = \(conversation) ORDER BY n.seq DESC LIMIT 1)
            UNION ALL
            (SELECT n.xmin FROM messages n WHERE n.conversation_id = \(conversation) AND n.change_seq > n.seq
                ORDER BY n.change_seq DESC LIMIT 1)
        ) newest(writer)
        WHERE (newest.writer::text::bigint - \(horizon)::xid8::text::bigint % 4294967296 + 8589934592) % 4294967296 < 2147483648)
        """
    }

    /// As long as no more people than this have changed their profiles they are looked up once, and not for each member of each group.
    private static let changedLimit = 1_000

    /// Conversations after $3 that were changed by a transaction from $2 on, with what the user has hidden in them since.
    static let page = PostgresStatement(
        "sync",
        ViewStatements.views(
            """
            WITH changed AS MATERIALIZED (SELECT u.id FROM users u WHERE u.changed_xid >= $2::xid8 LIMIT \(changedLimit))
            SELECT c.id FROM members me JOIN conversations c ON c.id = me.conversation_id
            WHERE me.user_id = $1::uuid AND c.id > COALESCE($3::uuid, \(PostgresStatement.noID)) AND (
                (c.is_active AND \(hasNews("c.id", since: "$2"))) OR c.changed_xid >= $2::xid8 OR me.changed_xid >= $2::xid8
                OR c.id = ANY(ARRAY(SELECT h.conversation_id FROM hidden h WHERE h.user_id = $1::uuid AND h.changed_xid >= $2::xid8))
                OR (c.kind <> \(ConversationKind.channel.stored) AND (
                    EXISTS (SELECT FROM members o WHERE o.conversation_id = c.id
                        AND (o.changed_xid >= $2::xid8 OR o.user_id IN (SELECT id FROM changed)))
                    OR ((SELECT count(*) FROM changed) = \(changedLimit) AND EXISTS (
                        SELECT FROM members o JOIN users u ON u.id = o.user_id
                        WHERE o.conversation_id = c.id AND u.changed_xid >= $2::xid8)))))
            ORDER BY 1 LIMIT $4::bigint
            """, order: "c.id",
            extra: """
                , ARRAY(SELECT h.seq FROM hidden h
                    WHERE h.conversation_id = c.id AND h.user_id = $1::uuid AND h.changed_xid >= $2::xid8 ORDER BY h.seq)
                """))

    /// Conversations that the user has left, or was taken out of, by a transaction from $2 on.
    static let removed = PostgresStatement(
        "sync removed",
        "SELECT d.conversation_id FROM departures d WHERE d.user_id = $1::uuid AND d.changed_xid >= $2::xid8 ORDER BY 1")
}

import RoostModel

/// What members read. Parameter 1 is always the caller; every statement finds its conversation through the caller's membership.
enum ConversationStatements {
    static let find = PostgresStatement(
        "find direct", "SELECT id FROM conversations WHERE direct_low = $1::uuid AND direct_high = $2::uuid")

    /// No row where the pair's conversation was committed by another since this statement began, or where a user does not exist.
    static let openDirect = PostgresStatement(
        "open direct",
        """
        WITH made AS (
            INSERT INTO conversations (id, kind, shard, direct_low, direct_high, last_activity_at, created_at)
            SELECT $3::uuid, 0, $4::smallint, $1::uuid, $2::uuid, $5::timestamptz, $5::timestamptz
            WHERE (SELECT count(*) FROM users WHERE id IN ($1::uuid, $2::uuid) AND deleted_at IS NULL) = 2
            ON CONFLICT (direct_low, direct_high) WHERE direct_low IS NOT NULL DO NOTHING
            RETURNING id
        ), joined AS (
            INSERT INTO members (conversation_id, user_id, role, joined_at)
            SELECT made.id, u.id, 1, $5::timestamptz FROM made, unnest(ARRAY[$1::uuid, $2::uuid]) u(id)
        )
        SELECT id FROM made
        """)

    static let isMember = PostgresStatement(
        "is member", "SELECT 1 FROM members WHERE user_id = $1::uuid AND conversation_id = $2::uuid")

    // MARK: Views

    /// Messages of others after the caller's position, of `me`, to which it counts: at most 999 (the contract's cap).
    private static let unread = """
        (SELECT count(*) FROM (
            SELECT FROM messages n
            WHERE n.conversation_id = me.conversation_id AND n.seq > me.read_seq AND n.sender_id <> me.user_id
                AND n.kind <> \(Message.Kind.system.stored) AND n.deleted_at IS NULL
            LIMIT \(Limits.countCap)) counted)
        """

    /// A member's read position as the caller may know it: not where either of the two keeps read receipts to themselves.
    private static let sharedRead =
        "CASE WHEN o.user_id = $1::uuid OR (u.share_read_receipts AND self.share_read_receipts) THEN o.read_seq END"

    private static let newest = """
        LEFT JOIN LATERAL (
            SELECT * FROM messages n WHERE n.conversation_id = c.id ORDER BY n.seq DESC LIMIT 1
        ) l ON true
        """

    static let viewColumnCount = 18 + Message.columnCount

    /// Views of the conversations in the table `pick(id)`. ``ConversationView/init(_:)`` reads the columns; `extra` comes after them.
    private static func views(_ pick: String, order: String, extra: String = "") -> String {
        """
        WITH pick AS MATERIALIZED (\(pick))
        SELECT c.id, c.kind, c.title, c.is_read_only, c.created_at, \(ConversationSQL.head("c")),
            COALESCE(l.created_at, c.last_activity_at), me.read_seq, me.delivered_seq, me.role, \(unread),
            p.count, p.ids, p.names, p.roles, p.joined, p.reads, p.delivered, \(Message.columns("l"))\(extra)
        FROM pick
        JOIN members me ON me.conversation_id = pick.id AND me.user_id = $1::uuid
        JOIN conversations c ON c.id = pick.id
        JOIN users self ON self.id = me.user_id
        \(newest)
        CROSS JOIN LATERAL (
            SELECT count(*) AS count,
                array_agg(o.user_id ORDER BY o.joined_at, o.user_id) AS ids,
                array_agg(COALESCE(u.display_name, '') ORDER BY o.joined_at, o.user_id) AS names,
                array_agg(o.role ORDER BY o.joined_at, o.user_id) AS roles,
                array_agg(o.joined_at ORDER BY o.joined_at, o.user_id) AS joined,
                array_agg(\(sharedRead) ORDER BY o.joined_at, o.user_id) AS reads,
                array_agg(o.delivered_seq ORDER BY o.joined_at, o.user_id) AS delivered
            FROM members o LEFT JOIN users u ON u.id = o.user_id
            WHERE o.conversation_id = c.id
        ) p
        ORDER BY \(order)
        """
    }

    static let view = PostgresStatement("conversation", views("SELECT $2::uuid AS id", order: "1"))

    /// The first page: by present activity. The snapshot that it was made in goes into the cursor.
    static let firstPage = PostgresStatement(
        "conversations first",
        views(
            """
            SELECT c.id, COALESCE(l.created_at, c.last_activity_at) AS activity
            FROM members me JOIN conversations c ON c.id = me.conversation_id
            LEFT JOIN LATERAL (
                SELECT n.created_at FROM messages n WHERE c.is_active AND n.conversation_id = c.id ORDER BY n.seq DESC LIMIT 1
            ) l ON true
            WHERE me.user_id = $1::uuid
            ORDER BY 2 DESC, 1 DESC LIMIT $2::bigint
            """, order: "pick.activity DESC, pick.id DESC", extra: ", pick.activity, pg_current_snapshot()::text"))

    /// A later page: by the activity that the snapshot of the first page could see. A conversation that was settled then and has not
    /// been touched since has it in its row; for others the newest message that was visible then tells.
    static let laterPage = PostgresStatement(
        "conversations later",
        views(
            """
            SELECT * FROM (
                SELECT c.id, CASE
                    WHEN NOT c.is_active AND pg_visible_in_snapshot(c.changed_xid, $3::text::pg_snapshot) THEN c.last_activity_at
                    ELSE COALESCE((
                        SELECT n.created_at FROM messages n
                        WHERE n.conversation_id = c.id AND message_was_visible(
                            n.xmin, n.change_seq > n.seq, n.created_at, $4::timestamptz, $3::text::pg_snapshot)
                        ORDER BY n.seq DESC LIMIT 1), c.created_at)
                    END AS activity
                FROM members me JOIN conversations c ON c.id = me.conversation_id
                WHERE me.user_id = $1::uuid
            ) was
            WHERE (activity, id) < ($5::timestamptz, $6::uuid)
            ORDER BY 2 DESC, 1 DESC LIMIT $2::bigint
            """, order: "pick.activity DESC, pick.id DESC", extra: ", pick.activity"))

    // MARK: Messages

    /// Who else has message `m`, where it is the caller's own.
    private static let delivery = """
        CROSS JOIN LATERAL (
            SELECT count(*) AS others, bool_and(o.delivered_seq >= m.seq) AS delivered,
                bool_and(COALESCE(\(sharedRead) >= m.seq, false)) AS read,
                count(*) FILTER (WHERE \(sharedRead) >= m.seq) AS seen
            FROM members o JOIN users u ON u.id = o.user_id
            WHERE m.sender_id = $1::uuid AND o.conversation_id = m.conversation_id AND o.user_id <> m.sender_id
        ) d
        """

    /// The messages of the subquery `messages`, a row each, with the counter; one row without a message where there are none.
    private static func read(_ messages: String, order: String) -> String {
        """
        SELECT \(ConversationSQL.head("c")), d.others, d.delivered, d.read, d.seen, \(Message.columns("m"))
        FROM members me
        JOIN conversations c ON c.id = me.conversation_id
        JOIN users self ON self.id = me.user_id
        LEFT JOIN LATERAL (\(messages)) m ON true
        \(delivery)
        WHERE me.user_id = $1::uuid AND me.conversation_id = $2::uuid
        ORDER BY \(order)
        """
    }

    /// At most $4 messages before the value $3, and $5 from there on.
    static let history = PostgresStatement(
        "history",
        read(
            """
            (SELECT * FROM messages o WHERE o.conversation_id = me.conversation_id AND o.seq < $3::bigint
                ORDER BY o.seq DESC LIMIT $4::bigint)
            UNION ALL
            (SELECT * FROM messages n WHERE n.conversation_id = me.conversation_id AND n.seq >= $3::bigint
                ORDER BY n.seq LIMIT $5::bigint)
            """, order: "m.seq"))

    /// New messages and changed ones are two ordered runs, each with an index.
    static let changes = PostgresStatement(
        "changes",
        read(
            """
            SELECT * FROM (
                (SELECT * FROM messages n
                    WHERE n.conversation_id = me.conversation_id AND n.seq > $3::bigint AND n.change_seq = n.seq
                    ORDER BY n.seq LIMIT $4::bigint)
                UNION ALL
                (SELECT * FROM messages n
                    WHERE n.conversation_id = me.conversation_id AND n.change_seq > $3::bigint AND n.change_seq > n.seq
                    ORDER BY n.change_seq LIMIT $4::bigint)
            ) x ORDER BY x.change_seq LIMIT $4::bigint
            """, order: "m.change_seq"))

    /// A row a member other than the sender; one without a member where there is none.
    static let receipts = PostgresStatement(
        "receipts",
        """
        SELECT o.user_id, o.delivered_seq >= m.seq, COALESCE(\(sharedRead) >= m.seq, false), o.joined_at,
            (SELECT p.at FROM positions p
                WHERE p.conversation_id = o.conversation_id AND p.user_id = o.user_id AND p.delivered_seq >= m.seq
                ORDER BY p.delivered_seq, p.read_seq LIMIT 1),
            (SELECT p.at FROM positions p
                WHERE p.conversation_id = o.conversation_id AND p.user_id = o.user_id AND p.delivered_seq >= m.seq
                    AND p.read_seq >= m.seq
                ORDER BY p.delivered_seq, p.read_seq LIMIT 1)
        FROM members me
        JOIN users self ON self.id = me.user_id
        JOIN messages m ON m.conversation_id = me.conversation_id AND m.seq = $3::bigint
        LEFT JOIN (members o JOIN users u ON u.id = o.user_id) ON o.conversation_id = m.conversation_id AND o.user_id <> m.sender_id
        WHERE me.user_id = $1::uuid AND me.conversation_id = $2::uuid
        ORDER BY o.joined_at, o.user_id
        """)

    static let counts = PostgresStatement(
        "counts",
        "SELECT me.read_seq, me.delivered_seq, \(unread) FROM members me WHERE me.user_id = $1::uuid AND me.conversation_id = $2::uuid"
    )

    // MARK: Sync

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

    /// Conversations after $3 that were changed by a transaction from $2 on.
    static let sync = PostgresStatement(
        "sync",
        views(
            """
            SELECT c.id FROM members me JOIN conversations c ON c.id = me.conversation_id
            WHERE me.user_id = $1::uuid AND ($3::uuid IS NULL OR c.id > $3::uuid) AND (
                (c.is_active AND \(hasNews("c.id", since: "$2"))) OR c.changed_xid >= $2::xid8 OR me.changed_xid >= $2::xid8
                OR (c.kind <> \(ConversationKind.channel.stored) AND EXISTS (
                    SELECT FROM members o JOIN users u ON u.id = o.user_id
                    WHERE o.conversation_id = c.id AND (o.changed_xid >= $2::xid8 OR u.changed_xid >= $2::xid8))))
            ORDER BY 1 LIMIT $4::bigint
            """, order: "c.id"))
}

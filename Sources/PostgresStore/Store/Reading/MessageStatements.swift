import RoostModel

/// Messages as a member reads them: only what they may see. Parameter 1 is the member, 2 the conversation.
enum MessageStatements {
    /// The messages of the subquery `messages`, a row each, with the counter; one row without a message where there are none.
    private static func read(_ messages: String, order: String) -> String {
        """
        SELECT \(ConversationSQL.head("c")), m.seq, \(Message.columns("m", for: ConversationSQL.me))
        FROM members me
        JOIN conversations c ON c.id = me.conversation_id
        LEFT JOIN LATERAL (\(messages)) m ON true
        WHERE me.user_id = $1::uuid AND me.conversation_id = $2::uuid
        ORDER BY \(order)
        """
    }

    /// At most $4 messages before the value $3, and $5 from there on.
    static let history = PostgresStatement(
        "history",
        read(
            """
            (SELECT * FROM messages o
                WHERE o.conversation_id = me.conversation_id AND o.seq < $3::bigint AND \(ConversationSQL.isSeen("o"))
                ORDER BY o.seq DESC LIMIT $4::bigint)
            UNION ALL
            (SELECT * FROM messages n
                WHERE n.conversation_id = me.conversation_id AND n.seq >= $3::bigint AND \(ConversationSQL.isSeen("n"))
                ORDER BY n.seq LIMIT $5::bigint)
            """, order: "m.seq"))

    static let message = PostgresStatement(
        "message",
        read(
            """
            SELECT * FROM messages o
            WHERE o.conversation_id = me.conversation_id AND o.seq = $3::bigint AND \(ConversationSQL.isSeen("o"))
            """, order: "m.seq"))

    /// New messages and changed ones are two ordered runs, each with an index.
    static let changes = PostgresStatement(
        "changes",
        read(
            """
            SELECT * FROM (
                (SELECT * FROM messages n
                    WHERE n.conversation_id = me.conversation_id AND n.seq > $3::bigint AND n.change_seq = n.seq
                        AND \(ConversationSQL.isSeen("n"))
                    ORDER BY n.seq LIMIT $4::bigint)
                UNION ALL
                (SELECT * FROM messages n
                    WHERE n.conversation_id = me.conversation_id AND n.change_seq > $3::bigint AND n.change_seq > n.seq
                        AND \(ConversationSQL.isSeen("n"))
                    ORDER BY n.change_seq LIMIT $4::bigint)
            ) x ORDER BY x.change_seq LIMIT $4::bigint
            """, order: "m.change_seq"))

    /// The positions of the other members of the conversations $2, a row each: what the status of the caller's own messages there rests on.
    /// Read apart from the messages: most pages need them once at most, and a channel has thousands.
    static let others = PostgresStatement(
        "others",
        """
        SELECT o.conversation_id, array_agg(o.since_seq), array_agg(o.delivered_seq),
            array_agg(COALESCE(\(ConversationSQL.sharedRead), -1))
        FROM users self CROSS JOIN members o JOIN users u ON u.id = o.user_id
        WHERE self.id = $1::uuid AND o.conversation_id = ANY($2::uuid[]) AND o.user_id <> $1::uuid
        GROUP BY o.conversation_id
        """)

    /// A row a member other than the sender, of those whom the message was sent to; one without a member where there is none.
    static let receipts = PostgresStatement(
        "receipts",
        """
        SELECT o.user_id, o.delivered_seq >= m.seq, COALESCE(\(ConversationSQL.sharedRead) >= m.seq, false), o.joined_at,
            (SELECT p.at FROM positions p
                WHERE p.conversation_id = o.conversation_id AND p.user_id = o.user_id AND p.delivered_seq >= m.seq
                ORDER BY p.delivered_seq, p.read_seq LIMIT 1),
            (SELECT p.at FROM positions p
                WHERE p.conversation_id = o.conversation_id AND p.user_id = o.user_id AND p.delivered_seq >= m.seq
                    AND p.read_seq >= m.seq
                ORDER BY p.delivered_seq, p.read_seq LIMIT 1)
        FROM members me
        JOIN conversations c ON c.id = me.conversation_id
        JOIN users self ON self.id = me.user_id
        JOIN messages m ON m.conversation_id = me.conversation_id AND m.seq = $3::bigint AND \(ConversationSQL.isSeen("m"))
        LEFT JOIN (members o JOIN users u ON u.id = o.user_id)
            ON o.conversation_id = m.conversation_id AND o.user_id <> m.sender_id AND o.since_seq <= m.seq
        WHERE me.user_id = $1::uuid AND me.conversation_id = $2::uuid
        ORDER BY \(ConversationSQL.joining)
        """)

    static let counts = PostgresStatement(
        "counts",
        """
        SELECT me.read_seq, me.delivered_seq, \(ViewStatements.unread), \(ViewStatements.mentions)
        FROM members me JOIN conversations c ON c.id = me.conversation_id
        WHERE me.user_id = $1::uuid AND me.conversation_id = $2::uuid
        """)

    static let media = PostgresStatement("media", "SELECT \(Media.record("f")) FROM media f WHERE f.id = $1::uuid")
}

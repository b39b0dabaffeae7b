import Ports
import RoostModel

/// What conversation actors read. They see everything, and decide who is shown it.
enum JournalReads {
    /// The offset keeps the planner from reading all blocks into a table of hashes.
    private static func blocks(_ blocker: String, _ blocked: String) -> String {
        "EXISTS (SELECT FROM blocks b WHERE b.blocker_id = \(blocker) AND b.blocked_id = \(blocked) OFFSET 0)"
    }

    static let load = PostgresStatement(
        "load",
        """
        SELECT c.id, c.kind, c.is_active, c.is_read_only, c.head, c.last_message_at, c.title, c.about,
            \(Media.column(of: "c.photo_media_id")), c.history,
            c.kind = \(ConversationKind.direct.stored) AND (
                \(blocks("c.direct_low", "c.direct_high")) OR \(blocks("c.direct_high", "c.direct_low"))),
            p.*
        FROM (
            SELECT c.*, \(ConversationSQL.head("c")) AS head,
                (SELECT n.created_at FROM messages n WHERE n.conversation_id = c.id ORDER BY n.seq DESC LIMIT 1) AS last_message_at
            FROM conversations c WHERE c.id = ANY($1::uuid[]) OFFSET 0
        ) c
        CROSS JOIN LATERAL (
            SELECT array_agg(m.user_id), array_agg(m.role), array_agg(m.joined_at), array_agg(m.since_seq), array_agg(m.read_seq),
                array_agg(m.delivered_seq), array_agg(m.shares)
            FROM (
                SELECT o.*, COALESCE(u.share_read_receipts, true) AS shares
                FROM members o LEFT JOIN users u ON u.id = o.user_id WHERE o.conversation_id = c.id
                ORDER BY \(ConversationSQL.joining)
            ) m
        ) p
        """)

    /// What a deleted conversation has left to be cleared away is gone for everyone.
    private static let exists = "EXISTS (SELECT FROM conversations c WHERE c.id = k.conversation_id)"

    static let stored = PostgresStatement(
        "stored",
        """
        SELECT k.number, \(Message.columns("m", for: .everyone))
        FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::text[]) k(number, conversation_id, sender_id, client_id)
        JOIN messages m
            ON m.conversation_id = k.conversation_id AND m.sender_id = k.sender_id AND m.client_id = k.client_id COLLATE "C"
        WHERE \(exists)
        """)

    static let targets = PostgresStatement(
        "targets",
        """
        SELECT k.number,
            ARRAY(SELECT h.user_id FROM hidden h
                WHERE h.conversation_id = m.conversation_id AND h.seq = m.seq ORDER BY h.user_id),
            CASE WHEN m.reply_to IS NOT NULL THEN ARRAY(SELECT h.user_id FROM hidden h
                WHERE h.conversation_id = m.conversation_id AND h.seq = m.reply_to ORDER BY h.user_id) END,
            \(Message.columns("m", for: .everyone))
        FROM unnest($1::bigint[], $2::uuid[], $3::bigint[]) k(number, conversation_id, seq)
        JOIN messages m ON m.conversation_id = k.conversation_id AND m.seq = k.seq
        WHERE \(exists)
        """)

    /// Whether member `o` sees all of message `m` of conversation `c`.
    private static let seesWhole = """
        (c.history = \(HistorySetting.full.stored) OR o.since_seq <= LEAST(m.seq, m.reply_to))
            AND NOT \(ConversationSQL.isHidden("m.seq", of: "m.conversation_id", from: "o.user_id"))
            AND NOT \(ConversationSQL.isHidden("m.reply_to", of: "m.conversation_id", from: "o.user_id"))
        """

    /// Who sees a message whole, where that is not everyone, and with the first message of each conversation all its members: a channel has
    /// thousands.
    static let recent = PostgresStatement(
        "recent",
        """
        SELECT CASE
            WHEN c.history = \(HistorySetting.full.stored) AND NOT EXISTS (
                SELECT FROM hidden h WHERE h.conversation_id = m.conversation_id AND h.seq = m.seq)
                AND (m.reply_to IS NULL OR NOT EXISTS (
                    SELECT FROM hidden h WHERE h.conversation_id = m.conversation_id AND h.seq = m.reply_to))
            THEN NULL
            ELSE ARRAY(SELECT o.user_id FROM members o WHERE o.conversation_id = c.id AND \(seesWhole)) END,
            CASE WHEN lag(m.seq) OVER (PARTITION BY m.conversation_id ORDER BY m.seq) IS NULL THEN c.members END,
            \(Message.columns("m", for: .everyone))
        FROM (
            SELECT c.id, c.history, ARRAY(SELECT user_id FROM members WHERE conversation_id = c.id) AS members
            FROM conversations c
            CROSS JOIN LATERAL (
                SELECT n.created_at FROM messages n WHERE n.conversation_id = c.id ORDER BY n.seq DESC LIMIT 1
            ) newest
            WHERE c.is_active AND c.shard = ANY($1::smallint[]) AND newest.created_at >= $2::timestamptz OFFSET 0
        ) c
        CROSS JOIN LATERAL (SELECT * FROM messages m WHERE m.conversation_id = c.id ORDER BY m.seq DESC LIMIT 50) m
        WHERE m.created_at >= $2::timestamptz
        ORDER BY m.conversation_id, m.seq
        """)
}

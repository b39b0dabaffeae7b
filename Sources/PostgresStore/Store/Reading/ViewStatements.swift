import RoostModel

/// Conversations as their members see them. Parameter 1 is always the caller.
enum ViewStatements {
    /// Messages of others after the position of member `me` of conversation `c`, of those that it sees: at most the contract's cap.
    /// What it has hidden among them is read once and not for each message.
    static let unread = """
        (SELECT count(*) FROM (
            SELECT FROM messages n
            WHERE n.conversation_id = me.conversation_id AND n.seq > me.read_seq AND n.seq >= \(ConversationSQL.floor)
                AND n.sender_id <> me.user_id AND n.kind <> \(Message.Kind.system.stored) AND n.deleted_at IS NULL
                AND n.seq <> ALL(ARRAY(
                    SELECT x.seq FROM hidden x
                    WHERE x.conversation_id = me.conversation_id AND x.user_id = me.user_id AND x.seq > me.read_seq))
            LIMIT \(Limits.countCap)) counted)
        """

    /// Those of them that mention it. Neither the sender's own mentions nor those of deleted messages are kept.
    static let mentions = """
        (SELECT count(*) FROM (
            SELECT FROM mentions n
            WHERE n.conversation_id = me.conversation_id AND n.user_id = me.user_id AND n.seq > me.read_seq
                AND n.seq >= \(ConversationSQL.floor)
                AND NOT \(ConversationSQL.isHidden("n.seq", of: "n.conversation_id", from: "n.user_id"))
            LIMIT \(Limits.countCap)) counted)
        """

    private static let newestSeen = """
        LEFT JOIN LATERAL (
            SELECT * FROM messages n WHERE n.conversation_id = me.conversation_id AND \(ConversationSQL.isSeen("n"))
            ORDER BY n.seq DESC LIMIT 1
        ) l ON true
        """

    static let columnCount = 27 + Message.columnCount

    /// Views of the conversations in the table `pick(id)`: those that the caller is a member of, and channels.
    /// ``ConversationView/init(_:)`` reads the columns; `extra` comes after them.
    static func views(_ pick: String, order: String, extra: String = "") -> String {
        """
        WITH pick AS MATERIALIZED (\(pick))
        SELECT c.id, c.kind, c.title, c.about, \(Media.column(of: "c.photo_media_id")), c.history, c.is_read_only, c.created_at,
            \(ConversationSQL.head("c")), \(ConversationSQL.activity("c")), c.member_count::bigint,
            me.role, me.read_seq, me.delivered_seq, me.muted_until, me.pinned_at, \(ConversationSQL.archivedAt),
            \(unread), \(mentions),
            p.ids, p.names, p.photos, p.roles, p.joined, p.reads, p.delivered, l.seq,
            \(Message.columns("l", for: ConversationSQL.me))\(extra)
        FROM pick
        JOIN conversations c ON c.id = pick.id
        JOIN users self ON self.id = $1::uuid
        LEFT JOIN members me ON me.conversation_id = c.id AND me.user_id = $1::uuid
        \(newestSeen)
        LEFT JOIN LATERAL (
            SELECT array_agg(m.user_id) AS ids, array_agg(m.name) AS names, array_agg(m.photo) AS photos, array_agg(m.role) AS roles,
                array_agg(m.joined_at) AS joined, array_agg(m.read) AS reads, array_agg(m.delivered_seq) AS delivered
            FROM (
                SELECT o.user_id, COALESCE(u.display_name, '') AS name, \(Media.column(of: "u.photo_media_id")) AS photo, o.role,
                    o.joined_at, \(ConversationSQL.sharedRead) AS read, o.delivered_seq
                FROM members o LEFT JOIN users u ON u.id = o.user_id
                WHERE o.conversation_id = c.id AND c.kind <> \(ConversationKind.channel.stored)
                ORDER BY \(ConversationSQL.joining)
            ) m
        ) p ON true
        WHERE me.user_id IS NOT NULL OR c.kind = \(ConversationKind.channel.stored)
        ORDER BY \(order)
        """
    }

    static let view = PostgresStatement("conversation", views("SELECT $2::uuid AS id", order: "1"))

    // MARK: Lists

    /// The first page: by present activity. The snapshot that it was made in goes into the cursor.
    static let firstPage = PostgresStatement(
        "conversations first",
        views(
            """
            SELECT c.id, me.pinned_at IS NOT NULL AS is_pinned, \(ConversationSQL.activity("c")) AS activity
            FROM members me JOIN conversations c ON c.id = me.conversation_id
            WHERE me.user_id = $1::uuid AND (\(ConversationSQL.archivedAt) IS NOT NULL) = $3::boolean
            ORDER BY 2 DESC, 3 DESC, 1 DESC LIMIT $2::bigint
            """, order: "pick.is_pinned DESC, pick.activity DESC, pick.id DESC",
            extra: ", pick.is_pinned, pick.activity, pg_current_snapshot()::text"))

    /// A later page: by the activity and the pins that the snapshot of the first page could see. A conversation that was settled then and
    /// has not been touched since has it in its row; for others the newest message that was visible then tells.
    static let laterPage = PostgresStatement(
        "conversations later",
        views(
            """
            SELECT * FROM (
                SELECT c.id, CASE
                    WHEN me.pin_changes IS NULL THEN me.pinned_at IS NOT NULL
                    ELSE (me.pinned_at IS NOT NULL) <> (
                        SELECT count(*) % 2 = 1 FROM unnest(me.pin_changes) change(writer)
                        WHERE NOT pg_visible_in_snapshot(change.writer, $4::text::pg_snapshot))
                    END AS is_pinned, CASE
                    WHEN NOT c.is_active AND pg_visible_in_snapshot(c.changed_xid, $4::text::pg_snapshot) THEN c.last_activity_at
                    ELSE COALESCE((
                        SELECT n.created_at FROM messages n
                        WHERE n.conversation_id = c.id AND message_was_visible(
                            n.xmin, n.change_seq > n.seq, n.created_at, $5::timestamptz, $4::text::pg_snapshot)
                        ORDER BY n.seq DESC LIMIT 1), c.created_at)
                    END AS activity
                FROM members me JOIN conversations c ON c.id = me.conversation_id
                WHERE me.user_id = $1::uuid AND (\(ConversationSQL.archivedAt) IS NOT NULL) = $3::boolean
            ) was
            WHERE (is_pinned, activity, id) < ($6::boolean, $7::timestamptz, $8::uuid)
            ORDER BY 2 DESC, 3 DESC, 1 DESC LIMIT $2::bigint
            """, order: "pick.is_pinned DESC, pick.activity DESC, pick.id DESC", extra: ", pick.is_pinned, pick.activity"))

    // MARK: Channels

    /// After the title $2 and id $3, where there are such.
    private static func channels(_ condition: String) -> String {
        views(
            """
            SELECT c.id, c.folded_title FROM conversations c
            WHERE c.kind = \(ConversationKind.channel.stored)
                AND (c.folded_title, c.id) > (COALESCE($2::text, '') COLLATE "C", COALESCE($3::uuid, \(PostgresStatement.noID)))\(condition)
            ORDER BY c.folded_title, c.id LIMIT $4::bigint
            """, order: "pick.folded_title, pick.id", extra: ", pick.folded_title")
    }

    static let allChannels = PostgresStatement("channels", channels(""))

    /// The words between $5 and $6 are read first: few of many channels have them.
    static let channelSearch = PostgresStatement(
        "channel search",
        channels(
            """
             AND c.id = ANY(ARRAY(
                SELECT w.conversation_id FROM channel_words w
                WHERE w.folded >= $5::text COLLATE "C" AND w.folded < $6::text COLLATE "C"))
            """))
}

import RoostModel

/// Conversations and who is in them.
enum MemberStatements {
    static let find = PostgresStatement(
        "find direct", "SELECT id FROM conversations WHERE direct_low = $1::uuid AND direct_high = $2::uuid")

    /// No row where the pair's conversation was committed by another since this statement began, or where a user does not exist.
    static let openDirect = PostgresStatement(
        "open direct",
        """
        WITH made AS (
            INSERT INTO conversations (id, kind, shard, direct_low, direct_high, member_count, last_activity_at, created_at)
            SELECT $3::uuid, 0, $4::smallint, $1::uuid, $2::uuid, 2, $5::timestamptz, $5::timestamptz
            WHERE (SELECT count(*) FROM users WHERE id IN ($1::uuid, $2::uuid) AND deleted_at IS NULL) = 2
            ON CONFLICT (direct_low, direct_high) WHERE direct_low IS NOT NULL DO NOTHING
            RETURNING id
        ), joined AS (
            INSERT INTO members (conversation_id, user_id, role, joined_at)
            SELECT made.id, u.id, 1, $5::timestamptz FROM made, unnest(ARRAY[$1::uuid, $2::uuid]) u(id)
        )
        SELECT id FROM made
        """)

    static let create = PostgresStatement(
        "create conversation",
        """
        SELECT create_conversation($1::uuid, $2::smallint, $3::smallint, $4::uuid, $5::uuid[], $6::text, $7::text, $8::text[],
            $9::text, $10::uuid, $11::smallint, $12::text::jsonb, $13::timestamptz)
        """)

    static let isMember = PostgresStatement(
        "is member", "SELECT 1 FROM members WHERE user_id = $1::uuid AND conversation_id = $2::uuid")

    static let standing = PostgresStatement(
        "standing",
        """
        SELECT c.kind, me.role
        FROM conversations c LEFT JOIN members me ON me.conversation_id = c.id AND me.user_id = $1::uuid
        WHERE c.id = $2::uuid
        """)

    static let memberships = PostgresStatement(
        "memberships",
        """
        SELECT c.id, c.kind FROM members me JOIN conversations c ON c.id = me.conversation_id
        WHERE me.user_id = $1::uuid ORDER BY c.id
        """)

    /// A row a member that the subquery `members` of `o` has; one without a member where it has none.
    private static func read(_ members: String) -> String {
        """
        SELECT m.user_id, COALESCE(u.display_name, ''), \(Media.column(of: "u.photo_media_id")), m.role, m.joined_at,
            CASE WHEN m.user_id = self.id OR (u.share_read_receipts AND self.share_read_receipts) THEN m.read_seq END,
            m.delivered_seq, m.since_seq
        FROM members me
        JOIN users self ON self.id = me.user_id
        LEFT JOIN LATERAL (SELECT * FROM members o WHERE o.conversation_id = me.conversation_id AND \(members)) m ON true
        LEFT JOIN users u ON u.id = m.user_id
        WHERE me.user_id = $1::uuid AND me.conversation_id = $2::uuid
        ORDER BY m.joined_at, m.since_seq, m.user_id
        """
    }

    /// After the place $3…$5 in the order of joining, where there is one.
    static let page = PostgresStatement(
        "members",
        read(
            """
            (\(ConversationSQL.joining)) > (COALESCE($3::timestamptz, '-infinity'), COALESCE($4::bigint, 0), COALESCE($5::uuid, \(PostgresStatement.noID)))
            ORDER BY \(ConversationSQL.joining) LIMIT $6::bigint
            """))

    static let member = PostgresStatement("member", read("o.user_id = $3::uuid"))

    /// How the conversation stood until now, archived or not, is settled with the old muting before that or the archiving changes.
    /// $3 whether the muting changes and $4 until when, $5 pinned, $6 archived, $7 the time. Of the changes of the pin only the
    /// latest are kept: nobody changes it more often while paging through a list.
    static let changeSettings = PostgresStatement(
        "change settings",
        """
        UPDATE members me SET changed_xid = pg_current_xact_id(),
            muted_until = CASE WHEN $3::boolean THEN $4::timestamptz ELSE me.muted_until END,
            archived_at = CASE
                WHEN $6::boolean THEN COALESCE(\(ConversationSQL.archivedAt), $7::timestamptz)
                WHEN NOT $6::boolean THEN NULL
                WHEN $3::boolean THEN \(ConversationSQL.archivedAt)
                ELSE me.archived_at END,
            archived_seq = CASE WHEN $3::boolean OR $6::boolean IS NOT NULL THEN \(ConversationSQL.head("c")) ELSE me.archived_seq END,
            pinned_at = CASE
                WHEN $5::boolean THEN COALESCE(me.pinned_at, $7::timestamptz)
                WHEN NOT $5::boolean THEN NULL
                ELSE me.pinned_at END,
            pin_changes = CASE
                WHEN $5::boolean <> (me.pinned_at IS NOT NULL) THEN (ARRAY[pg_current_xact_id()] || me.pin_changes)[1:16]
                ELSE me.pin_changes END
        FROM conversations c
        WHERE c.id = me.conversation_id AND me.user_id = $1::uuid AND me.conversation_id = $2::uuid
        RETURNING 1
        """)
}

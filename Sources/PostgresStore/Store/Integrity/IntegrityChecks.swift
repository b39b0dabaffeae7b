import RoostModel

/// What is looked at in the conversations $1.
enum ConversationChecks {
    private static let of = "FROM conversations c WHERE c.id = ANY($1::uuid[])"
    private static let subject = "'conversation/' || c.id"
    private static let stored = ConversationSQL.storedHead("c.id")
    private static let head = ConversationSQL.head("c")
    /// Before what is counted anew, so that nobody changes it in between.
    private static let lock = "SELECT 1 FROM conversations WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE"
    private static let members = "(SELECT count(*) FROM members m WHERE m.conversation_id = c.id)"
    private static let isGroup = "c.kind <> \(ConversationKind.direct.stored)"
    /// Whether a node that is up owns the conversation or its shard, or is to.
    private static let isOwned = """
        EXISTS (SELECT FROM cluster_nodes n WHERE n.state = 'up' AND n.incarnation IN (
            SELECT s.owner FROM shards s WHERE s.kind = 0 AND s.number = c.shard
            UNION ALL SELECT p.owner FROM actor_pins p WHERE p.kind = 0 AND p.id = c.id))
        """
    private static let isStale = """
        c.is_active AND NOT \(isOwned) AND NOT EXISTS (
            SELECT FROM messages n WHERE n.conversation_id = c.id AND n.created_at > now() - interval '1 hour')
        """
    private static let isBeyond = "m.read_seq < 0 OR m.read_seq > m.delivered_seq OR m.delivered_seq > c.head"

    static let all = [
        IntegrityCheck(
            "counterBehind", "the counter stands before the newest change", remedy: "the counter is set to the newest change",
            find: "SELECT \(subject) \(of) AND NOT c.is_active AND c.last_seq < \(stored)",
            repair: [
                """
                UPDATE conversations c SET last_seq = \(stored), changed_xid = pg_current_xact_id(), last_activity_at = COALESCE(
                    (SELECT n.created_at FROM messages n WHERE n.conversation_id = c.id ORDER BY n.seq DESC LIMIT 1),
                    c.last_activity_at)
                WHERE c.id = ANY($1::uuid[]) AND NOT c.is_active AND c.last_seq < \(stored)
                """
            ]),
        IntegrityCheck(
            "counterAhead", "the counter stands behind changes that are not there: the newest were lost",
            find: "SELECT \(subject) \(of) AND c.last_seq > \(stored)"),
        IntegrityCheck(
            "changeMissing", "a value of the counter behind the newest message was taken by nothing that is there",
            find: """
                SELECT 'message/' || c.id || '/' || v.value
                FROM (SELECT c.id, \(head) AS head, COALESCE((SELECT n.seq FROM messages n WHERE n.conversation_id = c.id
                    ORDER BY n.seq DESC LIMIT 1), 0) AS newest \(of) OFFSET 0) c
                CROSS JOIN LATERAL generate_series(c.newest + 1, LEAST(c.head, c.newest + 10000)) v(value)
                WHERE \(MessageChecks.isUntaken("c.id"))
                """),
        IntegrityCheck(
            "memberCount", "the stored number of members is not that of the members", remedy: "they are counted anew",
            find: "SELECT \(subject) \(of) AND \(isGroup) AND c.member_count <> \(members)",
            repair: [
                lock,
                """
                UPDATE conversations c SET member_count = \(members), changed_xid = pg_current_xact_id()
                WHERE c.id = ANY($1::uuid[]) AND \(isGroup) AND c.member_count <> \(members)
                """,
            ]),
        IntegrityCheck(
            "directMembers", "the members of a direct conversation are not its two users",
            find: """
                SELECT \(subject) \(of) AND NOT \(isGroup) AND (\(members) <> 2 OR EXISTS (
                    SELECT FROM members m WHERE m.conversation_id = c.id AND m.user_id NOT IN (c.direct_low, c.direct_high)))
                """),
        IntegrityCheck(
            "directTwice", "two users have more than one direct conversation",
            find: """
                SELECT \(subject) \(of) AND NOT \(isGroup) AND EXISTS (
                    SELECT FROM conversations o WHERE o.direct_low = c.direct_low AND o.direct_high = c.direct_high AND o.id <> c.id)
                """),
        IntegrityCheck(
            "nobodyThere", "a group or channel has no member", find: "SELECT \(subject) \(of) AND \(isGroup) AND \(members) = 0"),
        IntegrityCheck(
            "noAdmin", "a group or channel has members but no admin",
            find: """
                SELECT \(subject) \(of) AND \(isGroup) AND \(members) > 0 AND NOT EXISTS (SELECT FROM members m
                    WHERE m.conversation_id = c.id AND m.role = \(MemberRole.admin.stored))
                """),
        IntegrityCheck(
            "positionBeyond", "a member has read or received more than there is, or read what they did not receive",
            remedy: "the positions are cut to what there is",
            find: """
                SELECT \(subject) FROM (SELECT c.id, \(head) AS head \(of) OFFSET 0) c
                JOIN members m ON m.conversation_id = c.id WHERE \(isBeyond)
                """,
            repair: [
                """
                UPDATE members m SET read_seq = LEAST(GREATEST(m.read_seq, 0), c.head), changed_xid = pg_current_xact_id(),
                    delivered_seq = LEAST(GREATEST(m.delivered_seq, m.read_seq, 0), c.head)
                FROM (SELECT c.id, \(head) AS head \(of) OFFSET 0) c WHERE m.conversation_id = c.id AND (\(isBeyond))
                """
            ]),
        IntegrityCheck(
            "departedMember", "a member counts as one who left", remedy: "the note of the departure is deleted",
            find: """
                SELECT \(subject) \(of) AND EXISTS (SELECT FROM members m
                    JOIN departures d ON d.conversation_id = m.conversation_id AND d.user_id = m.user_id
                    WHERE m.conversation_id = c.id)
                """,
            repair: [
                """
                DELETE FROM departures d USING members m WHERE m.conversation_id = ANY($1::uuid[])
                    AND d.conversation_id = m.conversation_id AND d.user_id = m.user_id
                """
            ]),
        IntegrityCheck(
            "searchableBeyond", "more counts as prepared for searching than there is",
            remedy: "all of it is prepared again, by the nodes",
            find: "SELECT \(subject) \(of) AND (c.searchable_seq < 0 OR c.searchable_seq > \(head))",
            repair: [
                """
                UPDATE conversations c SET searchable_seq = 0
                WHERE c.id = ANY($1::uuid[]) AND (c.searchable_seq < 0 OR c.searchable_seq > \(head))
                """
            ]),
        IntegrityCheck(
            "staleMark", "a conversation that has been quiet for an hour counts as active, and no node that is up owns it",
            remedy: "its counter and time are stored and the mark is cleared",
            find: "SELECT \(subject) \(of) AND \(isStale)",
            // Nobody becomes an owner meanwhile.
            repair: [
                "SELECT 1 FROM cluster_state FOR UPDATE",
                """
                UPDATE conversations c SET last_seq = \(head), is_active = false, changed_xid = pg_current_xact_id(),
                    last_activity_at = COALESCE(
                        (SELECT n.created_at FROM messages n WHERE n.conversation_id = c.id ORDER BY n.seq DESC LIMIT 1),
                        c.last_activity_at)
                WHERE c.id = ANY($1::uuid[]) AND \(isStale)
                """,
            ]),
        IntegrityCheck(
            "photoMissing", "a conversation's photo is a file that is not there",
            find: """
                SELECT \(subject) \(of) AND c.photo_media_id IS NOT NULL AND NOT EXISTS (
                    SELECT FROM media f WHERE f.id = c.photo_media_id)
                """),
    ]
}

/// What is looked at in the messages after the key ($1, $2) up to ($3, $4).
enum MessageChecks {
    /// The last row of a deleted conversation stands beyond all.
    private static func part(_ isAfter: String) -> String {
        """
        FROM messages m WHERE (m.conversation_id, m.seq) \(isAfter) ($1::uuid, $2::bigint)
            AND (m.conversation_id, m.seq) <= ($3::uuid, $4::bigint) AND m.seq < 4611686018427387904
        """
    }

    private static let of = part(">")
    private static let subject = "'message/' || m.conversation_id || '/' || m.seq"
    private static let isLeft = """
        m.deleted_at IS NOT NULL AND (m.text <> '' OR m.media_id IS NOT NULL OR m.reply_to IS NOT NULL OR m.mentions IS NOT NULL)
        """

    /// Whether no message of a conversation has `v.value` as that of its birth or its latest change, nor may have had it: of a message that
    /// was changed again later the value is forgotten.
    static func isUntaken(_ conversation: String) -> String {
        """
        NOT EXISTS (SELECT FROM messages o WHERE o.conversation_id = \(conversation) AND o.seq = v.value)
        AND NOT EXISTS (SELECT FROM messages o WHERE o.conversation_id = \(conversation) AND o.change_seq = v.value
            AND o.change_seq > o.seq)
        AND NOT EXISTS (SELECT FROM messages o WHERE o.conversation_id = \(conversation) AND o.change_seq > v.value
            AND o.change_seq > o.seq AND o.seq < v.value)
        """
    }

    static let all = [
        IntegrityCheck(
            "valueMissing", "a value of the counter was taken by nothing that is there: a message was lost",
            find: """
                SELECT 'message/' || g.conversation_id || '/' || v.value
                FROM (SELECT m.conversation_id, m.seq, lag(
                        m.seq, 1, CASE WHEN (m.conversation_id, m.seq) = ($1::uuid, $2::bigint) THEN m.seq - 1 ELSE 0 END)
                    OVER (PARTITION BY m.conversation_id ORDER BY m.seq) AS before \(part(">="))) g
                CROSS JOIN LATERAL generate_series(g.before + 1, LEAST(g.seq - 1, g.before + 10000)) v(value)
                WHERE g.seq > g.before + 1 AND \(isUntaken("g.conversation_id"))
                """),
        IntegrityCheck(
            "valueTwice", "a value of the counter was taken by a message and by a change of another",
            find: """
                SELECT \(subject) \(of) AND m.change_seq > m.seq AND EXISTS (
                    SELECT FROM messages o WHERE o.conversation_id = m.conversation_id AND o.seq = m.change_seq)
                """),
        IntegrityCheck(
            "valueWrong", "a message has a value below 1, or was changed before it was born",
            find: "SELECT \(subject) \(of) AND (m.seq < 1 OR m.change_seq < m.seq)"),
        IntegrityCheck(
            "deletedContent", "something is left of a message that was deleted for everyone", remedy: "it is blanked",
            find: "SELECT \(subject) \(of) AND \(isLeft)",
            repair: [
                """
                UPDATE messages t SET text = '', media_id = NULL, reply_to = NULL, mentions = NULL
                FROM (SELECT m.conversation_id, m.seq \(of) AND \(isLeft)) m
                WHERE t.conversation_id = m.conversation_id AND t.seq = m.seq AND t.deleted_at IS NOT NULL
                """
            ]),
        IntegrityCheck(
            "orphanMessage", "a message's conversation is not there, nor one that is being cleared away",
            find: "SELECT \(subject) \(of) AND \(RowChecks.isWithoutConversation("m"))"),
        IntegrityCheck(
            "senderUnknown", "a message's sender never was a user",
            find: "SELECT \(subject) \(of) AND NOT EXISTS (SELECT FROM users u WHERE u.id = m.sender_id)"),
        IntegrityCheck(
            "mediaMissing", "a message's file is not there",
            find: """
                SELECT \(subject) \(of) AND m.media_id IS NOT NULL AND NOT EXISTS (SELECT FROM media f WHERE f.id = m.media_id)
                """),
    ]

    /// The key that ends a part of $3 rows which begins at ($1, $2), with their number.
    static let end = PostgresStatement(
        "check messages",
        """
        SELECT p.conversation_id, p.seq, p.number FROM (
            SELECT m.conversation_id, m.seq, row_number() OVER (ORDER BY m.conversation_id, m.seq) AS number FROM messages m
            WHERE (m.conversation_id, m.seq) >= ($1::uuid, $2::bigint) ORDER BY m.conversation_id, m.seq LIMIT $3::bigint
        ) p ORDER BY p.number DESC LIMIT 1
        """)
}

/// What is looked at in the pages of a table from $1 up to $2, which it leaves out.
enum RowChecks {
    static func isWithoutConversation(_ alias: String) -> String {
        """
        (NOT EXISTS (SELECT FROM conversations k WHERE k.id = \(alias).conversation_id)
        AND NOT EXISTS (SELECT FROM erased_conversations e WHERE e.conversation_id = \(alias).conversation_id))
        """
    }

    private static let isWithoutUser = "NOT EXISTS (SELECT FROM users u WHERE u.id = t.user_id)"

    /// - Parameter ofDeleted: whether rows may belong to a message that was deleted for everyone.
    private static func isWithoutMessage(ofDeleted: Bool) -> String {
        """
        (NOT EXISTS (SELECT FROM messages m
            WHERE m.conversation_id = t.conversation_id AND m.seq = t.seq\(ofDeleted ? "" : " AND m.deleted_at IS NULL"))
        AND NOT EXISTS (SELECT FROM erased_conversations e WHERE e.conversation_id = t.conversation_id))
        """
    }

    private static func orphans(
        _ table: String, _ code: String, _ meaning: String, _ conditions: String...
    ) -> (String, IntegrityCheck) {
        let rows = "t.ctid >= $1::text::tid AND t.ctid < $2::text::tid AND (\(conditions.joined(separator: " OR ")))"
        let check = IntegrityCheck(
            code, meaning, remedy: "the row is deleted",
            find: "SELECT 'conversation/' || t.conversation_id FROM \(table) t WHERE \(rows)",
            repair: ["DELETE FROM \(table) t WHERE \(rows)"])
        return (table, check)
    }

    static let all = [
        orphans(
            "members", "orphanMember", "a member of a conversation that is not there, or one who never was a user",
            isWithoutConversation("t"), isWithoutUser),
        orphans(
            "positions", "orphanPosition", "a receipt in a conversation that is not there, or of nobody",
            isWithoutConversation("t"),
            isWithoutUser),
        orphans(
            "reactions", "orphanReaction", "a reaction to a message that is not there or was deleted, or of nobody",
            isWithoutMessage(ofDeleted: false), isWithoutUser),
        orphans(
            "mentions", "orphanMention", "a mention by a message that is not there or was deleted, or of nobody",
            isWithoutMessage(ofDeleted: false), isWithoutUser),
        orphans(
            "hidden", "orphanHidden", "a hidden message that is not there, or hidden from nobody",
            isWithoutMessage(ofDeleted: true),
            isWithoutUser),
        orphans(
            "message_words", "orphanWords", "words of a message that is not there or was deleted",
            isWithoutMessage(ofDeleted: false)),
        orphans("channel_words", "orphanTitle", "words of the title of a channel that is not there", isWithoutConversation("t")),
    ]

    /// Pages of table $1.
    static let pages = PostgresStatement(
        "check pages",
        "SELECT pg_relation_size($1::text::regclass) / current_setting('block_size')::bigint + 1")
}

/// What is looked at once.
enum WholeChecks {
    static let all = [
        IntegrityCheck(
            "nodeSilent", "a node counts as up whose lease ended over a minute ago: no other node has buried it",
            find: """
                SELECT 'node/' || n.incarnation FROM cluster_nodes n
                WHERE n.state = 'up' AND n.lease_until < clock_timestamp() - interval '1 minute'
                """),
        IntegrityCheck(
            "operationUnattended", "an operation is under way, and for over a minute nobody has led the cluster",
            find: """
                SELECT 'operation/' || o.id FROM operations o
                WHERE o.ended_at IS NULL AND o.started_at < clock_timestamp() - interval '1 minute' AND NOT EXISTS (
                    SELECT FROM cluster_state c WHERE c.leader_lease_until > clock_timestamp() - interval '1 minute')
                """),
        IntegrityCheck(
            "mailOld", "a mail that is over a day old was neither sent nor given up", remedy: "it is deleted: its link is void",
            find: "SELECT 'mail/' || m.id FROM mail_outbox m WHERE m.created_at < now() - interval '25 hours'",
            repair: ["DELETE FROM mail_outbox WHERE created_at < now() - interval '25 hours'"]),
        IntegrityCheck(
            "mailOverdue", "a mail has been due for over an hour, and nobody sends it",
            find: """
                SELECT 'mail/' || m.id FROM mail_outbox m
                WHERE m.next_attempt_at < now() - interval '1 hour' AND m.created_at >= now() - interval '25 hours'
                """),
        IntegrityCheck(
            "deletionOverdue", "the deletion of an account has been due for over an hour, and nobody goes on with it",
            find: "SELECT 'user/' || d.user_id FROM user_deletions d WHERE d.claimed_until < now() - interval '1 hour'"),
        IntegrityCheck(
            "deletionWithoutAccount", "an account is to be deleted that is not marked as deleted",
            find: """
                SELECT 'user/' || d.user_id FROM user_deletions d JOIN users u ON u.id = d.user_id WHERE u.deleted_at IS NULL
                """),
    ]
}

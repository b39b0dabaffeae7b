import Ports
import RoostModel

/// What the journal writes. Each commit is one statement, so that a process that stops in the middle of sending one holds no lock.
enum JournalStatements {
    /// Parameters 1 and 2. Whoever closes the fence waits for this lock; whoever finds it closed inserts nothing.
    private static let fence = """
        fence AS (SELECT 1 FROM node_fences WHERE incarnation = $1::uuid AND lane = $2::smallint AND is_open FOR NO KEY UPDATE)
        """

    private static let moved = """
        moved AS (
            UPDATE members m SET read_seq = GREATEST(m.read_seq, p.read_seq),
                delivered_seq = GREATEST(m.delivered_seq, p.delivered_seq, p.read_seq), changed_xid = pg_current_xact_id()
            FROM fence, changes p
            WHERE m.conversation_id = p.conversation_id AND m.user_id = p.user_id
                AND (m.read_seq < p.read_seq OR m.delivered_seq < GREATEST(p.delivered_seq, p.read_seq))
            RETURNING m.conversation_id, m.user_id, m.delivered_seq, m.read_seq, p.at
        ), logged AS (
            INSERT INTO positions (conversation_id, user_id, delivered_seq, read_seq, at) SELECT * FROM moved ON CONFLICT DO NOTHING
        )
        """

    private static let columns =
        "conversation_id, sender_id, seq, change_seq, created_at, kind, client_id, text, fingerprint"
    private static let values =
        "m.conversation_id, m.sender_id, m.seq, m.seq, m.created_at, m.kind, m.client_id, m.text, m.fingerprint"

    /// What few messages have: the message that they answer, a file, and whether they were forwarded. 0 stands for none.
    private static let referenceColumns = "reply_to, media_id, is_forwarded"
    private static let referenceValues =
        "NULLIF(m.reply_to, 0), NULLIF(m.media_id, '00000000-0000-0000-0000-000000000000'), m.is_forwarded"

    private static func mark(_ ids: String) -> String {
        """
        marked AS (
            UPDATE conversations c SET is_active = true, changed_xid = pg_current_xact_id()
            FROM fence WHERE c.id = ANY(\(ids)) AND NOT c.is_active
        )
        """
    }

    /// Whether `first` is not the value after a conversation's counter, where no message has it: the value before is missing, or a change
    /// of an older message has it or a later one. Exact probes: looking for the greatest `seq` would read a page of the index each time.
    /// The order names the index of changes: on tables that are still empty the planner finds all indexes equally good, and keeps to it.
    /// Not with EXISTS either: for a table that it takes to be small the planner would read all of it into a hash, batch after batch.
    private static func isMisplaced(_ conversation: String, _ first: String) -> String {
        """
        (\(first) > 1
            AND (SELECT 1 FROM messages h WHERE h.conversation_id = \(conversation) AND h.seq = \(first) - 1 LIMIT 1) IS NULL
            AND (SELECT 1 FROM messages h
                WHERE h.conversation_id = \(conversation) AND h.change_seq = \(first) - 1 AND h.change_seq > h.seq LIMIT 1) IS NULL
        ) OR \(first) <= (SELECT h.change_seq FROM messages h
            WHERE h.conversation_id = \(conversation) AND h.change_seq > h.seq
            ORDER BY h.conversation_id DESC, h.change_seq DESC LIMIT 1)
        """
    }

    /// Which parts a batch has; a part that is absent costs nothing.
    struct Parts: OptionSet {
        let rawValue: Int
        static let messages = Parts(rawValue: 1)
        static let positions = Parts(rawValue: 2)
        static let marks = Parts(rawValue: 4)
        /// Only with messages.
        static let references = Parts(rawValue: 8)
    }

    /// Answers the number of open fences (0 or 1), and of entries that do not begin right after their conversation's counter: then
    /// nothing was stored. An entry whose first value exists fails by the primary key or here; both are done again in isolation.
    static func commit(_ parts: Parts) -> PostgresStatement { commits[parts.rawValue] }

    private static let commits: [PostgresStatement] = (0..<16).map { number in
        let parts = Parts(rawValue: number)
        var parameter = 2
        func next(_ type: String) -> String {
            parameter += 1
            return "$\(parameter)::\(type)[]"
        }
        var tables = [fence]
        var gaps = "0::bigint"
        if parts.contains(.messages) {
            let firsts = "unnest(\(next("uuid")), \(next("bigint"))) e(id, first)"
            tables.append("gaps AS (SELECT count(*) AS n FROM \(firsts) WHERE \(isMisplaced("e.id", "e.first")))")
            let isPlain = !parts.contains(.references)
            let types =
                ["uuid", "uuid", "bigint", "timestamptz", "smallint", "text", "text", "bigint"]
                + (isPlain ? [] : ["bigint", "uuid", "boolean"])
            let arrays = types.map(next).joined(separator: ", ")
            tables.append(
                """
                stored AS (
                    INSERT INTO messages (\(columns)\(isPlain ? "" : ", " + referenceColumns))
                    SELECT \(values)\(isPlain ? "" : ", " + referenceValues)
                    FROM fence, unnest(\(arrays)) m(conversation_id, sender_id, seq, created_at, kind, client_id, text,
                        fingerprint\(isPlain ? "" : ", " + referenceColumns))
                    WHERE (SELECT n FROM gaps) = 0
                )
                """)
            gaps = "(SELECT n FROM gaps)"
        }
        if parts.contains(.positions) {
            let arrays = ["uuid", "uuid", "bigint", "bigint", "timestamptz"].map(next).joined(separator: ", ")
            let condition = parts.contains(.messages) ? "WHERE (SELECT n FROM gaps) = 0" : ""
            tables.append(
                "changes AS (SELECT * FROM unnest(\(arrays)) p(conversation_id, user_id, read_seq, delivered_seq, at) \(condition))"
            )
            tables.append(moved)
        }
        if parts.contains(.marks) {
            let ids = next("uuid")
            tables.append(mark(parts.contains(.messages) ? "CASE WHEN (SELECT n FROM gaps) = 0 THEN \(ids) ELSE '{}' END" : ids))
        }
        return PostgresStatement(
            "commit\(number)", "WITH \(tables.joined(separator: ", ")) SELECT (SELECT count(*) FROM fence), \(gaps)")
    }

    /// As a commit with all parts, but without the entries that would conflict, whose numbers it answers. Every row carries the number
    /// of its entry.
    static let isolate = PostgresStatement(
        "isolate",
        """
        WITH \(fence), input AS MATERIALIZED (
            SELECT * FROM unnest($3::bigint[], $4::uuid[], $5::uuid[], $6::bigint[], $7::timestamptz[], $8::smallint[], $9::text[],
                $10::text[], $11::bigint[], $12::bigint[], $13::uuid[], $14::boolean[])
                m(entry, conversation_id, sender_id, seq, created_at, kind, client_id, text, fingerprint, \(referenceColumns))
        ), refused AS MATERIALIZED (
            SELECT e.entry
                FROM (SELECT i.entry, i.conversation_id, min(i.seq) AS first FROM input i GROUP BY 1, 2) e
                WHERE e.first <> 1 + \(ConversationSQL.storedHead("e.conversation_id"))
            UNION SELECT i.entry FROM input i WHERE EXISTS (
                SELECT FROM messages o
                WHERE o.conversation_id = i.conversation_id AND o.sender_id = i.sender_id AND o.client_id = i.client_id)
        ), stored AS (
            INSERT INTO messages (\(columns), \(referenceColumns)) SELECT \(values), \(referenceValues)
            FROM fence, input m WHERE m.entry NOT IN (SELECT entry FROM refused)
        ), changes AS (
            SELECT p.conversation_id, p.user_id, p.read_seq, p.delivered_seq, p.at
            FROM unnest($15::bigint[], $16::uuid[], $17::uuid[], $18::bigint[], $19::bigint[], $20::timestamptz[])
                p(entry, conversation_id, user_id, read_seq, delivered_seq, at)
            WHERE p.entry NOT IN (SELECT entry FROM refused)
        ), \(moved), marks AS (
            SELECT * FROM unnest($21::bigint[], $22::uuid[]) k(entry, id) WHERE k.entry NOT IN (SELECT entry FROM refused)
        ), \(mark("ARRAY(SELECT id FROM marks)"))
        SELECT (SELECT count(*) FROM fence), ARRAY(SELECT entry FROM refused)
        """)

    /// Waits for whatever an earlier connection of this lane left running.
    static let barrier = PostgresStatement(
        "barrier", "SELECT 1 FROM node_fences WHERE incarnation = $1::uuid AND lane = $2::smallint FOR NO KEY UPDATE")

    /// The time of activity is that of the newest message, as lists compute it while the mark is set.
    static let settle = PostgresStatement(
        "settle",
        """
        WITH \(fence), settled AS (
            UPDATE conversations c SET last_seq = e.head, is_active = false, changed_xid = pg_current_xact_id(),
                last_activity_at = COALESCE(
                    (SELECT n.created_at FROM messages n WHERE n.conversation_id = c.id ORDER BY n.seq DESC LIMIT 1),
                    c.last_activity_at)
            FROM fence, unnest($3::uuid[], $4::bigint[]) e(id, head)
            WHERE c.id = e.id AND c.is_active AND e.head = GREATEST(c.last_seq, \(ConversationSQL.storedHead("c.id")))
        )
        SELECT count(*) FROM fence
        """)

    /// Entries of any kind, as ``RichCommit`` writes them.
    static let commitChanges = PostgresStatement("commit changes", "SELECT commit_changes($1::uuid, $2::smallint, $3::text[])")
}

import RoostModel

/// Finding messages by their words. What was prepared stands in `message_words`; each conversation's row says up to which value of the
/// counter, and what changed later is read as it is.
enum SearchStatements {
    // MARK: Preparing

    /// Conversations with changes that are not prepared yet, at most $1, with where to begin and the counter: those with the most first, so that none waits for ever.
    static let unprepared = PostgresStatement(
        "unprepared",
        """
        SELECT c.id, c.searchable_seq, c.head FROM (
            SELECT c.id, c.searchable_seq, \(ConversationSQL.head("c")) AS head
            FROM conversations c WHERE (c.is_active OR c.last_seq > c.searchable_seq) OFFSET 0
        ) c
        WHERE c.head > c.searchable_seq ORDER BY c.head - c.searchable_seq DESC LIMIT $1::bigint
        """)

    /// The same of those whose row has been brought up to date since: a look at a small index, whatever goes on meanwhile.
    static let unpreparedQuiet = PostgresStatement(
        "unprepared quiet",
        """
        SELECT c.id, c.searchable_seq, c.last_seq FROM conversations c WHERE c.last_seq > c.searchable_seq
        LIMIT $1::bigint
        """)

    /// New and changed messages of conversation $1 after the value $2, at most $3, in the order of change. Those of the system and
    /// deleted ones have no text.
    static let changed = PostgresStatement(
        "search changed",
        """
        SELECT x.seq, x.change_seq, x.created_at, x.text FROM (
            (SELECT n.seq, n.change_seq, n.created_at, n.text FROM messages n
                WHERE n.conversation_id = $1::uuid AND n.seq > $2::bigint AND n.change_seq = n.seq
                ORDER BY n.seq LIMIT $3::bigint)
            UNION ALL
            (SELECT n.seq, n.change_seq, n.created_at, n.text FROM messages n
                WHERE n.conversation_id = $1::uuid AND n.change_seq > $2::bigint AND n.change_seq > n.seq
                ORDER BY n.change_seq LIMIT $3::bigint)
        ) x ORDER BY x.change_seq LIMIT $3::bigint
        """)

    /// Moves conversation $1 from the value $2 on to $3 and stores the words of its messages ($4 seq, $5 time, $6 words parted by
    /// spaces; none: cannot be found). Nothing where another has moved it: then what was read may be old.
    static let prepare = PostgresStatement(
        "search prepare",
        """
        WITH moved AS (
            UPDATE conversations c SET searchable_seq = $3::bigint WHERE c.id = $1::uuid AND c.searchable_seq = $2::bigint
            RETURNING c.id
        ), input AS (
            SELECT moved.id, i.seq, i.created_at, i.words
            FROM moved, unnest($4::bigint[], $5::timestamptz[], $6::text[]) i(seq, created_at, words)
        ), gone AS (
            DELETE FROM message_words w USING input i WHERE i.words = '' AND w.conversation_id = i.id AND w.seq = i.seq
        ), stored AS (
            INSERT INTO message_words (conversation_id, seq, created_at, words)
            SELECT i.id, i.seq, i.created_at, array_to_tsvector(string_to_array(i.words, ' ')) FROM input i WHERE i.words <> ''
            ON CONFLICT (conversation_id, seq) DO UPDATE SET words = EXCLUDED.words
        )
        SELECT count(*) FROM moved
        """)

    /// Clears away what a deleted conversation has left, at most $1 rows. Answers whether there was anything.
    static let clear = PostgresStatement("clear erased", "SELECT clear_erased($1::int)")

    // MARK: Searching

    /// The conversations of the caller $1 that are searched: all, or $2 alone.
    static let scope = PostgresStatement(
        "search scope",
        """
        SELECT me.conversation_id FROM members me
        WHERE me.user_id = $1::uuid AND ($2::uuid IS NULL OR me.conversation_id = $2::uuid)
        """)

    /// The messages of the table that `candidates` makes, as the caller sees them. Joined one after another: a join of the three in
    /// parentheses would read all of the caller's messages.
    private static func read(_ candidates: String) -> String {
        """
        WITH pick AS MATERIALIZED (\(candidates))
        SELECT pick.created_at, pick.conversation_id, pick.seq, m.seq, \(Message.columns("m", for: ConversationSQL.me))
        FROM pick
        LEFT JOIN members me ON me.conversation_id = pick.conversation_id AND me.user_id = $1::uuid
        LEFT JOIN conversations c ON c.id = me.conversation_id
        LEFT JOIN messages m ON m.conversation_id = me.conversation_id AND m.seq = pick.seq AND m.deleted_at IS NULL
            AND \(ConversationSQL.isSeen("m"))
        ORDER BY pick.created_at DESC, pick.conversation_id DESC, pick.seq DESC
        """
    }

    /// Whether the row `alias` comes after the place $3…$5, newest first; where there is none, all do.
    private static func isLater(_ alias: String) -> String {
        """
        ($3::timestamptz IS NULL OR (\(alias).created_at, \(alias).conversation_id, \(alias).seq) < ($3::timestamptz, $4::uuid, $5::bigint))
        """
    }

    /// At most $6 messages whose prepared words satisfy one of the queries $2, newest first; without a message where the caller may not
    /// see it. The words may be of an older text, or, where marks are alike, of another conversation.
    static let prepared = PostgresStatement(
        "search prepared",
        read(
            """
            SELECT w.created_at, w.conversation_id, w.seq FROM message_words w
            WHERE w.words @@ ANY($2::text[]::tsquery[]) AND \(isLater("w"))
            ORDER BY w.created_at DESC, w.conversation_id DESC, w.seq DESC LIMIT $6::bigint
            """))

    /// At most $6 messages of the conversations $2 that were not prepared in their present state, newest first: of each conversation its
    /// newest, which are the last of the order of time too, and all older ones that were changed. Each conversation is probed, by the
    /// offset: else all that are active anywhere may be read.
    static let unpreparedMessages = PostgresStatement(
        "search unprepared",
        read(
            """
            SELECT t.created_at, t.conversation_id, t.seq FROM unnest($2::uuid[]) k(id)
            CROSS JOIN LATERAL (
                SELECT * FROM conversations s
                WHERE s.id = k.id AND (s.is_active OR s.last_seq > s.searchable_seq) OFFSET 0
            ) s
            CROSS JOIN LATERAL (
                (SELECT n.created_at, n.conversation_id, n.seq FROM messages n
                    WHERE n.conversation_id = s.id AND n.seq > s.searchable_seq
                        AND n.kind <> \(Message.Kind.system.stored) AND n.deleted_at IS NULL AND \(isLater("n"))
                    ORDER BY n.seq DESC LIMIT $6::bigint)
                UNION ALL
                (SELECT n.created_at, n.conversation_id, n.seq FROM messages n
                    WHERE n.conversation_id = s.id AND n.change_seq > s.searchable_seq AND n.change_seq > n.seq
                        AND n.seq <= s.searchable_seq AND n.deleted_at IS NULL AND \(isLater("n")))
            ) t
            ORDER BY t.created_at DESC, t.conversation_id DESC, t.seq DESC LIMIT $6::bigint
            """))
}

/// What is put before the words of a conversation: 48 random bits of its id. Where two have the same, hits of the wrong one are sorted
/// out by the rights of whoever searches.
struct SearchMark {
    private let text: String

    init(_ conversation: ConversationID) {
        let digits = String(conversation.low & 0xFFFF_FFFF_FFFF, radix: 36)
        text = digits + ":"
    }

    func word(_ word: String) -> String { text + word }

    /// The terms as PostgreSQL's `tsquery`: each quoted, so that nothing in it is an operator.
    func tsquery(_ terms: [SearchWords.Term]) -> String {
        terms.map { term in
            var quoted = "'"
            for scalar in word(term.word).unicodeScalars {
                if scalar == "'" || scalar == "\\" { quoted.unicodeScalars.append(scalar) }
                quoted.unicodeScalars.append(scalar)
            }
            return quoted + (term.isPrefix ? "':*" : "'")
        }.joined(separator: " & ")
    }
}

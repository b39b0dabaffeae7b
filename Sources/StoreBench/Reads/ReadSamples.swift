import RoostModel

/// Whom and what the measured calls are about, drawn from the database: memberships at random, so that a user comes as often as they are
/// in conversations, and messages at random, so that a conversation comes as often as it has messages.
struct ReadSamples {
    struct Place {
        let user: UserID
        let conversation: ConversationID
        /// The counter, and that of a message.
        let head: Seq
        let seq: Seq
    }

    /// Each with a user.
    var users: [UserID] = []
    /// Of messages drawn at random, with a member who may read it.
    var places: [Place] = []
    /// Of memberships drawn at random.
    var quietPlaces: [Place] = []
    var channels: [Place] = []
    /// Of texts that the user of the same number can read.
    var frequentWords: [String] = []
    var rareWords: [String] = []
    var names: [String] = []
    var emails: [String] = []
    var channelWords: [String] = []

    /// - Parameter count: of each.
    init(_ database: PlainDatabase, count: Int) throws {
        try database.run("SELECT setseed(0.5)")
        places = try Self.places(
            database,
            """
            SELECT m.conversation_id, m.seq FROM (SELECT conversation_id, seq FROM messages ORDER BY random() LIMIT \(count)) m
            """)
        quietPlaces = try Self.places(
            database,
            """
            SELECT m.conversation_id, GREATEST(1, stored_head(m.conversation_id) / 2) AS seq
            FROM (SELECT conversation_id FROM members ORDER BY random() LIMIT \(count)) m
            """)
        channels = try Self.places(
            database,
            """
            SELECT m.conversation_id, stored_head(m.conversation_id) AS seq
            FROM (SELECT m.conversation_id FROM members m JOIN conversations c ON c.id = m.conversation_id WHERE c.kind = 2
                ORDER BY random() LIMIT \(count)) m
            """)
        users = try database.run("SELECT user_id FROM members ORDER BY random() LIMIT \(count)").compactMap {
            UserID($0[0] ?? "")
        }
        // Among a text's words the longest is rare, and the shortest frequent.
        for place in places {
            let rows = try database.run(
                "SELECT text FROM messages WHERE conversation_id = '\(place.conversation)' AND seq = \(place.seq.value)")
            let words = SearchWords.index(rows.first?[0] ?? "").sorted { $0.utf8.count < $1.utf8.count }
            rareWords.append(words.last ?? "nothing")
            frequentWords.append(words.first { $0.utf8.count > 1 } ?? "the")
        }
        names = try database.run("SELECT folded FROM user_words ORDER BY random() LIMIT \(count)").map {
            String(($0[0] ?? "a").prefix(4))
        }
        emails = try database.run("SELECT email FROM users WHERE email IS NOT NULL ORDER BY random() LIMIT \(count)").map {
            $0[0] ?? ""
        }
        channelWords = try database.run("SELECT folded FROM channel_words ORDER BY random() LIMIT \(count)")
            .map { String(($0[0] ?? "a").prefix(3)) }
        guard !users.isEmpty, !places.isEmpty, !channels.isEmpty else {
            throw PlainDatabase.Fault(description: "the database is empty: fill it first")
        }
    }

    private static func places(_ database: PlainDatabase, _ picked: String) throws -> [Place] {
        try database.run(
            """
            SELECT u.user_id, p.conversation_id, stored_head(p.conversation_id), p.seq FROM (\(picked)) p
            CROSS JOIN LATERAL (SELECT user_id FROM members m WHERE m.conversation_id = p.conversation_id
                AND m.since_seq <= p.seq ORDER BY random() LIMIT 1) u
            """
        ).compactMap { row in
            guard let user = UserID(row[0] ?? ""), let conversation = ConversationID(row[1] ?? ""),
                let head = Int64(row[2] ?? ""),
                let seq = Int64(row[3] ?? "")
            else { return nil }
            return Place(user: user, conversation: conversation, head: Seq(head), seq: Seq(seq))
        }
    }
}

extension Array {
    /// Going round.
    func at(_ number: Int) -> Element { self[number % count] }
}

import PostgresStore
import RoostModel

/// Whom and what the explained queries are about.
public struct PlanSample: Sendable {
    let user: String
    /// Another member of the conversation.
    let other: String
    let email: String
    let conversation: String
    /// The counter of the conversation, and a message in its middle.
    let head: Int64
    let middle: Int64
    let conversations: [String]
    /// Of a message in the conversation.
    let word: String
    let channelWord: String
    let name: String

    /// A user with as many conversations as the part `quantile` of all has at most, in the one of theirs that has the most messages.
    static func user(at quantile: Double, in database: PlainDatabase) throws -> PlanSample {
        func value(_ query: String) throws -> String {
            guard let value = try database.run(query).first?[0] else {
                throw PlainDatabase.Fault(description: "the database does not hold enough: \(query)")
            }
            return value
        }
        let user = try value(
            """
            SELECT user_id FROM (
                SELECT m.user_id, row_number() OVER (ORDER BY count(*), m.user_id) AS place, count(*) OVER () AS total
                FROM members m JOIN users u ON u.id = m.user_id WHERE u.email IS NOT NULL GROUP BY m.user_id
            ) ranked WHERE place >= \(quantile) * total ORDER BY place LIMIT 1
            """)
        let conversation = try value(
            """
            SELECT c.id FROM members m JOIN conversations c ON c.id = m.conversation_id
            WHERE m.user_id = '\(user)' ORDER BY c.last_seq DESC, c.id LIMIT 1
            """)
        let head = Int64(try value("SELECT stored_head('\(conversation)')")) ?? 0
        let text = try value(
            """
            SELECT COALESCE((SELECT text FROM messages WHERE conversation_id = '\(conversation)' AND length(text) > 20
                ORDER BY seq DESC LIMIT 1), 'nothing')
            """)
        return PlanSample(
            user: user,
            other: try value(
                "SELECT user_id FROM members WHERE conversation_id = '\(conversation)' AND user_id <> '\(user)' ORDER BY 1 LIMIT 1"
            ),
            email: try value("SELECT email FROM users WHERE id = '\(user)'"), conversation: conversation, head: head,
            middle: (head + 1) / 2,
            conversations: try database.run("SELECT conversation_id FROM members WHERE user_id = '\(user)' ORDER BY 1")
                .compactMap { $0[0] },
            word: SearchWords.index(text).first { $0.utf8.count > 3 } ?? "the",
            channelWord: try value("SELECT left(folded, 3) FROM channel_words ORDER BY folded LIMIT 1"),
            name: try value("SELECT left(folded_name, 3) FROM users WHERE id = '\(user)'"))
    }

    // MARK: As SQL

    static func text(_ value: String) -> String { "'" + value.replacing("'", with: "''") + "'" }
    static func array(_ values: [String], of type: String) -> String {
        "ARRAY[\(values.map(text).joined(separator: ", "))]::\(type)[]"
    }

    var me: String { Self.text(user) }
    var here: String { Self.text(conversation) }

    /// The search's parameter: a query for each conversation of the user, or for this one.
    func searchQueries(everywhere: Bool) -> String {
        let ids = (everywhere ? conversations : [conversation]).compactMap { ConversationID($0) }
        return Self.array(PreparedWords.queries(word, in: ids), of: "text")
    }
}

import Ports
import RoostModel

/// What is held about a person in conversations and files, in PostgreSQL.
public struct PostgresExportStore: ExportStore {
    private let pool: PostgresPool
    private let conversations: PostgresConversationStore

    public init(pool: PostgresPool) {
        self.pool = pool
        conversations = PostgresConversationStore(pool: pool)
    }

    public func leftConversations(of user: UserID) async throws(StoreError) -> [ConversationID] {
        try await pool.query(ExportStatements.left) { $0.add(user) }.map { $0.id(0) }
    }

    public func ownMessages(
        of user: UserID, in conversation: ConversationID, after seq: Seq, limit: Int
    ) async throws(StoreError) -> [ReadMessage] {
        let rows = try await pool.query(ExportStatements.messages) {
            $0.add(user)
            $0.add(conversation)
            $0.add(seq)
            $0.add(Int64(limit))
        }
        let messages = rows.map { Message($0, from: 1) }
        guard let first = rows.first else { return [] }
        if first.bool(0) { return try await conversations.shown(messages, to: user) }
        return messages.map { message in
            var message = message
            message.reactions = []
            return ReadMessage(message: message, delivery: nil)
        }
    }

    public func ownReactions(
        of user: UserID, in conversation: ConversationID, after reaction: OwnReaction?, limit: Int
    ) async throws(StoreError) -> [OwnReaction] {
        let rows = try await pool.query(ExportStatements.reactions) {
            $0.add(user)
            $0.add(conversation)
            $0.add(reaction?.seq ?? .zero)
            $0.add(reaction?.emoji ?? "")
            $0.add(Int64(limit))
        }
        return rows.map { OwnReaction(seq: $0.seq(0), emoji: $0.text(1), at: $0.time(2)) }
    }

    public func hiddenMessages(
        of user: UserID, in conversation: ConversationID, after seq: Seq, limit: Int
    ) async throws(StoreError) -> [Seq] {
        let rows = try await pool.query(ExportStatements.hidden) {
            $0.add(user)
            $0.add(conversation)
            $0.add(seq)
            $0.add(Int64(limit))
        }
        return rows.map { $0.seq(0) }
    }

    public func ownMedia(of user: UserID, after id: MediaID?, limit: Int) async throws(StoreError) -> [Media] {
        let rows = try await pool.query(ExportStatements.media) {
            $0.add(user)
            $0.add(id)
            $0.add(Int64(limit))
        }
        return rows.map { Media($0) }
    }
}

enum ExportStatements {
    static let left = PostgresStatement(
        "left conversations",
        """
        SELECT d.conversation_id FROM departures d
        WHERE d.user_id = $1::uuid AND NOT EXISTS (
            SELECT FROM members m WHERE m.conversation_id = d.conversation_id AND m.user_id = $1::uuid)
        ORDER BY d.conversation_id
        """)

    /// Who is no member sees nothing of others' messages: no value is at or above this floor.
    private static let reader = MessageReader.user(
        "$1::uuid", floor: "CASE WHEN me.user_id IS NULL THEN 9223372036854775807 ELSE \(ConversationSQL.floor) END")

    static let messages = PostgresStatement(
        "own messages",
        """
        SELECT me.user_id IS NOT NULL, \(Message.columns("m", for: reader))
        FROM messages m
        JOIN conversations c ON c.id = m.conversation_id
        LEFT JOIN members me ON me.conversation_id = m.conversation_id AND me.user_id = $1::uuid
        WHERE m.conversation_id = $2::uuid AND m.seq > $3::bigint AND m.sender_id = $1::uuid
            AND m.kind <> \(Message.Kind.system.stored)
        ORDER BY m.seq LIMIT $4::bigint
        """)

    static let reactions = PostgresStatement(
        "own reactions",
        """
        SELECT seq, emoji, at FROM reactions
        WHERE user_id = $1::uuid AND conversation_id = $2::uuid AND (seq, emoji) > ($3::bigint, $4::text COLLATE "C")
        ORDER BY seq, emoji LIMIT $5::bigint
        """)

    static let hidden = PostgresStatement(
        "hidden messages",
        """
        SELECT seq FROM hidden WHERE conversation_id = $2::uuid AND user_id = $1::uuid AND seq > $3::bigint
        ORDER BY seq LIMIT $4::bigint
        """)

    static let media = PostgresStatement(
        "own media",
        """
        SELECT \(Media.record("f")) FROM media f WHERE f.owner_id = $1::uuid AND ($2::uuid IS NULL OR f.id > $2::uuid)
        ORDER BY f.id LIMIT $3::bigint
        """)
}

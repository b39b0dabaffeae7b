import RoostModel
import RoostProtocol

/// Who reads a message, which decides what is shown of the one that it answers. SQL expressions within the statement.
enum MessageReader {
    /// The actor of the conversation, who decides itself who is shown what.
    case everyone
    /// `user` has hidden what stands in `hidden`, and sees nothing below the value `floor`.
    case user(_ user: String, floor: String)

    /// Whether message `seq` of the conversation of `alias` is shown.
    fileprivate func sees(_ seq: String, of alias: String) -> String {
        switch self {
        case .everyone: "true"
        case .user(let user, let floor):
            "\(seq) >= \(floor) AND NOT \(ConversationSQL.isHidden(seq, of: "\(alias).conversation_id", from: user))"
        }
    }
}

extension Message {
    static let columnCount = 17

    /// The columns that ``init(_:from:)`` reads, of a table alias. What a message refers to is looked up only where it refers to something:
    /// most do not, and only changed ones have reactions.
    static func columns(_ alias: String, for reader: MessageReader) -> String {
        """
        \(alias).conversation_id, \(alias).seq, \(alias).change_seq, \(alias).client_id, \(alias).sender_id, \(alias).kind, \
        \(alias).text, \(alias).created_at, \(alias).edited_at, \(alias).deleted_at, \(alias).fingerprint, \(alias).is_forwarded, \
        \(alias).mentions, \(alias).system::text, \
        \(Media.column(of: "\(alias).media_id")), \
        CASE WHEN \(alias).reply_to IS NOT NULL THEN (
            SELECT ROW(q.seq, q.sender_id, q.kind, left(q.text, \(quoteScalars)), q.deleted_at IS NOT NULL) FROM messages q
            WHERE q.conversation_id = \(alias).conversation_id AND q.seq = \(alias).reply_to
                AND \(reader.sees("q.seq", of: "q"))) END, \
        CASE WHEN \(alias).change_seq > \(alias).seq AND \(alias).deleted_at IS NULL THEN ARRAY(
            SELECT ROW(r.emoji, r.user_id) FROM reactions r
            WHERE r.conversation_id = \(alias).conversation_id AND r.seq = \(alias).seq
            ORDER BY r.at, r.emoji, r.user_id) END
        """
    }

    /// So many hold the first ``Quote/textCharacters`` characters but for the strangest of texts.
    private static let quoteScalars = 4_000

    init(_ row: PostgresRow, from column: Int = 0) {
        let conversationID: ConversationID = row.id(column)
        self.init(
            conversationID: conversationID, seq: row.seq(column + 1), changeSeq: row.seq(column + 2),
            clientID: row.optional(column + 3) { $0.text } ?? "", senderID: row.id(column + 4),
            kind: Kind(stored: row.int16(column + 5)), text: row.text(column + 6), fingerprint: row.int64(column + 10),
            media: row.record(column + 14).map { Media($0) }, replyTo: row.record(column + 15).map { Quote($0) },
            isForwarded: row.bool(column + 11), mentions: row.ids(column + 12),
            reactions: Reaction.grouped(row.records(column + 16)),
            system: row.optional(column + 13) { $0.data }.flatMap { try? SystemEvent.decode($0) },
            createdAt: row.time(column + 7), editedAt: row.optional(column + 8) { $0.time },
            deletedAt: row.optional(column + 9) { $0.time })
    }
}

extension Quote {
    fileprivate init(_ record: PostgresRecord) {
        self.init(
            seq: record.seq(0), senderID: record.id(1), kind: Message.Kind(stored: record.int16(2)), text: record.text(3),
            isDeleted: record.bool(4))
    }
}

extension Reaction {
    /// Emoji and user each, in the order in which they came.
    fileprivate static func grouped(_ records: [PostgresRecord]) -> [Reaction] {
        var reactions: [Reaction] = []
        for record in records {
            let emoji = record.text(0)
            if let index = reactions.firstIndex(where: { $0.emoji.utf8.elementsEqual(emoji.utf8) }) {
                reactions[index].userIDs.append(record.id(1))
            } else {
                reactions.append(Reaction(emoji: emoji, userIDs: [record.id(1)]))
            }
        }
        return reactions
    }
}

extension Media {
    private static let fields =
        "id, owner_id, state, kind, content_type, file_name, bytes, width::bigint, height::bigint, duration, blur_hash"

    /// A record of the file that the expression `id` names, as ``init(_:)`` reads it; null where there is none.
    static func column(of id: String) -> String {
        "CASE WHEN \(id) IS NOT NULL THEN (SELECT ROW(\(record("f"))) FROM media f WHERE f.id = \(id)) END"
    }

    /// The fields of a record.
    static func record(_ alias: String) -> String {
        fields.split(separator: ", ").map { "\(alias).\($0)" }.joined(separator: ", ")
    }

    init(_ columns: some PostgresColumns) {
        self.init(
            id: columns.id(0), ownerID: columns.id(1), state: State(stored: columns.int16(2)),
            kind: Kind(stored: columns.int16(3)), contentType: columns.text(4), fileName: columns.optional(5) { $0.text },
            bytes: columns.int64(6), width: columns.optional(7) { $0.int64 }.map { Int($0) },
            height: columns.optional(8) { $0.int64 }.map { Int($0) }, duration: columns.optional(9) { $0.double },
            blurHash: columns.optional(10) { $0.text })
    }
}

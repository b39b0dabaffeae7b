import RoostModel

// How enumerations are stored; the numbers stand in migrations/.

extension ConversationKind {
    var stored: Int16 {
        switch self {
        case .direct: 0
        case .group: 1
        case .channel: 2
        }
    }

    init(stored: Int16) {
        switch stored {
        case 0: self = .direct
        case 1: self = .group
        default: self = .channel
        }
    }
}

extension MemberRole {
    var stored: Int16 {
        switch self {
        case .admin: 0
        case .member: 1
        }
    }

    init(stored: Int16) { self = stored == 0 ? .admin : .member }
}

extension Message.Kind {
    var stored: Int16 {
        switch self {
        case .text: 0
        case .image: 1
        case .audio: 2
        case .video: 3
        case .file: 4
        case .system: 5
        }
    }

    /// A kind of a newer release is shown as a system message.
    init(stored: Int16) { self = Self.allCases.first { $0.stored == stored } ?? .system }
}

extension PushProvider {
    var stored: Int16 {
        switch self {
        case .apns: 1
        case .fcm: 2
        case .webpush: 3
        }
    }

    init(stored: Int16) { self = Self.allCases.first { $0.stored == stored } ?? .webpush }
}

extension ShardKind {
    var stored: Int16 {
        switch self {
        case .conversation: 0
        case .presence: 1
        }
    }

    init(stored: Int16) { self = stored == 0 ? .conversation : .presence }
}

extension Message {
    /// The columns that ``init(_:from:)`` reads, of a table alias.
    static func columns(_ alias: String) -> String {
        [
            "conversation_id", "seq", "change_seq", "client_id", "sender_id", "kind", "text", "created_at", "edited_at",
            "deleted_at",
        ]
        .map { "\(alias).\($0)" }.joined(separator: ", ")
    }

    static let columnCount = 10

    init(_ row: PostgresRow, from column: Int = 0) {
        self.init(
            conversationID: row.id(column), seq: row.seq(column + 1), changeSeq: row.seq(column + 2),
            clientID: row.text(column + 3),
            senderID: row.id(column + 4), kind: Kind(stored: row.int16(column + 5)), text: row.text(column + 6),
            createdAt: row.time(column + 7), editedAt: row.optional(column + 8) { $0.time },
            deletedAt: row.optional(column + 9) { $0.time })
    }
}

enum ConversationSQL {
    /// The counter of conversation `alias`: from its row when settled, else from its messages, by two index probes.
    static func head(_ alias: String) -> String {
        """
        CASE WHEN \(alias).is_active THEN GREATEST(\(alias).last_seq, \(storedHead("\(alias).id"))) ELSE \(alias).last_seq END
        """
    }

    /// The greatest counter value among a conversation's messages, 0 without any.
    static func storedHead(_ conversation: String) -> String {
        """
        GREATEST(0, \
        (SELECT h.seq FROM messages h WHERE h.conversation_id = \(conversation) ORDER BY h.seq DESC LIMIT 1), \
        (SELECT h.change_seq FROM messages h WHERE h.conversation_id = \(conversation) AND h.change_seq > h.seq \
        ORDER BY h.change_seq DESC LIMIT 1))
        """
    }
}

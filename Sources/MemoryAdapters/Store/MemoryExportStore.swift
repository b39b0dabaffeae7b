import Ports
import RoostModel

/// The memory twin of what is held about a person in conversations and files.
public struct MemoryExportStore: ExportStore {
    private let database: MemoryDatabase

    public init(_ database: MemoryDatabase) { self.database = database }

    public func leftConversations(of user: UserID) async throws(StoreError) -> [ConversationID] {
        try database.read { tables in
            tables.departures[user, default: [:]].keys.filter { tables.joined($0, by: user) == nil }.sorted()
        }
    }

    public func ownMessages(
        of user: UserID, in conversation: ConversationID, after seq: Seq, limit: Int
    ) async throws(StoreError) -> [ReadMessage] {
        try database.read { tables in
            guard let row = tables.conversations[conversation] else { return [] }
            let own = row.messages.filter { $0.message.senderID == user && $0.message.kind != .system && $0.message.seq > seq }
            return own.prefix(limit).map { message in
                if let me = row.member(user) { return tables.shown(message, in: row, to: me) }
                var bare = tables.message(message, in: row)
                bare.replyTo = nil
                bare.reactions = []
                return ReadMessage(message: bare, delivery: nil)
            }
        }
    }

    public func ownReactions(
        of user: UserID, in conversation: ConversationID, after reaction: OwnReaction?, limit: Int
    ) async throws(StoreError) -> [OwnReaction] {
        try database.read { tables in
            let all = (tables.conversations[conversation]?.reactions ?? [:]).flatMap { seq, rows in
                rows.filter { $0.userID == user }.map { OwnReaction(seq: seq, emoji: $0.emoji, at: $0.at) }
            }
            let rest = all.filter { candidate in reaction.map { Self.precedes($0, candidate) } ?? true }
            return Array(rest.sorted(by: Self.precedes).prefix(limit))
        }
    }

    private static func precedes(_ left: OwnReaction, _ right: OwnReaction) -> Bool {
        if left.seq != right.seq { return left.seq < right.seq }
        return left.emoji.utf8.lexicographicallyPrecedes(right.emoji.utf8)
    }

    public func hiddenMessages(
        of user: UserID, in conversation: ConversationID, after seq: Seq, limit: Int
    ) async throws(StoreError) -> [Seq] {
        try database.read { tables in
            let hidden = tables.conversations[conversation]?.hidden[user] ?? [:]
            return Array(hidden.keys.filter { $0 > seq }.sorted().prefix(limit))
        }
    }

    public func ownMedia(of user: UserID, after id: MediaID?, limit: Int) async throws(StoreError) -> [Media] {
        try database.read { tables in
            let own = tables.media.values.filter { media in media.ownerID == user && (id.map { media.id > $0 } ?? true) }
            return Array(own.sorted { $0.id < $1.id }.prefix(limit))
        }
    }
}

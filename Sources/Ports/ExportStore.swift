import RoostModel

/// What is held about a person in conversations and files, page by page, for those who ask for all of it. Everything here is the
/// user's own; of others it tells no more than the user may see.
public protocol ExportStore: Sendable {
    /// Conversations that the user was a member of once and is not now, by id.
    func leftConversations(of user: UserID) async throws(StoreError) -> [ConversationID]

    /// What the user sent to a conversation, also what they hid from themselves, and what they sent before they left it, without
    /// system messages; ascending by `seq`. Where the user is no member, without quotes, reactions and status.
    func ownMessages(
        of user: UserID, in conversation: ConversationID, after seq: Seq, limit: Int
    ) async throws(StoreError) -> [ReadMessage]

    /// The user's reactions to anybody's messages of a conversation, by message, then emoji.
    func ownReactions(
        of user: UserID, in conversation: ConversationID, after reaction: OwnReaction?, limit: Int
    ) async throws(StoreError) -> [OwnReaction]

    /// Messages that the user deleted for themselves.
    func hiddenMessages(
        of user: UserID, in conversation: ConversationID, after seq: Seq, limit: Int
    ) async throws(StoreError) -> [Seq]

    /// What the user uploaded, by id.
    func ownMedia(of user: UserID, after id: MediaID?, limit: Int) async throws(StoreError) -> [Media]
}

public struct OwnReaction: Hashable, Sendable {
    public let seq: Seq
    public let emoji: String
    public let at: Timestamp

    public init(seq: Seq, emoji: String, at: Timestamp) {
        self.seq = seq
        self.emoji = emoji
        self.at = at
    }
}

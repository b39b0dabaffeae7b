/// A message of a conversation, as stored.
public struct Message: Hashable, Sendable {
    public enum Kind: String, Sendable, CaseIterable { case text, image, audio, video, file, system }

    public let conversationID: ConversationID
    /// The counter's value at the message's birth: its identity within the conversation.
    public let seq: Seq
    /// The counter's value of its latest change.
    public var changeSeq: Seq
    /// The sender's own name for it, 1…64 characters, unique per conversation and sender.
    public let clientID: String
    public let senderID: UserID
    public let kind: Kind
    /// NFC; up to ``Limits/textGraphemes`` grapheme clusters and ``Limits/textBytes`` bytes.
    public var text: String
    public let createdAt: Timestamp
    public var editedAt: Timestamp?
    public var deletedAt: Timestamp?

    public init(
        conversationID: ConversationID, seq: Seq, changeSeq: Seq, clientID: String, senderID: UserID, kind: Kind, text: String,
        createdAt: Timestamp, editedAt: Timestamp? = nil, deletedAt: Timestamp? = nil
    ) {
        self.conversationID = conversationID
        self.seq = seq
        self.changeSeq = changeSeq
        self.clientID = clientID
        self.senderID = senderID
        self.kind = kind
        self.text = text
        self.createdAt = createdAt
        self.editedAt = editedAt
        self.deletedAt = deletedAt
    }
}

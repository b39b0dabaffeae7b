/// What happened to a conversation beside new messages and positions, to be written in this order.
public struct EntryChanges: Hashable, Sendable {
    /// Messages that exist (or are new in the same entry), in their new state: text, editedAt, deletedAt, changeSeq. Of one that is
    /// deleted now, media, mentions, reactions and `replyTo` are erased. Their other fields are not looked at.
    public var changedMessages: [Message] = []
    public var reactions: [ReactionChange] = []
    public var hidden: [HiddenChange] = []
    public var members: [MemberChange] = []
    public var update: ConversationUpdate?
    /// Everything of the conversation goes; nothing else of the entry matters.
    public var isDeleted = false
    /// The lowest value of the counter that the entry takes, new messages included; nil where it takes none. It must be the one after
    /// the head.
    public var firstSeq: Seq?

    public init() {}
}

public struct ReactionChange: Hashable, Sendable {
    public let seq: Seq
    public let userID: UserID
    /// Fully qualified.
    public let emoji: String
    /// Put, or taken away.
    public let isPut: Bool
    public let at: Timestamp

    public init(seq: Seq, userID: UserID, emoji: String, isPut: Bool, at: Timestamp) {
        self.seq = seq
        self.userID = userID
        self.emoji = emoji
        self.isPut = isPut
        self.at = at
    }
}

public struct HiddenChange: Hashable, Sendable {
    public let seq: Seq
    public let userID: UserID

    public init(seq: Seq, userID: UserID) {
        self.seq = seq
        self.userID = userID
    }
}

public enum MemberChange: Hashable, Sendable {
    /// Read and received up to `readSeq` from the start: what was before is not unread.
    case joined(UserID, role: MemberRole, at: Timestamp, sinceSeq: Seq, readSeq: Seq)
    case left(UserID)
    case role(UserID, MemberRole)
}

/// A message of a conversation.
public struct TargetKey: Hashable, Sendable {
    public let conversationID: ConversationID
    public let seq: Seq

    public init(conversationID: ConversationID, seq: Seq) {
        self.conversationID = conversationID
        self.seq = seq
    }
}

/// A stored message with what decides who sees it.
public struct MessageTarget: Hashable, Sendable {
    public var message: Message
    /// Members who deleted it for themselves.
    public var hiddenBy: [UserID]
    /// Members who deleted the message that it answers for themselves.
    public var quoteHiddenBy: [UserID]

    public init(message: Message, hiddenBy: [UserID] = [], quoteHiddenBy: [UserID] = []) {
        self.message = message
        self.hiddenBy = hiddenBy
        self.quoteHiddenBy = quoteHiddenBy
    }
}

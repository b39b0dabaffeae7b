/// A message as its reader is shown it.
public struct ReadMessage: Hashable, Sendable {
    public var message: Message
    /// Only for the reader's own messages, system messages of theirs too.
    public var delivery: Delivery?

    public struct Delivery: Hashable, Sendable {
        public enum Status: String, Sendable { case sent, delivered, read }
        /// Of all other members who were there when it was sent; `sent` where there are none.
        public var status: Status
        public var seenByCount: Int

        public init(status: Status, seenByCount: Int) {
            self.status = status
            self.seenByCount = seenByCount
        }
    }

    public init(message: Message, delivery: Delivery?) {
        self.message = message
        self.delivery = delivery
    }
}

public struct HistoryPage: Hashable, Sendable {
    /// Ascending by `seq`.
    public var items: [ReadMessage]
    public var hasMoreBefore: Bool
    public var hasMoreAfter: Bool
    public var lastSeq: Seq

    public init(items: [ReadMessage], hasMoreBefore: Bool, hasMoreAfter: Bool, lastSeq: Seq) {
        self.items = items
        self.hasMoreBefore = hasMoreBefore
        self.hasMoreAfter = hasMoreAfter
        self.lastSeq = lastSeq
    }
}

public struct ChangesPage: Hashable, Sendable {
    /// Ascending by `changeSeq`.
    public var items: [ReadMessage]
    /// The caller now knows all up to here: the counter, where there is no more, even if the caller believed it further.
    public var upToSeq: Seq
    public var hasMore: Bool

    public init(items: [ReadMessage], upToSeq: Seq, hasMore: Bool) {
        self.items = items
        self.upToSeq = upToSeq
        self.hasMore = hasMore
    }
}

public struct MessageReceipts: Hashable, Sendable {
    public struct Entry: Hashable, Sendable {
        public let userID: UserID
        /// When the member's position first reached the message.
        public let at: Timestamp

        public init(userID: UserID, at: Timestamp) {
            self.userID = userID
            self.at = at
        }
    }

    public var status: ReadMessage.Delivery.Status
    /// Of members other than the sender who were there when it was sent.
    public var deliveredTo: [Entry]
    public var seenBy: [Entry]

    public init(status: ReadMessage.Delivery.Status, deliveredTo: [Entry], seenBy: [Entry]) {
        self.status = status
        self.deliveredTo = deliveredTo
        self.seenBy = seenBy
    }
}

public struct ConversationCounts: Hashable, Sendable {
    public var readSeq: Seq
    public var deliveredSeq: Seq
    public var unreadCount: Int
    public var mentionCount: Int

    public init(readSeq: Seq, deliveredSeq: Seq, unreadCount: Int, mentionCount: Int) {
        self.readSeq = readSeq
        self.deliveredSeq = deliveredSeq
        self.unreadCount = unreadCount
        self.mentionCount = mentionCount
    }
}

public struct SyncPage: Sendable {
    public var conversations: [ConversationView]
    /// Those that the user has ceased to be a member of since, deleted ones too.
    public var removed: [ConversationID]
    /// Messages of the page's conversations that the user deleted for themselves since; all of them where they have joined since, as
    /// nobody told them while they were away.
    public var hidden: [HiddenMessage]
    /// Opaque; for the next call, whether or not there is more now.
    public var token: String
    public var hasMore: Bool

    public init(
        conversations: [ConversationView], removed: [ConversationID], hidden: [HiddenMessage] = [], token: String, hasMore: Bool
    ) {
        self.conversations = conversations
        self.removed = removed
        self.hidden = hidden
        self.token = token
        self.hasMore = hasMore
    }
}

public struct HiddenMessage: Hashable, Sendable {
    public let conversationID: ConversationID
    public let seq: Seq

    public init(conversationID: ConversationID, seq: Seq) {
        self.conversationID = conversationID
        self.seq = seq
    }
}

/// A message that was searched for.
public struct SearchHit: Hashable, Sendable {
    public var message: ReadMessage
    /// A part of the text around the first word that was found.
    public var snippet: String

    public init(message: ReadMessage, snippet: String) {
        self.message = message
        self.snippet = snippet
    }
}

/// A part of a list, and where the next part begins.
public struct Page<Item: Sendable>: Sendable {
    public var items: [Item]
    /// Opaque; nil at the end.
    public var nextCursor: String?

    public init(items: [Item], nextCursor: String?) {
        self.items = items
        self.nextCursor = nextCursor
    }
}

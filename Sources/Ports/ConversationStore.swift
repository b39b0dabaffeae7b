import RoostModel

/// Conversations and messages as members read them. Everything is asked on behalf of a user; nil means "does not exist, or not
/// for this user", which must look alike.
public protocol ConversationStore: Sendable {
    /// The one direct conversation of a pair, made where it does not exist, however many ask at once. Its counter starts at 0.
    func openDirect(
        between user: UserID, and other: UserID, newID: ConversationID, at time: Timestamp
    ) async throws(StoreError) -> (id: ConversationID, isNew: Bool)

    func conversation(_ id: ConversationID, for user: UserID) async throws(StoreError) -> ConversationView?

    /// Newest activity first. A row that is there throughout is neither skipped nor repeated, though activity changes the order:
    /// the cursor holds the time of the first page, and rows are ordered by their last activity up to then.
    func conversations(
        for user: UserID, cursor: String?, limit: Int, at time: Timestamp
    ) async throws(StoreError) -> Page<ConversationView>

    func isMember(_ user: UserID, of conversation: ConversationID) async throws(StoreError) -> Bool

    func history(
        of conversation: ConversationID, for user: UserID, range: HistoryRange, limit: Int
    ) async throws(StoreError) -> HistoryPage?

    /// Messages whose `changeSeq` is greater than `after`, in `changeSeq` order, each once in its present state.
    func changes(
        of conversation: ConversationID, for user: UserID, after: Seq, limit: Int
    ) async throws(StoreError) -> ChangesPage?

    func receipts(
        of conversation: ConversationID, seq: Seq, for user: UserID
    ) async throws(StoreError) -> MessageReceipts?

    /// The member's own positions and counts.
    func counts(of conversation: ConversationID, for user: UserID) async throws(StoreError) -> ConversationCounts?

    /// All that changed for the user since `token`, at most `limit` conversations a page; everything without a token. A token
    /// never passes a change that was not yet committed when it was made; what it has passed may come again.
    func sync(for user: UserID, since token: String?, limit: Int) async throws(StoreError) -> SyncPage
}

public enum HistoryRange: Hashable, Sendable {
    case newest
    case before(Seq)
    case after(Seq)
    case around(Seq)
}

/// A message as its reader is shown it.
public struct ReadMessage: Hashable, Sendable {
    public var message: Message
    /// Only for the reader's own messages.
    public var delivery: Delivery?

    public struct Delivery: Hashable, Sendable {
        public enum Status: String, Sendable { case sent, delivered, read }
        /// Of all other members.
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
    /// The caller now knows all up to here.
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
    /// Of members other than the sender.
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
    public var removed: [ConversationID]
    /// Opaque; for the next call, whether or not there is more now.
    public var token: String
    public var hasMore: Bool

    public init(conversations: [ConversationView], removed: [ConversationID], token: String, hasMore: Bool) {
        self.conversations = conversations
        self.removed = removed
        self.token = token
        self.hasMore = hasMore
    }
}

import RoostModel

/// Conversations and messages as members read them. Everything is asked on behalf of a user; nil means "does not exist, or not
/// for this user", which must look alike.
public protocol ConversationStore: Sendable {
    /// The one direct conversation of a pair, made where it does not exist, however many ask at once. Its counter starts at 0.
    func openDirect(
        between user: UserID, and other: UserID, newID: ConversationID, at time: Timestamp
    ) async throws(StoreError) -> (id: ConversationID, isNew: Bool)

    /// Makes a group or channel with its first system message, which takes counter 1. All are members from the start (since 0, nothing
    /// read). `conflict` where a member does not exist or was deleted: then nothing was made.
    func create(_ conversation: NewConversation) async throws(StoreError)

    /// Also a channel that the user is no member of.
    func conversation(_ id: ConversationID, for user: UserID) async throws(StoreError) -> ConversationView?

    /// How the user stands to the conversation; nil where there is no such conversation.
    func standing(of user: UserID, in conversation: ConversationID) async throws(StoreError) -> Standing?

    /// The direct conversation of a pair, if there is one.
    func directConversation(of user: UserID, and other: UserID) async throws(StoreError) -> ConversationID?

    /// All conversations that the user is a member of, by id.
    func memberships(of user: UserID) async throws(StoreError) -> [Membership]

    /// Channels whose title has a word that begins with `query` (folded as names are; all without a query), by title, then id.
    func channels(
        query: String?, for user: UserID, cursor: String?, limit: Int
    ) async throws(StoreError) -> Page<ConversationView>

    /// In the order of joining: by `joinedAt`, then `sinceSeq`, then id; so are a view's members. Nil where the user is not a member.
    func members(
        of conversation: ConversationID, for user: UserID, cursor: String?, limit: Int
    ) async throws(StoreError) -> Page<Member>?

    /// One member. Nil where `user` is not a member, or `member` is none.
    func member(
        _ member: UserID, of conversation: ConversationID, for user: UserID
    ) async throws(StoreError) -> Member?

    /// Applies what a member set for themselves. False where the user is not a member. Pinning or archiving what is pinned or archived
    /// leaves the time of the first. A change of muting counts for what is sent from then on: what was said before has ended the archiving
    /// or has not, by how the member was muted then.
    func changeSettings(
        of conversation: ConversationID, for user: UserID, _ change: MemberSettingsChange, at time: Timestamp
    ) async throws(StoreError) -> Bool

    /// Pinned ones first, then newest activity first; archived ones in a list of their own. An archived conversation is not archived any
    /// more once another member has sent a message since (not a system message; one that was deleted counts), unless it was muted then.
    /// A row that is there throughout is neither skipped nor repeated, though activity changes the order:
    /// the cursor holds the time of the first page, and rows are ordered by their last activity up to then, and as they were pinned then.
    func conversations(
        for user: UserID, archived: Bool, cursor: String?, limit: Int, at time: Timestamp
    ) async throws(StoreError) -> Page<ConversationView>

    func isMember(_ user: UserID, of conversation: ConversationID) async throws(StoreError) -> Bool

    func history(
        of conversation: ConversationID, for user: UserID, range: HistoryRange, limit: Int
    ) async throws(StoreError) -> HistoryPage?

    /// One message, where the user may see it; a deleted one as its tombstone.
    func message(_ seq: Seq, of conversation: ConversationID, for user: UserID) async throws(StoreError) -> ReadMessage?

    /// Messages whose `changeSeq` is greater than `after`, in `changeSeq` order, each once in its present state.
    func changes(
        of conversation: ConversationID, for user: UserID, after: Seq, limit: Int
    ) async throws(StoreError) -> ChangesPage?

    func receipts(
        of conversation: ConversationID, seq: Seq, for user: UserID
    ) async throws(StoreError) -> MessageReceipts?

    /// The member's own positions and counts.
    func counts(of conversation: ConversationID, for user: UserID) async throws(StoreError) -> ConversationCounts?

    /// Messages that the user may read and that hold all `terms`, newest first.
    ///
    /// - Parameter conversation: nil for all of the user's.
    /// - Returns: nil where the user is not a member of `conversation`.
    func search(
        _ query: String, in conversation: ConversationID?, for user: UserID, cursor: String?, limit: Int
    ) async throws(StoreError) -> Page<SearchHit>?

    /// Prepares new and changed messages for searching, at most `limit` conversations; those not prepared yet are found all the same,
    /// at more cost. Answers how many were prepared.
    ///
    /// - Parameter all: also of conversations that have not gone quiet since, which costs a look at each of these.
    func prepareSearch(limit: Int, all: Bool) async throws(StoreError) -> Int

    func media(_ id: MediaID) async throws(StoreError) -> Media?

    /// All that changed for the user since `token`, at most `limit` conversations a page; everything without a token (nothing removed
    /// then). A token never passes a change that was not yet committed when it was made; what it has passed may come again.
    func sync(for user: UserID, since token: String?, limit: Int) async throws(StoreError) -> SyncPage
}

/// How a user stands to a conversation: what rights depend on.
public struct Standing: Hashable, Sendable {
    public let kind: ConversationKind
    /// Nil for those who are not members.
    public let role: MemberRole?

    public init(kind: ConversationKind, role: MemberRole?) {
        self.kind = kind
        self.role = role
    }
}

public struct Membership: Hashable, Sendable {
    public let conversationID: ConversationID
    public let kind: ConversationKind

    public init(conversationID: ConversationID, kind: ConversationKind) {
        self.conversationID = conversationID
        self.kind = kind
    }
}

public enum HistoryRange: Hashable, Sendable {
    case newest
    case before(Seq)
    case after(Seq)
    case around(Seq)
}

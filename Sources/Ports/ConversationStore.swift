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

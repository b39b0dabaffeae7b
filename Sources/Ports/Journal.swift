import RoostModel

/// One lane of a node's journal: where conversation actors read their state and commit their changes.
///
/// Confined to the lane's event loop: call on it, and completions come on it. At most one ``commit(_:completion:)`` is in
/// flight; the caller gathers the next batch meanwhile. Loads may overlap with it.
public protocol Journal: AnyObject {
    /// Makes a batch durable in one transaction under the fence of this incarnation and lane.
    ///
    /// The result has an outcome per entry, in order. An entry is stored whole or not at all, and one entry's conflict leaves
    /// the others alone. Fails as a whole with `fenced`, `unavailable` (perhaps with `outcomeUnknown`) or `failed`.
    func commit(_ batch: JournalBatch, completion: @escaping (Result<[JournalOutcome], StoreError>) -> Void)

    /// The states of those of `ids` that exist.
    func load(
        _ ids: [ConversationID], completion: @escaping (Result<[ConversationID: ConversationSnapshot], StoreError>) -> Void)

    /// The stored message for each key, in order; nil where there is none.
    func storedMessages(_ keys: [MessageKey], completion: @escaping (Result<[Message?], StoreError>) -> Void)

    /// Messages that a command is about, in order; nil where there is none. `hiddenBy` may name former members as well.
    func targets(_ keys: [TargetKey], completion: @escaping (Result<[MessageTarget?], StoreError>) -> Void)

    /// Clears the dirty marks of conversations that went quiet, writing what the marks stood for. Under the same fence; entries
    /// whose head moved meanwhile are left marked. A commit that follows must set the mark again, even if this one failed.
    func settle(_ entries: [SettleEntry], fence: JournalFence, completion: @escaping (Result<Void, StoreError>) -> Void)

    /// Messages of marked conversations in `shards` made at or after `since`, oldest first within a conversation, at most
    /// 50 a conversation, in their present state: what a dead owner may have committed without telling anyone.
    func recentMessages(
        inShards shards: [Int], since: Timestamp, completion: @escaping (Result<[RecentMessage], StoreError>) -> Void)
}

/// The row that a batch must find open: one per incarnation and lane.
public struct JournalFence: Hashable, Sendable {
    public let incarnation: IncarnationID
    /// 0-based.
    public let lane: Int

    public init(incarnation: IncarnationID, lane: Int) {
        self.incarnation = incarnation
        self.lane = lane
    }
}

public struct JournalBatch: Sendable {
    public let fence: JournalFence
    /// At most one entry per conversation.
    public var entries: [JournalEntry]

    public init(fence: JournalFence, entries: [JournalEntry]) {
        self.fence = fence
        self.entries = entries
    }
}

/// The changes of one conversation in a batch.
public struct JournalEntry: Hashable, Sendable {
    public let conversationID: ConversationID
    /// New messages in the order of `seq`. Together with the changed ones in ``EntryChanges`` their values are dense, the first one
    /// after the head that the actor knows.
    public var messages: [Message]
    /// Stored as maxima: a position never goes back.
    public var positions: [PositionChange]
    /// Everything else; nil for the common case of new messages and positions alone.
    public var changes: EntryChanges?
    /// Whether to set the conversation's dirty mark.
    public var marksActive: Bool

    public init(
        conversationID: ConversationID, messages: [Message], positions: [PositionChange], changes: EntryChanges? = nil,
        marksActive: Bool
    ) {
        self.conversationID = conversationID
        self.messages = messages
        self.positions = positions
        self.changes = changes
        self.marksActive = marksActive
    }
}

public enum JournalOutcome: Sendable, Hashable {
    case committed
    /// A `seq` or a sender's client id of the entry exists already: the actor must load again.
    case conflict
    /// The database does not take the entry's data, now or ever (a NUL in a text, say): its messages were let through by a
    /// validation above that should have stopped them. Others of the batch are not touched by it.
    case refused
}

public struct RecentMessage: Sendable, Hashable {
    public let message: Message
    /// Members who may see all of it, what it answers too. Others find it by the hole in the counter, each as much as they may see.
    public let memberIDs: [UserID]

    public init(message: Message, memberIDs: [UserID]) {
        self.message = message
        self.memberIDs = memberIDs
    }
}

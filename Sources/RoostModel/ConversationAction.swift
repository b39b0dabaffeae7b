/// What someone does in or to a conversation, other than sending and reading.
public enum ConversationAction: Hashable, Sendable {
    /// A new text for one's own message; checked and in NFC, but perhaps blank.
    case edit(Seq, text: String)
    case deleteForEveryone(Seq)
    /// Deletes a message for oneself.
    case hide(Seq)
    /// `emoji` is fully qualified.
    case react(Seq, emoji: String)
    case unreact(Seq, emoji: String)
    case addMembers([UserID])
    case join
    /// Oneself: leaving.
    case removeMember(UserID)
    case setRole(UserID, MemberRole)
    case update(ConversationUpdate)
    case delete
    /// Something about the conversation was written elsewhere (a block, a deleted account): read it again. Asked by nodes, not by users.
    case refresh
}

public enum HistorySetting: String, Sendable, CaseIterable { case full, sinceJoined }

/// What is changed of a group or channel: nil leaves, `.some(nil)` clears.
public struct ConversationUpdate: Hashable, Sendable {
    public var title: String?
    public var about: String??
    public var photo: Media??
    public var history: HistorySetting?

    public init(title: String? = nil, about: String?? = nil, photo: Media?? = nil, history: HistorySetting? = nil) {
        self.title = title
        self.about = about
        self.photo = photo
        self.history = history
    }

    public var isEmpty: Bool { title == nil && about == nil && photo == nil && history == nil }
}

/// What a member set for themselves in a conversation: nil leaves.
public struct MemberSettingsChange: Hashable, Sendable {
    public var mutedUntil: Timestamp??
    public var isPinned: Bool?
    public var isArchived: Bool?

    public init(mutedUntil: Timestamp?? = nil, isPinned: Bool? = nil, isArchived: Bool? = nil) {
        self.mutedUntil = mutedUntil
        self.isPinned = isPinned
        self.isArchived = isArchived
    }
}

/// A group or channel to be made.
public struct NewConversation: Hashable, Sendable {
    public let id: ConversationID
    public let kind: ConversationKind
    public let creatorID: UserID
    public let title: String
    public var about: String?
    public var photo: Media?
    public var history: HistorySetting
    /// Without the creator, each once.
    public var memberIDs: [UserID]
    public let createdAt: Timestamp

    public init(
        id: ConversationID, kind: ConversationKind, creatorID: UserID, title: String, about: String? = nil, photo: Media? = nil,
        history: HistorySetting = .full, memberIDs: [UserID] = [], createdAt: Timestamp
    ) {
        self.id = id
        self.kind = kind
        self.creatorID = creatorID
        self.title = title
        self.about = about
        self.photo = photo
        self.history = history
        self.memberIDs = memberIDs
        self.createdAt = createdAt
    }
}

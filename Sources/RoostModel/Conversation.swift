public enum ConversationKind: String, Sendable, CaseIterable { case direct, group, channel }

public enum MemberRole: String, Sendable, CaseIterable { case admin, member }

/// A member of a direct conversation or group, with what others see of them there.
public struct Member: Hashable, Sendable {
    public let userID: UserID
    public var displayName: String
    public var photo: Media?
    public var role: MemberRole
    public let joinedAt: Timestamp
    /// Everything up to here was read; nil where read receipts are not shared.
    public var readSeq: Seq?
    public var deliveredSeq: Seq

    public init(
        userID: UserID, displayName: String, photo: Media? = nil, role: MemberRole, joinedAt: Timestamp, readSeq: Seq?,
        deliveredSeq: Seq
    ) {
        self.userID = userID
        self.displayName = displayName
        self.photo = photo
        self.role = role
        self.joinedAt = joinedAt
        self.readSeq = readSeq
        self.deliveredSeq = deliveredSeq
    }
}

/// A conversation as one of its members sees it, or a channel as those do who might join it.
public struct ConversationView: Hashable, Sendable {
    public let id: ConversationID
    public let kind: ConversationKind
    public var title: String?
    public var about: String?
    public var photo: Media?
    public var history: HistorySetting
    /// All of a direct conversation's or group's; empty for channels.
    public var members: [Member]
    public var memberCount: Int
    /// The counter.
    public var lastSeq: Seq
    /// The newest that this reader may see.
    public var lastMessage: Message?
    /// How far the last message got, where it is the reader's own and `members` does not tell: in channels.
    public var lastMessageDelivery: ReadMessage.Delivery?
    public var readSeq: Seq
    public var deliveredSeq: Seq
    /// Messages of others after `readSeq` that are not deleted, hidden or of the system, at most ``Limits/countCap``.
    public var unreadCount: Int
    /// Those of them that mention the reader.
    public var mentionCount: Int
    /// Nil for those who are not members.
    public var myRole: MemberRole?
    public var mutedUntil: Timestamp?
    public var pinnedAt: Timestamp?
    public var archivedAt: Timestamp?
    public var lastActivityAt: Timestamp
    public let createdAt: Timestamp
    public var isReadOnly: Bool

    public init(
        id: ConversationID, kind: ConversationKind, title: String?, about: String? = nil, photo: Media? = nil,
        history: HistorySetting = .full, members: [Member], memberCount: Int, lastSeq: Seq, lastMessage: Message?, readSeq: Seq,
        deliveredSeq: Seq, unreadCount: Int, mentionCount: Int, myRole: MemberRole?, mutedUntil: Timestamp? = nil,
        pinnedAt: Timestamp? = nil, archivedAt: Timestamp? = nil, lastActivityAt: Timestamp, createdAt: Timestamp,
        isReadOnly: Bool
    ) {
        self.id = id
        self.kind = kind
        self.title = title
        self.about = about
        self.photo = photo
        self.history = history
        self.members = members
        self.memberCount = memberCount
        self.lastSeq = lastSeq
        self.lastMessage = lastMessage
        self.readSeq = readSeq
        self.deliveredSeq = deliveredSeq
        self.unreadCount = unreadCount
        self.mentionCount = mentionCount
        self.myRole = myRole
        self.mutedUntil = mutedUntil
        self.pinnedAt = pinnedAt
        self.archivedAt = archivedAt
        self.lastActivityAt = lastActivityAt
        self.createdAt = createdAt
        self.isReadOnly = isReadOnly
    }
}

/// How far one member has read and received, after a `read` or `delivered`.
public struct ReadPosition: Hashable, Sendable {
    public var readSeq: Seq
    public var deliveredSeq: Seq

    public init(readSeq: Seq, deliveredSeq: Seq) {
        self.readSeq = readSeq
        self.deliveredSeq = deliveredSeq
    }
}

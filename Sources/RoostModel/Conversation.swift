public enum ConversationKind: String, Sendable, CaseIterable { case direct, group, channel }

public enum MemberRole: String, Sendable, CaseIterable { case admin, member }

/// A member of a direct conversation or group, with what others see of them there.
public struct Member: Hashable, Sendable {
    public let userID: UserID
    public var displayName: String
    public var role: MemberRole
    public let joinedAt: Timestamp
    /// Everything up to here was read; nil where read receipts are not shared.
    public var readSeq: Seq?
    public var deliveredSeq: Seq

    public init(
        userID: UserID, displayName: String, role: MemberRole, joinedAt: Timestamp, readSeq: Seq?, deliveredSeq: Seq
    ) {
        self.userID = userID
        self.displayName = displayName
        self.role = role
        self.joinedAt = joinedAt
        self.readSeq = readSeq
        self.deliveredSeq = deliveredSeq
    }
}

/// A conversation as one of its members sees it.
public struct ConversationView: Hashable, Sendable {
    public let id: ConversationID
    public let kind: ConversationKind
    public var title: String?
    public var members: [Member]
    public var memberCount: Int
    /// The counter.
    public var lastSeq: Seq
    public var lastMessage: Message?
    public var readSeq: Seq
    public var deliveredSeq: Seq
    /// Messages of others after `readSeq`, at most ``Limits/countCap``.
    public var unreadCount: Int
    public var mentionCount: Int
    public var myRole: MemberRole?
    public var lastActivityAt: Timestamp
    public let createdAt: Timestamp
    public var isReadOnly: Bool

    public init(
        id: ConversationID, kind: ConversationKind, title: String?, members: [Member], memberCount: Int, lastSeq: Seq,
        lastMessage: Message?, readSeq: Seq, deliveredSeq: Seq, unreadCount: Int, mentionCount: Int, myRole: MemberRole?,
        lastActivityAt: Timestamp, createdAt: Timestamp, isReadOnly: Bool
    ) {
        self.id = id
        self.kind = kind
        self.title = title
        self.members = members
        self.memberCount = memberCount
        self.lastSeq = lastSeq
        self.lastMessage = lastMessage
        self.readSeq = readSeq
        self.deliveredSeq = deliveredSeq
        self.unreadCount = unreadCount
        self.mentionCount = mentionCount
        self.myRole = myRole
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

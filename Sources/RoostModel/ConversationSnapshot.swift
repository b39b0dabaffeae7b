/// What an actor knows of its conversation when it wakes.
public struct ConversationSnapshot: Sendable, Hashable {
    public struct Member: Sendable, Hashable {
        public let userID: UserID
        public let role: MemberRole
        public let joinedAt: Timestamp
        /// The counter's value that made them a member: the first that they see where history begins with joining. 0 from the start.
        public let sinceSeq: Seq
        public var readSeq: Seq
        public var deliveredSeq: Seq
        public var sharesReadReceipts: Bool

        public init(
            userID: UserID, role: MemberRole, joinedAt: Timestamp, sinceSeq: Seq = .zero, readSeq: Seq, deliveredSeq: Seq,
            sharesReadReceipts: Bool
        ) {
            self.userID = userID
            self.role = role
            self.joinedAt = joinedAt
            self.sinceSeq = sinceSeq
            self.readSeq = readSeq
            self.deliveredSeq = deliveredSeq
            self.sharesReadReceipts = sharesReadReceipts
        }
    }

    public let id: ConversationID
    public let kind: ConversationKind
    /// The counter.
    public let head: Seq
    public let members: [Member]
    /// Whether the dirty mark is set.
    public let isActive: Bool
    public let isReadOnly: Bool
    /// Whether one of the two of a direct conversation has blocked the other.
    public let isBlocked: Bool
    public let title: String?
    public let about: String?
    public let photo: Media?
    public let history: HistorySetting
    /// `createdAt` of the newest message, so that times never run backwards; nil where there is none or it was not read.
    public let lastMessageAt: Timestamp?

    public init(
        id: ConversationID, kind: ConversationKind, head: Seq, members: [Member], isActive: Bool, isReadOnly: Bool,
        isBlocked: Bool = false, title: String? = nil, about: String? = nil, photo: Media? = nil, history: HistorySetting = .full,
        lastMessageAt: Timestamp? = nil
    ) {
        self.id = id
        self.kind = kind
        self.head = head
        self.members = members
        self.isActive = isActive
        self.isReadOnly = isReadOnly
        self.isBlocked = isBlocked
        self.title = title
        self.about = about
        self.photo = photo
        self.history = history
        self.lastMessageAt = lastMessageAt
    }
}

/// A member's new read and delivered positions.
public struct PositionChange: Hashable, Sendable {
    public let userID: UserID
    public var readSeq: Seq
    public var deliveredSeq: Seq
    public let at: Timestamp

    public init(userID: UserID, readSeq: Seq, deliveredSeq: Seq, at: Timestamp) {
        self.userID = userID
        self.readSeq = readSeq
        self.deliveredSeq = deliveredSeq
        self.at = at
    }
}

/// What makes a send idempotent.
public struct MessageKey: Hashable, Sendable {
    public let conversationID: ConversationID
    public let senderID: UserID
    public let clientID: String

    public init(conversationID: ConversationID, senderID: UserID, clientID: String) {
        self.conversationID = conversationID
        self.senderID = senderID
        self.clientID = clientID
    }

    /// Client ids are compared by their bytes, as the store does; equality of strings would be canonical equivalence.
    public static func == (left: MessageKey, right: MessageKey) -> Bool {
        left.conversationID == right.conversationID && left.senderID == right.senderID
            && left.clientID.utf8.elementsEqual(right.clientID.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(conversationID)
        hasher.combine(senderID)
        var clientID = clientID
        clientID.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

public struct SettleEntry: Hashable, Sendable {
    public let conversationID: ConversationID
    public let head: Seq
    public let lastActivityAt: Timestamp

    public init(conversationID: ConversationID, head: Seq, lastActivityAt: Timestamp) {
        self.conversationID = conversationID
        self.head = head
        self.lastActivityAt = lastActivityAt
    }
}

import RoostModel

struct ConversationRow: Sendable {
    let id: ConversationID
    let kind: ConversationKind
    let createdAt: Timestamp
    var title: String?
    var about: String?
    var photoID: MediaID?
    var history = HistorySetting.full
    var isActive = false
    var isReadOnly = false
    var members: [MemberRow]
    /// By `seq`.
    var messages: [MessageRow] = []
    var clientIDs: Set<MessageKey> = []
    var reactions: [Seq: [ReactionRow]] = [:]
    /// Messages that a user deleted for themselves, with the version in which they did. Outlasts the membership.
    var hidden: [UserID: [Seq: Int64]] = [:]
    var positions: [PositionRow] = []
    /// Changes up to here were prepared for searching.
    var searchableSeq = Seq.zero
    var version: Int64

    var head: Seq { messages.map(\.message.changeSeq).max() ?? .zero }
    var lastActivityAt: Timestamp { messages.last?.message.createdAt ?? createdAt }

    /// As it was in `version`.
    func lastActivity(asOf version: Int64) -> Timestamp { messages.last { $0.born <= version }?.message.createdAt ?? createdAt }

    func member(_ user: UserID) -> MemberRow? { members.first { $0.userID == user } }

    var membersInOrder: [MemberRow] { members.sorted { $0.rank < $1.rank } }

    func index(of seq: Seq) -> Int? {
        var (low, high) = (0, messages.count)
        while low < high {
            let middle = (low + high) / 2
            if messages[middle].message.seq < seq { low = middle + 1 } else { high = middle }
        }
        return low < messages.count && messages[low].message.seq == seq ? low : nil
    }

    // MARK: Who sees what

    func sees(_ seq: Seq, _ member: MemberRow) -> Bool {
        let isInHistory =
            switch history {
            case .full: true
            case .sinceJoined: seq >= member.sinceSeq
            }
        return isInHistory && hidden[member.userID]?[seq] == nil
    }

    /// By `seq`.
    func visible(to member: MemberRow) -> [MessageRow] { messages.filter { sees($0.message.seq, member) } }

    /// Members who see the message and what it answers.
    func membersWhoSeeWhole(_ message: MessageRow) -> [UserID] {
        members.filter { member in
            sees(message.message.seq, member) && (message.replyTo.map { sees($0, member) } ?? true)
        }.map(\.userID)
    }

    func hiders(of seq: Seq) -> [UserID] { hidden.filter { $0.value[seq] != nil }.map(\.key) }

    // MARK: Counts

    func unread(by member: MemberRow) -> [MessageRow] {
        messages.filter { row in
            let message = row.message
            return message.seq > member.readSeq && message.senderID != member.userID && message.kind != .system
                && !message.isDeleted && sees(message.seq, member)
        }
    }

    func counts(of member: MemberRow) -> ConversationCounts {
        let unread = unread(by: member)
        return ConversationCounts(
            readSeq: member.readSeq, deliveredSeq: member.deliveredSeq, unreadCount: min(unread.count, Limits.countCap),
            mentionCount: min(unread.filter { $0.message.mentions.contains(member.userID) }.count, Limits.countCap))
    }

    /// Members whose receipts of a message count: others who were there when it was sent.
    func recipients(of message: Message) -> [MemberRow] {
        members.filter { $0.userID != message.senderID && $0.sinceSeq <= message.seq }
    }

    /// Nil where it is not archived, or not any more.
    func archivedAt(for member: MemberRow) -> Timestamp? {
        let wasWoken = messages.contains { row in
            let message = row.message
            return message.seq > member.archivedSeq && message.senderID != member.userID && message.kind != .system
                && (member.mutedUntil.map { $0 <= message.createdAt } ?? true)
        }
        return wasWoken ? nil : member.archivedAt
    }
}

/// A message without what is kept elsewhere: its reactions, the file and the message it refers to.
struct MessageRow: Sendable {
    var message: Message
    var mediaID: MediaID?
    var replyTo: Seq?
    /// The version that it was first stored in, and that of its latest change.
    let born: Int64
    var changed: Int64

    init(_ message: Message, version: Int64) {
        self.message = message
        mediaID = message.media?.id
        replyTo = message.replyTo?.seq
        self.message.media = nil
        self.message.replyTo = nil
        self.message.reactions = []
        (born, changed) = (version, version)
    }
}

struct ReactionRow: Sendable {
    let emoji: String
    let userID: UserID
    let at: Timestamp
}

struct MemberRow: Sendable {
    let userID: UserID
    var role: MemberRole
    let joinedAt: Timestamp
    var sinceSeq = Seq.zero
    var readSeq = Seq.zero
    var deliveredSeq = Seq.zero
    var mutedUntil: Timestamp?
    var archivedAt: Timestamp?
    /// Only what came after it can end the archiving.
    var archivedSeq = Seq.zero
    var pinnedAt: Timestamp?
    /// When that changed last, and what it was before.
    var pinChange: (version: Int64, wasPinned: Bool) = (0, false)

    var rank: (Timestamp, Seq, UserID) { (joinedAt, sinceSeq, userID) }

    func isPinned(asOf version: Int64) -> Bool { pinChange.version <= version ? pinnedAt != nil : pinChange.wasPinned }
}

/// When a member's positions reached what, in the order of time.
struct PositionRow: Sendable {
    let userID: UserID
    let deliveredSeq: Seq
    let readSeq: Seq
    let at: Timestamp
}

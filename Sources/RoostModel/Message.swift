/// A message of a conversation, as stored. What one reader may not see of it (a quote, say) is left out where it is read.
public struct Message: Hashable, Sendable {
    public enum Kind: String, Sendable, CaseIterable { case text, image, audio, video, file, system }

    public let conversationID: ConversationID
    /// The counter's value at the message's birth: its identity within the conversation.
    public let seq: Seq
    /// The counter's value of its latest change.
    public var changeSeq: Seq
    /// The sender's own name for it, 1…64 characters, unique per conversation and sender; empty for system messages.
    public let clientID: String
    /// Of a system message: who did it, or whom it happened to where nobody did.
    public let senderID: UserID
    public let kind: Kind
    /// NFC; up to ``Limits/textGraphemes`` grapheme clusters and ``Limits/textBytes`` bytes. Empty once deleted.
    public var text: String
    /// Of the body as it was sent (``MessageBody/fingerprint``): tells a repetition from another message under the same client id.
    public let fingerprint: Int64
    /// Apart, since most messages have none and all are copied from the socket to the disk; nil where empty.
    private var extras: Shared<MessageExtras>?
    public let createdAt: Timestamp
    public var editedAt: Timestamp?
    public var deletedAt: Timestamp?

    public init(
        conversationID: ConversationID, seq: Seq, changeSeq: Seq, clientID: String, senderID: UserID, kind: Kind, text: String,
        fingerprint: Int64 = 0, media: Media? = nil, replyTo: Quote? = nil, isForwarded: Bool = false, mentions: [UserID] = [],
        reactions: [Reaction] = [], system: SystemEvent? = nil, createdAt: Timestamp, editedAt: Timestamp? = nil,
        deletedAt: Timestamp? = nil
    ) {
        self.conversationID = conversationID
        self.seq = seq
        self.changeSeq = changeSeq
        self.clientID = clientID
        self.senderID = senderID
        self.kind = kind
        self.text = text
        self.fingerprint = fingerprint
        self.createdAt = createdAt
        self.editedAt = editedAt
        self.deletedAt = deletedAt
        extras =
            MessageExtras(
                media: media, replyTo: replyTo, isForwarded: isForwarded, mentions: mentions, reactions: reactions, system: system
            ).shared
    }

    public var isDeleted: Bool { deletedAt != nil }

    /// Whether the user wrote it, and so is told who has it; nobody wrote a system message.
    public func isOwn(of user: UserID) -> Bool { senderID == user && kind != .system }
}

extension Message {
    public var media: Media? {
        get { extras?.value.media }
        set { change { $0.media = newValue } }
    }

    public var replyTo: Quote? {
        get { extras?.value.replyTo }
        set { change { $0.replyTo = newValue } }
    }

    public var isForwarded: Bool {
        get { extras?.value.isForwarded ?? false }
        set { change { $0.isForwarded = newValue } }
    }

    /// Members whom it mentions, in the sender's order.
    public var mentions: [UserID] {
        get { extras?.value.mentions ?? [] }
        set { change { $0.mentions = newValue } }
    }

    /// In the order in which each emoji came first, of those there now.
    public var reactions: [Reaction] {
        get { extras?.value.reactions ?? [] }
        set { change { $0.reactions = newValue } }
    }

    public var system: SystemEvent? {
        get { extras?.value.system }
        set { change { $0.system = newValue } }
    }

    private mutating func change(_ body: (inout MessageExtras) -> Void) {
        var changed = extras?.value ?? MessageExtras()
        body(&changed)
        extras = changed.shared
    }
}

/// What a message may have beside its text.
private struct MessageExtras: Hashable, Sendable {
    var media: Media?
    var replyTo: Quote?
    var isForwarded = false
    var mentions: [UserID] = []
    var reactions: [Reaction] = []
    var system: SystemEvent?

    /// Nil where there is nothing.
    var shared: Shared<MessageExtras>? {
        let isEmpty =
            media == nil && replyTo == nil && !isForwarded && mentions.isEmpty && reactions.isEmpty && system == nil
        return isEmpty ? nil : Shared(self)
    }
}

/// A value that copies share.
private final class Shared<Value: Hashable & Sendable>: Hashable, Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }

    static func == (left: Shared, right: Shared) -> Bool { left === right || left.value == right.value }

    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// The message that another one answers, as it is now.
public struct Quote: Hashable, Sendable {
    public let seq: Seq
    public var senderID: UserID
    public var kind: Message.Kind
    /// At most ``Quote/textCharacters`` characters; empty once the message is deleted.
    public var text: String
    public var isDeleted: Bool

    /// Enough to recognise a message by.
    public static let textCharacters = 300

    public init(seq: Seq, senderID: UserID, kind: Message.Kind, text: String, isDeleted: Bool) {
        self.seq = seq
        self.senderID = senderID
        self.kind = kind
        // The utf8 count is a cheap bound: most messages are shorter.
        self.text = text.utf8.count <= Self.textCharacters ? text : String(text.prefix(Self.textCharacters))
        self.isDeleted = isDeleted
    }

    public init(_ message: Message) {
        self.init(
            seq: message.seq, senderID: message.senderID, kind: message.kind, text: message.text, isDeleted: message.isDeleted)
    }
}

/// One emoji under a message, and who put it there.
public struct Reaction: Hashable, Sendable {
    /// Fully qualified.
    public let emoji: String
    /// In the order in which they came (by id at the same time); never empty.
    public var userIDs: [UserID]

    public init(emoji: String, userIDs: [UserID]) {
        self.emoji = emoji
        self.userIDs = userIDs
    }
}

/// What a system message tells: a change of the conversation that takes a value of its counter.
public struct SystemEvent: Hashable, Sendable {
    public enum Change: Hashable, Sendable {
        case created
        /// Of a photo that was set only the id is kept with the message.
        case updated(ConversationUpdate)
        case membersAdded([UserID])
        case memberRemoved(UserID)
        case memberJoined
        case memberLeft
        case roleChanged(UserID, MemberRole)
    }

    /// Nil where nobody did it: the promotion of the longest-standing member.
    public let actorID: UserID?
    public let change: Change

    public init(actorID: UserID?, change: Change) {
        self.actorID = actorID
        self.change = change
    }
}

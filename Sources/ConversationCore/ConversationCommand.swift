import RoostModel

/// The shell's own name for whoever waits for an answer.
public struct ReplyToken: Hashable, Sendable {
    public let value: UInt64

    public init(_ value: UInt64) { self.value = value }
}

/// What is asked of a conversation that may have to be written down.
public enum ConversationCommand: Hashable, Sendable {
    case send(SendCommand)
    /// The member has read everything up to `seq`.
    case read(PositionCommand)
    /// The member's device has received everything up to `seq`.
    case delivered(PositionCommand)
    case act(ActionCommand)

    public var token: ReplyToken {
        switch self {
        case .send(let send): send.token
        case .read(let position), .delivered(let position): position.token
        case .act(let action): action.token
        }
    }
}

/// A new message.
public struct SendCommand: Hashable, Sendable {
    public let token: ReplyToken
    public let senderID: UserID
    public let clientID: String
    /// ``MessageBody/fingerprint``.
    public let fingerprint: Int64
    /// Checked and in NFC; or why only a repetition can be answered.
    public let content: Result<MessageContent, RoostError>

    public init(
        token: ReplyToken, senderID: UserID, clientID: String, fingerprint: Int64, content: Result<MessageContent, RoostError>
    ) {
        self.token = token
        self.senderID = senderID
        self.clientID = clientID
        self.fingerprint = fingerprint
        self.content = content
    }

    /// Whether `message` is what this command asked for, however it has changed since.
    func hasBody(of message: Message) -> Bool {
        if message.fingerprint != 0 { return message.fingerprint == fingerprint }
        // Stored by a release without fingerprints.
        guard message.editedAt == nil, message.deletedAt == nil, case .success(let content) = content else { return true }
        return message.kind == content.kind && message.text == content.text
    }
}

public struct PositionCommand: Hashable, Sendable {
    public let token: ReplyToken
    public let userID: UserID
    /// Beyond the counter it is cut to it.
    public let seq: Seq

    public init(token: ReplyToken, userID: UserID, seq: Seq) {
        self.token = token
        self.userID = userID
        self.seq = seq
    }
}

public struct ActionCommand: Hashable, Sendable {
    public let token: ReplyToken
    public let userID: UserID
    public let action: ConversationAction

    public init(token: ReplyToken, userID: UserID, action: ConversationAction) {
        self.token = token
        self.userID = userID
        self.action = action
    }
}

/// An answer to give now.
public struct ConversationReply: Hashable, Sendable {
    public enum Outcome: Hashable, Sendable {
        /// The message is durable. `isNew` is false where the same send had been stored before.
        case message(Message, isNew: Bool)
        case position(ReadPosition)
        /// The action is durable, or changes nothing.
        case done
        case failed(RoostError)
    }

    public let token: ReplyToken
    public let outcome: Outcome

    public init(token: ReplyToken, outcome: Outcome) {
        self.token = token
        self.outcome = outcome
    }
}

/// News that is durable and to be fanned out.
public enum ConversationEvent: Hashable, Sendable {
    /// A new or changed message; without an audience it is for every session of every member.
    case message(Message, Audience?)
    case receipt(Receipt)
    /// The member deleted a message for themselves.
    case hidden(UserID, Seq)
    /// These members see the conversation itself differently now: each is shown it anew.
    case conversation([UserID])
    /// These are members no longer; nothing comes for them after this.
    case removed([UserID])

    /// Who sees how much of a message.
    public struct Audience: Hashable, Sendable {
        public var whole: [UserID] = []
        /// They see the message but not the one that it answers.
        public var withoutQuote: [UserID] = []
        /// They see nothing but that the counter went on.
        public var blank: [UserID] = []
    }

    public struct Receipt: Hashable, Sendable {
        public let userID: UserID
        public let readSeq: Seq
        public let deliveredSeq: Seq
        /// Those who are shown `readSeq`: the member's own sessions, and others where both sides share.
        public let recipients: [UserID]
        /// Those to whom `readSeq` is nil; empty where nothing changes for them.
        public let recipientsWithoutRead: [UserID]

        public init(
            userID: UserID, readSeq: Seq, deliveredSeq: Seq, recipients: [UserID], recipientsWithoutRead: [UserID]
        ) {
            self.userID = userID
            self.readSeq = readSeq
            self.deliveredSeq = deliveredSeq
            self.recipients = recipients
            self.recipientsWithoutRead = recipientsWithoutRead
        }
    }
}

/// What to write, whole or not at all.
public struct CommitRequest: Hashable, Sendable {
    /// New ones, in the order of `seq`.
    public internal(set) var messages: [Message] = []
    /// At most one per member, as maxima.
    public internal(set) var positions: [PositionChange] = []
    public internal(set) var changes: EntryChanges?
    /// Whether to set the conversation's dirty mark.
    public internal(set) var marksActive = false
}

/// What commands need to know of the store.
public struct Lookup: Hashable, Sendable {
    public var keys: [MessageKey] = []
    public var seqs: [Seq] = []

    public var isEmpty: Bool { keys.isEmpty && seqs.isEmpty }

    public init(keys: [MessageKey] = [], seqs: [Seq] = []) {
        self.keys = keys
        self.seqs = seqs
    }
}

/// What the store knows of a ``Lookup``; what is not there does not exist.
public struct Findings: Hashable, Sendable {
    public var messages: [MessageKey: Message]
    public var targets: [Seq: MessageTarget]

    public init(messages: [MessageKey: Message] = [:], targets: [Seq: MessageTarget] = [:]) {
        self.messages = messages
        self.targets = targets
    }
}

/// What the shell does next, in this order: fetch what was missed, give the replies, fan out the events, do `next`.
public struct ConversationStep: Hashable, Sendable {
    public enum Next: Hashable, Sendable {
        /// Free for the commands that wait.
        case nothing
        /// Write, then say how it went: `committed`, `conflicted` or `failed`.
        case commit(CommitRequest)
        /// Read these, then `lookedUp` or `failed`.
        case lookUp(Lookup)
        /// Read the snapshot, then (not before) these, then `recovered` or `failed`.
        case recover(Lookup)
    }

    public internal(set) var replies: [ConversationReply] = []
    public internal(set) var events: [ConversationEvent] = []
    /// Changes that were committed without this actor's knowing, to be fanned out from the store; those among them that were this
    /// actor's own are in `events` as well.
    public internal(set) var missed: ClosedRange<Seq>?
    public internal(set) var next: Next = .nothing
}

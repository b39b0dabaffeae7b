import RoostModel

/// The shell's own name for whoever waits for an answer.
public struct ReplyToken: Hashable, Sendable {
    public let value: UInt64

    public init(_ value: UInt64) { self.value = value }
}

/// What members ask of a conversation that may have to be written down.
public enum ConversationCommand: Hashable, Sendable {
    case send(SendCommand)
    /// The member has read everything up to `seq`.
    case read(PositionCommand)
    /// The member's device has received everything up to `seq`.
    case delivered(PositionCommand)

    public var token: ReplyToken {
        switch self {
        case .send(let send): send.token
        case .read(let position), .delivered(let position): position.token
        }
    }
}

/// A message of type text.
public struct SendCommand: Hashable, Sendable {
    public let token: ReplyToken
    public let senderID: UserID
    public let clientID: String
    /// Checked and in NFC.
    public let text: String

    public init(token: ReplyToken, senderID: UserID, clientID: String, text: String) {
        self.token = token
        self.senderID = senderID
        self.clientID = clientID
        self.text = text
    }

    /// Whether `message` is what this command asked for. Of one that was edited or deleted the first body is gone, and the
    /// client's word is taken.
    func hasBody(of message: Message) -> Bool {
        message.editedAt != nil || message.deletedAt != nil || (message.kind == .text && message.text == text)
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

/// An answer to give now.
public struct ConversationReply: Hashable, Sendable {
    public enum Outcome: Hashable, Sendable {
        /// The message is durable. `isNew` is false where the same send had been stored before.
        case message(Message, isNew: Bool)
        case position(ReadPosition)
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
    /// To every session of every member.
    case message(Message)
    case receipt(Receipt)

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
    /// Dense, the first one after the head.
    public internal(set) var messages: [Message] = []
    /// At most one per member, as maxima.
    public internal(set) var positions: [PositionChange] = []
    /// Whether to set the conversation's dirty mark.
    public internal(set) var marksActive = false
}

/// What the shell does next, in this order: fetch what was missed, give the replies, fan out the events, do `next`.
public struct ConversationStep: Hashable, Sendable {
    public enum Next: Hashable, Sendable {
        /// Free for the commands that wait.
        case nothing
        /// Write, then say how it went: `committed`, `conflicted` or `failed`.
        case commit(CommitRequest)
        /// Read the stored messages of these keys, then `lookedUp` or `failed`.
        case lookUp([MessageKey])
        /// Read the snapshot, then (not before) the stored messages of these keys, then `recovered` or `failed`.
        case recover([MessageKey])
    }

    public internal(set) var replies: [ConversationReply] = []
    public internal(set) var events: [ConversationEvent] = []
    /// Changes that were committed without this actor's knowing, to be fanned out from the store; those among them that were this
    /// actor's own are in `events` as well.
    public internal(set) var missed: ClosedRange<Seq>?
    public internal(set) var next: Next = .nothing
}

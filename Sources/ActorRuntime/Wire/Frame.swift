import RoostModel

/// What nodes send each other. Many frames share one bus message (a ``Batch``); each is preceded by its type and length, so that
/// a node skips types that a newer release added.
enum Frame {
    /// A call to an actor of the receiving node.
    case call(CallFrame)
    /// The answer to a call of the receiving node.
    case reply(ReplyFrame)
    /// Something for sessions on the receiving node.
    case event(FanoutEvent)
    /// A word to the receiving node itself, with no answer.
    case notice(NodeNotice)
}

struct CallFrame {
    /// Unique among the unanswered calls of the calling endpoint.
    let id: UInt64
    let address: ActorAddress
    /// What to do, as the actor's kind defines it; never reused for another meaning.
    let verb: UInt8
    let payload: [UInt8]
}

struct ReplyFrame {
    let id: UInt64
    let outcome: CallOutcome
}

/// How a call ended at the receiving side.
public enum CallOutcome: Sendable {
    case success([UInt8])
    /// The actor lives elsewhere; the caller's table is old, or the receiver's is.
    case notOwner
    case failure(RoostError)
}

/// News for the sessions of some users, encoded once.
public struct FanoutEvent: Sendable {
    /// What a session does with it; never reused for another meaning.
    public enum Kind: UInt8, Sendable {
        /// Counted: rises by one per conversation and session.
        case message = 1
        /// Any other server event about a conversation or user, passed on as it is.
        case plain = 2
        /// ``FanoutEvent/subject`` types; whoever shows it to a client sees to its end, should the owner not live to tell.
        case typingStarted = 3
        case typingStopped = 4
        /// Counted messages from the sequence in the payload (``FanoutEvent/advance(_:from:to:recipients:)``) to ``FanoutEvent/seq`` were
        /// committed without being told: each session reads them for its own user.
        case advanced = 5
        /// The recipients are members no longer: the last event of the conversation that they get.
        case removed = 6
        /// The recipients see the conversation itself differently: each session reads it for its own user. No payload.
        case conversationChanged = 7
    }

    public let kind: Kind
    public let conversationID: ConversationID
    /// The message's `changeSeq`; 0 for plain events.
    public let seq: Seq
    /// Whom the event is about, for kinds that need to know.
    public let subject: UserID?
    public let recipients: [UserID]
    /// The server event as JSON.
    public let payload: [UInt8]

    public init(
        kind: Kind, conversationID: ConversationID, seq: Seq, subject: UserID? = nil, recipients: [UserID], payload: [UInt8]
    ) {
        self.kind = kind
        self.conversationID = conversationID
        self.seq = seq
        self.subject = subject
        self.recipients = recipients
        self.payload = payload
    }
}

extension FanoutEvent {
    /// Messages that were committed without being told.
    public static func advance(
        _ conversation: ConversationID, from first: Seq, to last: Seq, recipients: [UserID]
    ) -> FanoutEvent {
        var writer = ByteWriter(capacity: 8)
        writer.append(first)
        return FanoutEvent(
            kind: .advanced, conversationID: conversation, seq: last, recipients: recipients, payload: writer.bytes)
    }

    /// The first sequence of an `advanced` event.
    public var advancedFrom: Seq? {
        var reader = ByteReader(payload)
        return try? reader.seq()
    }
}

/// A word from an actor to a node that asked for it.
public struct NodeNotice: Sendable {
    /// What it is about, as its receiver defines it; never reused for another meaning.
    public let topic: UInt8
    public let payload: [UInt8]

    public init(topic: UInt8, payload: [UInt8]) {
        self.topic = topic
        self.payload = payload
    }
}

/// The header of a bus message: the version of the encoding, who sends, and from which endpoint (where replies go).
struct BatchHeader {
    static let version: UInt8 = 1

    let sender: NodeIdentity
    let endpoint: UInt16

    func write(to writer: inout ByteWriter) {
        writer.append(Self.version)
        writer.append(sender)
        writer.append(endpoint)
    }

    /// Nil for a version that this release does not read.
    static func read(_ reader: inout ByteReader) throws(ByteReader.Truncated) -> BatchHeader? {
        guard try reader.byte() == version else { return nil }
        return BatchHeader(sender: try reader.node(), endpoint: try reader.uint16())
    }
}

extension Frame {
    private enum Code {
        static let call: UInt8 = 1
        static let reply: UInt8 = 2
        static let event: UInt8 = 3
        static let notice: UInt8 = 4
    }

    private enum OutcomeCode {
        static let success: UInt8 = 0
        static let notOwner: UInt8 = 1
        static let failure: UInt8 = 2
    }

    func write(to writer: inout ByteWriter) {
        var body = ByteWriter(capacity: 256)
        let code: UInt8
        switch self {
        case .call(let call):
            code = Code.call
            body.append(call.id)
            body.append(call.address)
            body.append(call.verb)
            body.append(call.payload)
        case .reply(let reply):
            code = Code.reply
            body.append(reply.id)
            switch reply.outcome {
            case .success(let payload):
                body.append(OutcomeCode.success)
                body.append(payload)
            case .notOwner:
                body.append(OutcomeCode.notOwner)
            case .failure(let error):
                body.append(OutcomeCode.failure)
                body.append(error)
            }
        case .event(let event):
            code = Code.event
            body.append(event.kind.rawValue)
            body.append(event.conversationID)
            body.append(event.seq)
            body.append(event.subject != nil)
            if let subject = event.subject { body.append(subject) }
            body.append(UInt32(event.recipients.count))
            for recipient in event.recipients { body.append(recipient) }
            body.append(event.payload)
        case .notice(let notice):
            code = Code.notice
            body.append(notice.topic)
            body.append(notice.payload)
        }
        writer.append(code)
        writer.append(body.bytes)
    }

    /// The next frame of a batch; nil for a type that this release does not know.
    static func read(_ reader: inout ByteReader) throws(ByteReader.Truncated) -> Frame? {
        let code = try reader.byte()
        var body = ByteReader(try reader.blob())
        switch code {
        case Code.call:
            return .call(
                CallFrame(
                    id: try body.uint64(), address: try body.address(), verb: try body.byte(), payload: try body.blob()))
        case Code.reply:
            return .reply(ReplyFrame(id: try body.uint64(), outcome: try readOutcome(&body)))
        case Code.event:
            return try readEvent(&body).map(Frame.event)
        case Code.notice:
            return .notice(NodeNotice(topic: try body.byte(), payload: try body.blob()))
        default:
            return nil
        }
    }

    private static func readOutcome(_ body: inout ByteReader) throws(ByteReader.Truncated) -> CallOutcome {
        switch try body.byte() {
        case OutcomeCode.success: return .success(try body.blob())
        case OutcomeCode.notOwner: return .notOwner
        default: return .failure(try body.error())
        }
    }

    private static func readEvent(_ body: inout ByteReader) throws(ByteReader.Truncated) -> FanoutEvent? {
        guard let kind = FanoutEvent.Kind(rawValue: try body.byte()) else { return nil }
        let conversation: ConversationID = try body.identifier()
        let seq = try body.seq()
        let subject: UserID? = try body.bool() ? try body.identifier() : nil
        let count = Int(try body.uint32())
        // Each recipient takes 16 bytes: a count beyond the body ends in Truncated before memory is taken for it.
        var recipients: [UserID] = []
        recipients.reserveCapacity(min(count, 1024))
        for _ in 0..<count { recipients.append(try body.identifier()) }
        return FanoutEvent(
            kind: kind, conversationID: conversation, seq: seq, subject: subject, recipients: recipients, payload: try body.blob()
        )
    }
}

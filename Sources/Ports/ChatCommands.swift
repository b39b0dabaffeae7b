import RoostModel

/// Commands to conversations, wherever their actors live. Every call ends within its deadline: with an answer, or with
/// `unavailable`, after which the same call (same client id) may safely be made again.
public protocol ChatCommands: Sendable {
    /// Answers after the message is durable. `notFound` for those who are not members, `readOnly`, `clientIdReused`.
    func send(_ message: OutgoingMessage) async throws(RoostError) -> SentMessage

    /// Moves the member's read position forward (delivered with it), or leaves it where it is.
    func read(_ conversation: ConversationID, upTo seq: Seq, by user: UserID) async throws(RoostError) -> ReadPosition

    func delivered(_ conversation: ConversationID, upTo seq: Seq, by user: UserID) async throws(RoostError) -> ReadPosition

    /// Does anything else that is done in or to a conversation; returns when it is durable, and at once where nothing changes.
    /// Fails as the table of rights says, and with the error of what is wrong with the action itself.
    func perform(_ action: ConversationAction, in conversation: ConversationID, by user: UserID) async throws(RoostError)
}

extension ChatCommands {
    /// Makes the conversation's actor read again what was written elsewhere; on return it goes by that.
    /// - Parameter user: on whose behalf, for the record; need not be a member.
    public func refresh(_ conversation: ConversationID, for user: UserID) async throws(RoostError) {
        try await perform(.refresh, in: conversation, by: user)
    }
}

public struct OutgoingMessage: Hashable, Sendable {
    public let conversationID: ConversationID
    public let senderID: UserID
    public let clientID: String
    /// ``MessageBody/fingerprint`` of what the client wrote.
    public let fingerprint: Int64
    /// Normalised and checked; or why it cannot be sent (what it names is not there any more): then only a repetition of a message that
    /// was stored before is answered.
    public let content: Result<MessageContent, RoostError>

    public init(
        conversationID: ConversationID, senderID: UserID, clientID: String, fingerprint: Int64,
        content: Result<MessageContent, RoostError>
    ) {
        self.conversationID = conversationID
        self.senderID = senderID
        self.clientID = clientID
        self.fingerprint = fingerprint
        self.content = content
    }

    /// A plain text.
    public init(conversationID: ConversationID, senderID: UserID, clientID: String, text: String) {
        self.init(
            conversationID: conversationID, senderID: senderID, clientID: clientID,
            fingerprint: MessageBody.original(.init(text: text)).fingerprint, content: .success(MessageContent(text: text)))
    }
}

public struct SentMessage: Sendable {
    public let seq: Seq
    /// The message as JSON of the contract, without the REST-only fields: an object, ready to splice.
    public let json: [UInt8]
    /// False where the same send had been answered before.
    public let isNew: Bool

    public init(seq: Seq, json: [UInt8], isNew: Bool) {
        self.seq = seq
        self.json = json
        self.isNew = isNew
    }
}

/// Presence as the actors know it, before anyone's privacy is applied.
public protocol PresenceQueries: Sendable {
    /// One state per user, in order. `unavailable` where an owner is away.
    func states(of users: [UserID]) async throws(RoostError) -> [PresenceState]
}

/// News for all nodes, at most once; each has a slower, certain way behind it.
public protocol ClusterSignals: Sendable {
    /// Closes the device's sockets and refuses its tokens everywhere.
    func deviceRevoked(_ device: DeviceID)

    /// The user's profile or settings changed.
    func userChanged(_ user: UserID)

    /// One of the two blocks the other now, or no longer.
    func blockChanged(between one: UserID, and other: UserID)

    /// The user was deleted: the members of a conversation that was theirs hear of it.
    func userDeleted(_ user: UserID, from conversation: ConversationID)

    /// A conversation was made or changed for these users: their sessions get it as an event.
    func conversationChanged(_ conversation: ConversationID, for members: [UserID])
}

import RoostModel

/// The rules of one conversation: which numbers its messages get, who may do what, and who learns of it.
///
/// One batch of commands is under way at a time. The shell hands in everything that waits (``decide(_:now:)``), does what the step
/// says, and reports back; the machine goes round until the step says `nothing`:
///
/// ```
///            decide                    committed
///   idle ──────────────> committing ───────────────> idle
///    │  ^                    │ conflicted, outcome unknown
///    │  │ lookedUp           v                              recovered
///    └──> lookingUp      recovering ──────────────────────> committing or idle
///                            │ failed        decide
///                            └──────> stale ────────> recovering
/// ```
///
/// After a conflict, and after a commit whose answer was lost, it does not guess: it reads the snapshot and the messages of its own
/// keys again. Those that are found are answered and fanned out now, the rest is decided anew, in the old order.
public struct ConversationState {
    public let id: ConversationID
    let rules: ConversationRules
    /// As committed.
    var facts: ConversationFacts
    /// How often in a row another has committed first: a shell that sees many has a rival, and steps down.
    public private(set) var conflictsInARow = 0
    var lastMessageAt: Timestamp?
    /// Whether the dirty mark is certainly set, so that a message need not set it. Never believed of a snapshot: a settling of an
    /// earlier time may still be on its way to the store.
    var isMarked = false
    /// Whether the dirty mark may be set, so that it is worth clearing.
    var mayBeMarked: Bool
    var recent = RecentClientIDs()
    var state: State = .idle

    enum State {
        case idle
        /// What is known may be old: the snapshot is read before anything is decided.
        case stale
        case lookingUp([ConversationCommand])
        // Apart, so that a quiet conversation does not hold the room for it.
        indirect case committing(Flight)
        case recovering([ConversationCommand])
    }

    /// A batch on its way to the store, and who waits for it.
    struct Flight {
        var request = CommitRequest()
        var waiting: [(command: ConversationCommand, answer: Answer)] = []
        /// What is to be told once it is durable, in order.
        var events: [ConversationEvent] = []
        /// What the conversation is then.
        var facts: ConversationFacts?

        enum Answer {
            /// The index of a message of the request.
            case message(Int, isNew: Bool)
            case position
            case done
            case failed(RoostError)
        }
    }

    public init(_ snapshot: ConversationSnapshot, rules: ConversationRules = ConversationRules()) {
        id = snapshot.id
        self.rules = rules
        facts = ConversationFacts(snapshot)
        lastMessageAt = snapshot.lastMessageAt
        mayBeMarked = snapshot.isActive
    }

    // MARK: Questions, at any time

    /// Whether ``decide(_:now:)`` may be called.
    public var isFree: Bool {
        switch state {
        case .idle, .stale: true
        case .lookingUp, .committing, .recovering: false
        }
    }

    public var kind: ConversationKind { facts.kind }
    /// The counter, as committed.
    public var head: Seq { facts.head }
    /// Whether it is gone for good.
    public var isDeleted: Bool { facts.isDeleted }

    /// In the order of ids.
    public var memberIDs: [UserID] { facts.members.ids }

    public func isMember(_ user: UserID) -> Bool { facts.members.contains(user) }

    public func position(of user: UserID) -> ReadPosition? {
        facts.members.index(of: user).map {
            ReadPosition(readSeq: facts.members[$0].readSeq, deliveredSeq: facts.members[$0].deliveredSeq)
        }
    }

    /// Who learns that `user` types: all other members, nobody between two of whom one has blocked the other.
    /// - Throws: why `user` may not.
    public func typingRecipients(of user: UserID) throws(RoostError) -> [UserID] {
        if let error = facts.refusal(of: .type, for: user) { throw error }
        return facts.isBlocked ? [] : facts.members.ids.filter { $0 != user }
    }

    /// A member's setting changed. Does nothing for others.
    public mutating func setSharesReadReceipts(_ shares: Bool, for user: UserID) {
        if let index = facts.members.index(of: user) { facts.members[index].sharesReadReceipts = shares }
        // What a batch under way makes of the members must not undo this.
        if case .committing(var flight) = state, let index = flight.facts?.members.index(of: user) {
            flight.facts?.members[index].sharesReadReceipts = shares
            state = .committing(flight)
        }
    }

    /// What to write so that the dirty mark can go, or nil where there is nothing to clear or something is under way. From now on
    /// the next message sets the mark again, whichever of the two reaches the store first.
    public mutating func beginSettling() -> SettleEntry? {
        switch state {
        case .lookingUp, .committing, .recovering, .stale: return nil
        case .idle: break
        }
        guard mayBeMarked, let lastMessageAt else { return nil }
        isMarked = false
        mayBeMarked = false
        return SettleEntry(conversationID: id, head: head, lastActivityAt: lastMessageAt)
    }

    // MARK: The round of a batch

    /// Takes everything that waits, in order. The shell bounds how much that is.
    /// - Precondition: ``isFree``.
    public mutating func decide(_ commands: [ConversationCommand], now: Timestamp) -> ConversationStep {
        switch state {
        case .idle:
            return commands.contains(where: \.isRefresh) ? recover(commands) : plan(commands, mayLookUp: true, now: now)
        case .stale: return recover(commands)
        case .lookingUp, .committing, .recovering: preconditionFailure("a batch is under way")
        }
    }

    /// What was found of what was asked for.
    public mutating func lookedUp(_ findings: Findings, now: Timestamp) -> ConversationStep {
        guard case .lookingUp(let commands) = state else { preconditionFailure("nothing was looked up") }
        return plan(commands, findings, mayLookUp: false, now: now)
    }

    /// The batch is durable.
    public mutating func committed() -> ConversationStep {
        guard case .committing(let flight) = state else { preconditionFailure("nothing was committed") }
        conflictsInARow = 0
        var step = ConversationStep()
        if let after = flight.facts { facts = after }
        for message in flight.request.messages {
            lastMessageAt = message.createdAt
            if !message.clientID.isEmpty { recent.insert(sender: message.senderID, clientID: message.clientID) }
        }
        if flight.request.marksActive { (isMarked, mayBeMarked) = (true, true) }
        step.events = flight.events
        for change in flight.request.positions {
            if let receipt = apply(change) { step.events.append(.receipt(receipt)) }
        }
        for (command, answer) in flight.waiting {
            let outcome: ConversationReply.Outcome
            switch answer {
            case .message(let index, let isNew): outcome = .message(flight.request.messages[index], isNew: isNew)
            case .position: outcome = .position(position(of: command))
            case .done: outcome = .done
            case .failed(let error): outcome = .failed(error)
            }
            step.replies.append(ConversationReply(token: command.token, outcome: outcome))
        }
        // What those who have just come share is not known yet.
        let hasNewcomers = flight.request.changes?.members.contains { $0.isJoining } ?? false
        state = hasNewcomers ? .stale : .idle
        return step
    }

    /// The batch met a number or client id that exists already, or its fate is unknown: all of it is asked again.
    public mutating func conflicted() -> ConversationStep {
        guard case .committing(let flight) = state else { preconditionFailure("nothing was committed") }
        conflictsInARow += 1
        return recover(flight.waiting.map(\.command))
    }

    /// The snapshot and then the stored messages were read; no snapshot means that the conversation is gone.
    public mutating func recovered(
        _ snapshot: ConversationSnapshot?, _ findings: Findings = Findings(), now: Timestamp
    ) -> ConversationStep {
        guard case .recovering(let commands) = state else { preconditionFailure("nothing is being recovered") }
        guard let snapshot else {
            state = .stale
            var step = ConversationStep()
            if !facts.isDeleted { step.events = [.removed(facts.members.ids)] }
            facts.isDeleted = true
            // A conversation that is gone is as its deletion would have it, perhaps by a write whose answer was lost.
            step.replies = commands.map {
                ConversationReply(token: $0.token, outcome: $0.isSatisfiedByDeletion ? .done : .failed(.notFound))
            }
            return step
        }
        let known = facts
        let receipts = refresh(from: snapshot)
        var step = plan(commands, findings, since: known, mayLookUp: false, now: now)
        let knownHead = known.head
        step.events += facts.news(since: known) + receipts
        if knownHead < head { step.missed = knownHead.next...head }
        return step
    }

    /// The batch was not written, or could not be read, and will not be tried again: everyone waiting gets `error`.
    /// `outcomeUnknown` where it may have been written all the same.
    public mutating func failed(_ error: RoostError, outcomeUnknown: Bool = false) -> ConversationStep {
        let commands: [ConversationCommand]
        switch state {
        case .idle, .stale: commands = []
        case .lookingUp(let pending):
            commands = pending
            state = .idle
        case .committing(let flight):
            commands = flight.waiting.map(\.command)
            state = outcomeUnknown ? .stale : .idle
        case .recovering(let pending):
            commands = pending
            state = .stale
        }
        var step = ConversationStep()
        step.replies = commands.map { ConversationReply(token: $0.token, outcome: .failed(error)) }
        return step
    }
}

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
    public private(set) var kind: ConversationKind
    /// The counter, as committed.
    public private(set) var head: Seq
    public private(set) var isReadOnly: Bool
    /// How often in a row another has committed first: a shell that sees many has a rival, and steps down.
    public private(set) var conflictsInARow = 0
    private var members: MemberTable
    private var lastMessageAt: Timestamp?
    /// Whether the dirty mark is certainly set, so that a message need not set it. Never believed of a snapshot: a settling of an
    /// earlier time may still be on its way to the store.
    private var isMarked = false
    /// Whether the dirty mark may be set, so that it is worth clearing.
    private var mayBeMarked: Bool
    private var recent = RecentClientIDs()
    private var state: State = .idle

    enum State {
        case idle
        /// What is known may be old: the snapshot is read before anything is decided.
        case stale
        case lookingUp([ConversationCommand])
        case committing(Flight)
        case recovering([ConversationCommand])
    }

    /// A batch on its way to the store, and who waits for it.
    struct Flight {
        var request = CommitRequest()
        var waiting: [(command: ConversationCommand, answer: Answer)] = []

        enum Answer {
            /// The index of a message of the request.
            case message(Int, isNew: Bool)
            case reusedClientID
            case position
        }
    }

    public init(_ snapshot: ConversationSnapshot) {
        id = snapshot.id
        kind = snapshot.kind
        head = snapshot.head
        isReadOnly = snapshot.isReadOnly
        members = MemberTable(snapshot.members)
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

    /// In the order of ids.
    public var memberIDs: [UserID] { members.entries.map(\.userID) }

    public func isMember(_ user: UserID) -> Bool { members.contains(user) }

    public func position(of user: UserID) -> ReadPosition? {
        members.index(of: user).map { ReadPosition(readSeq: members[$0].readSeq, deliveredSeq: members[$0].deliveredSeq) }
    }

    /// Who learns that `user` types: all other members; nil where the user is none.
    public func typingRecipients(of user: UserID) -> [UserID]? {
        guard members.contains(user) else { return nil }
        return members.entries.compactMap { $0.userID == user ? nil : $0.userID }
    }

    /// A member's setting changed. Does nothing for others.
    public mutating func setSharesReadReceipts(_ shares: Bool, for user: UserID) {
        guard let index = members.index(of: user) else { return }
        members[index].sharesReadReceipts = shares
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
        case .idle: return plan(commands, mayLookUp: true, now: now)
        case .stale: return recover(commands)
        case .lookingUp, .committing, .recovering: preconditionFailure("a batch is under way")
        }
    }

    /// The stored messages that were asked for; a key that is not there has none.
    public mutating func lookedUp(_ stored: [MessageKey: Message], now: Timestamp) -> ConversationStep {
        guard case .lookingUp(let commands) = state else { preconditionFailure("nothing was looked up") }
        return plan(commands, stored: stored, mayLookUp: false, now: now)
    }

    /// The batch is durable.
    public mutating func committed() -> ConversationStep {
        guard case .committing(let flight) = state else { preconditionFailure("nothing was committed") }
        state = .idle
        conflictsInARow = 0
        var step = ConversationStep()
        for message in flight.request.messages {
            head = message.seq
            lastMessageAt = message.createdAt
            recent.insert(sender: message.senderID, clientID: message.clientID)
            step.events.append(.message(message))
        }
        if flight.request.marksActive { (isMarked, mayBeMarked) = (true, true) }
        for change in flight.request.positions { step.events.append(.receipt(apply(change))) }
        for (command, answer) in flight.waiting {
            let outcome: ConversationReply.Outcome
            switch answer {
            case .message(let index, let isNew): outcome = .message(flight.request.messages[index], isNew: isNew)
            case .reusedClientID: outcome = .failed(RoostError(.clientIdReused))
            case .position: outcome = .position(position(of: command))
            }
            step.replies.append(ConversationReply(token: command.token, outcome: outcome))
        }
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
        _ snapshot: ConversationSnapshot?, stored: [MessageKey: Message], now: Timestamp
    ) -> ConversationStep {
        guard case .recovering(let commands) = state else { preconditionFailure("nothing is being recovered") }
        guard let snapshot else {
            state = .stale
            var step = ConversationStep()
            step.replies = commands.map { ConversationReply(token: $0.token, outcome: .failed(.notFound)) }
            return step
        }
        let knownHead = head
        let receipts = refresh(from: snapshot)
        var step = plan(commands, stored: stored, announcingAfter: knownHead, mayLookUp: false, now: now)
        step.events += receipts
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

// MARK: - Planning

extension ConversationState {
    private mutating func recover(_ commands: [ConversationCommand]) -> ConversationStep {
        state = .recovering(commands)
        var step = ConversationStep()
        step.next = .recover(keys(of: commands) { _ in true })
        return step
    }

    /// Decides commands in order: what can be answered is, the rest goes into one write.
    ///
    /// - Parameters:
    ///   - stored: messages that exist for keys of these commands.
    ///   - announced: stored messages after this were not fanned out yet by this actor.
    ///   - mayLookUp: whether a likely repetition is looked up first; false where `stored` is complete.
    private mutating func plan(
        _ commands: [ConversationCommand], stored: [MessageKey: Message] = [:], announcingAfter announced: Seq? = nil,
        mayLookUp: Bool, now: Timestamp
    ) -> ConversationStep {
        var step = ConversationStep()
        if mayLookUp {
            // All commands wait for the answer, so that a sender's order holds whatever it is.
            let likely = keys(of: commands) { recent.mayContain(sender: $0.senderID, clientID: $0.clientID) }
            if !likely.isEmpty {
                state = .lookingUp(commands)
                step.next = .lookUp(likely)
                return step
            }
        }
        var plan = Plan(head: head, createdAt: max(now, lastMessageAt ?? now), now: now)
        var toAnnounce: [Seq: Message] = [:]
        for command in commands {
            switch command {
            case .send(let send):
                guard members.contains(send.senderID) else {
                    step.fail(command, .notFound)
                    continue
                }
                let key = MessageKey(conversationID: id, senderID: send.senderID, clientID: send.clientID)
                if let message = stored[key] {
                    let isUnannounced = announced.map { message.seq > $0 } ?? false
                    let isFirst = isUnannounced && toAnnounce.updateValue(message, forKey: message.seq) == nil
                    step.reply(to: send, with: message, isNew: isFirst)
                } else if isReadOnly {
                    step.fail(command, RoostError(.readOnly))
                } else {
                    plan.append(send, key)
                }
            case .read(let position), .delivered(let position):
                guard let index = members.index(of: position.userID) else {
                    step.fail(command, .notFound)
                    continue
                }
                if !plan.move(command, position, from: members[index], head: head) {
                    step.replies.append(ConversationReply(token: command.token, outcome: .position(self.position(of: command))))
                }
            }
        }
        step.events += toAnnounce.keys.sorted().map { .message(toAnnounce[$0]!) }
        guard !plan.flight.waiting.isEmpty else {
            state = .idle
            return step
        }
        plan.flight.request.marksActive = !plan.flight.request.messages.isEmpty && !isMarked
        step.next = .commit(plan.flight.request)
        state = .committing(plan.flight)
        return step
    }

    /// The keys of sends by members that satisfy `isWanted`, each once, in order.
    private func keys(of commands: [ConversationCommand], where isWanted: (SendCommand) -> Bool) -> [MessageKey] {
        var seen: Set<MessageKey> = []
        var keys: [MessageKey] = []
        for case .send(let send) in commands where isWanted(send) {
            let key = MessageKey(conversationID: id, senderID: send.senderID, clientID: send.clientID)
            if seen.insert(key).inserted { keys.append(key) }
        }
        return keys
    }

    /// Answers the positions that moved without this actor's knowing, perhaps by a write of its own whose answer was lost.
    private mutating func refresh(from snapshot: ConversationSnapshot) -> [ConversationEvent] {
        let known = members
        kind = snapshot.kind
        head = snapshot.head
        isReadOnly = snapshot.isReadOnly
        members = MemberTable(snapshot.members)
        lastMessageAt = [lastMessageAt, snapshot.lastMessageAt].compactMap { $0 }.max()
        isMarked = false
        mayBeMarked = snapshot.isActive
        return members.entries.compactMap { entry in
            guard let index = known.index(of: entry.userID) else { return nil }
            let before = known[index]
            guard entry.readSeq > before.readSeq || entry.deliveredSeq > before.deliveredSeq else { return nil }
            return .receipt(members.receipt(of: entry, before: before))
        }
    }

    private mutating func apply(_ change: PositionChange) -> ConversationEvent.Receipt {
        guard let index = members.index(of: change.userID) else { preconditionFailure("a position of no member") }
        let before = members[index]
        members[index].readSeq = max(before.readSeq, change.readSeq)
        members[index].deliveredSeq = max(before.deliveredSeq, change.deliveredSeq)
        return members.receipt(of: members[index], before: before)
    }

    private func position(of command: ConversationCommand) -> ReadPosition {
        switch command {
        case .send: preconditionFailure("a send has no position")
        case .read(let position), .delivered(let position):
            self.position(of: position.userID) ?? ReadPosition(readSeq: .zero, deliveredSeq: .zero)
        }
    }
}

extension ConversationStep {
    fileprivate mutating func fail(_ command: ConversationCommand, _ error: RoostError) {
        replies.append(ConversationReply(token: command.token, outcome: .failed(error)))
    }

    fileprivate mutating func reply(to send: SendCommand, with message: Message, isNew: Bool) {
        let outcome: ConversationReply.Outcome =
            send.hasBody(of: message) ? .message(message, isNew: isNew) : .failed(RoostError(.clientIdReused))
        replies.append(ConversationReply(token: send.token, outcome: outcome))
    }
}

/// A batch in the making.
private struct Plan {
    private(set) var head: Seq
    let createdAt: Timestamp
    let now: Timestamp
    var flight = ConversationState.Flight()
    private var indices: [MessageKey: Int] = [:]

    init(head: Seq, createdAt: Timestamp, now: Timestamp) {
        self.head = head
        self.createdAt = createdAt
        self.now = now
    }

    /// Gives the message the next number, or lets a repetition wait for the first of its key.
    mutating func append(_ send: SendCommand, _ key: MessageKey) {
        if let index = indices[key] {
            let sameBody = send.hasBody(of: flight.request.messages[index])
            flight.waiting.append((.send(send), sameBody ? .message(index, isNew: false) : .reusedClientID))
            return
        }
        head = head.next
        let index = flight.request.messages.count
        indices[key] = index
        flight.request.messages.append(
            Message(
                conversationID: key.conversationID, seq: head, changeSeq: head, clientID: send.clientID, senderID: send.senderID,
                kind: .text, text: send.text, createdAt: createdAt))
        flight.waiting.append((.send(send), .message(index, isNew: true)))
    }

    /// Moves a member's position forward, at most to `committedHead`. False where nothing changes and nothing is on its way.
    mutating func move(
        _ command: ConversationCommand, _ position: PositionCommand, from entry: MemberTable.Entry, head committedHead: Seq
    ) -> Bool {
        let index = flight.request.positions.firstIndex { $0.userID == position.userID }
        let seq = min(position.seq, committedHead)
        var change =
            index.map { flight.request.positions[$0] }
            ?? PositionChange(userID: entry.userID, readSeq: entry.readSeq, deliveredSeq: entry.deliveredSeq, at: now)
        switch command {
        case .send: preconditionFailure("a send has no position")
        case .read: change.readSeq = max(change.readSeq, seq)
        case .delivered: break
        }
        change.deliveredSeq = max(change.deliveredSeq, seq)
        if let index {
            flight.request.positions[index] = change
        } else if change.readSeq == entry.readSeq && change.deliveredSeq == entry.deliveredSeq {
            return false
        } else {
            flight.request.positions.append(change)
        }
        flight.waiting.append((command, .position))
        return true
    }
}

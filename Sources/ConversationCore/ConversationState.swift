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
    private(set) var facts: ConversationFacts
    /// How often in a row another has committed first: a shell that sees many has a rival, and steps down.
    public private(set) var conflictsInARow = 0
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

// MARK: - Planning

extension ConversationState {
    private mutating func recover(_ commands: [ConversationCommand]) -> ConversationStep {
        state = .recovering(commands)
        var step = ConversationStep()
        step.next = .recover(Lookup(keys: keys(of: commands) { _ in true }, seqs: seqs(of: commands)))
        return step
    }

    /// Decides commands in order: what can be answered is, the rest goes into one write.
    ///
    /// - Parameters:
    ///   - findings: what the store knows of these commands; complete unless `mayLookUp`.
    ///   - known: what was known before the snapshot was read again: what is newer was not fanned out yet by this actor.
    ///   - mayLookUp: whether what is needed is looked up first.
    private mutating func plan(
        _ commands: [ConversationCommand], _ findings: Findings = Findings(), since known: ConversationFacts? = nil,
        mayLookUp: Bool, now: Timestamp
    ) -> ConversationStep {
        var step = ConversationStep()
        if mayLookUp {
            // All commands wait for the answer, so that a sender's order holds whatever it is.
            let changesMembers = commands.contains(where: \.isAct)
            let likely = keys(of: commands) { send in
                mayBeRefused(send, changesMembers) || recent.mayContain(sender: send.senderID, clientID: send.clientID)
            }
            let lookup = Lookup(keys: likely, seqs: seqs(of: commands))
            if !lookup.isEmpty {
                state = .lookingUp(commands)
                step.next = .lookUp(lookup)
                return step
            }
        }
        var plan = BatchPlan(
            id: id, rules: rules, facts: facts, targets: findings.targets, isRecovering: known != nil,
            createdAt: max(now, lastMessageAt ?? now), now: now)
        var toAnnounce: [Seq: Message] = [:]
        for command in commands {
            switch command {
            case .send(let send):
                let key = MessageKey(conversationID: id, senderID: send.senderID, clientID: send.clientID)
                if let message = findings.messages[key], plan.facts.members.contains(send.senderID) {
                    let isUnannounced = known.map { message.seq > $0.head } ?? false
                    let isFirst = isUnannounced && toAnnounce.updateValue(message, forKey: message.seq) == nil
                    step.reply(to: send, with: plan.facts.shown(message, to: send.senderID, plan.targets), isNew: isFirst)
                } else if let error = plan.send(send, key) {
                    step.answer(command, .failed(error), &plan)
                }
            case .read(let position), .delivered(let position):
                guard let index = plan.facts.members.index(of: position.userID) else {
                    step.answer(command, .failed(plan.facts.refusal(of: .read, for: position.userID) ?? .notFound), &plan)
                    continue
                }
                if plan.move(command, position, isRead: command.isRead, from: plan.facts.members[index]) { continue }
                if !facts.members.contains(position.userID) {
                    // They become a member by this batch.
                    plan.wait(command, .position)
                } else {
                    step.replies.append(ConversationReply(token: command.token, outcome: .position(self.position(of: command))))
                }
            case .act(let act):
                let error = plan.perform(act)
                let wasDone = error != nil && known.map { act.wasDone(before: $0, now: facts) } ?? false
                step.answer(command, error == nil || wasDone ? .done : .failed(error!), &plan)
            }
        }
        step.events += toAnnounce.keys.sorted().map { .message(toAnnounce[$0]!, audience(of: toAnnounce[$0]!, findings)) }
        finish(&plan, &step)
        return step
    }

    /// Whether the send cannot simply be written, where an index would find the message of its key: what was sent before is answered as
    /// then, even where the same could not be sent now.
    private func mayBeRefused(_ send: SendCommand, _ changesMembers: Bool) -> Bool {
        guard case .success(let content) = send.content else { return true }
        if facts.refusal(of: .send, for: send.senderID) != nil { return facts.members.contains(send.senderID) }
        if content.replyTo != nil { return true }
        return !content.mentions.isEmpty && (changesMembers || !content.mentions.allSatisfy(facts.members.contains))
    }

    /// Says what is to be written, if anything is.
    private mutating func finish(_ plan: inout BatchPlan, _ step: inout ConversationStep) {
        guard !plan.flight.waiting.isEmpty else {
            step.events += plan.flight.events
            state = .idle
            return
        }
        let takesValues = plan.facts.head > facts.head
        if takesValues, plan.flight.request.changes != nil { plan.flight.request.changes?.firstSeq = facts.head.next }
        plan.flight.request.marksActive = takesValues && !isMarked
        plan.flight.facts = plan.facts
        step.next = .commit(plan.flight.request)
        state = .committing(plan.flight)
    }

    /// Of a message that was stored without our hearing of it. Who has hidden what it answers was looked up with it; where that is not
    /// known, nobody is shown it.
    private func audience(of message: Message, _ findings: Findings) -> ConversationEvent.Audience? {
        guard message.replyTo != nil || message.changeSeq != message.seq || facts.history == .sinceJoined else { return nil }
        let quoteHiders = message.replyTo.map { findings.targets[$0.seq]?.hiddenBy ?? facts.members.ids }
        return facts.audience(of: MessageTarget(message: message, quoteHiddenBy: quoteHiders ?? []))
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

    /// The messages that commands are about, each once, in order.
    private func seqs(of commands: [ConversationCommand]) -> [Seq] {
        var seqs: [Seq] = []
        for seq in commands.compactMap(\.target) where !seqs.contains(seq) { seqs.append(seq) }
        return seqs
    }

    /// Answers the positions that moved without this actor's knowing, perhaps by a write of its own whose answer was lost.
    private mutating func refresh(from snapshot: ConversationSnapshot) -> [ConversationEvent] {
        let known = facts.members
        facts = ConversationFacts(snapshot)
        lastMessageAt = [lastMessageAt, snapshot.lastMessageAt].compactMap { $0 }.max()
        isMarked = false
        mayBeMarked = snapshot.isActive
        return facts.members.entries.compactMap { entry in
            guard let index = known.index(of: entry.userID) else { return nil }
            let before = known[index]
            guard entry.readSeq > before.readSeq || entry.deliveredSeq > before.deliveredSeq else { return nil }
            return .receipt(facts.members.receipt(of: entry, before: before))
        }
    }

    /// Nil where the member has left in the same batch.
    private mutating func apply(_ change: PositionChange) -> ConversationEvent.Receipt? {
        guard let index = facts.members.index(of: change.userID) else { return nil }
        let before = facts.members[index]
        facts.members[index].readSeq = max(before.readSeq, change.readSeq)
        facts.members[index].deliveredSeq = max(before.deliveredSeq, change.deliveredSeq)
        return facts.members.receipt(of: facts.members[index], before: before)
    }

    private func position(of command: ConversationCommand) -> ReadPosition {
        switch command {
        case .send, .act: preconditionFailure("only positions have one")
        case .read(let position), .delivered(let position):
            self.position(of: position.userID) ?? ReadPosition(readSeq: .zero, deliveredSeq: .zero)
        }
    }
}

extension BatchPlan {
    /// Nil where it was done or changes nothing, else why not.
    fileprivate mutating func perform(_ act: ActionCommand) -> RoostError? {
        let user = act.userID
        return switch act.action {
        case .edit(let seq, let text): edit(seq, text: text, by: user)
        case .deleteForEveryone(let seq): deleteForEveryone(seq, by: user)
        case .hide(let seq): hide(seq, by: user)
        case .react(let seq, let emoji): react(seq, emoji: emoji, isPut: true, by: user)
        case .unreact(let seq, let emoji): react(seq, emoji: emoji, isPut: false, by: user)
        case .addMembers(let users): addMembers(users, by: user)
        case .join: join(user)
        case .removeMember(let member): removeMember(member, by: user)
        case .setRole(let member, let role): setRole(role, of: member, by: user)
        case .update(let update): self.update(update, by: user)
        case .delete: delete(by: user)
        case .refresh: nil
        }
    }
}

extension ConversationCommand {
    /// The message that it is about.
    fileprivate var target: Seq? {
        switch self {
        case .send(let send): (try? send.content.get())?.replyTo
        case .read, .delivered: nil
        case .act(let act):
            switch act.action {
            case .edit(let seq, _), .deleteForEveryone(let seq), .hide(let seq), .react(let seq, _), .unreact(let seq, _): seq
            case .addMembers, .join, .removeMember, .setRole, .update, .delete, .refresh: nil
            }
        }
    }

    fileprivate var isRead: Bool { if case .read = self { true } else { false } }

    fileprivate var isAct: Bool { if case .act = self { true } else { false } }

    fileprivate var isRefresh: Bool {
        if case .act(let act) = self, case .refresh = act.action { true } else { false }
    }

    fileprivate var isSatisfiedByDeletion: Bool {
        guard case .act(let act) = self else { return false }
        return switch act.action {
        case .delete, .refresh: true
        case .removeMember(let user): user == act.userID
        case .edit, .deleteForEveryone, .hide, .react, .unreact, .addMembers, .join, .setRole, .update: false
        }
    }
}

extension ActionCommand {
    /// Whether a write whose answer was lost has done this already: who was a member is none now.
    fileprivate func wasDone(before: ConversationFacts, now: ConversationFacts) -> Bool {
        guard case .removeMember(let user) = action else { return false }
        return before.members.contains(user) && !now.members.contains(user)
    }
}

extension MemberChange {
    fileprivate var isJoining: Bool {
        switch self {
        case .joined: true
        case .left, .role: false
        }
    }
}

extension ConversationStep {
    /// Answers at once, or with the batch where the answer rests on what is not durable yet.
    fileprivate mutating func answer(
        _ command: ConversationCommand, _ answer: ConversationState.Flight.Answer, _ plan: inout BatchPlan
    ) {
        if plan.hasChanges { return plan.wait(command, answer) }
        switch answer {
        case .done: replies.append(ConversationReply(token: command.token, outcome: .done))
        case .failed(let error): replies.append(ConversationReply(token: command.token, outcome: .failed(error)))
        case .message, .position: preconditionFailure("these are always written first")
        }
    }

    fileprivate mutating func reply(to send: SendCommand, with message: Message, isNew: Bool) {
        let outcome: ConversationReply.Outcome =
            send.hasBody(of: message) ? .message(message, isNew: isNew) : .failed(RoostError(.clientIdReused))
        replies.append(ConversationReply(token: send.token, outcome: outcome))
    }
}

import RoostModel

/// How a batch of commands is planned: what can be answered is, the rest goes into one write.
extension ConversationState {
    mutating func recover(_ commands: [ConversationCommand]) -> ConversationStep {
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
    mutating func plan(
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
    mutating func refresh(from snapshot: ConversationSnapshot) -> [ConversationEvent] {
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
    mutating func apply(_ change: PositionChange) -> ConversationEvent.Receipt? {
        guard let index = facts.members.index(of: change.userID) else { return nil }
        let before = facts.members[index]
        facts.members[index].readSeq = max(before.readSeq, change.readSeq)
        facts.members[index].deliveredSeq = max(before.deliveredSeq, change.deliveredSeq)
        return facts.members.receipt(of: facts.members[index], before: before)
    }

    func position(of command: ConversationCommand) -> ReadPosition {
        switch command {
        case .send, .act: preconditionFailure("only positions have one")
        case .read(let position), .delivered(let position):
            self.position(of: position.userID) ?? ReadPosition(readSeq: .zero, deliveredSeq: .zero)
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

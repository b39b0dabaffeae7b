import RoostModel

/// A batch in the making: commands are taken in order, and each sees what those before it have changed.
struct BatchPlan {
    let id: ConversationID
    let rules: ConversationRules
    /// For what is made now: not before the newest message, whatever the clock says.
    let createdAt: Timestamp
    let now: Timestamp
    /// As committed.
    let before: ConversationFacts
    /// As this batch will make it.
    var facts: ConversationFacts
    var flight = ConversationState.Flight()
    /// Messages that commands are about, in the state that this batch gives them.
    var targets: [Seq: MessageTarget]
    /// Whether a write whose answer was lost may have done some of it already.
    let isRecovering: Bool
    private var keys: [MessageKey: Int] = [:]

    init(
        id: ConversationID, rules: ConversationRules, facts: ConversationFacts, targets: [Seq: MessageTarget],
        isRecovering: Bool, createdAt: Timestamp, now: Timestamp
    ) {
        self.id = id
        self.rules = rules
        self.createdAt = createdAt
        self.now = now
        before = facts
        self.facts = facts
        self.targets = targets
        self.isRecovering = isRecovering
    }

    /// Whether answers depend on what is not durable yet.
    var hasChanges: Bool { flight.request.changes != nil || !flight.request.messages.isEmpty }

    mutating func wait(_ command: ConversationCommand, _ answer: ConversationState.Flight.Answer) {
        flight.waiting.append((command, answer))
    }

    /// The next value of the counter.
    mutating func takeValue() -> Seq {
        facts.head = facts.head.next
        return facts.head
    }

    /// The part of the request for what is neither a new message nor a position.
    mutating func change(_ body: (inout EntryChanges) -> Void) {
        var changes = flight.request.changes ?? EntryChanges()
        flight.request.changes = nil
        body(&changes)
        flight.request.changes = changes
    }

    // MARK: Sending

    /// Gives the message the next number, or lets a repetition wait for the first of its key. Nil, or why it cannot be sent.
    mutating func send(_ send: SendCommand, _ key: MessageKey) -> RoostError? {
        if let index = keys[key] {
            let sameBody = send.hasBody(of: flight.request.messages[index])
            wait(.send(send), sameBody ? .message(index, isNew: false) : .failed(RoostError(.clientIdReused)))
            return nil
        }
        if let error = facts.refusal(of: .send, for: send.senderID) { return error }
        let content: MessageContent
        switch send.content {
        case .success(let wanted): content = wanted
        case .failure(let error): return error
        }
        guard content.mentions.allSatisfy(facts.members.contains) else { return .invalid("mentions", .unknown) }
        var quoted: MessageTarget?
        if let seq = content.replyTo {
            guard let target = targets[seq], facts.canSee(target, send.senderID) else { return .invalid("replyTo", .unknown) }
            quoted = target
        }
        let seq = takeValue()
        let message = Message(
            conversationID: id, seq: seq, changeSeq: seq, clientID: send.clientID, senderID: send.senderID, kind: content.kind,
            text: content.text, fingerprint: send.fingerprint, media: content.media, replyTo: quoted.map { Quote($0.message) },
            isForwarded: content.isForwarded, mentions: content.mentions, createdAt: createdAt)
        keys[key] = flight.request.messages.count
        wait(.send(send), .message(flight.request.messages.count, isNew: true))
        flight.request.messages.append(message)
        announce(MessageTarget(message: message, quoteHiddenBy: quoted?.hiddenBy ?? []))
        return nil
    }

    /// Everybody sees everything of most messages: then nobody need be named.
    mutating func announce(_ target: MessageTarget) {
        let isPlain =
            target.message.changeSeq == target.message.seq && target.message.replyTo == nil && flight.request.changes == nil
        flight.events.append(.message(target.message, isPlain ? nil : facts.audience(of: target)))
    }

    /// Before members come or go: what was for every member is for those who are so now.
    mutating func closeAudiences() {
        for (index, event) in flight.events.enumerated() {
            guard case .message(let message, nil) = event else { continue }
            flight.events[index] = .message(message, facts.audience(of: MessageTarget(message: message)))
        }
    }

    /// A system message, which everyone is told of.
    mutating func tell(_ change: SystemEvent.Change, by actor: UserID?, about subject: UserID) {
        let seq = takeValue()
        let message = Message(
            conversationID: id, seq: seq, changeSeq: seq, clientID: "", senderID: actor ?? subject, kind: .system, text: "",
            system: SystemEvent(actorID: actor, change: change), createdAt: createdAt)
        flight.request.messages.append(message)
        flight.events.append(.message(message, facts.audience(of: MessageTarget(message: message))))
    }

    // MARK: Positions

    /// Moves a member's position forward, at most to the committed counter. False where nothing changes and nothing is on its way.
    mutating func move(_ command: ConversationCommand, _ position: PositionCommand, isRead: Bool, from entry: MemberTable.Entry)
        -> Bool
    {
        let index = flight.request.positions.firstIndex { $0.userID == position.userID }
        let seq = min(position.seq, before.head)
        var change =
            index.map { flight.request.positions[$0] }
            ?? PositionChange(userID: entry.userID, readSeq: entry.readSeq, deliveredSeq: entry.deliveredSeq, at: now)
        if isRead { change.readSeq = max(change.readSeq, seq) }
        change.deliveredSeq = max(change.deliveredSeq, seq)
        if let index {
            flight.request.positions[index] = change
        } else if change.readSeq == entry.readSeq && change.deliveredSeq == entry.deliveredSeq {
            return false
        } else {
            flight.request.positions.append(change)
        }
        wait(command, .position)
        return true
    }
}

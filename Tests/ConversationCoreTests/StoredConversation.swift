import RoostModel
import Testing

@testable import ConversationCore

/// What a store does for one conversation, with what it must never be asked to do.
struct StoredConversation {
    let kind: ConversationKind
    var messages: [Message] = []
    var members: [ConversationSnapshot.Member]
    var hidden: [Seq: Set<UserID>] = [:]
    var title: String?
    var about: String?
    var history: HistorySetting
    var isDeleted = false

    init(kind: ConversationKind, members: [ConversationSnapshot.Member], history: HistorySetting = .full) {
        self.kind = kind
        self.members = members
        self.history = history
    }

    var head: Seq { messages.map(\.changeSeq).max() ?? .zero }
    var memberIDs: [UserID] { members.map(\.userID).sorted() }

    func find(_ key: MessageKey) -> Message? {
        messages.first { !$0.clientID.isEmpty && $0.senderID == key.senderID && $0.clientID == key.clientID }.map(whole)
    }

    func message(_ seq: Seq) -> Message? { messages.first { $0.seq == seq }.map(whole) }

    /// With the quote as it is now.
    private func whole(_ message: Message) -> Message {
        var message = message
        message.replyTo = message.replyTo.map { quote in Quote(messages.first { $0.seq == quote.seq }!) }
        return message
    }

    func findings(_ lookup: Lookup) -> Findings {
        var findings = Findings()
        for key in lookup.keys { findings.messages[key] = find(key) }
        for seq in lookup.seqs {
            guard let message = message(seq) else { continue }
            findings.targets[seq] = MessageTarget(
                message: message, hiddenBy: (hidden[seq] ?? []).sorted(),
                quoteHiddenBy: message.replyTo.map { (hidden[$0.seq] ?? []).sorted() } ?? [])
        }
        return findings
    }

    var snapshot: ConversationSnapshot? {
        isDeleted
            ? nil
            : ConversationSnapshot(
                id: conversation, kind: kind, head: head, members: members, isActive: true, isReadOnly: false, title: title,
                about: about, history: history, lastMessageAt: messages.last?.createdAt)
    }

    func sees(_ user: UserID, _ seq: Seq) -> Bool {
        guard let member = members.first(where: { $0.userID == user }) else { return false }
        return (history == .full || seq >= member.sinceSeq) && hidden[seq]?.contains(user) != true
    }

    /// Nil for those who are not members.
    func joining(of user: UserID) -> Seq? { members.first { $0.userID == user }?.sinceSeq }

    // MARK: Writing

    /// False where a value or a client id is taken; then nothing is written.
    mutating func commit(_ request: CommitRequest) -> Bool {
        let first = request.changes?.firstSeq ?? request.messages.first?.seq
        if isDeleted { return first == nil }
        guard first == nil || first == head.next else { return false }
        if request.changes?.isDeleted == true {
            isDeleted = true
            return true
        }
        let isTaken = request.messages.contains { !$0.clientID.isEmpty && find(key($0.clientID, $0.senderID)) != nil }
        guard !isTaken else { return false }
        check(request, first)
        messages += request.messages
        if let changes = request.changes { apply(changes) }
        for change in request.positions {
            let index = members.firstIndex { $0.userID == change.userID }!
            members[index].readSeq = max(members[index].readSeq, change.readSeq)
            members[index].deliveredSeq = max(members[index].deliveredSeq, change.deliveredSeq)
        }
        return true
    }

    private func check(_ request: CommitRequest, _ first: Seq?) {
        let changed = request.changes?.changedMessages ?? []
        let births = request.messages.map(\.seq)
        let values = births + changed.map(\.changeSeq)
        #expect(Set(values).count == values.count, "a value was given twice")
        #expect(births == births.sorted() && values.allSatisfy { $0 >= first! })
        #expect(request.messages.allSatisfy { $0.changeSeq == $0.seq })
        #expect(Set(changed.map(\.seq)).count == changed.count)
        #expect(Set(request.positions.map(\.userID)).count == request.positions.count)
        #expect(zip(messages.suffix(1) + request.messages, request.messages).allSatisfy { $0.createdAt <= $1.createdAt })
    }

    private mutating func apply(_ changes: EntryChanges) {
        for message in changes.changedMessages {
            let index = messages.firstIndex { $0.seq == message.seq }!
            let old = messages[index]
            #expect(message.kind != .system && !old.isDeleted, "a system message or tombstone was changed")
            messages[index] = message
            messages[index].reactions = message.isDeleted ? [] : old.reactions
            if message.isDeleted {
                #expect(message.text.isEmpty && message.media == nil && message.mentions.isEmpty && message.replyTo == nil)
            }
        }
        var reacted: Set<String> = []
        for change in changes.reactions {
            #expect(reacted.insert("\(change.seq) \(change.userID) \(change.emoji)").inserted, "written twice")
            apply(change)
        }
        for change in changes.hidden { hidden[change.seq, default: []].insert(change.userID) }
        for change in changes.members { apply(change) }
        title = changes.update?.title ?? title
        about = changes.update?.about ?? about
        history = changes.update?.history ?? history
        // What was told of each changed message is what is there now.
        for message in changes.changedMessages {
            let stored = messages.first { $0.seq == message.seq }!
            #expect(Set(stored.reactions.map(\.emoji)) == Set(message.reactions.map(\.emoji)))
            for reaction in stored.reactions {
                #expect(Set(reaction.userIDs) == Set(message.reactions.first { $0.emoji == reaction.emoji }?.userIDs ?? []))
            }
        }
    }

    private mutating func apply(_ change: ReactionChange) {
        let index = messages.firstIndex { $0.seq == change.seq }!
        #expect(!messages[index].isDeleted, "a reaction under a tombstone")
        var reactions = messages[index].reactions.map { reaction in
            var reaction = reaction
            if reaction.emoji == change.emoji { reaction.userIDs.removeAll { $0 == change.userID } }
            return reaction
        }
        if change.isPut {
            if let there = reactions.firstIndex(where: { $0.emoji == change.emoji }) {
                reactions[there].userIDs.append(change.userID)
            } else {
                reactions.append(Reaction(emoji: change.emoji, userIDs: [change.userID]))
            }
        }
        messages[index].reactions = reactions.filter { !$0.userIDs.isEmpty }
    }

    private mutating func apply(_ change: MemberChange) {
        switch change {
        case .joined(let user, let role, let at, let since, let read):
            #expect(!memberIDs.contains(user), "joined twice")
            members.append(
                .init(
                    userID: user, role: role, joinedAt: at, sinceSeq: since, readSeq: read, deliveredSeq: read,
                    sharesReadReceipts: true))
        case .left(let user):
            #expect(memberIDs.contains(user), "left twice")
            members.removeAll { $0.userID == user }
        case .role(let user, let role):
            let index = members.firstIndex { $0.userID == user }!
            let old = members[index]
            members[index] = .init(
                userID: user, role: role, joinedAt: old.joinedAt, sinceSeq: old.sinceSeq, readSeq: old.readSeq,
                deliveredSeq: old.deliveredSeq, sharesReadReceipts: old.sharesReadReceipts)
        }
    }
}

import Ports
import RoostModel

/// How journal entries are stored.
extension MemoryTables {
    func snapshot(_ row: ConversationRow) -> ConversationSnapshot {
        ConversationSnapshot(
            id: row.id, kind: row.kind, head: row.head,
            members: row.members.map { member in
                ConversationSnapshot.Member(
                    userID: member.userID, role: member.role, joinedAt: member.joinedAt, sinceSeq: member.sinceSeq,
                    readSeq: member.readSeq, deliveredSeq: member.deliveredSeq,
                    sharesReadReceipts: users[member.userID]?.user.settings.shareReadReceipts ?? true)
            }, isActive: row.isActive, isReadOnly: row.isReadOnly, isBlocked: isBlocked(row), title: row.title, about: row.about,
            photo: row.photoID.flatMap { media[$0] }, history: row.history, lastMessageAt: row.messages.last?.message.createdAt)
    }

    /// All of an entry or nothing.
    mutating func store(_ entry: JournalEntry) -> JournalOutcome {
        if entry.hasNUL { return .refused }
        let firstSeq = entry.changes?.firstSeq ?? entry.messages.first?.seq
        guard var row = conversations[entry.conversationID] else { return firstSeq == nil ? .committed : .conflict }
        if let firstSeq, firstSeq != row.head.next { return .conflict }
        let version = nextVersion()
        if entry.changes?.isDeleted == true {
            erase(row, version)
            return .committed
        }
        for message in entry.messages where !row.append(message, version) { return .conflict }
        if let changes = entry.changes {
            row.apply(changes, version)
            for change in changes.members { apply(change, of: row.id, version) }
        }
        for change in entry.positions { row.apply(change) }
        row.isActive = row.isActive || entry.marksActive
        row.version = version
        conversations[row.id] = row
        return .committed
    }

    private mutating func erase(_ row: ConversationRow, _ version: Int64) {
        conversations[row.id] = nil
        if row.kind == .direct { directs = directs.filter { $0.value != row.id } }
        for member in row.members { apply(.left(member.userID), of: row.id, version) }
    }

    /// The user's side of a membership.
    mutating func apply(_ change: MemberChange, of conversation: ConversationID, _ version: Int64) {
        switch change {
        case .joined(let user, role: _, at: _, sinceSeq: _, readSeq: _):
            memberships[user, default: []].insert(conversation)
            departures[user]?[conversation] = nil
        case .left(let user):
            memberships[user]?.remove(conversation)
            departures[user, default: [:]][conversation] = version
        case .role: break
        }
    }
}

extension ConversationRow {
    /// False where the `seq` or the client id is taken.
    fileprivate mutating func append(_ message: Message, _ version: Int64) -> Bool {
        guard messages.last.map({ $0.message.seq < message.seq }) ?? true else { return false }
        let key = MessageKey(conversationID: id, senderID: message.senderID, clientID: message.clientID)
        guard message.clientID.isEmpty || clientIDs.insert(key).inserted else { return false }
        messages.append(MessageRow(message, version: version))
        return true
    }

    fileprivate mutating func apply(_ changes: EntryChanges, _ version: Int64) {
        for message in changes.changedMessages {
            guard let index = index(of: message.seq) else { continue }
            messages[index].message.changeSeq = message.changeSeq
            messages[index].message.text = message.text
            messages[index].message.editedAt = message.editedAt
            messages[index].message.deletedAt = message.deletedAt
            messages[index].changed = version
            guard message.isDeleted else { continue }
            messages[index].message.mentions = []
            messages[index].mediaID = nil
            messages[index].replyTo = nil
            reactions[message.seq] = nil
        }
        for change in changes.reactions { apply(change) }
        for change in changes.hidden where hidden[change.userID]?[change.seq] == nil {
            hidden[change.userID, default: [:]][change.seq] = version
        }
        for change in changes.members { apply(change, version) }
        guard let update = changes.update else { return }
        title = update.title ?? title
        about = update.about ?? about
        photoID = update.photo.map { $0?.id } ?? photoID
        history = update.history ?? history
    }

    private mutating func apply(_ change: ReactionChange) {
        let isSame = { (row: ReactionRow) in row.userID == change.userID && row.emoji.utf8.elementsEqual(change.emoji.utf8) }
        let isThere = reactions[change.seq]?.contains(where: isSame) ?? false
        if change.isPut, !isThere {
            reactions[change.seq, default: []].append(
                ReactionRow(emoji: change.emoji, userID: change.userID, at: change.at))
        } else if !change.isPut {
            reactions[change.seq]?.removeAll(where: isSame)
        }
    }

    private mutating func apply(_ change: MemberChange, _ version: Int64) {
        switch change {
        case .joined(let user, let role, let at, let sinceSeq, let readSeq):
            members.removeAll { $0.userID == user }
            // To be told anew: a sync while they were away passed over it.
            hidden[user] = hidden[user]?.mapValues { _ in version }
            members.append(
                MemberRow(
                    userID: user, role: role, joinedAt: at, sinceSeq: sinceSeq, readSeq: readSeq, deliveredSeq: readSeq))
        case .left(let user): members.removeAll { $0.userID == user }
        case .role(let user, let role):
            if let index = members.firstIndex(where: { $0.userID == user }) { members[index].role = role }
        }
    }

    fileprivate mutating func apply(_ change: PositionChange) {
        guard let index = members.firstIndex(where: { $0.userID == change.userID }) else { return }
        let old = members[index]
        members[index].readSeq = max(old.readSeq, change.readSeq)
        members[index].deliveredSeq = max(old.deliveredSeq, change.deliveredSeq, change.readSeq)
        let new = members[index]
        guard new.readSeq > old.readSeq || new.deliveredSeq > old.deliveredSeq else { return }
        positions.append(PositionRow(userID: new.userID, deliveredSeq: new.deliveredSeq, readSeq: new.readSeq, at: change.at))
    }
}

extension JournalEntry {
    /// What PostgreSQL does not take.
    fileprivate var hasNUL: Bool {
        var texts = messages.flatMap { [$0.text, $0.clientID] }
        if let changes {
            texts += changes.changedMessages.map(\.text) + changes.reactions.map(\.emoji)
            texts += [changes.update?.title, changes.update?.about ?? nil].compactMap { $0 }
        }
        return texts.contains { $0.utf8.contains(0) }
    }
}

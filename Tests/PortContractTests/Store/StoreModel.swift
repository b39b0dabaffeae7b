import Ports
import RoostModel

/// What a store of conversations should hold, kept as plainly as can be: for every question the whole is gone through.
struct StoreModel {
    struct Member {
        var role: MemberRole
        let joinedAt: Timestamp
        let since: Seq
        var read: Seq
        var delivered: Seq
        /// Every move, with its time.
        var moves: [(read: Seq, delivered: Seq, at: Timestamp)] = []
        var mutedUntil: Timestamp?
        var pinnedAt: Timestamp?
        /// Cleared when somebody writes.
        var archivedAt: Timestamp?
    }

    struct Chat {
        let id: ConversationID
        let kind: ConversationKind
        let createdAt: Timestamp
        var title: String?
        var about: String?
        var photo: Media?
        var history: HistorySetting
        var head = Seq.zero
        /// As stored, with the quote as its number alone.
        var messages: [Message] = []
        var replies: [Seq: Seq] = [:]
        var reactions: [(seq: Seq, user: UserID, emoji: String, at: Timestamp)] = []
        var members: [UserID: Member] = [:]
        var hidden: [UserID: Set<Seq>] = [:]
        var isMarked = false

        func sees(_ user: UserID, _ seq: Seq) -> Bool {
            guard let member = members[user], hidden[user]?.contains(seq) != true else { return false }
            return history == .full || seq >= member.since
        }
    }

    var chats: [ConversationID: Chat] = [:]
    var names: [UserID: String] = [:]
    /// Whose read positions nobody sees, and who sees nobody's.
    var unsharing: Set<UserID> = []
    var blocked: Set<ConversationID> = []

    func chats(of user: UserID) -> [Chat] { chats.values.filter { $0.members[user] != nil } }

    // MARK: What readers are shown

    func sharedRead(of user: UserID, _ member: Member, to reader: UserID) -> Seq? {
        user == reader || (!unsharing.contains(user) && !unsharing.contains(reader)) ? member.read : nil
    }

    /// The message with its quote and reactions, as nobody in particular sees it.
    func whole(_ message: Message, in chat: Chat) -> Message {
        var message = message
        if let seq = chat.replies[message.seq], let original = chat.messages.first(where: { $0.seq == seq }) {
            message.replyTo = Quote(original)
        }
        for reaction in chat.reactions.filter({ $0.seq == message.seq }).sorted(by: { $0.at < $1.at }) {
            if let index = message.reactions.firstIndex(where: { $0.emoji == reaction.emoji }) {
                message.reactions[index].userIDs.append(reaction.user)
            } else {
                message.reactions.append(Reaction(emoji: reaction.emoji, userIDs: [reaction.user]))
            }
        }
        return message
    }

    func shown(_ message: Message, in chat: Chat, to user: UserID) -> ReadMessage {
        var shown = whole(message, in: chat)
        if let quote = shown.replyTo, !chat.sees(user, quote.seq) { shown.replyTo = nil }
        guard shown.isOwn(of: user), let receipts = receipts(message, in: chat, to: user) else {
            return ReadMessage(message: shown, delivery: nil)
        }
        return ReadMessage(
            message: shown, delivery: .init(status: receipts.status, seenByCount: receipts.seenBy.count))
    }

    /// By `seq`.
    func visible(in chat: Chat, to user: UserID) -> [ReadMessage] {
        chat.messages.filter { chat.sees(user, $0.seq) }.map { shown($0, in: chat, to: user) }
    }

    func receipts(_ message: Message, in chat: Chat, to user: UserID) -> MessageReceipts? {
        guard chat.sees(user, message.seq) else { return nil }
        let others = chat.members.filter { $0.key != message.senderID && $0.value.since <= message.seq }
        var receipts = MessageReceipts(status: .sent, deliveredTo: [], seenBy: [])
        for (other, member) in others {
            if let move = member.moves.first(where: { $0.delivered >= message.seq }) {
                receipts.deliveredTo.append(.init(userID: other, at: move.at))
            }
            guard sharedRead(of: other, member, to: user) != nil else { continue }
            if let move = member.moves.first(where: { $0.read >= message.seq }) {
                receipts.seenBy.append(.init(userID: other, at: move.at))
            }
        }
        if !others.isEmpty {
            if receipts.deliveredTo.count == others.count { receipts.status = .delivered }
            if receipts.seenBy.count == others.count { receipts.status = .read }
        }
        return receipts
    }

    func counts(in chat: Chat, of user: UserID) -> ConversationCounts? {
        guard let member = chat.members[user] else { return nil }
        let unread = chat.messages.filter {
            $0.seq > member.read && $0.senderID != user && $0.kind != .system && $0.deletedAt == nil
                && chat.sees(user, $0.seq)
        }
        return ConversationCounts(
            readSeq: member.read, deliveredSeq: member.delivered, unreadCount: min(unread.count, 999),
            mentionCount: min(unread.filter { $0.mentions.contains(user) }.count, 999))
    }

    func members(of chat: Chat, for user: UserID) -> [RoostModel.Member] {
        chat.members
            .sorted { ($0.value.joinedAt, $0.value.since, $0.key) < ($1.value.joinedAt, $1.value.since, $1.key) }
            .map { id, member in
                RoostModel.Member(
                    userID: id, displayName: names[id]!, role: member.role, joinedAt: member.joinedAt,
                    readSeq: sharedRead(of: id, member, to: user), deliveredSeq: member.delivered)
            }
    }

    func view(of chat: Chat, for user: UserID) -> ConversationView? {
        let me = chat.members[user]
        guard me != nil || chat.kind == .channel else { return nil }
        let counts = counts(in: chat, of: user)
        let last = visible(in: chat, to: user).last
        var view = ConversationView(
            id: chat.id, kind: chat.kind, title: chat.title, about: chat.about, photo: chat.photo, history: chat.history,
            members: chat.kind == .channel ? [] : members(of: chat, for: user), memberCount: chat.members.count,
            lastSeq: chat.head, lastMessage: last?.message, readSeq: counts?.readSeq ?? .zero,
            deliveredSeq: counts?.deliveredSeq ?? .zero, unreadCount: counts?.unreadCount ?? 0,
            mentionCount: counts?.mentionCount ?? 0, myRole: me?.role, mutedUntil: me?.mutedUntil, pinnedAt: me?.pinnedAt,
            archivedAt: me?.archivedAt, lastActivityAt: activity(of: chat), createdAt: chat.createdAt, isReadOnly: false)
        if chat.kind == .channel { view.lastMessageDelivery = last?.delivery }
        return view
    }

    func activity(of chat: Chat) -> Timestamp { chat.messages.last?.createdAt ?? chat.createdAt }

    func list(of user: UserID, archived: Bool) -> [ConversationID] {
        let mine = chats(of: user).filter { ($0.members[user]!.archivedAt != nil) == archived }
        func ordered(_ chats: [Chat]) -> [ConversationID] {
            chats.sorted { (activity(of: $0), $0.id) > (activity(of: $1), $1.id) }.map(\.id)
        }
        return ordered(mine.filter { $0.members[user]!.pinnedAt != nil })
            + ordered(mine.filter { $0.members[user]!.pinnedAt == nil })
    }

    /// Newest first.
    func search(_ word: String, for user: UserID) -> [ReadMessage] {
        chats(of: user)
            .flatMap { chat in
                visible(in: chat, to: user).filter { $0.message.text.split(separator: " ").contains(Substring(word)) }
            }
            .sorted { $0.message.createdAt > $1.message.createdAt }
    }
}

// MARK: - Writing

extension StoreModel.Chat {
    mutating func apply(_ entry: JournalEntry) {
        for message in entry.messages {
            var stored = message
            replies[message.seq] = message.replyTo?.seq
            stored.replyTo = nil
            messages.append(stored)
            head = max(head, message.seq)
            if message.kind == .system { continue }
            for user in members.keys where user != message.senderID {
                if (members[user]!.mutedUntil ?? message.createdAt) <= message.createdAt { members[user]!.archivedAt = nil }
            }
        }
        if let changes = entry.changes { apply(changes) }
        for change in entry.positions {
            guard var member = members[change.userID] else { continue }
            member.read = max(member.read, change.readSeq)
            member.delivered = max(member.delivered, change.deliveredSeq, change.readSeq)
            member.moves.append((member.read, member.delivered, change.at))
            members[change.userID] = member
        }
        isMarked = isMarked || entry.marksActive
    }

    private mutating func apply(_ changes: EntryChanges) {
        for message in changes.changedMessages {
            let index = messages.firstIndex { $0.seq == message.seq }!
            messages[index].text = message.text
            messages[index].editedAt = message.editedAt
            messages[index].deletedAt = message.deletedAt
            messages[index].changeSeq = message.changeSeq
            head = max(head, message.changeSeq)
            guard message.isDeleted else { continue }
            messages[index].media = nil
            messages[index].mentions = []
            replies[message.seq] = nil
            reactions.removeAll { $0.seq == message.seq }
        }
        for change in changes.reactions {
            let old = reactions.firstIndex { $0.seq == change.seq && $0.user == change.userID && $0.emoji == change.emoji }
            if change.isPut, old == nil { reactions.append((change.seq, change.userID, change.emoji, change.at)) }
            if !change.isPut, let old { reactions.remove(at: old) }
        }
        for change in changes.hidden { hidden[change.userID, default: []].insert(change.seq) }
        for change in changes.members {
            switch change {
            case .joined(let user, let role, let at, let since, let read):
                members[user] = StoreModel.Member(role: role, joinedAt: at, since: since, read: read, delivered: read)
            case .left(let user): members[user] = nil
            case .role(let user, let role): members[user]?.role = role
            }
        }
        title = changes.update?.title ?? title
        about = changes.update?.about ?? about
        photo = changes.update?.photo ?? photo
        history = changes.update?.history ?? history
    }
}

import Locks
import Ports
import RoostModel
import RoostProtocol

/// Direct conversations in memory: what readers see, and the commands that change it.
final class FakeChats: ConversationStore, ChatCommands {
    struct Chat {
        let id: ConversationID
        let members: [UserID]
        let createdAt: Timestamp
        var messages: [Message] = []
        var read: [UserID: Seq] = [:]
        var delivered: [UserID: Seq] = [:]

        var lastSeq: Seq { messages.last?.seq ?? .zero }
        func other(_ user: UserID) -> UserID { members[0] == user ? members[1] : members[0] }
    }

    private let chats = Locked<[ConversationID: Chat]>([:])
    private let failures = Locked<StoreError.Code?>(nil)

    func fail(with code: StoreError.Code?) { failures.withLock { $0 = code } }

    func share(_ left: UserID, _ right: UserID) -> Bool {
        chats.withLock { chats in chats.values.contains { $0.members.contains(left) && $0.members.contains(right) } }
    }

    private func chat(_ id: ConversationID, _ user: UserID) throws(StoreError) -> Chat? {
        if let code = failures.withLock({ $0 }) { throw StoreError(code) }
        return chats.withLock { chats in chats[id].flatMap { $0.members.contains(user) ? $0 : nil } }
    }

    func openDirect(
        between user: UserID, and other: UserID, newID: ConversationID, at time: Timestamp
    ) async throws(StoreError) -> (id: ConversationID, isNew: Bool) {
        if let code = failures.withLock({ $0 }) { throw StoreError(code) }
        return chats.withLock { chats in
            let members = [user, other].sorted()
            if let existing = chats.values.first(where: { $0.members == members }) { return (existing.id, false) }
            chats[newID] = Chat(id: newID, members: members, createdAt: time)
            return (newID, true)
        }
    }

    private func view(_ chat: Chat, _ user: UserID) -> ConversationView {
        let read = chat.read[user] ?? .zero
        let members = chat.members.map {
            Member(
                userID: $0, displayName: "Member", role: .member, joinedAt: chat.createdAt, readSeq: chat.read[$0] ?? .zero,
                deliveredSeq: chat.delivered[$0] ?? .zero)
        }
        return ConversationView(
            id: chat.id, kind: .direct, title: nil, members: members, memberCount: 2, lastSeq: chat.lastSeq,
            lastMessage: chat.messages.last, readSeq: read, deliveredSeq: chat.delivered[user] ?? .zero,
            unreadCount: chat.messages.count { $0.senderID != user && $0.seq > read }, mentionCount: 0, myRole: .member,
            lastActivityAt: chat.messages.last?.createdAt ?? chat.createdAt, createdAt: chat.createdAt, isReadOnly: false)
    }

    func conversation(_ id: ConversationID, for user: UserID) async throws(StoreError) -> ConversationView? {
        try chat(id, user).map { view($0, user) }
    }

    func conversations(
        for user: UserID, cursor: String?, limit: Int, at time: Timestamp
    ) async throws(StoreError) -> Page<ConversationView> {
        if let code = failures.withLock({ $0 }) { throw StoreError(code) }
        if let cursor, ConversationID(cursor) == nil { throw StoreError(.badCursor) }
        let all = chats.withLock { chats in chats.values.filter { $0.members.contains(user) } }.sorted { $0.id > $1.id }
        let rest = all.filter { chat in cursor.flatMap { ConversationID($0) }.map { chat.id < $0 } ?? true }
        let items = rest.prefix(limit).map { view($0, user) }
        return Page(items: items, nextCursor: rest.count > limit ? items.last?.id.description : nil)
    }

    func isMember(_ user: UserID, of conversation: ConversationID) async throws(StoreError) -> Bool {
        try chat(conversation, user) != nil
    }

    private func shown(_ message: Message, _ chat: Chat, _ user: UserID) -> ReadMessage {
        guard message.senderID == user else { return ReadMessage(message: message, delivery: nil) }
        let other = chat.other(user)
        let isRead = (chat.read[other] ?? .zero) >= message.seq
        let isDelivered = (chat.delivered[other] ?? .zero) >= message.seq
        return ReadMessage(
            message: message,
            delivery: .init(status: isRead ? .read : isDelivered ? .delivered : .sent, seenByCount: isRead ? 1 : 0))
    }

    func history(
        of conversation: ConversationID, for user: UserID, range: HistoryRange, limit: Int
    ) async throws(StoreError) -> HistoryPage? {
        guard let chat = try chat(conversation, user) else { return nil }
        let items: [Message] =
            switch range {
            case .newest: chat.messages.suffix(limit)
            case .before(let seq): chat.messages.filter { $0.seq < seq }.suffix(limit)
            case .after(let seq): Array(chat.messages.filter { $0.seq > seq }.prefix(limit))
            case .around(let seq):
                chat.messages.filter { abs($0.seq.value - seq.value) <= Int64(limit / 2) }
            }
        return HistoryPage(
            items: items.map { shown($0, chat, user) }, hasMoreBefore: items.first?.seq != chat.messages.first?.seq,
            hasMoreAfter: items.last?.seq != chat.messages.last?.seq, lastSeq: chat.lastSeq)
    }

    func changes(
        of conversation: ConversationID, for user: UserID, after: Seq, limit: Int
    ) async throws(StoreError) -> ChangesPage? {
        guard let chat = try chat(conversation, user) else { return nil }
        let rest = chat.messages.filter { $0.changeSeq > after }
        let items = rest.prefix(limit)
        return ChangesPage(
            items: items.map { shown($0, chat, user) }, upToSeq: items.last?.changeSeq ?? chat.lastSeq,
            hasMore: rest.count > limit)
    }

    func receipts(of conversation: ConversationID, seq: Seq, for user: UserID) async throws(StoreError) -> MessageReceipts? {
        guard let chat = try chat(conversation, user), let message = chat.messages.first(where: { $0.seq == seq }) else {
            return nil
        }
        let other = chat.other(message.senderID)
        let entry = MessageReceipts.Entry(userID: other, at: message.createdAt)
        let seen = (chat.read[other] ?? .zero) >= seq
        let delivered = (chat.delivered[other] ?? .zero) >= seq
        return MessageReceipts(
            status: seen ? .read : delivered ? .delivered : .sent, deliveredTo: delivered ? [entry] : [],
            seenBy: seen ? [entry] : [])
    }

    func counts(of conversation: ConversationID, for user: UserID) async throws(StoreError) -> ConversationCounts? {
        try chat(conversation, user).map { chat in
            let view = view(chat, user)
            return ConversationCounts(
                readSeq: view.readSeq, deliveredSeq: view.deliveredSeq, unreadCount: view.unreadCount, mentionCount: 0)
        }
    }

    func sync(for user: UserID, since token: String?, limit: Int) async throws(StoreError) -> SyncPage {
        if let token, token != "token" { throw StoreError(.badCursor) }
        let all = try await conversations(for: user, cursor: nil, limit: limit, at: .now)
        return SyncPage(conversations: token == nil ? all.items : [], removed: [], token: "token", hasMore: false)
    }

    // MARK: Commands

    func send(_ outgoing: OutgoingMessage) async throws(RoostError) -> SentMessage {
        if failures.withLock({ $0 }) != nil { throw .unavailable }
        let result = chats.withLock { chats -> Result<SentMessage, RoostError> in
            guard var chat = chats[outgoing.conversationID], chat.members.contains(outgoing.senderID) else {
                return .failure(.notFound)
            }
            if let earlier = chat.messages.first(where: { $0.senderID == outgoing.senderID && $0.clientID == outgoing.clientID })
            {
                if earlier.text != outgoing.text { return .failure(RoostError(.clientIdReused)) }
                return .success(SentMessage(seq: earlier.seq, json: earlier.json(), isNew: false))
            }
            let message = Message(
                conversationID: chat.id, seq: chat.lastSeq.next, changeSeq: chat.lastSeq.next, clientID: outgoing.clientID,
                senderID: outgoing.senderID, kind: .text, text: outgoing.text, createdAt: .now)
            chat.messages.append(message)
            chats[chat.id] = chat
            return .success(SentMessage(seq: message.seq, json: message.json(), isNew: true))
        }
        return try result.get()
    }

    func read(_ conversation: ConversationID, upTo seq: Seq, by user: UserID) async throws(RoostError) -> ReadPosition {
        try move(conversation, user, seq, alsoRead: true)
    }

    func delivered(_ conversation: ConversationID, upTo seq: Seq, by user: UserID) async throws(RoostError) -> ReadPosition {
        try move(conversation, user, seq, alsoRead: false)
    }

    private func move(_ id: ConversationID, _ user: UserID, _ seq: Seq, alsoRead: Bool) throws(RoostError) -> ReadPosition {
        let result = chats.withLock { chats -> Result<ReadPosition, RoostError> in
            guard var chat = chats[id], chat.members.contains(user) else { return .failure(.notFound) }
            let target = min(seq, chat.lastSeq)
            if alsoRead { chat.read[user] = max(chat.read[user] ?? .zero, target) }
            chat.delivered[user] = max(chat.delivered[user] ?? .zero, target)
            chats[id] = chat
            return .success(ReadPosition(readSeq: chat.read[user] ?? .zero, deliveredSeq: chat.delivered[user] ?? .zero))
        }
        return try result.get()
    }
}

/// Presence that a test sets.
final class FakePresence: PresenceQueries {
    let states = Locked<[UserID: PresenceState]>([:])
    let isAway = Locked(false)

    func states(of users: [UserID]) async throws(RoostError) -> [PresenceState] {
        if isAway.withLock({ $0 }) { throw .unavailable }
        return states.withLock { states in users.map { states[$0] ?? .offline } }
    }
}

/// Remembers what was announced.
final class FakeSignals: ClusterSignals {
    struct Heard {
        var revoked: [DeviceID] = []
        var changed: [UserID] = []
        var opened: [ConversationID] = []
    }

    let heard = Locked(Heard())

    func deviceRevoked(_ device: DeviceID) { heard.withLock { $0.revoked.append(device) } }
    func userChanged(_ user: UserID) { heard.withLock { $0.changed.append(user) } }
    func conversationOpened(_ conversation: ConversationID, members: [UserID]) {
        heard.withLock { $0.opened.append(conversation) }
    }
}

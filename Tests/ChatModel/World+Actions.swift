import RoostModel

/// What an operation must be answered.
struct Outcome {
    let status: Int
    var code: String?
    /// Of an answer that is no error.
    var body: Shape?
    /// The chat that was made: its id stands in the answer.
    var creates: Int?

    static func ok(_ body: Shape, status: Int = 200) -> Outcome { Outcome(status: status, body: body) }
    static let noContent = Outcome(status: 204)

    static func failed(_ code: ErrorCode) -> Outcome { Outcome(status: code.status, code: code.rawValue) }
}

extension World {
    /// Does what the operation asks, where that is allowed.
    mutating func perform(_ operation: Operation) -> Outcome {
        let user = operation.user
        switch operation.act {
        case .openDirect(let other): return openDirect(user, other)
        case .createGroup(let title, let members, let history): return createGroup(user, title, members, history)
        case .createChannel(let title, let about): return createChannel(user, title, about)
        case .join(let chat): return join(user, chat)
        case .removeMember(let chat, let member): return remove(member, from: chat, by: user)
        case .addMembers(let chat, let members): return add(members, to: chat, by: user)
        case .setRole(let chat, let member, let role): return setRole(role, of: member, in: chat, by: user)
        case .update(let chat, let title, let about, let history): return update(chat, by: user, title, about, history)
        case .deleteChat(let chat): return delete(chat, by: user)
        case .changeSettings(let chat, let pinned, let archived, let mutedUntil):
            return changeSettings(of: chat, for: user, pinned, archived, mutedUntil)
        case .send(let chat, let clientID, let body): return send(body, clientID, to: chat, by: user)
        case .edit(let chat, let seq, let text): return edit(seq, of: chat, text, by: user)
        case .deleteForAll(let chat, let seq): return deleteForAll(seq, of: chat, by: user)
        case .hide(let chat, let seq): return hide(seq, of: chat, by: user)
        case .react(let chat, let seq, _, let full, let isPut): return react(to: seq, of: chat, full, isPut, by: user)
        case .read(let chat, let seq): return move(user, in: chat, to: seq, isRead: true)
        case .delivered(let chat, let seq): return move(user, in: chat, to: seq, isRead: false)
        case .typing(let chat, _): return refusal(user, chat) ?? .ok(.object([:]))
        case .rename(let name):
            users[user].name = name
            return .ok(.anything)
        case .shareReads(let shares):
            if users[user].sharesReads != shares { users[user].hasTurned = true }
            users[user].sharesReads = shares
            return .ok(.anything)
        case .block(let other, let isPut):
            if !isPut {
                blocks.remove([user, other])
                return .noContent
            }
            if user == other { return .failed(.cannotAddSelf) }
            guard blocks.contains([user, other]) || isVisible(other, to: user) else { return .failed(.notFound) }
            blocks.insert([user, other])
            return .noContent
        case .getChat(let chat): return see(chat, user)
        case .getHistory(let chat, let query, let limit):
            return refusal(user, chat) ?? .ok(history(of: chats[chat], for: user, query, limit))
        case .getChanges(let chat, let after, let limit):
            return refusal(user, chat) ?? .ok(changes(of: chats[chat], for: user, after, limit))
        case .getReceipts(let chat, let seq):
            if let refusal = refusal(user, chat) { return refusal }
            guard let post = visible(seq, chat, user) else { return .failed(.notFound) }
            return .ok(receipts(of: post, in: chats[chat], for: user))
        }
    }

    /// All are in the directory but guests, whom those know who share a chat with them.
    private func isVisible(_ other: Int, to user: Int) -> Bool {
        guard users.indices.contains(other) else { return false }
        return !users[other].isGuest || chats.contains { !$0.isGone && $0.members[user] != nil && $0.members[other] != nil }
    }

    /// Why a user who is no member is refused. Others learn of channels only that they exist.
    func refusal(_ user: Int, _ index: Int) -> Outcome? {
        guard let chat = chat(index) else { return .failed(.notFound) }
        if chat.members[user] != nil { return nil }
        return .failed(chat.kind == .channel ? .notMember : .notFound)
    }

    func visible(_ seq: Int, _ index: Int, _ user: Int) -> Post? {
        guard let chat = chat(index), chat.sees(user, seq) else { return nil }
        return chat.post(seq)
    }

    func see(_ index: Int, _ user: Int, status: Int = 200) -> Outcome {
        guard let chat = chat(index), chat.members[user] != nil || chat.kind == .channel else { return .failed(.notFound) }
        return .ok(shape(of: chat, for: user), status: status)
    }

    func show(_ seq: Int, _ index: Int, _ user: Int, status: Int = 200) -> Outcome {
        .ok(shape(of: chats[index].post(seq)!, in: chats[index], for: user, overREST: true), status: status)
    }

    /// The next value of the counter for a message, new or changed; what members' sessions are shown of it is noted.
    mutating func take(_ index: Int, changing seq: Int? = nil) -> Int {
        chats[index].counter += 1
        let value = chats[index].counter
        if let seq, let place = chats[index].index(of: seq) {
            chats[index].posts[place].changeSeq = value
            note(index, value, of: seq)
        }
        return value
    }

    mutating func append(_ post: Post, to index: Int) {
        chats[index].posts.append(post)
        note(index, post.seq, of: post.seq)
    }

    private mutating func note(_ index: Int, _ value: Int, of seq: Int) {
        let chat = chats[index]
        var event = Chat.Event(seq: seq)
        for user in chat.members.keys {
            event.shown[user] =
                chat.sees(user, seq) ? shape(of: chat.post(seq)!, in: chat, for: user, overREST: false) : .null
        }
        chats[index].events[value] = event
    }

    /// A system message.
    mutating func tell(_ news: SystemNews, in index: Int, sender: Int) {
        let seq = take(index)
        append(Post(seq: seq, changeSeq: seq, sender: sender, system: news), to: index)
    }

    // MARK: Pages

    func history(of chat: Chat, for user: Int, _ query: Operation.HistoryQuery, _ limit: Int) -> Shape {
        let all = chat.visible(to: user)
        let (pivot, before, after): (Int, Int, Int) =
            switch query {
            case .newest: (.max, limit, 0)
            case .before(let seq): (seq, limit, 0)
            case .after(let seq): (seq + 1, 0, limit)
            case .around(let seq): (seq, (limit - 1) / 2, limit - (limit - 1) / 2)
            }
        let older = all.filter { $0.seq < pivot }
        let newer = all.filter { $0.seq >= pivot }
        let items = older.suffix(before) + newer.prefix(after)
        return .object([
            "items": .array(items.map { shape(of: $0, in: chat, for: user, overREST: true) }),
            "hasMoreBefore": .bool(older.count > before), "hasMoreAfter": .bool(newer.count > after),
            "lastSeq": .int(chat.counter),
        ])
    }

    func changes(of chat: Chat, for user: Int, _ after: Int, _ limit: Int) -> Shape {
        let changed = chat.visible(to: user).filter { $0.changeSeq > after }.sorted { $0.changeSeq < $1.changeSeq }
        let items = changed.prefix(limit)
        let hasMore = changed.count > limit
        return .object([
            "items": .array(items.map { shape(of: $0, in: chat, for: user, overREST: true) }),
            "upToSeq": .int(hasMore ? items.last!.changeSeq : chat.counter), "hasMore": .bool(hasMore),
        ])
    }
}

import RoostModel

/// Chats themselves, and who belongs to them.
extension World {
    mutating func openDirect(_ user: Int, _ other: Int) -> Outcome {
        if user == other { return .failed(.cannotChatWithSelf) }
        guard users.indices.contains(other) else { return .failed(.validationFailed) }
        let pair = [min(user, other), max(user, other)]
        if let index = chats.firstIndex(where: { $0.kind == .direct && $0.pair == pair }) { return see(index, user) }
        var chat = Chat(kind: .direct, pair: pair)
        for member in pair { chat.members[member] = Membership(role: .member, since: 0, read: 0, delivered: 0) }
        chats.append(chat)
        return Outcome(status: 201, creates: chats.count - 1)
    }

    mutating func createGroup(_ user: Int, _ title: String, _ members: [Int], _ history: HistorySetting) -> Outcome {
        if users[user].isGuest { return .failed(.guestNotAllowed) }
        guard members.allSatisfy(users.indices.contains) else { return .failed(.validationFailed) }
        return create(Chat(kind: .group, title: title, history: history), user, members)
    }

    mutating func createChannel(_ user: Int, _ title: String, _ about: String?) -> Outcome {
        if users[user].isGuest { return .failed(.guestNotAllowed) }
        return create(Chat(kind: .channel, title: title, about: about), user, [])
    }

    private mutating func create(_ new: Chat, _ user: Int, _ members: [Int]) -> Outcome {
        var chat = new
        for member in members { chat.members[member] = Membership(role: .member, since: 0, read: 0, delivered: 0) }
        chat.members[user] = Membership(role: .admin, since: 0, read: 0, delivered: 0)
        chats.append(chat)
        tell(SystemNews(kind: "created", actor: user), in: chats.count - 1, sender: user)
        return Outcome(status: 201, creates: chats.count - 1)
    }

    // MARK: Members

    mutating func join(_ user: Int, _ index: Int) -> Outcome {
        guard let chat = chat(index) else { return .failed(.notFound) }
        guard chat.members[user] != nil || chat.kind == .channel else { return .failed(.notFound) }
        if chat.kind == .direct { return .failed(.notAGroup) }
        if chat.members[user] == nil {
            enter([user], index)
            tell(SystemNews(kind: "memberJoined", actor: user), in: index, sender: user)
        }
        return see(index, user)
    }

    mutating func add(_ members: [Int], to index: Int, by user: Int) -> Outcome {
        if let refusal = adminRefusal(user, index) { return refusal }
        guard members.allSatisfy(users.indices.contains) else { return .failed(.validationFailed) }
        var new: [Int] = []
        for member in members where chats[index].members[member] == nil && !new.contains(member) { new.append(member) }
        if !new.isEmpty {
            enter(new, index)
            tell(SystemNews(kind: "membersAdded", actor: user, users: new), in: index, sender: user)
        }
        return see(index, user)
    }

    /// A return is a new joining: nothing of the former one is left but what was hidden.
    private mutating func enter(_ users: [Int], _ index: Int) {
        let counter = chats[index].counter
        for user in users {
            chats[index].members[user] = Membership(role: .member, since: counter + 1, read: counter, delivered: counter)
        }
    }

    mutating func remove(_ member: Int, from index: Int, by user: Int) -> Outcome {
        if let refusal = refusal(user, index) { return refusal }
        if chats[index].kind == .direct { return .failed(.notAGroup) }
        if member != user, let refusal = adminRefusal(user, index) { return refusal }
        guard chats[index].members[member] != nil else { return .failed(.notFound) }
        chats[index].members[member] = nil
        if chats[index].members.isEmpty {
            chats[index].isGone = true
            return .noContent
        }
        let news =
            member == user
            ? SystemNews(kind: "memberLeft", actor: user) : SystemNews(kind: "memberRemoved", actor: user, user: member)
        tell(news, in: index, sender: user)
        promoteIfNeeded(index)
        return .noContent
    }

    mutating func setRole(_ role: MemberRole, of member: Int, in index: Int, by user: Int) -> Outcome {
        if let refusal = adminRefusal(user, index) { return refusal }
        guard chats[index].members[member] != nil else { return .failed(.notFound) }
        if chats[index].members[member]!.role != role {
            let admins = chats[index].members.filter { $0.value.role == .admin }.count
            if role == .member, admins == 1, chats[index].members.count == 1 { return .failed(.conflict) }
            chats[index].members[member]!.role = role
            tell(SystemNews(kind: "roleChanged", actor: user, user: member, role: role), in: index, sender: user)
            promoteIfNeeded(index, except: member)
        }
        return .ok(self.member(member, of: chats[index], for: user))
    }

    /// There is always an admin: the longest-standing member follows the last one, and that takes a value of its own.
    private mutating func promoteIfNeeded(_ index: Int, except user: Int? = nil) {
        guard !chats[index].members.values.contains(where: { $0.role == .admin }) else { return }
        guard let next = chats[index].membersInOrder(self).first(where: { $0 != user }) else { return }
        chats[index].members[next]!.role = .admin
        tell(SystemNews(kind: "roleChanged", actor: nil, user: next, role: .admin), in: index, sender: next)
    }

    private func adminRefusal(_ user: Int, _ index: Int) -> Outcome? {
        if let refusal = refusal(user, index) { return refusal }
        if chats[index].kind == .direct { return .failed(.notAGroup) }
        return chats[index].members[user]!.role == .admin ? nil : .failed(.forbidden)
    }

    // MARK: The chat itself

    mutating func update(
        _ index: Int, by user: Int, _ title: String?, _ about: String??, _ history: HistorySetting?
    ) -> Outcome {
        if title?.allSatisfy({ $0 == " " }) == true { return .failed(.validationFailed) }
        if let refusal = adminRefusal(user, index) { return refusal }
        var news = SystemNews(kind: "updated", actor: user)
        if let title, title != chats[index].title { news.title = title }
        if let about, about != chats[index].about { news.about = .some(about) }
        if let history, history != chats[index].history { news.history = history }
        if news.title != nil || news.about != nil || news.history != nil {
            chats[index].title = news.title ?? chats[index].title
            chats[index].about = news.about ?? chats[index].about
            chats[index].history = news.history ?? chats[index].history
            tell(news, in: index, sender: user)
        }
        return see(index, user)
    }

    mutating func delete(_ index: Int, by user: Int) -> Outcome {
        if let refusal = adminRefusal(user, index) { return refusal }
        chats[index].isGone = true
        return .noContent
    }

    mutating func changeSettings(
        of index: Int, for user: Int, _ pinned: Bool?, _ archived: Bool?, _ mutedUntil: String??
    ) -> Outcome {
        if let refusal = refusal(user, index) { return refusal }
        var me = chats[index].members[user]!
        if let pinned, pinned != (me.pinnedAt != nil) { me.pinnedAt = pinned ? TimeCell() : nil }
        if let archived, archived != (me.archivedAt != nil) { me.archivedAt = archived ? TimeCell() : nil }
        if let mutedUntil { me.mutedUntil = mutedUntil }
        chats[index].members[user] = me
        return see(index, user)
    }
}

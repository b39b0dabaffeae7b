import RoostModel

/// What is done to groups and channels themselves, and to who belongs to them. Each request takes one value of the counter, however
/// many users or fields it names; an automatic promotion takes one of its own; what changes nothing takes none.
extension BatchPlan {
    mutating func addMembers(_ users: [UserID], by actor: UserID) -> RoostError? {
        if let error = facts.refusal(of: .addMembers, for: actor) { return error }
        var new: [UserID] = []
        for user in users where !facts.members.contains(user) && !new.contains(user) { new.append(user) }
        guard !new.isEmpty else { return nil }
        guard facts.members.count + new.count <= rules.memberLimit(of: facts.kind) else { return RoostError(.memberLimit) }
        enter(new)
        tell(.membersAdded(new), by: actor, about: actor)
        showConversation(to: new)
        return nil
    }

    mutating func join(_ user: UserID) -> RoostError? {
        if let error = facts.refusal(of: .join, for: user) { return error }
        guard !facts.members.contains(user) else { return nil }
        guard facts.members.count < rules.memberLimit(of: facts.kind) else { return RoostError(.memberLimit) }
        enter([user])
        tell(.memberJoined, by: user, about: user)
        showConversation(to: [user])
        return nil
    }

    mutating func removeMember(_ user: UserID, by actor: UserID) -> RoostError? {
        if let error = facts.refusal(of: user == actor ? .leave : .removeMember, for: actor) { return error }
        guard facts.members.contains(user) else { return .notFound }
        closeAudiences()
        facts.members.remove(user)
        guard facts.members.count > 0 else { return erase(telling: [user]) }
        change { $0.members.append(.left(user)) }
        flight.request.positions.removeAll { $0.userID == user }
        tell(user == actor ? .memberLeft : .memberRemoved(user), by: actor, about: user)
        flight.events.append(.removed([user]))
        let promoted = promoteIfNeeded()
        showConversation(to: promoted.map { [$0] } ?? [])
        return nil
    }

    mutating func setRole(_ role: MemberRole, of user: UserID, by actor: UserID) -> RoostError? {
        if let error = facts.refusal(of: .setRole, for: actor) { return error }
        guard let index = facts.members.index(of: user) else { return .notFound }
        guard facts.members[index].role != role else { return nil }
        let isLastAdmin = role == .member && !facts.members.entries.contains { $0.role == .admin && $0.userID != user }
        // There is always an admin: alone, one cannot lay it down.
        if isLastAdmin, facts.members.count == 1 { return RoostError(.conflict, "a conversation has an admin") }
        facts.members[index].role = role
        change { $0.members.append(.role(user, role)) }
        tell(.roleChanged(user, role), by: actor, about: user)
        let promoted = promoteIfNeeded(except: user)
        showConversation(to: [user] + (promoted.map { [$0] } ?? []))
        return nil
    }

    mutating func update(_ wanted: ConversationUpdate, by actor: UserID) -> RoostError? {
        if let error = facts.refusal(of: .update, for: actor) { return error }
        let update = facts.differences(in: wanted)
        guard !update.isEmpty else { return nil }
        facts.apply(update)
        change { $0.update = ($0.update ?? ConversationUpdate()).overlaid(with: update) }
        tell(.updated(update), by: actor, about: actor)
        flight.events.append(.conversation(facts.members.ids))
        return nil
    }

    mutating func delete(by actor: UserID) -> RoostError? {
        if let error = facts.refusal(of: .delete, for: actor) { return error }
        return erase(telling: facts.members.ids)
    }

    // MARK: Parts

    private mutating func enter(_ users: [UserID]) {
        closeAudiences()
        // The value that the system message is about to take.
        let since = facts.head.next
        for user in users {
            // Whether they share read receipts is read later; until then they do not.
            facts.members.insert(
                MemberTable.Entry(
                    userID: user, role: .member, joinedAt: createdAt, sinceSeq: since, readSeq: facts.head,
                    deliveredSeq: facts.head, sharesReadReceipts: false))
        }
        let head = facts.head
        let time = createdAt
        change { changes in
            changes.members += users.map { .joined($0, role: .member, at: time, sinceSeq: since, readSeq: head) }
        }
    }

    /// Makes the longest-standing member an admin where none is left; not the one who has just laid it down, if there is another.
    /// - Returns: who was made one.
    private mutating func promoteIfNeeded(except user: UserID? = nil) -> UserID? {
        guard !facts.members.hasAdmin, let next = facts.members.longestStanding(where: { $0.userID != user }),
            let index = facts.members.index(of: next)
        else { return nil }
        facts.members[index].role = .admin
        change { $0.members.append(.role(next, .admin)) }
        tell(.roleChanged(next, .admin), by: nil, about: next)
        return next
    }

    /// Nothing is written of a conversation that goes, not even what the batch had in store for it.
    private mutating func erase(telling users: [UserID]) -> RoostError? {
        facts.isDeleted = true
        change { $0.isDeleted = true }
        flight.events.append(.removed(users))
        return nil
    }

    /// Those it concerns in a channel, where the members are not listed; everyone in a group.
    private mutating func showConversation(to users: [UserID]) {
        switch facts.kind {
        case .direct, .group: flight.events.append(.conversation(facts.members.ids))
        case .channel: if !users.isEmpty { flight.events.append(.conversation(users)) }
        }
    }
}

extension ConversationUpdate {
    /// This, and then `later`.
    func overlaid(with later: ConversationUpdate) -> ConversationUpdate {
        ConversationUpdate(
            title: later.title ?? title, about: later.about ?? about, photo: later.photo ?? photo,
            history: later.history ?? history)
    }
}

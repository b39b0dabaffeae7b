import RoostModel

extension BatchPlan {
    /// Nil where it was done or changes nothing, else why not.
    mutating func perform(_ act: ActionCommand) -> RoostError? {
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
    var target: Seq? {
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

    var isRead: Bool { if case .read = self { true } else { false } }

    var isAct: Bool { if case .act = self { true } else { false } }

    var isRefresh: Bool {
        if case .act(let act) = self, case .refresh = act.action { true } else { false }
    }

    var isSatisfiedByDeletion: Bool {
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
    func wasDone(before: ConversationFacts, now: ConversationFacts) -> Bool {
        guard case .removeMember(let user) = action else { return false }
        return before.members.contains(user) && !now.members.contains(user)
    }
}

extension MemberChange {
    var isJoining: Bool {
        switch self {
        case .joined: true
        case .left, .role: false
        }
    }
}

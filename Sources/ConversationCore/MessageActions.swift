import RoostModel

/// What is done to messages that exist.
extension BatchPlan {
    /// Nil where it was done or changes nothing, else why not.
    mutating func edit(_ seq: Seq, text: String, by user: UserID) -> RoostError? {
        guard var target = visibleTarget(seq, user) else { return missing(user) }
        let isOwn = target.message.senderID == user && target.message.kind != .system
        if let error = facts.refusal(of: isOwn ? .editOwn : .editAnothers, for: user) { return error }
        if target.message.isDeleted { return RoostError(.messageDeleted) }
        // A picture may go without words.
        if target.message.kind == .text, MessageText.isBlank(text) { return RoostError(.emptyMessage) }
        guard !target.message.text.utf8.elementsEqual(text.utf8) else { return nil }
        target.message.text = text
        target.message.editedAt = now
        store(&target)
        return nil
    }

    mutating func deleteForEveryone(_ seq: Seq, by user: UserID) -> RoostError? {
        guard var target = visibleTarget(seq, user) else { return missing(user) }
        guard target.message.kind != .system else { return RoostError(.forbidden) }
        let isOwn = target.message.senderID == user
        let asAdmin = facts.refusal(of: .deleteAnothers, for: user)
        if let error = isOwn ? facts.refusal(of: .deleteOwn, for: user) : asAdmin { return error }
        if target.message.isDeleted { return nil }
        if asAdmin != nil, now - target.message.createdAt > rules.deleteWindow { return RoostError(.deleteWindowClosed) }
        target.message.text = ""
        target.message.media = nil
        target.message.replyTo = nil
        target.message.mentions = []
        target.message.reactions = []
        target.message.deletedAt = now
        store(&target)
        change { $0.reactions.removeAll { $0.seq == seq } }
        return nil
    }

    mutating func hide(_ seq: Seq, by user: UserID) -> RoostError? {
        if let error = facts.refusal(of: .read, for: user) { return error }
        guard var target = targets[seq], let index = facts.members.index(of: user),
            facts.canSee(seq, facts.members[index])
        else { return .notFound }
        guard !target.hiddenBy.contains(user) else {
            // Perhaps by that write: then no session has heard of it.
            if isRecovering { flight.events.append(.hidden(user, seq)) }
            return nil
        }
        target.hiddenBy.append(user)
        targets[seq] = target
        for reply in targets.keys where targets[reply]?.message.replyTo?.seq == seq { targets[reply]?.quoteHiddenBy.append(user) }
        change { $0.hidden.append(HiddenChange(seq: seq, userID: user)) }
        flight.events.append(.hidden(user, seq))
        return nil
    }

    mutating func react(_ seq: Seq, emoji: String, isPut: Bool, by user: UserID) -> RoostError? {
        guard var target = visibleTarget(seq, user) else { return missing(user) }
        if let error = facts.refusal(of: .react, for: user) { return error }
        if target.message.kind == .system { return RoostError(.forbidden) }
        // Nothing is under a deleted message, so there is nothing to take away.
        if target.message.isDeleted { return isPut ? RoostError(.messageDeleted) : nil }
        let index = target.message.reactions.firstIndex { $0.emoji.utf8.elementsEqual(emoji.utf8) }
        let isThere = index.map { target.message.reactions[$0].userIDs.contains(user) } ?? false
        guard isThere != isPut else { return nil }
        if let index {
            if isPut {
                target.message.reactions[index].userIDs.append(user)
            } else {
                target.message.reactions[index].userIDs.removeAll { $0 == user }
                if target.message.reactions[index].userIDs.isEmpty { target.message.reactions.remove(at: index) }
            }
        } else {
            guard target.message.reactions.count < rules.reactions else { return RoostError(.reactionLimit) }
            target.message.reactions.append(Reaction(emoji: emoji, userIDs: [user]))
        }
        let reaction = ReactionChange(seq: seq, userID: user, emoji: emoji, isPut: isPut, at: now)
        // Of several changes to one user's emoji only the last is written.
        change { changes in
            changes.reactions.removeAll {
                $0.seq == seq && $0.userID == user && $0.emoji.utf8.elementsEqual(emoji.utf8)
            }
            changes.reactions.append(reaction)
        }
        store(&target)
        return nil
    }

    // MARK: Parts

    private func visibleTarget(_ seq: Seq, _ user: UserID) -> MessageTarget? {
        guard facts.refusal(of: .read, for: user) == nil, let target = targets[seq], facts.canSee(target, user) else {
            return nil
        }
        return target
    }

    /// Why no message was found.
    private func missing(_ user: UserID) -> RoostError { facts.refusal(of: .read, for: user) ?? .notFound }

    /// Gives the changed message its value, and notes it for writing and telling.
    private mutating func store(_ target: inout MessageTarget) {
        target.message.changeSeq = takeValue()
        let message = target.message
        targets[message.seq] = target
        for reply in targets.keys where targets[reply]?.message.replyTo?.seq == message.seq {
            targets[reply]?.message.replyTo = Quote(message)
        }
        change { changes in
            changes.changedMessages.removeAll { $0.seq == message.seq }
            changes.changedMessages.append(message)
        }
        announce(target)
    }
}

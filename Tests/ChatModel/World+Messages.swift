import RoostModel

/// Messages, and what is done to them.
extension World {
    mutating func send(_ body: Body, _ clientID: String, to index: Int, by user: Int) -> Outcome {
        if body.forward == nil {
            guard let text = body.text else { return .failed(.validationFailed) }
            if text.allSatisfy(\.isWhitespace) { return .failed(.emptyMessage) }
        }
        if let refusal = refusal(user, index) { return refusal }
        let before = chats[index].posts.first { $0.system == nil && $0.sender == user && $0.clientID == clientID }
        if let before {
            if before.body != body { return .failed(.clientIdReused) }
            if chats[index].sees(user, before.seq) { return show(before.seq, index, user) }
            // Who has read what its own sender has hidden is told or not.
            let shape = shape(of: before, in: chats[index], for: user, overREST: false)
            guard case .object(let members, _) = shape else { return .ok(shape) }
            return .ok(.object(members, maybe: ["status": .anything, "seenByCount": .anything]))
        }
        if isBlocked(chats[index]) { return .failed(.blocked) }
        var post = Post(seq: chats[index].counter + 1, changeSeq: chats[index].counter + 1, sender: user, clientID: clientID)
        post.body = body
        if let forward = body.forward {
            guard let original = visible(forward[1], forward[0], user) else { return .failed(.validationFailed) }
            if original.deletedAt != nil { return .failed(.messageDeleted) }
            if original.system != nil { return .failed(.validationFailed) }
            post.text = original.text
            post.isForwarded = true
        } else {
            guard body.mentions.allSatisfy({ chats[index].members[$0] != nil }) else { return .failed(.validationFailed) }
            if let seq = body.replyTo, visible(seq, index, user) == nil { return .failed(.validationFailed) }
            post.text = body.text!
            post.replyTo = body.replyTo
            post.mentions = body.mentions
        }
        _ = take(index)
        append(post, to: index)
        for member in chats[index].members.keys where member != user && !chats[index].members[member]!.isMuted {
            chats[index].members[member]!.archivedAt = nil
        }
        return show(post.seq, index, user, status: 201)
    }

    mutating func edit(_ seq: Int, of index: Int, _ text: String, by user: Int) -> Outcome {
        if let refusal = refusal(user, index) { return refusal }
        guard let post = visible(seq, index, user) else { return .failed(.notFound) }
        if post.system != nil || post.sender != user { return .failed(.forbidden) }
        if isBlocked(chats[index]) { return .failed(.blocked) }
        if post.deletedAt != nil { return .failed(.messageDeleted) }
        if text.allSatisfy(\.isWhitespace) { return .failed(.emptyMessage) }
        if post.text != text {
            change(seq, of: index) {
                $0.text = text
                $0.editedAt = TimeCell()
            }
        }
        return show(seq, index, user)
    }

    mutating func deleteForAll(_ seq: Int, of index: Int, by user: Int) -> Outcome {
        if let refusal = refusal(user, index) { return refusal }
        guard let post = visible(seq, index, user) else { return .failed(.notFound) }
        let isAdmin = chats[index].kind != .direct && chats[index].members[user]!.role == .admin
        if post.system != nil || (post.sender != user && !isAdmin) { return .failed(.forbidden) }
        if post.deletedAt == nil {
            change(seq, of: index) {
                $0.text = ""
                $0.replyTo = nil
                $0.mentions = []
                $0.reactions = [:]
                $0.deletedAt = TimeCell()
            }
        }
        return show(seq, index, user)
    }

    /// Again, or where nothing is to be seen anyway: the same answer, as long as it is within what the user may read.
    mutating func hide(_ seq: Int, of index: Int, by user: Int) -> Outcome {
        if let refusal = refusal(user, index) { return refusal }
        let isHidden = chats[index].hidden[user, default: []].contains(seq)
        let isInHistory = chats[index].history == .full || seq >= chats[index].members[user]!.since
        guard isInHistory, chats[index].post(seq) != nil else { return .failed(.notFound) }
        if !isHidden { chats[index].hidden[user, default: []].insert(seq) }
        return .noContent
    }

    mutating func react(to seq: Int, of index: Int, _ emoji: String?, _ isPut: Bool, by user: Int) -> Outcome {
        guard let emoji else { return .failed(.validationFailed) }
        if let refusal = refusal(user, index) { return refusal }
        guard let post = visible(seq, index, user) else { return .failed(.notFound) }
        if isBlocked(chats[index]) { return .failed(.blocked) }
        if post.system != nil { return .failed(.forbidden) }
        // There is nothing to take from a tombstone.
        if post.deletedAt != nil { return isPut ? .failed(.messageDeleted) : show(seq, index, user) }
        let users = post.reactions[emoji, default: []]
        if users.contains(user) != isPut {
            if isPut, users.isEmpty, post.reactions.values.filter({ !$0.isEmpty }).count >= 30 { return .failed(.reactionLimit) }
            change(seq, of: index) { $0.reactions[emoji] = isPut ? users + [user] : users.filter { $0 != user } }
        }
        return show(seq, index, user)
    }

    private mutating func change(_ seq: Int, of index: Int, _ body: (inout Post) -> Void) {
        guard let place = chats[index].index(of: seq) else { return }
        body(&chats[index].posts[place])
        _ = take(index, changing: seq)
    }

    // MARK: Positions

    mutating func move(_ user: Int, in index: Int, to seq: Int, isRead: Bool) -> Outcome {
        if seq < 0 { return .failed(.validationFailed) }
        if let refusal = refusal(user, index) { return refusal }
        let seq = min(seq, chats[index].counter)
        var me = chats[index].members[user]!
        if isRead { me.read = max(me.read, seq) }
        me.delivered = max(me.delivered, seq)
        chats[index].members[user] = me
        return .ok(.object(counts(in: chats[index], of: user)))
    }

    // MARK: Search

    /// Chat and number of every message that has all the words.
    func found(_ words: [String], by user: Int, in only: Int? = nil) -> Set<[Int]> {
        var found: Set<[Int]> = []
        for (index, chat) in chats.enumerated() where only == nil || only == index {
            for post in chat.visible(to: user) where post.system == nil {
                let own = Set(post.text.split(separator: " ").map(String.init))
                if words.allSatisfy(own.contains) { found.insert([index, post.seq]) }
            }
        }
        return found
    }
}

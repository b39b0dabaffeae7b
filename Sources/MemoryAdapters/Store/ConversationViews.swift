import RoostModel

/// Rows as readers are shown them.
extension MemoryTables {
    func joined(_ id: ConversationID, by user: UserID) -> (row: ConversationRow, me: MemberRow)? {
        conversations[id].flatMap { row in row.member(user).map { (row, $0) } }
    }

    func conversations(of user: UserID) -> [ConversationRow] {
        memberships[user, default: []].compactMap { conversations[$0] }
    }

    /// nil where either of the two keeps read receipts to themselves.
    func sharedRead(of member: MemberRow, to reader: UserID) -> Seq? {
        if member.userID == reader { return member.readSeq }
        let share = [member.userID, reader].allSatisfy { users[$0]?.user.settings.shareReadReceipts ?? true }
        return share ? member.readSeq : nil
    }

    func isBlocked(_ row: ConversationRow) -> Bool {
        guard row.kind == .direct, row.members.count == 2 else { return false }
        let (a, b) = (row.members[0].userID, row.members[1].userID)
        return blocks[ContactKey(owner: a, user: b)] != nil || blocks[ContactKey(owner: b, user: a)] != nil
    }

    // MARK: Messages

    /// With everything that belongs to it, as it is now.
    func message(_ row: MessageRow, in conversation: ConversationRow) -> Message {
        var message = row.message
        message.media = row.mediaID.flatMap { media[$0] }
        message.replyTo = row.replyTo.flatMap { conversation.index(of: $0) }
            .map { Quote(conversation.messages[$0].message) }
        message.reactions = Self.grouped(conversation.reactions[message.seq] ?? [])
        return message
    }

    private static func grouped(_ rows: [ReactionRow]) -> [Reaction] {
        var reactions: [Reaction] = []
        let sorted = rows.sorted { left, right in
            if left.at != right.at { return left.at < right.at }
            if !left.emoji.utf8.elementsEqual(right.emoji.utf8) {
                return left.emoji.utf8.lexicographicallyPrecedes(right.emoji.utf8)
            }
            return left.userID < right.userID
        }
        for row in sorted {
            if let index = reactions.firstIndex(where: { $0.emoji.utf8.elementsEqual(row.emoji.utf8) }) {
                reactions[index].userIDs.append(row.userID)
            } else {
                reactions.append(Reaction(emoji: row.emoji, userIDs: [row.userID]))
            }
        }
        return reactions
    }

    /// A message that `me` sees.
    func shown(_ row: MessageRow, in conversation: ConversationRow, to me: MemberRow) -> ReadMessage {
        var message = message(row, in: conversation)
        if let quote = message.replyTo, !conversation.sees(quote.seq, me) { message.replyTo = nil }
        guard message.isOwn(of: me.userID) else { return ReadMessage(message: message, delivery: nil) }
        let others = conversation.recipients(of: message)
        let seen = others.filter { sharedRead(of: $0, to: me.userID).map { $0 >= message.seq } ?? false }.count
        let isDelivered = others.allSatisfy { $0.deliveredSeq >= message.seq }
        let status: ReadMessage.Delivery.Status =
            others.isEmpty ? .sent : seen == others.count ? .read : isDelivered ? .delivered : .sent
        return ReadMessage(message: message, delivery: .init(status: status, seenByCount: seen))
    }

    // MARK: Conversations

    func member(_ row: MemberRow, to reader: UserID) -> Member {
        let user = users[row.userID]?.user
        return Member(
            userID: row.userID, displayName: user?.displayName ?? "", photo: user?.photo, role: row.role, joinedAt: row.joinedAt,
            readSeq: sharedRead(of: row, to: reader), deliveredSeq: row.deliveredSeq)
    }

    func view(_ row: ConversationRow, for me: MemberRow) -> ConversationView {
        var view = outsidersView(row)
        switch row.kind {
        case .direct, .group: view.members = row.membersInOrder.map { member($0, to: me.userID) }
        case .channel: break
        }
        if let last = row.messages.last(where: { row.sees($0.message.seq, me) }) {
            let read = shown(last, in: row, to: me)
            view.lastMessage = read.message
            if row.kind == .channel { view.lastMessageDelivery = read.delivery }
        }
        let counts = row.counts(of: me)
        view.readSeq = counts.readSeq
        view.deliveredSeq = counts.deliveredSeq
        view.unreadCount = counts.unreadCount
        view.mentionCount = counts.mentionCount
        view.myRole = me.role
        view.mutedUntil = me.mutedUntil
        view.pinnedAt = me.pinnedAt
        view.archivedAt = row.archivedAt(for: me)
        return view
    }

    /// Of a channel, for those who might join it.
    func outsidersView(_ row: ConversationRow) -> ConversationView {
        ConversationView(
            id: row.id, kind: row.kind, title: row.title, about: row.about, photo: row.photoID.flatMap { media[$0] },
            history: row.history, members: [], memberCount: row.members.count, lastSeq: row.head, lastMessage: nil,
            readSeq: .zero, deliveredSeq: .zero, unreadCount: 0, mentionCount: 0, myRole: nil, lastActivityAt: row.lastActivityAt,
            createdAt: row.createdAt, isReadOnly: row.isReadOnly)
    }

    /// Nil where the user may not even know of it.
    func view(_ row: ConversationRow, for user: UserID) -> ConversationView? {
        if let me = row.member(user) { return view(row, for: me) }
        switch row.kind {
        case .direct, .group: return nil
        case .channel: return outsidersView(row)
        }
    }
}

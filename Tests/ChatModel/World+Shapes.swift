import RoostModel

/// What things look like to somebody.
extension World {
    private func id(_ user: Int) -> Shape { .text(users[user].id) }

    // MARK: Messages

    /// - Parameter overREST: there a message of one's own has its status.
    func shape(of post: Post, in chat: Chat, for reader: Int, overREST: Bool) -> Shape {
        var members: [String: Shape] = [
            "conversationId": .text(chat.id), "seq": .int(post.seq), "changeSeq": .int(post.changeSeq),
            "clientId": post.system == nil ? .optional(post.clientID) : .null, "senderId": id(post.sender),
            "type": .text(post.system == nil ? "text" : "system"), "text": .text(post.text), "media": .null,
            "replyTo": quote(of: post, in: chat, for: reader), "forwarded": .bool(post.isForwarded),
            "mentions": .array(post.mentions.map(id)), "reactions": reactions(post), "editedAt": .optional(post.editedAt),
            "deletedAt": .optional(post.deletedAt), "createdAt": .time(post.createdAt),
            "system": post.system.map(shape(of:)) ?? .null,
        ]
        guard overREST, post.sender == reader else { return .object(members) }
        let (status, seen) = delivery(of: post, in: chat, for: reader)
        let delivery: [String: Shape] = ["status": .text(status), "seenByCount": .int(seen)]
        // Whether a system message is its actor's own is left open.
        if post.system != nil { return .object(members, maybe: delivery) }
        members.merge(delivery) { $1 }
        return .object(members)
    }

    private func quote(of post: Post, in chat: Chat, for reader: Int) -> Shape {
        guard let seq = post.replyTo, let quoted = chat.post(seq), chat.sees(reader, seq) else { return .null }
        return .object([
            "seq": .int(seq), "senderId": id(quoted.sender), "type": .text(quoted.system == nil ? "text" : "system"),
            "text": .text(String(quoted.text.prefix(300))), "isDeleted": .bool(quoted.deletedAt != nil),
        ])
    }

    private func reactions(_ post: Post) -> Shape {
        .bag(
            post.reactions.filter { !$0.value.isEmpty }
                .map { .object(["emoji": .text($0.key), "userIds": .bag($0.value.map(id))]) })
    }

    private func shape(of news: SystemNews) -> Shape {
        var members: [String: Shape] = ["kind": .text(news.kind), "actorId": news.actor.map(id) ?? .null]
        if let user = news.user { members["userId"] = id(user) }
        if let users = news.users { members["userIds"] = .bag(users.map(id)) }
        if let role = news.role { members["role"] = .text(role.rawValue) }
        if let title = news.title { members["title"] = .text(title) }
        if let about = news.about { members["about"] = .optional(about) }
        if let history = news.history { members["history"] = .text(history.rawValue) }
        return .object(members)
    }

    func delivery(of post: Post, in chat: Chat, for reader: Int) -> (status: String, seen: Int) {
        let others = chat.recipients(of: post)
        let seen = others.filter { sharesReads(reader, with: $0) && chat.members[$0]!.read >= post.seq }.count
        let delivered = others.filter { chat.members[$0]!.delivered >= post.seq }.count
        let status =
            others.isEmpty ? "sent" : seen == others.count ? "read" : delivered == others.count ? "delivered" : "sent"
        return (status, seen)
    }

    func receipts(of post: Post, in chat: Chat, for reader: Int) -> Shape {
        let others = chat.recipients(of: post)
        let seen = others.filter { sharesReads(reader, with: $0) && chat.members[$0]!.read >= post.seq }
        let delivered = others.filter { chat.members[$0]!.delivered >= post.seq }
        func entries(_ users: [Int]) -> Shape { .bag(users.map { .object(["userId": id($0), "at": .someTime]) }) }
        return .object([
            "status": .text(delivery(of: post, in: chat, for: reader).status), "deliveredTo": entries(delivered),
            "seenBy": entries(seen),
        ])
    }

    // MARK: Chats

    func member(_ user: Int, of chat: Chat, for reader: Int) -> Shape {
        let member = chat.members[user]!
        return .object([
            "userId": id(user), "displayName": .text(users[user].name), "photo": .null, "role": .text(member.role.rawValue),
            "joinedAt": .time(member.joinedAt), "readSeq": sharesReads(reader, with: user) ? .int(member.read) : .null,
            "deliveredSeq": .int(member.delivered),
        ])
    }

    func shape(of chat: Chat, for reader: Int) -> Shape {
        var members: [String: Shape] = [
            "id": .text(chat.id), "kind": .text(chat.kind.rawValue), "title": .optional(chat.title),
            "about": .optional(chat.about), "photo": .null, "history": .text(chat.history.rawValue),
            "memberCount": .int(chat.members.count), "members": .array([]), "lastSeq": .int(chat.counter),
            "lastMessage": .null, "readSeq": .int(0), "deliveredSeq": .int(0), "unreadCount": .int(0), "mentionCount": .int(0),
            "myRole": .null, "mutedUntil": .null, "pinnedAt": .null, "archivedAt": .null,
            "lastActivityAt": .time(chat.lastActivity), "createdAt": .time(chat.createdAt), "isReadOnly": .bool(false),
        ]
        guard let me = chat.members[reader] else { return .object(members) }
        if chat.kind != .channel { members["members"] = .bag(chat.members.keys.map { member($0, of: chat, for: reader) }) }
        if let last = chat.posts.last(where: { chat.sees(reader, $0.seq) }) {
            members["lastMessage"] = preview(last, in: chat, for: reader)
        }
        members.merge(counts(in: chat, of: reader)) { $1 }
        members["myRole"] = .text(me.role.rawValue)
        members["mutedUntil"] = .optional(me.mutedUntil)
        members["pinnedAt"] = .optional(me.pinnedAt)
        members["archivedAt"] = .optional(me.archivedAt)
        return .object(members)
    }

    /// As ``shape(of:in:for:overREST:)``. Where members came after the message, their clocks decide who counts.
    private func preview(_ post: Post, in chat: Chat, for reader: Int) -> Shape {
        let isCounted =
            chat.kind == .channel || chat.recipients(of: post).count == chat.members.keys.filter { $0 != reader }.count
        let shape = shape(of: post, in: chat, for: reader, overREST: isCounted)
        guard !isCounted, case .object(let members, _) = shape else { return shape }
        return .object(members, maybe: ["status": .anything, "seenByCount": .anything])
    }

    func counts(in chat: Chat, of reader: Int) -> [String: Shape] {
        let unread = chat.unread(by: reader)
        return [
            "readSeq": .int(chat.members[reader]!.read), "deliveredSeq": .int(chat.members[reader]!.delivered),
            "unreadCount": .int(min(999, unread.count)),
            "mentionCount": .int(min(999, unread.filter { $0.mentions.contains(reader) }.count)),
        ]
    }

    /// What a `conversation` event tells that does not change without another one.
    func settings(of chat: Chat, for reader: Int) -> [String: Shape] {
        let me = chat.members[reader]!
        var members: [String: Shape] = [
            "title": .optional(chat.title), "about": .optional(chat.about), "history": .text(chat.history.rawValue),
            "myRole": .text(me.role.rawValue), "mutedUntil": .optional(me.mutedUntil), "pinnedAt": .optional(me.pinnedAt),
        ]
        if chat.kind != .channel {
            members["memberCount"] = .int(chat.members.count)
            let shapes = chat.members.map { user, member -> Shape in
                .object(
                    ["userId": id(user), "role": .text(member.role.rawValue)],
                    maybe: [
                        "displayName": .anything, "photo": .anything, "joinedAt": .anything, "readSeq": .anything,
                        "deliveredSeq": .anything,
                    ])
            }
            members["members"] = .bag(shapes)
        }
        return members
    }
}

extension Chat {
    var lastActivity: TimeCell { posts.last?.createdAt ?? createdAt }
}

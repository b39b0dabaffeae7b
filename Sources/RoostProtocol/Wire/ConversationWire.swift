import RoostModel

extension JSONWriter {
    /// A `Conversation` as `caller` sees it. Where `caller` is given (REST) and sent the last message, that message has its status.
    public mutating func conversation(_ view: ConversationView, caller: UserID? = nil) {
        object { writer in
            writer.member("id", view.id)
            writer.member("kind", view.kind.rawValue)
            writer.member("title", view.title)
            writer.member("about", view.about)
            writer.member("photo", view.photo)
            writer.member("history", view.history.rawValue)
            writer.member("memberCount", view.memberCount)
            writer.key("members")
            writer.array(view.members) { $0.conversationMember($1) }
            writer.member("lastSeq", view.lastSeq)
            writer.key("lastMessage")
            if let message = view.lastMessage {
                writer.message(
                    message, delivery: caller.flatMap { view.lastMessageDelivery ?? view.deliveryOfLastMessage(for: $0) })
            } else {
                writer.null()
            }
            writer.member("readSeq", view.readSeq)
            writer.member("deliveredSeq", view.deliveredSeq)
            writer.member("unreadCount", view.unreadCount)
            writer.member("mentionCount", view.mentionCount)
            writer.member("myRole", view.myRole?.rawValue)
            writer.member("mutedUntil", view.mutedUntil)
            writer.member("pinnedAt", view.pinnedAt)
            writer.member("archivedAt", view.archivedAt)
            writer.member("lastActivityAt", view.lastActivityAt)
            writer.member("createdAt", view.createdAt)
            writer.member("isReadOnly", view.isReadOnly)
        }
    }

    public mutating func conversationMember(_ entry: Member) {
        object {
            $0.member("userId", entry.userID)
            $0.member("displayName", entry.displayName)
            $0.member("photo", entry.photo)
            $0.member("role", entry.role.rawValue)
            $0.member("joinedAt", entry.joinedAt)
            $0.member("readSeq", entry.readSeq)
            $0.member("deliveredSeq", entry.deliveredSeq)
        }
    }

    /// A page of anything: `{"items":[…],"nextCursor":…}`.
    public mutating func page<Item>(_ page: Page<Item>, _ item: (inout JSONWriter, Item) -> Void) {
        object { writer in
            writer.key("items")
            writer.array(page.items, item)
            writer.member("nextCursor", page.nextCursor)
        }
    }

    public mutating func syncPage(_ page: SyncPage, caller: UserID) {
        object { writer in
            writer.key("conversations")
            writer.array(page.conversations) { $0.conversation($1, caller: caller) }
            writer.key("removed")
            writer.array(page.removed) { $0.identifier($1) }
            writer.key("hidden")
            writer.array(page.hidden) { writer, hidden in
                writer.object {
                    $0.member("conversationId", hidden.conversationID)
                    $0.member("seq", hidden.seq)
                }
            }
            writer.member("token", page.token)
            writer.member("hasMore", page.hasMore)
        }
    }
}

extension ConversationView {
    /// How far the last message got, from the other members' positions; nil where it is another's or the members are not listed.
    /// Whoever shares no receipts counts as not having read, and whoever came later does not count: they joined with a position beyond it.
    public func deliveryOfLastMessage(for caller: UserID) -> ReadMessage.Delivery? {
        guard let message = lastMessage, message.senderID == caller, message.kind != .system, !members.isEmpty else { return nil }
        // The two of a direct chat were there from the beginning, whatever two nodes' clocks say.
        let others = members.filter { $0.userID != caller && (kind == .direct || $0.joinedAt <= message.createdAt) }
        let readers = others.count { ($0.readSeq ?? .zero) >= message.seq }
        let receivers = others.count { $0.deliveredSeq >= message.seq }
        let status: ReadMessage.Delivery.Status =
            if others.isEmpty { .sent } else if readers == others.count { .read } else if receivers == others.count {
                .delivered
            } else { .sent }
        return ReadMessage.Delivery(status: status, seenByCount: readers)
    }
}

extension Member: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let userID = fields["userId"]?.identifier(UserID.self), let displayName = fields["displayName"]?.string,
            let role = fields["role"]?.string.flatMap(MemberRole.init), let joinedAt = fields["joinedAt"]?.timestamp,
            let readSeq = fields.optional("readSeq", { $0.integer.map { Seq($0) } }),
            let deliveredSeq = fields.seq("deliveredSeq")
        else { return nil }
        self.init(
            userID: userID, displayName: displayName, photo: fields["photo"].flatMap(Media.init(json:)), role: role,
            joinedAt: joinedAt, readSeq: readSeq, deliveredSeq: deliveredSeq)
    }
}

extension ConversationView: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let id = fields["id"]?.identifier(ConversationID.self),
            let kind = fields["kind"]?.string.flatMap(ConversationKind.init),
            let members = fields.array("members", Member.init(json:)), let memberCount = fields["memberCount"]?.integer,
            let lastSeq = fields.seq("lastSeq"), let lastMessage = fields.optional("lastMessage", Message.init(json:)),
            let counts = ConversationCounts(json: slice), let lastActivityAt = fields["lastActivityAt"]?.timestamp,
            let createdAt = fields["createdAt"]?.timestamp
        else { return nil }
        self.init(
            id: id, kind: kind, title: fields["title"]?.string, about: fields["about"]?.string,
            photo: fields["photo"].flatMap(Media.init(json:)),
            history: fields["history"]?.string.flatMap(HistorySetting.init) ?? .full, members: members,
            memberCount: Int(memberCount), lastSeq: lastSeq,
            lastMessage: lastMessage, readSeq: counts.readSeq, deliveredSeq: counts.deliveredSeq,
            unreadCount: counts.unreadCount, mentionCount: counts.mentionCount,
            myRole: fields["myRole"]?.string.flatMap(MemberRole.init), mutedUntil: fields["mutedUntil"]?.timestamp,
            pinnedAt: fields["pinnedAt"]?.timestamp, archivedAt: fields["archivedAt"]?.timestamp, lastActivityAt: lastActivityAt,
            createdAt: createdAt,
            isReadOnly: fields["isReadOnly"]?.bool ?? false)
    }
}

extension Page: WireDecodable where Item: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let items = fields.array("items", Item.init(json:)) else { return nil }
        self.init(items: items, nextCursor: fields["nextCursor"]?.string)
    }
}

extension HiddenMessage: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let id = fields["conversationId"]?.identifier(ConversationID.self), let seq = fields.seq("seq") else { return nil }
        self.init(conversationID: id, seq: seq)
    }
}

extension SyncPage: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let conversations = fields.array("conversations", ConversationView.init(json:)),
            let removed = fields.array("removed", { $0.identifier(ConversationID.self) }), let token = fields["token"]?.string,
            let hasMore = fields["hasMore"]?.bool
        else { return nil }
        let hidden = fields.array("hidden", HiddenMessage.init(json:)) ?? []
        self.init(conversations: conversations, removed: removed, hidden: hidden, token: token, hasMore: hasMore)
    }
}

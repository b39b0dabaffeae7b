import RoostModel

extension JSONWriter {
    /// A `Message`. With `delivery`, which only REST shows and only of the caller's own messages, `status` and `seenByCount`.
    ///
    /// A deleted message has the empty text. Every key is always there.
    public mutating func message(_ message: Message, delivery: ReadMessage.Delivery? = nil) {
        beginObject()
        member("conversationId", message.conversationID)
        member("seq", message.seq)
        member("changeSeq", message.changeSeq)
        // No client named a system message.
        if message.kind == .system { nullMember("clientId") } else { member("clientId", message.clientID) }
        member("senderId", message.senderID)
        member("type", message.kind.rawValue)
        member("text", message.text)
        member("media", message.media)
        key("replyTo")
        if let quote = message.replyTo { self.quote(quote) } else { null() }
        member("forwarded", message.isForwarded)
        key("mentions")
        array(message.mentions) { $0.identifier($1) }
        key("reactions")
        array(message.reactions) { $0.reaction($1) }
        member("editedAt", message.editedAt)
        member("deletedAt", message.deletedAt)
        member("createdAt", message.createdAt)
        key("system")
        if let event = message.system { systemEvent(event) } else { null() }
        if let delivery {
            member("status", delivery.status.rawValue)
            member("seenByCount", delivery.seenByCount)
        }
        endObject()
    }

    private mutating func quote(_ quote: Quote) {
        object {
            $0.member("seq", quote.seq)
            $0.member("senderId", quote.senderID)
            $0.member("type", quote.kind.rawValue)
            $0.member("text", quote.text)
            $0.member("isDeleted", quote.isDeleted)
        }
    }

    private mutating func reaction(_ reaction: Reaction) {
        object { writer in
            writer.member("emoji", reaction.emoji)
            writer.key("userIds")
            writer.array(reaction.userIDs) { $0.identifier($1) }
        }
    }

    public mutating func searchHit(_ hit: SearchHit) {
        object { writer in
            writer.key("message")
            writer.message(hit.message)
            writer.member("snippet", hit.snippet)
        }
    }

    public mutating func message(_ read: ReadMessage) { message(read.message, delivery: read.delivery) }

    public mutating func historyPage(_ page: HistoryPage) {
        object { writer in
            writer.key("items")
            writer.array(page.items) { $0.message($1) }
            writer.member("hasMoreBefore", page.hasMoreBefore)
            writer.member("hasMoreAfter", page.hasMoreAfter)
            writer.member("lastSeq", page.lastSeq)
        }
    }

    public mutating func changesPage(_ page: ChangesPage) {
        object { writer in
            writer.key("items")
            writer.array(page.items) { $0.message($1) }
            writer.member("upToSeq", page.upToSeq)
            writer.member("hasMore", page.hasMore)
        }
    }

    public mutating func receipts(_ receipts: MessageReceipts) {
        func entry(_ writer: inout JSONWriter, _ entry: MessageReceipts.Entry) {
            writer.object {
                $0.member("userId", entry.userID)
                $0.member("at", entry.at)
            }
        }
        object { writer in
            writer.member("status", receipts.status.rawValue)
            writer.key("deliveredTo")
            writer.array(receipts.deliveredTo, entry)
            writer.key("seenBy")
            writer.array(receipts.seenBy, entry)
        }
    }

    public mutating func counts(_ counts: ConversationCounts) {
        object {
            $0.member("readSeq", counts.readSeq)
            $0.member("deliveredSeq", counts.deliveredSeq)
            $0.member("unreadCount", counts.unreadCount)
            $0.member("mentionCount", counts.mentionCount)
        }
    }
}

extension Message {
    /// The message as JSON, without what only REST shows: the bytes that fan-out and answers splice in.
    public func json() -> [UInt8] {
        var writer = JSONWriter(reserving: 512 + text.utf8.count)
        writer.message(self)
        return writer.bytes
    }

    /// Reads a `Message`; nil where a key that this version knows is missing or of a wrong kind.
    public init?(json slice: JSONSlice) {
        guard let read = ReadMessage(json: slice) else { return nil }
        self = read.message
    }
}

extension ReadMessage {
    public init?(json slice: JSONSlice) {
        var conversationID: ConversationID?
        var (seq, changeSeq, seenByCount): (Int64?, Int64?, Int64?)
        var (clientID, text): (String?, String?)
        var senderID: UserID?
        var kind: Message.Kind?
        var (media, replyTo, system): (Media?, Quote?, SystemEvent?)
        var (mentions, reactions, isForwarded): ([UserID], [Reaction], Bool) = ([], [], false)
        var (editedAt, deletedAt, createdAt): (Timestamp?, Timestamp?, Timestamp?)
        var status: Delivery.Status?
        slice.forEachMember { key, value in
            switch key {
            case "conversationId": conversationID = value.identifier()
            case "seq": seq = value.integer
            case "changeSeq": changeSeq = value.integer
            case "clientId": clientID = value.kind == .null ? "" : value.string
            case "senderId": senderID = value.identifier()
            case "type": kind = value.string.flatMap(Message.Kind.init)
            case "text": text = value.string
            case "media": media = Media(json: value)
            case "replyTo": replyTo = Quote(json: value)
            case "forwarded": isForwarded = value.bool ?? false
            case "mentions": value.forEachElement { if let id = $0.identifier(UserID.self) { mentions.append(id) } }
            case "reactions": value.forEachElement { if let reaction = Reaction(json: $0) { reactions.append(reaction) } }
            case "system": system = SystemEvent(json: value)
            case "editedAt": editedAt = value.timestamp
            case "deletedAt": deletedAt = value.timestamp
            case "createdAt": createdAt = value.timestamp
            case "status": status = value.string.flatMap(Delivery.Status.init)
            case "seenByCount": seenByCount = value.integer
            default: break
            }
        }
        guard let conversationID, let seq, let changeSeq, let clientID, let senderID, let kind, let text, let createdAt else {
            return nil
        }
        self.init(
            message: Message(
                conversationID: conversationID, seq: Seq(seq), changeSeq: Seq(changeSeq), clientID: clientID, senderID: senderID,
                kind: kind, text: text, media: media, replyTo: replyTo, isForwarded: isForwarded, mentions: mentions,
                reactions: reactions, system: system, createdAt: createdAt, editedAt: editedAt, deletedAt: deletedAt),
            delivery: status.map { Delivery(status: $0, seenByCount: Int(seenByCount ?? 0)) })
    }
}

extension HistoryPage: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let items = fields.array("items", ReadMessage.init(json:)), let before = fields["hasMoreBefore"]?.bool,
            let after = fields["hasMoreAfter"]?.bool, let lastSeq = fields.seq("lastSeq")
        else { return nil }
        self.init(items: items, hasMoreBefore: before, hasMoreAfter: after, lastSeq: lastSeq)
    }
}

extension ChangesPage: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let items = fields.array("items", ReadMessage.init(json:)), let upToSeq = fields.seq("upToSeq"),
            let hasMore = fields["hasMore"]?.bool
        else { return nil }
        self.init(items: items, upToSeq: upToSeq, hasMore: hasMore)
    }
}

extension MessageReceipts: WireDecodable {
    public init?(json slice: JSONSlice) {
        func entry(_ slice: JSONSlice) -> Entry? {
            let fields = WireFields(slice)
            guard let userID = fields["userId"]?.identifier(UserID.self), let at = fields["at"]?.timestamp else { return nil }
            return Entry(userID: userID, at: at)
        }
        let fields = WireFields(slice)
        guard let status = fields["status"]?.string.flatMap(ReadMessage.Delivery.Status.init),
            let deliveredTo = fields.array("deliveredTo", entry), let seenBy = fields.array("seenBy", entry)
        else { return nil }
        self.init(status: status, deliveredTo: deliveredTo, seenBy: seenBy)
    }
}

extension ConversationCounts: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let readSeq = fields.seq("readSeq"), let deliveredSeq = fields.seq("deliveredSeq"),
            let unread = fields["unreadCount"]?.integer, let mentions = fields["mentionCount"]?.integer
        else { return nil }
        self.init(readSeq: readSeq, deliveredSeq: deliveredSeq, unreadCount: Int(unread), mentionCount: Int(mentions))
    }
}

extension Quote: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let seq = fields.seq("seq"), let senderID = fields["senderId"]?.identifier(UserID.self),
            let kind = fields["type"]?.string.flatMap(Message.Kind.init), let text = fields["text"]?.string,
            let isDeleted = fields["isDeleted"]?.bool
        else { return nil }
        self.init(seq: seq, senderID: senderID, kind: kind, text: text, isDeleted: isDeleted)
    }
}

extension Reaction: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let emoji = fields["emoji"]?.string, let users = fields.array("userIds", { $0.identifier(UserID.self) }) else {
            return nil
        }
        self.init(emoji: emoji, userIDs: users)
    }
}

extension SearchHit: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let message = fields["message"].flatMap(ReadMessage.init(json:)), let snippet = fields["snippet"]?.string else {
            return nil
        }
        self.init(message: message, snippet: snippet)
    }
}

extension Message: WireDecodable {}
extension ReadMessage: WireDecodable {}

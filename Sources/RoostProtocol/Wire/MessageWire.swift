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
        member("clientId", message.clientID)
        member("senderId", message.senderID)
        member("type", message.kind.rawValue)
        member("text", message.text)
        nullMember("media")
        nullMember("replyTo")
        member("forwarded", false)
        key("mentions")
        beginArray()
        endArray()
        key("reactions")
        beginArray()
        endArray()
        member("editedAt", message.editedAt)
        member("deletedAt", message.deletedAt)
        member("createdAt", message.createdAt)
        nullMember("system")
        if let delivery {
            member("status", delivery.status.rawValue)
            member("seenByCount", delivery.seenByCount)
        }
        endObject()
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
        var (editedAt, deletedAt, createdAt): (Timestamp?, Timestamp?, Timestamp?)
        var status: Delivery.Status?
        slice.forEachMember { key, value in
            switch key {
            case "conversationId": conversationID = value.identifier()
            case "seq": seq = value.integer
            case "changeSeq": changeSeq = value.integer
            case "clientId": clientID = value.string
            case "senderId": senderID = value.identifier()
            case "type": kind = value.string.flatMap(Message.Kind.init)
            case "text": text = value.string
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
                kind: kind, text: text, createdAt: createdAt, editedAt: editedAt, deletedAt: deletedAt),
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

extension Message: WireDecodable {}
extension ReadMessage: WireDecodable {}

import RoostModel

/// A frame of the server as a client reads it.
public enum ServerFrame: Sendable {
    case ready(Ready)
    /// `message` is nil where this user may not see it.
    case message(conversationID: ConversationID, seq: Seq, message: Message?)
    case receipt(conversationID: ConversationID, userID: UserID, readSeq: Seq?, deliveredSeq: Seq)
    case typing(conversationID: ConversationID, userID: UserID, isActive: Bool)
    case presence(Presence)
    case conversation(ConversationView)
    case conversationRemoved(ConversationID)
    case hidden(HiddenMessage)
    case user(UserProfile)
    case resync
    case goaway(afterSeconds: Int)
    /// An event of a newer server, to be skipped.
    case unknown(event: String)
    /// The answer to the frame with this id; nil where the server could not read one.
    case answer(id: FrameID?, Result<AnswerResult, Problem>)
}

/// The `result` of an answer, read as what its operation gives.
public struct AnswerResult: Sendable {
    /// The object as it came.
    public let json: [UInt8]

    /// Of `send`.
    public func message() throws(WireFault) -> Message { try SentAnswer.decode(json).message }

    /// Of `read` and `delivered`.
    public func counts() throws(WireFault) -> ConversationCounts { try ConversationCounts.decode(json) }

    /// Of `watch` and `unwatch`.
    public func presence() throws(WireFault) -> [Presence] { try PresenceAnswer.decode(json).items }

    /// Of `ping`.
    public func serverTime() throws(WireFault) -> Timestamp { try PingAnswer.decode(json).serverTime }
}

private struct SentAnswer: WireDecodable {
    let message: Message
    init?(json slice: JSONSlice) {
        guard let message = WireFields(slice)["message"].flatMap(Message.init(json:)) else { return nil }
        self.message = message
    }
}

private struct PresenceAnswer: WireDecodable {
    let items: [Presence]
    init?(json slice: JSONSlice) {
        guard let items = WireFields(slice).array("presence", Presence.init(json:)) else { return nil }
        self.items = items
    }
}

private struct PingAnswer: WireDecodable {
    let serverTime: Timestamp
    init?(json slice: JSONSlice) {
        guard let time = WireFields(slice)["serverTime"]?.timestamp else { return nil }
        serverTime = time
    }
}

extension ServerFrame: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let event = fields["event"] else {
            guard let answer = Self.answer(fields) else { return nil }
            self = answer
            return
        }
        guard event.kind == .string, let frame = Self.event(event, fields) else { return nil }
        self = frame
    }

    private static func answer(_ fields: WireFields) -> ServerFrame? {
        guard let ok = fields["ok"]?.bool, let slice = fields["id"] else { return nil }
        let id: FrameID?
        switch slice.kind {
        case .null: id = nil
        case .string, .number: id = FrameID(json: String(decoding: slice.raw, as: UTF8.self))
        case .bool, .array, .object: return nil
        }
        if ok {
            guard let result = fields["result"] else { return nil }
            return .answer(id: id, .success(AnswerResult(json: Array(result.raw))))
        }
        return fields["error"].flatMap(Problem.init(json:)).map { .answer(id: id, .failure($0)) }
    }

    private static func event(_ event: JSONSlice, _ fields: WireFields) -> ServerFrame? {
        let conversationID = fields["conversationId"]?.identifier(ConversationID.self)
        let userID = fields["userId"]?.identifier(UserID.self)
        switch event {
        case "message":
            guard let conversationID, let seq = fields.seq("seq"), let message = fields.optional("message", Message.init(json:))
            else { return nil }
            return .message(conversationID: conversationID, seq: seq, message: message)
        case "receipt":
            guard let conversationID, let userID, let readSeq = fields.optional("readSeq", { $0.integer.map { Seq($0) } }),
                let deliveredSeq = fields.seq("deliveredSeq")
            else { return nil }
            return .receipt(conversationID: conversationID, userID: userID, readSeq: readSeq, deliveredSeq: deliveredSeq)
        case "typing":
            guard let conversationID, let userID, let isActive = fields["active"]?.bool else { return nil }
            return .typing(conversationID: conversationID, userID: userID, isActive: isActive)
        case "presence": return fields["presence"].flatMap(Presence.init(json:)).map { .presence($0) }
        case "conversation":
            if let view = fields["conversation"] { return ConversationView(json: view).map { .conversation($0) } }
            guard let conversationID, fields["removed"]?.bool == true else { return nil }
            return .conversationRemoved(conversationID)
        case "hidden":
            guard let conversationID, let seq = fields.seq("seq") else { return nil }
            return .hidden(HiddenMessage(conversationID: conversationID, seq: seq))
        case "user": return fields["user"].flatMap(UserProfile.init(json:)).map { .user($0) }
        case "resync": return .resync
        case "goaway": return fields["afterSeconds"]?.integer.map { .goaway(afterSeconds: Int($0)) }
        case "ready": return ready(fields).map { .ready($0) }
        default: return .unknown(event: event.string ?? "")
        }
    }

    private static func ready(_ fields: WireFields) -> Ready? {
        guard let userID = fields["userId"]?.identifier(UserID.self),
            let deviceID = fields["deviceId"]?.identifier(DeviceID.self),
            let sessionID = fields["sessionId"]?.identifier(SessionID.self), let node = fields["node"]?.string,
            let serverTime = fields["serverTime"]?.timestamp, let interval = fields["pingIntervalSeconds"]?.integer
        else { return nil }
        return Ready(
            userID: userID, deviceID: deviceID, sessionID: sessionID, node: node, serverTime: serverTime,
            pingIntervalSeconds: Int(interval))
    }
}

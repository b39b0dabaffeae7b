import RoostModel

/// What the server says first.
public struct Ready: Hashable, Sendable {
    public var userID: UserID
    public var deviceID: DeviceID
    public var sessionID: SessionID
    /// The node's name.
    public var node: String
    public var serverTime: Timestamp
    public var pingIntervalSeconds: Int

    public init(
        userID: UserID, deviceID: DeviceID, sessionID: SessionID, node: String, serverTime: Timestamp,
        pingIntervalSeconds: Int = 25
    ) {
        self.userID = userID
        self.deviceID = deviceID
        self.sessionID = sessionID
        self.node = node
        self.serverTime = serverTime
        self.pingIntervalSeconds = pingIntervalSeconds
    }
}

/// Encoders of the server's events: each makes the text of one frame. See ``ServerFrame`` for the way back.
public enum ServerEvent {
    private static func event(
        _ name: String, reserving capacity: Int = 256, _ body: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        JSONWriter.object(reserving: capacity) {
            $0.member("event", name)
            body(&$0)
        }
    }

    public static func ready(_ ready: Ready) -> [UInt8] {
        event("ready") {
            $0.member("userId", ready.userID)
            $0.member("deviceId", ready.deviceID)
            $0.member("sessionId", ready.sessionID)
            $0.member("node", ready.node)
            $0.member("serverTime", ready.serverTime)
            $0.member("pingIntervalSeconds", ready.pingIntervalSeconds)
        }
    }

    /// A new or changed message. `seq` is its `changeSeq`; `message` is JSON already, nil where this user may not see it.
    public static func message(
        conversationID: ConversationID, seq: Seq, message: (some Collection<UInt8>)?
    ) -> [UInt8] {
        event("message", reserving: 128 + (message?.count ?? 4)) {
            $0.member("conversationId", conversationID)
            $0.member("seq", seq)
            $0.key("message")
            if let message { $0.raw(message) } else { $0.null() }
        }
    }

    public static func message(_ message: Message) -> [UInt8] {
        self.message(conversationID: message.conversationID, seq: message.changeSeq, message: Optional(message.json()))
    }

    /// A member's positions; `readSeq` is nil where it is not shared.
    public static func receipt(conversationID: ConversationID, userID: UserID, readSeq: Seq?, deliveredSeq: Seq) -> [UInt8] {
        event("receipt") {
            $0.member("conversationId", conversationID)
            $0.member("userId", userID)
            $0.member("readSeq", readSeq)
            $0.member("deliveredSeq", deliveredSeq)
        }
    }

    public static func typing(conversationID: ConversationID, userID: UserID, isActive: Bool) -> [UInt8] {
        event("typing") {
            $0.member("conversationId", conversationID)
            $0.member("userId", userID)
            $0.member("active", isActive)
        }
    }

    public static func presence(_ presence: Presence) -> [UInt8] {
        event("presence") {
            $0.key("presence")
            $0.presence(presence)
        }
    }

    public static func conversation(_ view: ConversationView) -> [UInt8] {
        event("conversation", reserving: 1024) {
            $0.key("conversation")
            $0.conversation(view)
        }
    }

    /// The user deleted a message for themselves on another device.
    public static func hidden(conversationID: ConversationID, seq: Seq) -> [UInt8] {
        event("hidden") {
            $0.member("conversationId", conversationID)
            $0.member("seq", seq)
        }
    }

    public static func conversationRemoved(_ id: ConversationID) -> [UInt8] {
        event("conversation") {
            $0.member("conversationId", id)
            $0.member("removed", true)
        }
    }

    public static func user(_ user: User, presence: Presence?) -> [UInt8] {
        event("user") {
            $0.key("user")
            $0.user(user, presence: presence)
        }
    }

    /// This session missed something.
    public static func resync() -> [UInt8] { event("resync") { _ in } }

    /// This node is leaving: reconnect elsewhere after a random part of that time.
    public static func goaway(afterSeconds: Int) -> [UInt8] { event("goaway") { $0.member("afterSeconds", afterSeconds) } }
}

/// Encoders of the answers to client frames.
public enum ServerAnswer {
    /// `{"id":…,"ok":true,"result":…}`, where `result` is JSON already.
    public static func ok(_ id: FrameID?, result: some Collection<UInt8>) -> [UInt8] {
        answer(id, isOK: true, reserving: 64 + result.count) {
            $0.key("result")
            $0.raw(result)
        }
    }

    public static func empty(_ id: FrameID?) -> [UInt8] { ok(id, result: "{}".utf8) }

    /// The answer to `send`, from the message's JSON.
    public static func sent(_ id: FrameID?, message: some Collection<UInt8>) -> [UInt8] {
        answer(id, isOK: true, reserving: 96 + message.count) {
            $0.key("result")
            $0.object {
                $0.key("message")
                $0.raw(message)
            }
        }
    }

    public static func counts(_ id: FrameID?, _ counts: ConversationCounts) -> [UInt8] {
        answer(id, isOK: true) {
            $0.key("result")
            $0.counts(counts)
        }
    }

    public static func presence(_ id: FrameID?, _ items: [Presence]) -> [UInt8] {
        answer(id, isOK: true) {
            $0.key("result")
            $0.presenceList(items, key: "presence")
        }
    }

    public static func pong(_ id: FrameID?, serverTime: Timestamp) -> [UInt8] {
        answer(id, isOK: true) {
            $0.key("result")
            $0.object { $0.member("serverTime", serverTime) }
        }
    }

    /// `{"id":…,"ok":false,"error":{problem}}`.
    public static func failed(_ id: FrameID?, _ error: RoostError, requestID: String? = nil) -> [UInt8] {
        answer(id, isOK: false) {
            $0.key("error")
            $0.problem(error, requestID: requestID)
        }
    }

    private static func answer(
        _ id: FrameID?, isOK: Bool, reserving capacity: Int = 256, _ body: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        JSONWriter.object(reserving: capacity) {
            $0.key("id")
            if let id { $0.raw(id.json.utf8) } else { $0.null() }
            $0.member("ok", isOK)
            body(&$0)
        }
    }
}

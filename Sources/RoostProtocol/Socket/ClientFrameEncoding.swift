import RoostModel

extension ClientFrame {
    /// The frame's text.
    public func json() -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("op", operation.name)
            if let id {
                writer.key("id")
                writer.raw(id.json.utf8)
            }
            operation.write(to: &writer)
        }
    }
}

extension ClientOperation {
    /// The word that stands in `op`.
    public var name: String {
        switch self {
        case .hello: "hello"
        case .send: "send"
        case .read: "read"
        case .delivered: "delivered"
        case .typing: "typing"
        case .watch: "watch"
        case .unwatch: "unwatch"
        case .state: "state"
        case .token: "token"
        case .ping: "ping"
        }
    }

    fileprivate func write(to writer: inout JSONWriter) {
        switch self {
        case .hello(let hello):
            writer.member("token", hello.token)
            if hello.clientName != nil || hello.clientVersion != nil {
                writer.key("client")
                writer.object {
                    $0.member("name", hello.clientName)
                    $0.member("version", hello.clientVersion)
                }
            }
            writer.member("background", hello.isBackground)
        case .send(let conversationID, let body):
            writer.member("conversationId", conversationID)
            writer.sendMembers(body)
        case .read(let conversationID, let seq), .delivered(let conversationID, let seq):
            writer.member("conversationId", conversationID)
            writer.member("seq", seq)
        case .typing(let conversationID, let isActive):
            writer.member("conversationId", conversationID)
            writer.member("active", isActive)
        case .watch(let users), .unwatch(let users):
            writer.key("userIds")
            writer.array(users) { $0.identifier($1) }
        case .state(let isBackground): writer.member("background", isBackground)
        case .token(let token): writer.member("token", token)
        case .ping: break
        }
    }
}

extension SendBody {
    /// The body of `POST …/messages`.
    public func json() -> [UInt8] { JSONWriter.object { $0.sendMembers(self) } }
}

extension JSONWriter {
    fileprivate mutating func sendMembers(_ body: SendBody) {
        member("clientId", body.clientID)
        switch body.body {
        case .original(let original):
            member("type", original.kind.rawValue)
            member("text", original.text)
            if let media = original.mediaID { member("mediaId", media) }
            if let seq = original.replyTo { member("replyTo", seq) }
            if !original.mentions.isEmpty {
                key("mentions")
                array(original.mentions) { $0.identifier($1) }
            }
        case .forward(let conversation, let seq):
            key("forward")
            object {
                $0.member("conversationId", conversation)
                $0.member("seq", seq)
            }
        }
    }
}

import ActorRuntime
import Ports
import RoostModel

extension OutgoingMessage {
    private enum Code {
        static let refused: UInt8 = 0
        static let plainText: UInt8 = 1
        static let full: UInt8 = 2
    }

    /// The payload of ``ConversationVerb/send``. Most messages are a text and nothing else, and are short.
    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 64 + clientID.utf8.count + ((try? content.get())?.text.utf8.count ?? 0))
        writer.append(senderID)
        writer.append(clientID)
        writer.append(fingerprint)
        switch content {
        case .failure(let error):
            writer.append(Code.refused)
            writer.append(error)
        case .success(let content) where content == MessageContent(text: content.text):
            writer.append(Code.plainText)
            writer.append(content.text)
        case .success(let content):
            writer.append(Code.full)
            writer.append(content)
        }
        return writer.bytes
    }

    init(conversationID: ConversationID, _ payload: [UInt8]) throws(ByteReader.Truncated) {
        var reader = ByteReader(payload)
        let senderID: UserID = try reader.identifier()
        let clientID = try reader.string()
        let fingerprint = try reader.int64()
        let content: Result<MessageContent, RoostError>
        switch try reader.byte() {
        case Code.refused: content = .failure(try reader.error())
        case Code.plainText: content = .success(MessageContent(text: try reader.string()))
        case Code.full: content = .success(try reader.messageContent())
        default: throw ByteReader.Truncated()
        }
        self.init(
            conversationID: conversationID, senderID: senderID, clientID: clientID, fingerprint: fingerprint, content: content)
    }
}

extension ByteWriter {
    fileprivate mutating func append(_ content: MessageContent) {
        append(content.kind.rawValue)
        append(content.text)
        append(optional: content.media) { $0.append($1) }
        append(optional: content.replyTo) { $0.append($1) }
        append(UInt16(content.mentions.count))
        for user in content.mentions { append(user) }
        append(content.isForwarded)
    }

    mutating func append(_ media: Media) {
        append(media.id)
        append(media.ownerID)
        append(media.state.rawValue)
        append(media.kind.rawValue)
        append(media.contentType)
        append(optional: media.fileName) { $0.append($1) }
        append(media.bytes)
        append(optional: media.width) { $0.append(Int64($1)) }
        append(optional: media.height) { $0.append(Int64($1)) }
        append(optional: media.duration) { $0.append($1.bitPattern) }
        append(optional: media.blurHash) { $0.append($1) }
    }

    mutating func append<Value>(optional value: Value?, _ write: (inout ByteWriter, Value) -> Void) {
        append(value != nil)
        if let value { write(&self, value) }
    }
}

extension ByteReader {
    fileprivate mutating func messageContent() throws(Truncated) -> MessageContent {
        guard let kind = Message.Kind(rawValue: try string()) else { throw Truncated() }
        var content = MessageContent(kind: kind, text: try string())
        content.media = try bool() ? try media() : nil
        content.replyTo = try bool() ? try seq() : nil
        for _ in 0..<(try uint16()) { content.mentions.append(try identifier()) }
        content.isForwarded = try bool()
        return content
    }

    mutating func media() throws(Truncated) -> Media {
        let id: MediaID = try identifier()
        let owner: UserID = try identifier()
        guard let state = Media.State(rawValue: try string()), let kind = Media.Kind(rawValue: try string()) else {
            throw Truncated()
        }
        let contentType = try string()
        let fileName = try bool() ? try string() : nil
        var media = Media(
            id: id, ownerID: owner, state: state, kind: kind, contentType: contentType, fileName: fileName, bytes: try int64())
        media.width = try bool() ? Int(try int64()) : nil
        media.height = try bool() ? Int(try int64()) : nil
        media.duration = try bool() ? Double(bitPattern: try uint64()) : nil
        media.blurHash = try bool() ? try string() : nil
        return media
    }
}

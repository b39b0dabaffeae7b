import RoostModel
import RoostProtocol

/// What the load tester needs of a frame from the server, read where it stands; `RoostProtocol.ServerFrame` makes values of it all,
/// which costs more than the rest of a client.
public enum LoadFrame: Equatable {
    /// A message event. `message` is nil where the server may not show it.
    case message(conversation: ConversationID, seq: Int64, message: StoredMessage?)
    /// A request was answered; `seq` is the message's where it was a send.
    case accepted(id: Int, seq: Int64?)
    /// A request was answered with a problem of this code; `id` is nil when the answer names no request of ours.
    case refused(id: Int?, code: String)
    case ready
    /// This session missed something: sync.
    case resync
    /// The node leaves: come back elsewhere within so many seconds.
    case goaway(afterSeconds: Int)
    /// Any other event.
    case other
    case unreadable

    /// Parses one text frame. `run` tells this run's messages from others.
    public static func parse(_ bytes: UnsafeBufferPointer<UInt8>, run: LoadText) -> LoadFrame {
        var fields = Fields()
        // Valid throughout before anything is concluded from it.
        guard (try? JSONReader.readMembers(of: bytes, { fields.take($0, $1) })) == true else { return .unreadable }
        if let event = fields.event { return parseEvent(event, fields, run: run) }
        guard let ok = fields.ok?.bool else { return .unreadable }
        // Our requests are numbered; the server gives the number back as it was written.
        let id = fields.id?.integer.flatMap { Int(exactly: $0) }
        guard ok else {
            var code = "none"
            fields.error?.forEachMember { key, value in
                if key.equals("code") { code = value.string ?? "none" }
            }
            return .refused(id: id, code: code)
        }
        guard let id else { return .unreadable }
        var seq: Int64?
        fields.result?.forEachMember { key, value in
            guard key.equals("message") else { return }
            value.forEachMember { if $0.equals("seq") { seq = $1.integer } }
        }
        return .accepted(id: id, seq: seq)
    }

    private struct Fields {
        var event, conversation, seq, message, id, ok, result, error, afterSeconds: JSONSlice?

        @inline(__always)
        mutating func take(_ key: JSONSlice, _ value: JSONSlice) {
            switch key.raw.count - 2 {
            case 2: if key.equals("id") { id = value } else if key.equals("ok") { ok = value }
            case 3: if key.equals("seq") { seq = value }
            case 5: if key.equals("event") { event = value } else if key.equals("error") { error = value }
            case 6: if key.equals("result") { result = value }
            case 7: if key.equals("message") { message = value }
            case 12: if key.equals("afterSeconds") { afterSeconds = value }
            case 14: if key.equals("conversationId") { conversation = value }
            default: break
            }
        }
    }

    private static func parseEvent(_ event: JSONSlice, _ fields: Fields, run: LoadText) -> LoadFrame {
        if event.equals("message") {
            guard let seq = fields.seq?.integer, let conversation: ConversationID = fields.conversation?.identifier() else {
                return .unreadable
            }
            return .message(
                conversation: conversation, seq: seq, message: fields.message.flatMap { StoredMessage($0, run: run) })
        }
        if event.equals("ready") { return .ready }
        if event.equals("resync") { return .resync }
        if event.equals("goaway") { return .goaway(afterSeconds: Int(clamping: fields.afterSeconds?.integer ?? 0)) }
        return .other
    }
}

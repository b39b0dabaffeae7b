import RoostModel
import RoostProtocol

/// What is to be sent: the body of `POST …/messages`, and the fields of the socket's `send`.
struct MessageDraft {
    let clientID: String
    /// In NFC, within the limits.
    let text: String

    init(_ body: JSONBody) throws(RoostError) {
        var faults = FieldFaults()
        let clientID = try faults.collect { () throws(RoostError) in
            try ClientID.validated(try body.requiredString("clientId"))
        }
        _ = try faults.collect { () throws(RoostError) in try Self.refuseLaterFeatures(body) }
        _ = try faults.collect { () throws(RoostError) in
            guard try body.requiredString("type") == Message.Kind.text.rawValue else { throw .invalid("type", .invalid) }
        }
        let text = try faults.collect { () throws(RoostError) in try body.string("text") }
        try faults.check()
        guard let clientID, let text else { throw RoostError(.internalError) }
        self.clientID = clientID
        self.text = try MessageText.validated(text ?? "")
    }

    /// Replies, media, mentions and forwards: there is nothing yet that such a field could name.
    private static func refuseLaterFeatures(_ body: JSONBody) throws(RoostError) {
        if try body.object("forward") != nil { throw .invalid("forward", .unknown) }
        if try body.string("mediaId") != nil { throw .invalid("mediaId", .unknown) }
        if try body.integer("replyTo") != nil { throw .invalid("replyTo", .unknown) }
        if let mentions = try body.strings("mentions"), !mentions.isEmpty { throw .invalid("mentions", .unknown) }
    }
}

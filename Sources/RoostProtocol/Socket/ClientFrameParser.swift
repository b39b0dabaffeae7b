import RoostModel

extension ClientFrame {
    /// Reads the text of a frame. All of it is validated before anything is believed, so that the error for a bad field carries
    /// the frame's id wherever that stands.
    public static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> ParsedFrame {
        var fields = FrameFields()
        do throws(JSONFault) {
            guard try JSONReader.readMembers(of: bytes, { fields.take($0, $1) }) else {
                return .rejected(id: nil, RoostError(.malformed, "a JSON object is expected"), isUnreadable: true)
            }
        } catch {
            return .rejected(id: nil, RoostError(error), isUnreadable: true)
        }
        var id: FrameID?
        do throws(RoostError) {
            id = try fields.frameID()
            return .frame(ClientFrame(id: id, operation: try fields.operation()))
        } catch {
            return .rejected(id: id, error, isUnreadable: false)
        }
    }

    public static func parse(_ bytes: [UInt8]) -> ParsedFrame { bytes.withUnsafeBufferPointer { parse($0) } }
}

extension SendBody {
    /// Reads the body of `POST …/messages`.
    public static func parse(_ bytes: [UInt8]) throws(RoostError) -> SendBody {
        let result: Result<SendBody, RoostError> = bytes.withUnsafeBufferPointer { buffer in
            var fields = FrameFields()
            do throws(JSONFault) {
                guard try JSONReader.readMembers(of: buffer, { fields.take($0, $1) }) else {
                    return .failure(RoostError(.malformed, "a JSON object is expected"))
                }
            } catch {
                return .failure(RoostError(error))
            }
            do throws(RoostError) { return .success(try fields.sendBody()) } catch { return .failure(error) }
        }
        return try result.get()
    }
}

/// The known members of a frame where they stand; the last one of a name counts. Lives no longer than the frame's bytes.
private struct FrameFields {
    var op, id, token, client, background: JSONSlice?
    var conversationID, clientID, type, text, seq, active, userIDs: JSONSlice?
    var mediaID, replyTo, mentions, forward: JSONSlice?

    mutating func take(_ key: JSONSlice, _ value: JSONSlice) {
        switch key {
        case "op": op = value
        case "id": id = value
        case "conversationId": conversationID = value
        case "clientId": clientID = value
        case "type": type = value
        case "text": text = value
        case "seq": seq = value
        case "active": active = value
        case "userIds": userIDs = value
        case "background": background = value
        case "token": token = value
        case "client": client = value
        case "mediaId": mediaID = value
        case "replyTo": replyTo = value
        case "mentions": mentions = value
        case "forward": forward = value
        default: break
        }
    }

    func frameID() throws(RoostError) -> FrameID? {
        guard let slice = present(id) else { return nil }
        switch slice.kind {
        case .string, .number: break
        case .null, .bool, .array, .object: throw wrongType("id", "a string or a number")
        }
        guard slice.raw.count <= FrameID.maximumBytes else { throw .invalid("id", .tooLong) }
        return FrameID(json: String(decoding: slice.raw, as: UTF8.self))
    }

    func operation() throws(RoostError) -> ClientOperation {
        guard let op = present(op) else { throw .invalid("op", .required) }
        switch op {
        case "send": return .send(conversationID: try conversation(), try sendBody())
        case "read": return .read(conversationID: try conversation(), seq: try position())
        case "delivered": return .delivered(conversationID: try conversation(), seq: try position())
        case "typing":
            return .typing(conversationID: try conversation(), isActive: try required(bool(active, "active"), "active"))
        case "watch": return .watch(try users())
        case "unwatch": return .unwatch(try users())
        case "state": return .state(isBackground: try required(bool(background, "background"), "background"))
        case "token": return .token(try required(string(token, "token"), "token"))
        case "ping": return .ping
        case "hello": return .hello(try hello())
        default:
            guard op.kind == .string else { throw wrongType("op", "a string") }
            throw .invalid("op", .unknown)
        }
    }

    func sendBody() throws(RoostError) -> SendBody {
        let clientID = try ClientID.validated(try required(string(clientID, "clientId"), "clientId"))
        if let forward = present(forward) { return SendBody(clientID: clientID, body: try forwarded(forward)) }
        guard let kind = Message.Kind(rawValue: try required(string(type, "type"), "type")), kind != .system else {
            throw .invalid("type", .invalid)
        }
        let text = try string(text, "text")
        var body = MessageBody.Original(kind: kind, text: "")
        body.mediaID = try media(for: kind)
        switch kind {
        case .text: body.text = try MessageText.validated(try required(text, "text"))
        // A picture may go without words.
        case .image, .audio, .video, .file, .system: body.text = try MessageText.validatedCaption(text ?? "")
        }
        if let slice = present(replyTo) {
            guard slice.kind == .number else { throw wrongType("replyTo", "a number") }
            guard let seq = slice.integer, seq > 0 else { throw .invalid("replyTo", .unknown) }
            body.replyTo = Seq(seq)
        }
        body.mentions = try mentioned()
        return SendBody(clientID: clientID, body: .original(body))
    }

    private func forwarded(_ slice: JSONSlice) throws(RoostError) -> MessageBody {
        guard slice.kind == .object else { throw wrongType("forward", "an object") }
        let fields = WireFields(slice)
        guard let conversation = present(fields["conversationId"]), let seq = present(fields["seq"]) else {
            throw .invalid("forward", .required)
        }
        guard conversation.kind == .string else { throw wrongType("forward.conversationId", "a string") }
        guard seq.kind == .number else { throw wrongType("forward.seq", "a number") }
        guard let id = conversation.identifier(ConversationID.self), let value = seq.integer, value > 0 else {
            throw .invalid("forward", .unknown)
        }
        return .forward(id, Seq(value))
    }

    private func media(for kind: Message.Kind) throws(RoostError) -> MediaID? {
        let id = try string(mediaID, "mediaId")
        guard kind != .text else {
            // Better refused than sent without what was meant.
            if id != nil { throw .invalid("mediaId", .invalid) }
            return nil
        }
        guard let media = MediaID(try required(id, "mediaId")) else { throw .invalid("mediaId", .unknown) }
        return media
    }

    /// Each once.
    private func mentioned() throws(RoostError) -> [UserID] {
        guard let slice = present(mentions) else { return [] }
        guard slice.kind == .array else { throw wrongType("mentions", "an array of strings") }
        var (ids, count, allStrings, allIDs): ([UserID], Int, Bool, Bool) = ([], 0, true, true)
        slice.forEachElement { element in
            count += 1
            if element.kind != .string { allStrings = false }
            guard count <= Limits.mentions else { return }
            guard let id = element.identifier(UserID.self) else { return allIDs = false }
            if !ids.contains(id) { ids.append(id) }
        }
        guard allStrings else { throw wrongType("mentions", "an array of strings") }
        guard count <= Limits.mentions else { throw .invalid("mentions", .tooLong) }
        guard allIDs else { throw .invalid("mentions", .unknown) }
        return ids
    }

    private func hello() throws(RoostError) -> ClientOperation.Hello {
        var hello = ClientOperation.Hello(token: try required(string(token, "token"), "token"))
        hello.isBackground = try bool(background, "background") ?? false
        if let client = present(client) {
            guard client.kind == .object else { throw wrongType("client", "an object") }
            let fields = WireFields(client)
            hello.clientName = try string(fields["name"], "client.name")
            hello.clientVersion = try string(fields["version"], "client.version")
        }
        return hello
    }

    /// A string that is no id answers like a conversation that does not exist.
    private func conversation() throws(RoostError) -> ConversationID {
        guard let slice = present(conversationID) else { throw .invalid("conversationId", .required) }
        guard slice.kind == .string else { throw wrongType("conversationId", "a string") }
        guard let id = slice.identifier(ConversationID.self) else { throw .notFound }
        return id
    }

    private func position() throws(RoostError) -> Seq {
        guard let slice = present(seq) else { throw .invalid("seq", .required) }
        guard slice.kind == .number else { throw wrongType("seq", "a number") }
        guard let value = slice.integer, value >= 0 else { throw .invalid("seq", .invalid) }
        return Seq(value)
    }

    private func users() throws(RoostError) -> [UserID] {
        guard let slice = present(userIDs) else { throw .invalid("userIds", .required) }
        guard slice.kind == .array else { throw wrongType("userIds", "an array of strings") }
        var ids: [UserID] = []
        var count = 0
        var allStrings = true
        slice.forEachElement { element in
            count += 1
            if element.kind != .string { allStrings = false }
            if count <= Limits.watchedUsers, let id = element.identifier(UserID.self) { ids.append(id) }
        }
        guard allStrings else { throw wrongType("userIds", "an array of strings") }
        guard count <= Limits.watchedUsers else { throw .invalid("userIds", .tooLong) }
        return ids
    }

    private func present(_ slice: JSONSlice?) -> JSONSlice? {
        guard let slice, slice.kind != .null else { return nil }
        return slice
    }

    private func string(_ slice: JSONSlice?, _ name: String) throws(RoostError) -> String? {
        guard let slice = present(slice) else { return nil }
        guard let text = slice.string else { throw wrongType(name, "a string") }
        return text
    }

    private func bool(_ slice: JSONSlice?, _ name: String) throws(RoostError) -> Bool? {
        guard let slice = present(slice) else { return nil }
        guard let flag = slice.bool else { throw wrongType(name, "true or false") }
        return flag
    }

    private func required<Value>(_ value: Value?, _ name: String) throws(RoostError) -> Value {
        guard let value else { throw .invalid(name, .required) }
        return value
    }

    private func wrongType(_ name: String, _ expected: String) -> RoostError {
        RoostError(.malformed, "\(name) must be \(expected)")
    }
}

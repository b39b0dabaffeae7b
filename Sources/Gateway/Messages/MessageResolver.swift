import Ports
import RoostModel
import RoostProtocol

/// Looks up what the body of a new message names outside its conversation: media, or the message to forward.
struct MessageResolver: Sendable {
    let backend: Backend

    /// Whether nothing need be looked up, so that the message can go as it is.
    static func isWhole(_ body: MessageBody) -> Bool {
        switch body {
        case .original(let original): original.mediaID == nil
        case .forward: false
        }
    }

    /// Of a body that is whole.
    static func message(_ body: SendBody, to conversation: ConversationID, from sender: UserID) -> OutgoingMessage {
        switch body.body {
        case .forward: preconditionFailure("a forwarded message is looked up")
        case .original(let original):
            return OutgoingMessage(
                conversationID: conversation, senderID: sender, clientID: body.clientID, fingerprint: body.body.fingerprint,
                content: .success(content(original, media: nil)))
        }
    }

    /// What is wrong with the content is in the message: a repetition of what was sent before is answered all the same.
    ///
    /// - Throws: what concerns the store, such as `unavailable`.
    func message(
        _ body: SendBody, to conversation: ConversationID, from sender: UserID
    ) async throws(RoostError) -> OutgoingMessage {
        OutgoingMessage(
            conversationID: conversation, senderID: sender, clientID: body.clientID, fingerprint: body.body.fingerprint,
            content: try await content(body.body, sender))
    }

    private func content(
        _ body: MessageBody, _ sender: UserID
    ) async throws(RoostError) -> Result<MessageContent, RoostError> {
        switch body {
        case .forward(let conversation, let seq):
            let read = try await backend.ask {
                try await backend.conversations.message(seq, of: conversation, for: sender)
            }
            guard let message = read?.message else { return .failure(.invalid("forward", .unknown)) }
            if message.isDeleted { return .failure(RoostError(.messageDeleted)) }
            guard message.kind != .system else { return .failure(.invalid("forward", .invalid)) }
            return .success(
                MessageContent(kind: message.kind, text: message.text, media: message.media, isForwarded: true))
        case .original(let original):
            guard let id = original.mediaID else { return .success(Self.content(original, media: nil)) }
            switch try await backend.ownMedia(id, of: sender, field: "mediaId") {
            case .failure(let error): return .failure(error)
            case .success(let media):
                // A file may be anything; other types must be what was found in the bytes.
                guard original.kind == .file || media.kind.messageKind == original.kind else {
                    return .failure(.invalid("type", .invalid))
                }
                return .success(Self.content(original, media: media))
            }
        }
    }

    private static func content(_ original: MessageBody.Original, media: Media?) -> MessageContent {
        MessageContent(
            kind: original.kind, text: original.text, media: media, replyTo: original.replyTo, mentions: original.mentions)
    }
}

extension Backend {
    /// Media that the user uploaded, ready to be attached; of another's nobody learns that it exists.
    func ownMedia(_ id: MediaID, of user: UserID, field: String) async throws(RoostError) -> Result<Media, RoostError> {
        guard let media = try await ask({ try await conversations.media(id) }), media.ownerID == user else {
            return .failure(.invalid(field, .unknown))
        }
        switch media.state {
        case .ready: return .success(media)
        case .processing: return .failure(RoostError(.mediaNotReady))
        case .rejected: return .failure(.invalid(field, .invalid))
        }
    }

    /// As ``ownPhoto(_:of:field:)`` for a patch: nil leaves, `.some(nil)` clears.
    func ownPhoto(_ id: MediaID??, of user: UserID) async throws(RoostError) -> Media?? {
        switch id {
        case nil: return nil
        case .some(nil): return .some(nil)
        case .some(.some(let id)):
            let media: Media = try await ownPhoto(id, of: user)
            return .some(media)
        }
    }

    /// A picture for a group, channel or profile.
    func ownPhoto(_ id: MediaID, of user: UserID, field: String = "photoMediaId") async throws(RoostError) -> Media {
        let media = try await ownMedia(id, of: user, field: field).get()
        guard media.kind == .image else { throw .invalid(field, .invalid) }
        return media
    }
}

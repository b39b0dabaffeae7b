import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// Everything below `/v1/conversations/{conversationId}` that is about messages.
struct MessageRoutes: Sendable {
    let backend: Backend

    var routes: [Route] {
        [
            .user(.get, "/v1/conversations/{conversationId}/messages", history),
            .user(.post, "/v1/conversations/{conversationId}/messages", body: .required, send),
            .user(.get, "/v1/conversations/{conversationId}/messages/{seq}/receipts", receipts),
            .user(.get, "/v1/conversations/{conversationId}/changes", changes),
            .user(.post, "/v1/conversations/{conversationId}/read", body: .required, read),
            .user(.post, "/v1/conversations/{conversationId}/delivered", body: .required, delivered),
        ]
    }

    private func history(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let id = try request.conversationID
        let limit = try request.query.limit
        let range = try range(request.query)
        let page = try await backend.found(.read, in: id, for: caller.userID) {
            try await backend.conversations.history(of: id, for: caller.userID, range: range, limit: limit)
        }
        return .json { $0.historyPage(page) }
    }

    private func range(_ query: Query) throws(RoostError) -> HistoryRange {
        let before = try query.seq("before").map(HistoryRange.before)
        let after = try query.seq("after").map(HistoryRange.after)
        let around = try query.seq("around").map(HistoryRange.around)
        let given = [before, after, around].compactMap { $0 }
        guard given.count <= 1 else { throw RoostError(.badParameter, "only one of before, after and around") }
        return given.first ?? .newest
    }

    private func changes(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let id = try request.conversationID
        let limit = try request.query.limit
        let after = try request.query.seq("after") ?? .zero
        let page = try await backend.found(.read, in: id, for: caller.userID) {
            try await backend.conversations.changes(of: id, for: caller.userID, after: after, limit: limit)
        }
        return .json { $0.changesPage(page) }
    }

    private func receipts(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (id, seq) = (try request.conversationID, try request.seq)
        let receipts = try await backend.found(.read, in: id, for: caller.userID) {
            try await backend.conversations.receipts(of: id, seq: seq, for: caller.userID)
        }
        return .json { $0.receipts(receipts) }
    }

    private func send(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let id = try request.conversationID
        let body = try SendBody.parse(request.body)
        let message = try await MessageResolver(backend: backend).message(body, to: id, from: caller.userID)
        let sent = try await backend.commands.send(message)
        if sent.isNew {
            return .json(sent.ownJSON, status: 201)
        }
        return .json(try await presentState(of: sent, in: id, caller))
    }

    /// A message that was sent before: as it is now, with who has read it since.
    private func presentState(
        of sent: SentMessage, in id: ConversationID, _ caller: Caller
    ) async throws(RoostError) -> [UInt8] {
        let message = try await backend.ask {
            try await backend.conversations.message(sent.seq, of: id, for: caller.userID)
        }
        if let message { return JSONWriter.written { $0.message(message) } }
        // Hidden by its sender since: the message itself is still the answer.
        return sent.ownJSON
    }

    private func read(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (id, seq) = try position(request)
        return try await counts(of: id, caller, at: try await backend.commands.read(id, upTo: seq, by: caller.userID))
    }

    private func delivered(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (id, seq) = try position(request)
        return try await counts(of: id, caller, at: try await backend.commands.delivered(id, upTo: seq, by: caller.userID))
    }

    private func position(_ request: RequestContext) throws(RoostError) -> (ConversationID, Seq) {
        let id = try request.conversationID
        return (id, try JSONBody(request.body).requiredSeq("seq"))
    }

    private func counts(
        of id: ConversationID, _ caller: Caller, at position: ReadPosition
    ) async throws(RoostError) -> HTTPResponse {
        var counts = try await backend.found(.read, in: id, for: caller.userID) {
            try await backend.conversations.counts(of: id, for: caller.userID)
        }
        // Another device may have moved on meanwhile; never answer with less than what this call reached.
        counts.readSeq = max(counts.readSeq, position.readSeq)
        counts.deliveredSeq = max(counts.deliveredSeq, position.deliveredSeq)
        return .json { $0.counts(counts) }
    }
}

extension SentMessage {
    /// The message as REST shows it to its sender at first: nobody has it yet.
    fileprivate var ownJSON: [UInt8] { json.dropLast() + #","status":"sent","seenByCount":0}"#.utf8 }
}

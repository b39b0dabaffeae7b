import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// What is done to messages that exist, and searching them.
struct MessageActionRoutes: Sendable {
    let backend: Backend

    var routes: [Route] {
        [
            .user(.patch, "/v1/conversations/{conversationId}/messages/{seq}", body: .required, edit),
            .user(.delete, "/v1/conversations/{conversationId}/messages/{seq}", delete),
            .user(.put, "/v1/conversations/{conversationId}/messages/{seq}/reactions/{emoji}", react),
            .user(.delete, "/v1/conversations/{conversationId}/messages/{seq}/reactions/{emoji}", unreact),
            .user(.get, "/v1/search/messages", search),
        ]
    }

    private func edit(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let seq = try request.seq
        let text = try MessageText.validatedCaption(try JSONBody(request.body).requiredString("text"))
        return try await perform(.edit(seq, text: text), on: seq, request, caller)
    }

    private func delete(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let seq = try request.seq
        switch request.query.text("scope") {
        case "me":
            try await backend.commands.perform(.hide(seq), in: try request.conversationID, by: caller.userID)
            return .noContent
        case "everyone": return try await perform(.deleteForEveryone(seq), on: seq, request, caller)
        case nil, _?: throw RoostError(.badParameter, "scope is neither me nor everyone")
        }
    }

    private func react(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (seq, emoji) = (try request.seq, try emoji(request))
        return try await perform(.react(seq, emoji: emoji), on: seq, request, caller)
    }

    private func unreact(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (seq, emoji) = (try request.seq, try emoji(request))
        return try await perform(.unreact(seq, emoji: emoji), on: seq, request, caller)
    }

    private func emoji(_ request: RequestContext) throws(RoostError) -> String {
        guard let text = request.parameters["emoji"], let emoji = ReactionEmoji(text) else { throw .invalid("emoji", .invalid) }
        return emoji.text
    }

    /// Does it, and answers with the message as the caller sees it then.
    private func perform(
        _ action: ConversationAction, on seq: Seq, _ request: RequestContext, _ caller: Caller
    ) async throws(RoostError) -> HTTPResponse {
        let id = try request.conversationID
        try await backend.commands.perform(action, in: id, by: caller.userID)
        let message = try await backend.found(.read, in: id, for: caller.userID) {
            try await backend.conversations.message(seq, of: id, for: caller.userID)
        }
        return .json { $0.message(message) }
    }

    private func search(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (limit, cursor) = (try request.query.limit, try request.query.cursor)
        guard let query = try request.query.words("query", maximum: Limits.searchGraphemes) else {
            throw RoostError(.badParameter, "query is missing")
        }
        let conversation = try request.query.conversationID("conversationId")
        let find: @Sendable () async throws -> Page<SearchHit>? = {
            try await backend.conversations.search(
                query, in: conversation, for: caller.userID, cursor: cursor, limit: limit)
        }
        let page: Page<SearchHit>
        if let conversation {
            page = try await backend.found(.read, in: conversation, for: caller.userID, find)
        } else {
            page = try await backend.ask(find) ?? Page(items: [], nextCursor: nil)
        }
        return .json { $0.page(page) { $0.searchHit($1) } }
    }
}

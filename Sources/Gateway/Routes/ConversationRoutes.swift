import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// `/v1/conversations` and `/v1/sync`.
struct ConversationRoutes: Sendable {
    let backend: Backend
    let now: @Sendable () -> Timestamp

    var routes: [Route] {
        [
            .user(.post, "/v1/conversations", body: .required, create),
            .user(.get, "/v1/conversations", list),
            .user(.get, "/v1/conversations/{conversationId}", conversation),
            .user(.get, "/v1/conversations/{conversationId}/members", members),
            .user(.get, "/v1/sync", sync),
        ]
    }

    private func create(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let body = try JSONBody(request.body)
        guard try body.requiredString("kind") == ConversationKind.direct.rawValue else { throw .invalid("kind", .invalid) }
        let otherID = try body.requiredIdentifier("userId", UserID.self)
        if otherID == caller.userID { throw RoostError(.cannotChatWithSelf) }
        // Whoever was told an id may write to its user; being found in the directory is another matter.
        let user = try await backend.ask { try await backend.accounts.user(otherID) }
        guard let user, !user.isDeleted else { throw .invalid("userId", .unknown) }
        let opened = try await backend.ask {
            try await backend.conversations.openDirect(between: caller.userID, and: otherID, newID: .make(), at: now())
        }
        if opened.isNew { backend.signals.conversationOpened(opened.id, members: [caller.userID, otherID]) }
        let view = try await view(opened.id, caller)
        return .json(status: opened.isNew ? 201 : 200) { $0.conversation(view, caller: caller.userID) }
    }

    private func list(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (limit, cursor) = (try request.query.limit, try request.query.cursor)
        if try request.query.flag("archived") == true {
            // Nothing can be archived yet.
            guard cursor == nil else { throw RoostError(.badCursor) }
            return json(Page(items: [], nextCursor: nil), caller)
        }
        let page = try await backend.ask {
            try await backend.conversations.conversations(for: caller.userID, cursor: cursor, limit: limit, at: now())
        }
        return json(page, caller)
    }

    private func json(_ page: Page<ConversationView>, _ caller: Caller) -> HTTPResponse {
        .json { $0.page(page) { $0.conversation($1, caller: caller.userID) } }
    }

    private func conversation(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let view = try await view(try request.conversationID, caller)
        return .json { $0.conversation(view, caller: caller.userID) }
    }

    private func members(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (limit, cursor) = (try request.query.limit, try request.query.cursor)
        var after: UserID?
        if let cursor {
            guard let id = UserID(cursor) else { throw RoostError(.badCursor) }
            after = id
        }
        // By id, which no change of name or role moves.
        let all = try await view(try request.conversationID, caller).members.sorted { $0.userID < $1.userID }
        let rest = all.filter { member in after.map { member.userID > $0 } ?? true }
        let items = Array(rest.prefix(limit))
        let next = rest.count > limit ? items.last?.userID.description : nil
        return .json { $0.page(Page(items: items, nextCursor: next)) { $0.conversationMember($1) } }
    }

    private func sync(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let limit = try request.query.limit
        let since = request.query.text("since").flatMap { $0.isEmpty ? nil : $0 }
        if let since, since.utf8.count > 1024 { throw RoostError(.badCursor) }
        let page = try await backend.ask {
            try await backend.conversations.sync(for: caller.userID, since: since, limit: limit)
        }
        return .json { $0.syncPage(page, caller: caller.userID) }
    }

    private func view(_ id: ConversationID, _ caller: Caller) async throws(RoostError) -> ConversationView {
        let view = try await backend.ask { try await backend.conversations.conversation(id, for: caller.userID) }
        guard let view else { throw .notFound }
        return view
    }
}

import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// `/v1/conversations`, `/v1/channels` and `/v1/sync`: making and listing.
struct ConversationRoutes: Sendable {
    let backend: Backend
    let now: @Sendable () -> Timestamp

    var routes: [Route] {
        [
            .user(.post, "/v1/conversations", body: .required, create),
            .user(.get, "/v1/conversations", list),
            .user(.get, "/v1/conversations/{conversationId}", conversation),
            .user(.get, "/v1/channels", channels),
            .user(.get, "/v1/sync", sync),
        ]
    }

    private func create(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        switch try NewConversationInput(try JSONBody(request.body)) {
        case .direct(let user): return try await openDirect(with: user, caller)
        case .group(let group): return try await createGroup(group, caller)
        case .channel(let title, let about):
            if caller.isGuest { throw RoostError(.guestNotAllowed) }
            return try await create(
                NewConversation(
                    id: .make(), kind: .channel, creatorID: caller.userID, title: title, about: about, createdAt: now()), caller)
        }
    }

    private func openDirect(with otherID: UserID, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        if otherID == caller.userID { throw RoostError(.cannotChatWithSelf) }
        let existing = try await backend.ask {
            try await backend.conversations.directConversation(of: caller.userID, and: otherID)
        }
        if let existing { return try await answer(existing, caller) }
        // Whoever was told an id may write to its user; being found in the directory is another matter.
        let user = try await backend.ask { try await backend.accounts.user(otherID) }
        guard let user, !user.isDeleted else { throw .invalid("userId", .unknown) }
        let opened = try await backend.ask {
            try await backend.conversations.openDirect(between: caller.userID, and: otherID, newID: .make(), at: now())
        }
        if opened.isNew { backend.signals.conversationChanged(opened.id, for: [caller.userID, otherID]) }
        return try await answer(opened.id, caller, status: opened.isNew ? 201 : 200)
    }

    private func createGroup(_ group: NewConversationInput.Group, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        if caller.isGuest { throw RoostError(.guestNotAllowed) }
        let members = group.memberIDs.filter { $0 != caller.userID }
        guard members.count + 1 <= backend.rules.groupMembers else { throw RoostError(.memberLimit) }
        try await backend.checkUsers(members, field: "memberIds")
        var new = NewConversation(
            id: .make(), kind: .group, creatorID: caller.userID, title: group.title, history: group.history, memberIDs: members,
            createdAt: now())
        if let photoID = group.photoID { new.photo = try await backend.ownPhoto(photoID, of: caller.userID) }
        return try await create(new, caller)
    }

    private func create(_ new: NewConversation, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        do {
            try await backend.conversations.create(new)
        } catch {
            // A member's account was deleted since it was looked at.
            throw error.code == .conflict ? .invalid("memberIds", .unknown) : backend.clientError(error)
        }
        backend.signals.conversationChanged(new.id, for: [new.creatorID] + new.memberIDs)
        return try await answer(new.id, caller, status: 201)
    }

    private func answer(_ id: ConversationID, _ caller: Caller, status: Int = 200) async throws(RoostError) -> HTTPResponse {
        let view = try await backend.view(id, for: caller.userID)
        return .json(status: status) { $0.conversation(view, caller: caller.userID) }
    }

    private func list(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (limit, cursor) = (try request.query.limit, try request.query.cursor)
        let archived = try request.query.flag("archived") ?? false
        let page = try await backend.ask {
            try await backend.conversations.conversations(
                for: caller.userID, archived: archived, cursor: cursor, limit: limit, at: now())
        }
        return json(page, caller)
    }

    private func channels(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (limit, cursor) = (try request.query.limit, try request.query.cursor)
        let query = try request.query.words("query")
        let page = try await backend.ask {
            try await backend.conversations.channels(query: query, for: caller.userID, cursor: cursor, limit: limit)
        }
        return json(page, caller)
    }

    private func json(_ page: Page<ConversationView>, _ caller: Caller) -> HTTPResponse {
        .json { $0.page(page) { $0.conversation($1, caller: caller.userID) } }
    }

    private func conversation(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        try await answer(try request.conversationID, caller)
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
}

extension Backend {
    /// Fails with `unknown` on `field` unless all are users whose accounts exist.
    func checkUsers(_ ids: [UserID], field: String) async throws(RoostError) {
        guard !ids.isEmpty else { return }
        let users = try await ask { try await accounts.users(ids) }
        guard users.count(where: { !$0.isDeleted }) == ids.count else { throw .invalid(field, .unknown) }
    }
}

import ConversationCore
import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// What is done to a group or channel itself, to its members, and to one's own settings in any conversation.
struct GroupRoutes: Sendable {
    let backend: Backend
    let now: @Sendable () -> Timestamp

    var routes: [Route] {
        [
            .user(.patch, "/v1/conversations/{conversationId}", body: .required, change),
            .user(.delete, "/v1/conversations/{conversationId}", delete),
            .user(.patch, "/v1/conversations/{conversationId}/settings", body: .required, changeSettings),
            .user(.post, "/v1/conversations/{conversationId}/join", join),
            .user(.get, "/v1/conversations/{conversationId}/members", members),
            .user(.post, "/v1/conversations/{conversationId}/members", body: .required, addMembers),
            .user(.patch, "/v1/conversations/{conversationId}/members/{userId}", body: .required, changeRole),
            .user(.delete, "/v1/conversations/{conversationId}/members/{userId}", removeMember),
        ]
    }

    private func change(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let id = try request.conversationID
        let patch = try ConversationPatch(try JSONBody(request.body))
        var update = patch.update
        if let photoID = patch.photoID {
            try await backend.check(.update, in: id, for: caller.userID)
            if let photoID {
                update.photo = .some(try await backend.ownPhoto(photoID, of: caller.userID))
            } else {
                update.photo = .some(nil)
            }
        }
        try await backend.commands.perform(.update(update), in: id, by: caller.userID)
        return try await answer(id, caller)
    }

    private func delete(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        try await backend.commands.perform(.delete, in: try request.conversationID, by: caller.userID)
        return .noContent
    }

    private func changeSettings(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let id = try request.conversationID
        let change = try MemberSettingsChange(try JSONBody(request.body))
        let isMember = try await backend.ask {
            try await backend.conversations.changeSettings(of: id, for: caller.userID, change, at: now())
        }
        guard isMember else {
            throw try await backend.refusal(of: .changeSettings, in: id, for: caller.userID) ?? .notFound
        }
        backend.signals.conversationChanged(id, for: [caller.userID])
        return try await answer(id, caller)
    }

    private func join(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let id = try request.conversationID
        try await backend.commands.perform(.join, in: id, by: caller.userID)
        return try await answer(id, caller)
    }

    // MARK: Members

    private func members(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let id = try request.conversationID
        let (limit, cursor) = (try request.query.limit, try request.query.cursor)
        let page = try await backend.found(.read, in: id, for: caller.userID) {
            try await backend.conversations.members(of: id, for: caller.userID, cursor: cursor, limit: limit)
        }
        return .json { $0.page(page) { $0.conversationMember($1) } }
    }

    private func addMembers(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let id = try request.conversationID
        guard let users = try JSONBody(request.body).userIDs("userIds") else { throw .invalid("userIds", .required) }
        // Who may not add learns nothing of whom there is.
        try await backend.check(.addMembers, in: id, for: caller.userID)
        try await backend.checkUsers(users, field: "userIds")
        try await backend.commands.perform(.addMembers(users), in: id, by: caller.userID)
        return try await answer(id, caller)
    }

    private func changeRole(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (id, user) = (try request.conversationID, try request.userID)
        let role = try JSONBody(request.body).role()
        try await backend.commands.perform(.setRole(user, role), in: id, by: caller.userID)
        let member = try await backend.found(.read, in: id, for: caller.userID) {
            try await backend.conversations.member(user, of: id, for: caller.userID)
        }
        return .json { $0.conversationMember(member) }
    }

    private func removeMember(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (id, user) = (try request.conversationID, try request.userID)
        try await backend.commands.perform(.removeMember(user), in: id, by: caller.userID)
        return .noContent
    }

    private func answer(_ id: ConversationID, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let view = try await backend.view(id, for: caller.userID)
        return .json { $0.conversation(view, caller: caller.userID) }
    }
}

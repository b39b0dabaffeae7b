import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// `/v1/blocks`: with whom a user exchanges no direct messages.
struct BlockRoutes: Sendable {
    let backend: Backend
    let now: @Sendable () -> Timestamp

    var routes: [Route] {
        [
            .user(.get, "/v1/blocks", list),
            .user(.put, "/v1/blocks/{userId}", block),
            .user(.delete, "/v1/blocks/{userId}", unblock),
        ]
    }

    private func list(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (limit, cursor) = (try request.query.limit, try request.query.cursor)
        let page = try await backend.ask {
            try await backend.contacts.blocks(by: caller.userID, cursor: cursor, limit: limit)
        }
        return .json { $0.page(page) { $0.block($1) } }
    }

    private func block(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let user = try request.userID
        if user == caller.userID { throw RoostError(.cannotAddSelf, "you cannot block yourself") }
        let isBlocked = try await backend.ask { try await backend.contacts.blocks(user, by: caller.userID) }
        if !isBlocked {
            let visible = try await backend.ask { try await backend.accounts.visible([user], to: caller.userID) }
            guard visible.contains(user) else { throw .notFound }
            try await backend.ask { try await backend.contacts.block(user, by: caller.userID, at: now()) }
        }
        try await announce(user, caller)
        return .noContent
    }

    private func unblock(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let user = try request.userID
        try await backend.ask { try await backend.contacts.unblock(user, by: caller.userID) }
        try await announce(user, caller)
        return .noContent
    }

    /// Also where nothing was written now: an earlier call may have ended between the writing and this.
    private func announce(_ user: UserID, _ caller: Caller) async throws(RoostError) {
        let direct = try await backend.ask {
            try await backend.conversations.directConversation(of: caller.userID, and: user)
        }
        if let direct { try await backend.commands.refresh(direct, for: caller.userID) }
        backend.signals.blockChanged(between: caller.userID, and: user)
    }
}

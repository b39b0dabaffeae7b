import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// `/v1/me`, `/v1/users` and `/v1/presence`.
struct UserRoutes: Sendable {
    /// As many as fit into a request target of 8 KiB.
    static let presenceLimit = 200

    let backend: Backend
    private var presence: PresenceReader { PresenceReader(backend: backend) }

    var routes: [Route] {
        [
            .user(.get, "/v1/me", me),
            .user(.patch, "/v1/me", body: .required, changeMe),
            .user(.get, "/v1/users", directory),
            .user(.get, "/v1/users/lookup", limit: .lookup, lookup),
            .user(.get, "/v1/users/{userId}", user),
            .user(.get, "/v1/presence", presenceOfMany),
        ]
    }

    private func me(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let user = try await backend.ask { try await backend.accounts.user(caller.userID) }
        // Deleted while the token still lives.
        guard let user, !user.isDeleted else { throw RoostError(.unauthenticated) }
        return .json { $0.me(user, presence: nil) }
    }

    private func changeMe(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let input = try ProfileInput(try JSONBody(request.body))
        guard var change = input.change else { return try await me(request, caller) }
        change.photo = try await backend.ownPhoto(input.photoID, of: caller.userID)
        let user = try await backend.ask { try await backend.accounts.updateUser(caller.userID, change) }
        guard let user, !user.isDeleted else { throw RoostError(.unauthenticated) }
        backend.signals.userChanged(caller.userID)
        return .json { $0.me(user, presence: nil) }
    }

    private func directory(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (limit, cursor) = (try request.query.limit, try request.query.cursor)
        let query = try request.query.words("query")
        let page = try await backend.ask {
            try await backend.accounts.directory(query: query, caller: caller.userID, cursor: cursor, limit: limit)
        }
        let known = await presence.presenceIfKnown(of: page.items, for: caller.userID)
        return .json { $0.page(page) { $0.user($1, presence: known[$1.id]) } }
    }

    private func user(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let id = try request.userID
        let visible = try await backend.ask { try await backend.accounts.visible([id], to: caller.userID) }
        guard visible.contains(id) else { throw .notFound }
        guard let user = try await backend.ask({ try await backend.accounts.user(id) }) else { throw .notFound }
        let known = await presence.presenceIfKnown(of: [user], for: caller.userID)
        return .json { $0.user(user, presence: known[id]) }
    }

    /// By the exact email, also of those whom the directory does not show: whoever knows the address was given it.
    private func lookup(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        guard let text = request.query.text("email"), !text.isEmpty else {
            throw RoostError(.badParameter, "email is missing")
        }
        guard let email = Email(text)?.value,
            let user = try await backend.ask({ try await backend.accounts.user(withEmail: email) })
        else { throw .notFound }
        let known = await presence.presenceIfKnown(of: [user], for: caller.userID, areVisible: false)
        return .json { $0.user(user, presence: known[user.id]) }
    }

    private func presenceOfMany(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        guard let text = request.query.text("userIds") else { throw RoostError(.badParameter, "userIds is missing") }
        var ids: [UserID] = []
        var seen: Set<UserID> = []
        for part in text.split(separator: ",") {
            guard let id = UserID(part) else { throw RoostError(.badParameter, "userIds has something that is no id") }
            if seen.insert(id).inserted { ids.append(id) }
        }
        guard ids.count <= Self.presenceLimit else { throw RoostError(.badParameter, "userIds has too many") }
        let items = try await presence.visible(ids, to: caller.userID)
        return .json { $0.presenceList(items, key: "items") }
    }
}

import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// `/v1/contacts`: a user's private address book.
struct ContactRoutes: Sendable {
    let backend: Backend
    let now: @Sendable () -> Timestamp
    private var presence: PresenceReader { PresenceReader(backend: backend) }

    var routes: [Route] {
        [
            .user(.get, "/v1/contacts", list),
            // By email it is a question whether there is such an account.
            .user(.post, "/v1/contacts", body: .required, limit: .lookup, add),
            .user(.patch, "/v1/contacts/{userId}", body: .required, change),
            .user(.delete, "/v1/contacts/{userId}", remove),
        ]
    }

    private func list(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let (limit, cursor) = (try request.query.limit, try request.query.cursor)
        let page = try await backend.ask {
            try await backend.contacts.contacts(of: caller.userID, cursor: cursor, limit: limit)
        }
        let known = await presence.presenceIfKnown(of: page.items.map(\.user), for: caller.userID)
        return .json { $0.page(page) { $0.contact($1, presence: known[$1.user.id]) } }
    }

    private func add(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let input = try NewContactInput(try JSONBody(request.body))
        let user = try await find(input.subject, caller)
        if user == caller.userID { throw RoostError(.cannotAddSelf) }
        let photo = try await backend.ownPhoto(input.photoID, of: caller.userID)
        let new = NewContact(
            owner: caller.userID, user: user, isByEmail: input.subject.isEmail, nickname: input.nickname,
            photo: photo ?? nil, createdAt: now())
        let added: Contact?
        do {
            added = try await backend.contacts.addContact(new)
        } catch {
            throw error.code == .conflict ? RoostError(.alreadyContact) : backend.clientError(error)
        }
        guard let added else { throw .invalid(input.subject.field, .unknown) }
        return await json(added, caller, status: 201)
    }

    private func find(_ subject: NewContactInput.Subject, _ caller: Caller) async throws(RoostError) -> UserID {
        switch subject {
        case .email(let email):
            let user = try await backend.ask { try await backend.accounts.user(withEmail: email) }
            guard let user else { throw .invalid(subject.field, .unknown) }
            return user.id
        case .userID(let id):
            let visible = try await backend.ask { try await backend.accounts.visible([id], to: caller.userID) }
            guard visible.contains(id) else { throw .invalid(subject.field, .unknown) }
            return id
        }
    }

    private func change(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let user = try request.userID
        let input = try ContactInput(try JSONBody(request.body))
        var change = input.change
        change.photo = try await backend.ownPhoto(input.photoID, of: caller.userID)
        let changed = try await backend.ask {
            try await backend.contacts.changeContact(user, of: caller.userID, change)
        }
        guard let changed else { throw .notFound }
        return await json(changed, caller, status: 200)
    }

    private func remove(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let user = try request.userID
        let wasContact = try await backend.ask { try await backend.contacts.removeContact(user, of: caller.userID) }
        guard wasContact else { throw .notFound }
        return .noContent
    }

    private func json(_ contact: Contact, _ caller: Caller, status: Int) async -> HTTPResponse {
        let known = await presence.presenceIfKnown(of: [contact.user], for: caller.userID)
        return .json(status: status) { $0.contact(contact, presence: known[contact.user.id]) }
    }
}

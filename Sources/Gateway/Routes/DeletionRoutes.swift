import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// `DELETE /v1/me`: the end of an account.
struct DeletionRoutes: Sendable {
    let backend: Backend
    let passwords: PasswordHasher
    let eraser: AccountEraser

    var routes: [Route] { [.user(.delete, "/v1/me", body: .optional, limit: .signIn, deleteMe)] }

    private func deleteMe(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let given = try JSONBody(optional: request.body).string("password")
        let user = try await backend.ask { try await backend.accounts.user(caller.userID) }
        guard let user, !user.isDeleted else { throw RoostError(.unauthenticated) }
        if !user.isAnonymous {
            guard let given else { throw .invalid("password", .required) }
            let hash = try await backend.ask { try await backend.accounts.passwordHash(of: caller.userID) }
            guard try await passwords.verify(Password.normalized(given), against: hash) else {
                throw RoostError(.wrongPassword)
            }
        }
        guard try await eraser.delete(caller.userID) else { throw RoostError(.unauthenticated) }
        return .noContent
    }
}

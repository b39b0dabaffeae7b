import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// `/v1/auth`: accounts begin, devices log in and out.
struct AuthRoutes: Sendable {
    let desk: SessionDesk
    let passwords: PasswordHasher
    private var backend: Backend { desk.backend }
    private var authenticator: Authenticator { desk.authenticator }

    var routes: [Route] {
        [
            .open(.post, "/v1/auth/register", body: .required, register),
            .open(.post, "/v1/auth/login", body: .required, login),
            .open(.post, "/v1/auth/anonymous", body: .optional, anonymous),
            .open(.post, "/v1/auth/refresh", body: .required, refresh),
            .user(.post, "/v1/auth/logout", logout),
        ]
    }

    private func register(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let input = try RegisterInput(try JSONBody(request.body))
        let hash = try await passwords.hash(input.password)
        let id = UserID.make()
        let user = User(
            id: id, email: input.email, displayName: input.displayName ?? Self.defaultName("User", id),
            createdAt: authenticator.currentTime)
        return try await openAccount(user, passwordHash: hash, device: input.device)
    }

    private func anonymous(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let input = try GuestInput(try JSONBody(optional: request.body))
        let id = UserID.make()
        let user = User(
            id: id, email: nil, displayName: input.displayName ?? Self.defaultName("Guest", id),
            createdAt: authenticator.currentTime)
        return try await openAccount(user, passwordHash: nil, device: input.device)
    }

    private func openAccount(
        _ user: User, passwordHash: String?, device: DeviceInput
    ) async throws(RoostError) -> HTTPResponse {
        let refreshToken = try authenticator.refreshTokens().make()
        let device = desk.newDevice(of: user, device, refreshToken)
        let verification = user.email.map { _ in MailToken.verification(at: authenticator.currentTime) }
        do {
            try await backend.accounts.createUser(
                user, passwordHash: passwordHash, device: device, verification: verification)
        } catch {
            throw error.code == .conflict ? RoostError(.emailTaken) : backend.clientError(error)
        }
        if verification != nil { backend.mailQueued() }
        return try desk.session(of: user, device: device.id, refreshToken, status: 201)
    }

    /// Whatever is wrong with the email or the password, the answer and its cost are the same.
    private func login(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let input = try LoginInput(try JSONBody(request.body))
        var credentials: Credentials?
        if let email = input.email {
            credentials = try await backend.ask { try await backend.accounts.credentials(forEmail: email) }
        }
        let isRight = try await passwords.verify(input.password, against: credentials?.passwordHash)
        guard isRight, let credentials else { throw RoostError(.invalidCredentials) }
        if credentials.isSuspended { throw RoostError(.suspended) }
        let refreshToken = try authenticator.refreshTokens().make()
        let created = desk.newDevice(of: credentials.user, input.device, refreshToken)
        let isStillRight = try await backend.ask {
            try await backend.accounts.createDevice(created, checkedHash: credentials.passwordHash)
        }
        guard isStillRight else { throw RoostError(.invalidCredentials) }
        return try desk.session(of: credentials.user, device: created.id, refreshToken, status: 200)
    }

    private func refresh(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let text = try JSONBody(request.body).requiredString("refreshToken")
        guard let spent = SecretToken(text) else { throw RoostError(.unauthenticated) }
        let successor = try authenticator.refreshTokens().successor(of: spent)
        let now = authenticator.currentTime
        let outcome = try await backend.ask {
            try await backend.accounts.rotateRefreshToken(
                spent: spent.hash, successor: successor.hash, at: now, expiresAt: now + authenticator.refreshTokenLifetime,
                grace: Authenticator.refreshGrace)
        }
        switch outcome {
        case .rotated(let user, let device): return try desk.session(of: user, device: device, successor, status: 200)
        case .reused(let device):
            // Two parties hold the token, and nobody can tell which is the thief.
            desk.announceRevocation(of: [device])
            throw RoostError(.tokenReused)
        case .unknown: throw RoostError(.unauthenticated)
        }
    }

    private func logout(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        _ = try await desk.revoke(caller.deviceID, of: caller.userID)
        return .noContent
    }

    /// A name for those who gave none. Not a part of the email: others see names, and never emails.
    private static func defaultName(_ word: String, _ id: UserID) -> String { "\(word) \(id.description.suffix(6))" }
}

import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// `/v1/auth` and `/v1/devices`: accounts, tokens and devices.
struct AuthRoutes: Sendable {
    let backend: Backend
    let authenticator: Authenticator
    let passwords: PasswordHasher

    var routes: [Route] {
        [
            .open(.post, "/v1/auth/register", body: .required, register),
            .open(.post, "/v1/auth/login", body: .required, login),
            .open(.post, "/v1/auth/anonymous", body: .optional, anonymous),
            .open(.post, "/v1/auth/refresh", body: .required, refresh),
            .user(.post, "/v1/auth/logout", logout),
            .user(.get, "/v1/devices", devices),
            .user(.delete, "/v1/devices/{deviceId}", deleteDevice),
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
        let device = newDevice(of: user, device, refreshToken)
        do {
            try await backend.accounts.createUser(user, passwordHash: passwordHash, device: device)
        } catch {
            throw error.code == .conflict ? RoostError(.emailTaken) : backend.clientError(error)
        }
        return try session(of: user, device: device.id, refreshToken, status: 201)
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
        let created = newDevice(of: credentials.user, input.device, refreshToken)
        try await backend.ask { try await backend.accounts.createDevice(created) }
        return try session(of: credentials.user, device: created.id, refreshToken, status: 200)
    }

    private func refresh(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let text = try JSONBody(request.body).requiredString("refreshToken")
        guard let spent = RefreshToken(text) else { throw RoostError(.unauthenticated) }
        let successor = try authenticator.refreshTokens().successor(of: spent)
        let now = authenticator.currentTime
        let outcome = try await backend.ask {
            try await backend.accounts.rotateRefreshToken(
                spent: spent.hash, successor: successor.hash, at: now, expiresAt: now + authenticator.refreshTokenLifetime,
                grace: Authenticator.refreshGrace)
        }
        switch outcome {
        case .rotated(let user, let device): return try session(of: user, device: device, successor, status: 200)
        case .reused(let device):
            // Two parties hold the token, and nobody can tell which is the thief.
            announceRevocation(of: device)
            throw RoostError(.tokenReused)
        case .unknown: throw RoostError(.unauthenticated)
        }
    }

    private func logout(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        _ = try await revoke(caller.deviceID, of: caller.userID)
        return .noContent
    }

    private func devices(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let devices = try await backend.ask { try await backend.accounts.devices(of: caller.userID) }
        return .json { writer in
            writer.object { writer in
                writer.key("items")
                writer.array(devices) { $0.device($1, isCurrent: $1.id == caller.deviceID) }
            }
        }
    }

    private func deleteDevice(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let device = try request.deviceID
        guard try await revoke(device, of: caller.userID) else { throw .notFound }
        return .noContent
    }

    private func revoke(_ device: DeviceID, of user: UserID) async throws(RoostError) -> Bool {
        let now = authenticator.currentTime
        let wasLive = try await backend.ask { try await backend.accounts.revokeDevice(device, of: user, at: now) }
        if wasLive { announceRevocation(of: device) }
        return wasLive
    }

    private func announceRevocation(of device: DeviceID) {
        authenticator.revoke(device)
        backend.signals.deviceRevoked(device)
    }

    private func newDevice(of user: User, _ description: DeviceInput, _ token: RefreshToken) -> NewDevice {
        let now = authenticator.currentTime
        return NewDevice(
            id: .make(), userID: user.id, name: description.name, platform: description.platform, refreshToken: token.hash,
            createdAt: now, expiresAt: now + authenticator.refreshTokenLifetime)
    }

    private func session(
        of user: User, device: DeviceID, _ refreshToken: RefreshToken, status: Int
    ) throws(RoostError) -> HTTPResponse {
        let access = try authenticator.issueAccessToken(for: user.id, device: device, isGuest: user.isAnonymous)
        let session = AuthSession(
            user: user, deviceID: device, accessToken: access.text, accessTokenExpiresAt: access.caller.expiresAt,
            refreshToken: refreshToken.text)
        return .json(status: status) { $0.session(session) }
    }

    /// A name for those who gave none. Not a part of the email: others see names, and never emails.
    private static func defaultName(_ word: String, _ id: UserID) -> String { "\(word) \(id.description.suffix(6))" }
}

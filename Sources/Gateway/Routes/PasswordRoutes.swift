import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// `/v1/auth`: guests that become full accounts, forgotten and changed passwords, and proofs of an email's ownership.
struct PasswordRoutes: Sendable {
    let desk: SessionDesk
    let passwords: PasswordHasher
    /// How long the answer to a forgotten password takes, whether or not there is such an account.
    let forgotPace: Duration
    private var backend: Backend { desk.backend }
    private var now: Timestamp { desk.authenticator.currentTime }

    var routes: [Route] {
        [
            .user(.post, "/v1/auth/link", body: .required, limit: .signIn, link),
            .open(.post, "/v1/auth/password/forgot", body: .required, forgot),
            .open(.post, "/v1/auth/password/reset", body: .required, reset),
            .user(.post, "/v1/auth/password/change", body: .required, limit: .signIn, change),
            .open(.post, "/v1/auth/email/verify", body: .required, verify),
            .user(.post, "/v1/auth/email/resend", limit: .signIn, resend),
        ]
    }

    private func link(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let input = try LinkInput(try JSONBody(request.body))
        // What the token says may be old.
        let user = try await backend.ask { try await backend.accounts.user(caller.userID) }
        guard let user, !user.isDeleted else { throw RoostError(.unauthenticated) }
        guard user.isAnonymous else { throw RoostError(.conflict, "the account has an email") }
        let hash = try await passwords.hash(input.password)
        let refreshToken = try desk.authenticator.refreshTokens().make()
        let link = GuestLink(
            user: caller.userID, device: caller.deviceID, email: input.email, passwordHash: hash,
            refreshToken: refreshToken.hash, refreshExpiresAt: now + desk.authenticator.refreshTokenLifetime,
            verification: .verification(at: now))
        let linked: User?
        do {
            linked = try await backend.accounts.linkGuest(link)
        } catch {
            throw error.code == .conflict ? RoostError(.emailTaken) : backend.clientError(error)
        }
        // Linked from another device meanwhile, or logged out.
        guard let linked else { throw RoostError(.conflict) }
        backend.mailQueued()
        backend.signals.userChanged(caller.userID)
        return try desk.session(of: linked, device: caller.deviceID, refreshToken, status: 200)
    }

    /// The answer says nothing, and neither does its time.
    private func forgot(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let text = try JSONBody(request.body).requiredString("email")
        let end = ContinuousClock.now + forgotPace
        if let email = Email(text)?.value {
            let token = MailToken.reset(at: now)
            try await backend.ask { try await backend.accounts.requestPasswordReset(forEmail: email, token: token) }
            backend.mailQueued()
        }
        try? await ContinuousClock().sleep(until: end)
        return HTTPResponse(status: 202)
    }

    private func reset(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let input = try ResetInput(try JSONBody(request.body))
        guard let token = input.token?.hash else { throw RoostError(.tokenInvalid) }
        // Nobody makes the server hash passwords with a token that is not good.
        let now = now
        let isGood = try await backend.ask { try await backend.accounts.isResetToken(token, at: now) }
        guard isGood else { throw RoostError(.tokenInvalid) }
        let hash = try await passwords.hash(input.newPassword)
        let revoked = try await backend.ask {
            try await backend.accounts.resetPassword(token: token, passwordHash: hash, at: now)
        }
        guard let revoked else { throw RoostError(.tokenInvalid) }
        desk.announceRevocation(of: revoked)
        return .noContent
    }

    private func change(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let input = try ChangePasswordInput(try JSONBody(request.body))
        let present = try await backend.ask { try await backend.accounts.passwordHash(of: caller.userID) }
        guard let present else { throw RoostError(.guestNotAllowed, "there is no password to change") }
        guard try await passwords.verify(input.currentPassword, against: present) else { throw RoostError(.wrongPassword) }
        let hash = try await passwords.hash(input.newPassword)
        let revoked = try await backend.ask {
            try await backend.accounts.changePassword(
                of: caller.userID, expecting: present, to: hash, keeping: caller.deviceID)
        }
        guard let revoked else { throw RoostError(.wrongPassword) }
        desk.announceRevocation(of: revoked)
        return .noContent
    }

    private func verify(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let text = try JSONBody(request.body).requiredString("token")
        guard let token = SecretToken(text)?.hash else { throw RoostError(.tokenInvalid) }
        let now = now
        let owner = try await backend.ask { try await backend.accounts.verifyEmail(token: token, at: now) }
        guard owner != nil else { throw RoostError(.tokenInvalid) }
        return .noContent
    }

    private func resend(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let user = try await backend.ask { try await backend.accounts.user(caller.userID) }
        guard let user, !user.isDeleted else { throw RoostError(.unauthenticated) }
        if user.isAnonymous { throw RoostError(.guestNotAllowed, "there is no email to verify") }
        let token = MailToken.verification(at: now)
        try await backend.ask { try await backend.accounts.requestVerification(of: caller.userID, token: token) }
        backend.mailQueued()
        return .noContent
    }
}

import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// What all routes need that begin or end a device's session.
struct SessionDesk: Sendable {
    let backend: Backend
    let authenticator: Authenticator

    func newDevice(of user: User, _ description: DeviceInput, _ token: SecretToken) -> NewDevice {
        let now = authenticator.currentTime
        return NewDevice(
            id: .make(), userID: user.id, name: description.name, platform: description.platform, refreshToken: token.hash,
            createdAt: now, expiresAt: now + authenticator.refreshTokenLifetime)
    }

    func session(
        of user: User, device: DeviceID, _ refreshToken: SecretToken, status: Int
    ) throws(RoostError) -> HTTPResponse {
        let access = try authenticator.issueAccessToken(for: user.id, device: device, isGuest: user.isAnonymous)
        let session = AuthSession(
            user: user, deviceID: device, accessToken: access.text, accessTokenExpiresAt: access.caller.expiresAt,
            refreshToken: refreshToken.text)
        return .json(status: status) { $0.session(session) }
    }

    /// - Returns: whether it was a live device of the user.
    func revoke(_ device: DeviceID, of user: UserID) async throws(RoostError) -> Bool {
        let now = authenticator.currentTime
        let wasLive = try await backend.ask { try await backend.accounts.revokeDevice(device, of: user, at: now) }
        if wasLive { announceRevocation(of: [device]) }
        return wasLive
    }

    /// The store has revoked them: their sockets close, and their tokens are refused, on every node.
    func announceRevocation(of devices: [DeviceID]) {
        for device in devices {
            authenticator.revoke(device)
            backend.signals.deviceRevoked(device)
        }
    }
}

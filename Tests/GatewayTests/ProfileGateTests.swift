import Ports
import RoostModel
import Testing

@testable import Gateway

@Suite struct ProfileGateTests {
    /// A user whose profile is complete, and a token of theirs.
    private func completeUser(_ world: World) async throws -> (id: UserID, token: String) {
        let user = User(
            id: .make(), email: "done@x.example", displayName: "Done", profileCompleted: true, createdAt: .now)
        let device = NewDevice(
            id: .make(), userID: user.id, name: nil, platform: nil, refreshToken: TokenHash(Array(repeating: 7, count: 32)),
            createdAt: .now, expiresAt: .now + .seconds(1_000))
        try await world.accounts.createUser(user, passwordHash: nil, device: device)
        let token = try world.authenticator.issueAccessToken(for: user.id, device: device.id, isGuest: false)
        return (user.id, token.text)
    }

    @Test(arguments: Transport.allCases) func incompleteOnesMayDoLittle(_ transport: Transport) async throws {
        try await withGateway(transport, requiresProfile: true) { _, client in
            for account in [try await client.register("bob@x.example"), try await client.guest()] {
                for path in ["/v1/me", "/v1/devices"] {
                    #expect(try await client.call("GET", path, token: account.token).status == 200, "\(path)")
                }
                #expect(try await client.call("PATCH", "/v1/me", token: account.token, #"{"firstName":"B"}"#).status == 200)
                for path in ["/v1/users", "/v1/conversations", "/v1/sync", "/v1/users/\(account.id)"] {
                    let answer = try await client.call("GET", path, token: account.token)
                    #expect(answer.status == 403 && answer.code == "profileIncomplete", "\(path)")
                }
                #expect(
                    try await client.call("POST", "/v1/conversations", token: account.token, "{}").code == "profileIncomplete")
                #expect(try await client.call("GET", "/v1/sync", token: "nonsense").code == "unauthenticated")
                #expect(try await client.call("POST", "/v1/auth/logout", token: account.token).status == 204)
            }
        }
    }

    @Test func whoIsCompleteIsRemembered() async throws {
        try await withGateway(.router, requiresProfile: true) { world, client in
            let (_, token) = try await completeUser(world)
            func ask() async throws -> String? { try await client.call("GET", "/v1/presence", token: token).code }
            world.database.setAvailable(false)
            #expect(try await ask() == "unavailable")
            world.database.setAvailable(true)
            #expect(try await ask() == "badParameter")
            world.database.setAvailable(false)
            #expect(try await ask() == "badParameter", "the store was asked again")
        }
    }

    @Test func notRequiredUnlessSaidSo() async throws {
        try await withGateway(.router) { _, client in
            let guest = try await client.guest()
            #expect(try await client.call("GET", "/v1/sync", token: guest.token).status == 200)
        }
    }
}

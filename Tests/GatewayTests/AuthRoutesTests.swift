import RoostModel
import RoostProtocol
import Testing

@testable import Gateway
@testable import MemoryAdapters

@Suite struct AuthRoutesTests {
    @Test(arguments: Transport.allCases) func aNewAccountGetsASession(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let answer = try await client.call(
                "POST", "/v1/auth/register",
                #"{"email":" Bob@X.example ","password":"12345678","displayName":"Bob","device":{"name":"Phone","platform":"ios"}}"#
            )
            #expect(answer.status == 201)
            let session = try AuthSession.decode(answer.body)
            #expect(session.user.email == "bob@x.example")
            #expect(session.user.displayName == "Bob")
            #expect(!session.user.emailVerified && !session.user.profileCompleted && session.user.settings == UserSettings())
            #expect(session.accessTokenExpiresAt - world.authenticator.currentTime == .seconds(900))
            let me = try await client.call("GET", "/v1/me", token: session.accessToken)
            #expect(me.status == 200)
            #expect(me["id"]?.string == session.user.id.description)
        }
    }

    @Test(arguments: Transport.allCases) func oneAccountAnAddressHoweverItIsWritten(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            _ = try await client.register("bob@x.example")
            for same in ["Bob@X.example", " bob@x.example ", "BOB@X.EXAMPLE"] {
                let again = try await client.call("POST", "/v1/auth/register", #"{"email":"\#(same)","password":"12345678"}"#)
                #expect(again.status == 409 && again.code == "emailTaken", "\(same)")
                let login = try await client.call("POST", "/v1/auth/login", #"{"email":"\#(same)","password":"correct horse"}"#)
                #expect(login.status == 200, "\(same)")
            }
            _ = try await client.register("bob+a@x.example")
        }
    }

    @Test func everyWrongFieldIsNamedAtOnce() async throws {
        try await withGateway(.router) { _, client in
            let missing = try await client.call("POST", "/v1/auth/register", "{}")
            #expect(missing.status == 422 && missing.code == "validationFailed")
            #expect(missing.faults == ["email:required", "password:required"])
            let invalid = try await client.call("POST", "/v1/auth/register", #"{"email":"no address","displayName":"\u2066"}"#)
            #expect(invalid.faults == ["email:invalid", "password:required", "displayName:invalid"])
            let weak = try await client.call("POST", "/v1/auth/register", #"{"email":"a@x.example","password":"1234567"}"#)
            #expect(weak.status == 422 && weak.code == "weakPassword")
            let wrongType = try await client.call("POST", "/v1/auth/register", #"{"email":1,"password":"12345678"}"#)
            #expect(wrongType.status == 400 && wrongType.code == "malformed")
        }
    }

    @Test(arguments: Transport.allCases) func whatIsWrongWithALoginIsNotTold(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            _ = try await client.register("bob@x.example")
            var answers: [Answer] = []
            for body in [
                #"{"email":"bob@x.example","password":"wrong password"}"#,
                #"{"email":"eve@x.example","password":"correct horse"}"#,
                #"{"email":"not an address","password":"correct horse"}"#, #"{"email":"bob@x.example","password":"short"}"#,
            ] {
                answers.append(try await client.call("POST", "/v1/auth/login", body))
            }
            for answer in answers {
                #expect(answer.status == 401 && answer.code == "invalidCredentials")
                #expect(answer["detail"] == answers[0]["detail"])
                #expect(answer.header("WWW-Authenticate")?.hasPrefix("Bearer") == true)
            }
        }
    }

    @Test func aSuspendedUserIsToldSoOnlyWithTheRightPassword() async throws {
        try await withGateway(.router) { world, client in
            let bob = try await client.register("bob@x.example")
            world.database.tables.withLock { $0.users[UserID(bob.id)!]?.suspendedAt = .now }
            let right = try await client.call("POST", "/v1/auth/login", #"{"email":"bob@x.example","password":"correct horse"}"#)
            #expect(right.status == 403 && right.code == "suspended")
            let wrong = try await client.call("POST", "/v1/auth/login", #"{"email":"bob@x.example","password":"wrong password"}"#)
            #expect(wrong.status == 401)
        }
    }

    @Test(arguments: Transport.allCases) func guestsNeedNothing(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            let answer = try await client.call("POST", "/v1/auth/anonymous")
            #expect(answer.status == 201)
            #expect(answer["user"]?["isAnonymous"] == .bool(true))
            #expect(answer["user"]?["email"] == .null)
            let named = try await client.call("POST", "/v1/auth/anonymous", #"{"displayName":"  Eve\n Smith "}"#)
            #expect(named["user"]?["displayName"]?.string == "Eve Smith" || named["user"]?["displayName"]?.string == "Eve  Smith")
        }
    }

    @Test func aDefaultNameTellsNothingOfTheEmail() async throws {
        try await withGateway(.router) { _, client in
            let answer = try await client.call(
                "POST", "/v1/auth/register", #"{"email":"secret.bob@x.example","password":"12345678"}"#)
            let name = answer["user"]?["displayName"]?.string ?? ""
            #expect(name.hasPrefix("User ") && !name.lowercased().contains("bob"))
        }
    }

    @Test(arguments: Transport.allCases) func refreshTokensRotate(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let bob = try await client.register("bob@x.example")
            func refresh(_ token: String) async throws -> Answer {
                try await client.call("POST", "/v1/auth/refresh", #"{"refreshToken":"\#(token)"}"#)
            }
            let first = try await refresh(bob.refreshToken)
            #expect(first.status == 200 && first["deviceId"]?.string == bob.device)
            #expect(first["refreshToken"]?.string != bob.refreshToken)
            // The answer was lost: the same successor again.
            world.advance(by: .seconds(9))
            let again = try await refresh(bob.refreshToken)
            #expect(again.status == 200 && again["refreshToken"] == first["refreshToken"])
            // Much later somebody has stolen it: nobody's token works any more.
            world.advance(by: .seconds(11))
            let stolen = try await refresh(bob.refreshToken)
            #expect(stolen.status == 401 && stolen.code == "tokenReused")
            #expect(world.signals.heard.withLock { $0.revoked.map(\.description) } == [bob.device])
            #expect(try await client.call("GET", "/v1/me", token: bob.token).code == "unauthenticated")
            #expect(try await refresh(first["refreshToken"]?.string ?? "").code == "unauthenticated")
            #expect(try await refresh("nonsense").code == "unauthenticated")
            #expect(try await client.call("POST", "/v1/auth/refresh", "{}").faults == ["refreshToken:required"])
        }
    }

    @Test(arguments: Transport.allCases) func logoutEndsOneDeviceOnly(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let phone = try await client.register("bob@x.example")
            let login = #"{"email":"bob@x.example","password":"correct horse","device":{"name":"Laptop","platform":"linux"}}"#
            let laptop = try Account(await client.call("POST", "/v1/auth/login", login))
            let devices = try await client.call("GET", "/v1/devices", token: laptop.token)
            #expect(devices.items.count == 2)
            let current = try #require(devices.items.first { $0["isCurrent"] == .bool(true) })
            #expect(current["id"]?.string == laptop.device && current["name"]?.string == "Laptop")
            #expect(current["pushProvider"] == .null)

            #expect(try await client.call("POST", "/v1/auth/logout", token: phone.token).status == 204)
            #expect(try await client.call("GET", "/v1/me", token: phone.token).status == 401)
            #expect(try await client.call("GET", "/v1/me", token: laptop.token).status == 200)
            #expect(world.signals.heard.withLock { $0.revoked.map(\.description) } == [phone.device])
        }
    }

    @Test(arguments: Transport.allCases) func aDeviceIsDeletedByItsUserOnly(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            let bob = try await client.register("bob@x.example")
            let eve = try await client.register("eve@x.example")
            let strange = try await client.call("DELETE", "/v1/devices/\(bob.device)", token: eve.token)
            let unknown = try await client.call("DELETE", "/v1/devices/\(DeviceID.make())", token: eve.token)
            #expect(strange.status == 404 && strange.json["code"] == unknown.json["code"])
            #expect(try await client.call("DELETE", "/v1/devices/*", token: eve.token).status == 404)
            #expect(try await client.call("GET", "/v1/me", token: bob.token).status == 200)
            #expect(try await client.call("DELETE", "/v1/devices/\(bob.device)", token: bob.token).status == 204)
            #expect(try await client.call("GET", "/v1/me", token: bob.token).status == 401)
        }
    }

    @Test(arguments: Transport.allCases) func tokensExpire(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let bob = try await client.register("bob@x.example")
            world.advance(by: .seconds(901))
            let late = try await client.call("GET", "/v1/me", token: bob.token)
            #expect(late.status == 401 && late.code == "tokenExpired")
            #expect(late.header("WWW-Authenticate")?.contains("invalid_token") == true)
        }
    }

    @Test(arguments: [
        "", "Bearer", "Bearer a b", "Basic Zm9vOmJhcg==", "Bearer nonsense", "Bearer \(String(repeating: "A", count: 120))",
    ])
    func whatIsNoTokenIsRefused(_ header: String) async throws {
        try await withGateway(.router) { _, client in
            let answer = try await client.call("GET", "/v1/me", headers: [("Authorization", header)])
            #expect(answer.status == 401 && answer.code == "unauthenticated")
            #expect(answer.header("WWW-Authenticate") != nil)
        }
    }

    @Test func aTokenInTheURLIsNotLookedAt() async throws {
        try await withGateway(.router) { _, client in
            let bob = try await client.register("bob@x.example")
            #expect(try await client.call("GET", "/v1/me?access_token=\(bob.token)").status == 401)
        }
    }
}

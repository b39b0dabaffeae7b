import Ports
import RoostModel
import RoostProtocol
import Testing

@testable import Gateway
@testable import MemoryAdapters

@Suite struct PasswordRoutesTests {
    @Test(arguments: Transport.allCases) func aForgottenPasswordIsReset(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let bob = try await client.register("bob@x.example")
            let other = try await client.login("bob@x.example")
            for email in [" BOB@x.example", "nobody@x.example", "no address"] {
                #expect(try await client.forgot(email).status == 202)
            }
            #expect(try await client.call("POST", "/v1/auth/password/forgot", "{}").faults == ["email:required"])
            let mails = world.mails(.resetPassword)
            #expect(mails.map(\.recipient) == ["bob@x.example"])
            let token = try #require(mails.last?.token)
            #expect(try await client.reset(token, "short").code == "weakPassword")
            #expect(try await client.reset(token, "another horse").status == 204)
            let heard = world.signals.heard.withLock { $0.revoked }
            #expect(Set(heard.map(\.description)) == [bob.device, other.device])
            #expect(try await client.call("GET", "/v1/me", token: bob.token).code == "unauthenticated")
            let again = try await client.reset(token, "third horse")
            #expect(again.status == 422 && again.code == "tokenInvalid")
            #expect(try await client.tryLogin("bob@x.example", "correct horse").code == "invalidCredentials")
            #expect(try await client.tryLogin("bob@x.example", "another horse").status == 200)
        }
    }

    @Test func resetLinksDie() async throws {
        try await withGateway(.router) { world, client in
            let bob = try await client.register("bob@x.example")
            for _ in 0..<2 { _ = try await client.forgot("bob@x.example") }
            let tokens = world.mails(.resetPassword).map(\.token)
            #expect(tokens.count == 2)
            #expect(try await client.reset(tokens[0], "another horse").code == "tokenInvalid", "the older of two")
            #expect(try await client.change(bob, "correct horse", "second horse").status == 204)
            #expect(try await client.reset(tokens[1], "another horse").code == "tokenInvalid", "after a change")
            _ = try await client.forgot("bob@x.example")
            world.advance(by: .seconds(3_600))
            let late = try #require(world.mails(.resetPassword).last?.token)
            #expect(try await client.reset(late, "another horse").code == "tokenInvalid", "after an hour")
            for bad in ["", "x", late + "A"] {
                #expect(try await client.reset(bad, "another horse").code == "tokenInvalid")
            }
        }
    }

    @Test(arguments: Transport.allCases) func aChangedPasswordLogsTheOthersOut(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let bob = try await client.register("bob@x.example")
            let other = try await client.login("bob@x.example")
            let wrong = try await client.change(bob, "wrong horse", "second horse")
            #expect(wrong.status == 403 && wrong.code == "wrongPassword")
            #expect(try await client.change(bob, "correct horse", "short").code == "weakPassword")
            let missing = try await client.call("POST", "/v1/auth/password/change", token: bob.token, "{}")
            #expect(missing.faults == ["currentPassword:required", "newPassword:required"])
            #expect(world.signals.heard.withLock { $0.revoked.isEmpty })
            #expect(try await client.change(bob, "correct horse", "second horse").status == 204)
            #expect(world.signals.heard.withLock { $0.revoked }.map(\.description) == [other.device])
            #expect(try await client.call("GET", "/v1/me", token: bob.token).status == 200)
            #expect(try await client.call("GET", "/v1/me", token: other.token).status == 401)
            #expect(try await client.tryLogin("bob@x.example", "correct horse").status == 401)
            let guest = try await client.guest()
            #expect(try await client.change(guest, "correct horse", "second horse").code == "guestNotAllowed")
        }
    }

    @Test(arguments: Transport.allCases) func anEmailIsVerified(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let bob = try await client.register("bob@x.example")
            let mail = try #require(world.mails(.verifyEmail).first)
            #expect(mail.recipient == "bob@x.example")
            #expect(try await client.call("POST", "/v1/auth/email/resend", token: bob.token).status == 204)
            #expect(world.mails(.verifyEmail).count == 2)
            #expect(try await client.call("POST", "/v1/auth/email/verify", #"{"token":"x"}"#).code == "tokenInvalid")
            #expect(try await client.call("GET", "/v1/me", token: bob.token)["emailVerified"] == .bool(false))
            #expect(try await client.call("POST", "/v1/auth/email/verify", #"{"token":"\#(mail.token)"}"#).status == 204)
            #expect(try await client.call("GET", "/v1/me", token: bob.token)["emailVerified"] == .bool(true))
            #expect(try await client.call("POST", "/v1/auth/email/resend", token: bob.token).status == 204)
            #expect(world.mails(.verifyEmail).count == 2, "a verified email gets no more of them")
            let guest = try await client.guest()
            #expect(try await client.call("POST", "/v1/auth/email/resend", token: guest.token).code == "guestNotAllowed")
        }
    }

    @Test(arguments: Transport.allCases) func aGuestIsLinked(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let bob = try await client.register("bob@x.example")
            let guest = try await client.guest()
            let chat = try await client.openDirect(guest, with: bob)
            func link(_ account: Account, _ email: String, _ password: String = "guest horse") async throws -> Answer {
                try await client.call(
                    "POST", "/v1/auth/link", token: account.token, #"{"email":"\#(email)","password":"\#(password)"}"#)
            }
            let taken = try await link(guest, "Bob@x.example")
            #expect(taken.status == 409 && taken.code == "emailTaken")
            #expect(try await link(guest, "eve@x.example", "short").code == "weakPassword")
            #expect(try await client.call("GET", "/v1/me", token: guest.token)["isAnonymous"] == .bool(true))
            let answer = try await link(guest, "eve@x.example")
            #expect(answer.status == 200)
            let linked = try Account(answer)
            #expect(linked.id == guest.id && linked.device == guest.device)
            #expect(answer["user"]?["email"]?.string == "eve@x.example" && answer["user"]?["isAnonymous"] == .bool(false))
            #expect(try await client.call("GET", "/v1/conversations/\(chat)", token: linked.token).status == 200)
            #expect(try await client.tryLogin("eve@x.example", "guest horse").status == 200)
            // A lost answer logs nobody out.
            for token in [guest.refreshToken, linked.refreshToken] {
                #expect(try await client.call("POST", "/v1/auth/refresh", #"{"refreshToken":"\#(token)"}"#).status == 200)
            }
            #expect(try await link(linked, "eve2@x.example").code == "conflict")
            #expect(world.mails(.verifyEmail).map(\.recipient) == ["bob@x.example", "eve@x.example"])
        }
    }

    @Test(arguments: Transport.allCases) func aPushTokenIsSetAndLeavesWithItsDevice(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            let (bob, eve) = (try await client.register("bob@x.example"), try await client.register("eve@x.example"))
            func put(_ account: Account, _ json: String) async throws -> Answer {
                try await client.call("PUT", "/v1/devices/current/push", token: account.token, json)
            }
            func provider(_ account: Account) async throws -> JSONValue? {
                try await client.call("GET", "/v1/devices", token: account.token).items.first?["pushProvider"]
            }
            #expect(try await put(bob, "{}").faults == ["provider:required", "token:required"])
            #expect(try await put(bob, #"{"provider":"sms","token":"a b"}"#).faults == ["provider:invalid", "token:invalid"])
            #expect(try await put(bob, #"{"provider":"webpush","token":"https://p.example/1"}"#).faults == ["keys:required"])
            #expect(try await provider(bob) == .null)
            #expect(try await put(bob, #"{"provider":"fcm","token":"abc"}"#).status == 204)
            #expect(try await provider(bob)?.string == "fcm")
            // Another user logs in on the same phone.
            #expect(try await put(eve, #"{"provider":"fcm","token":"abc"}"#).status == 204)
            #expect(try await provider(bob) == .null)
            #expect(try await client.call("DELETE", "/v1/devices/current/push", token: eve.token).status == 204)
            #expect(try await provider(eve) == .null)
        }
    }
}

extension World {
    /// Those that wait, oldest first.
    func mails(_ kind: MailKind) -> [MailRow] { database.tables.withLock { $0.mails.filter { $0.kind == kind } } }
}

extension TestClient {
    func login(_ email: String, _ password: String = "correct horse") async throws -> Account {
        try Account(try await tryLogin(email, password))
    }

    func tryLogin(_ email: String, _ password: String) async throws -> Answer {
        try await call("POST", "/v1/auth/login", #"{"email":"\#(email)","password":"\#(password)"}"#)
    }

    fileprivate func forgot(_ email: String) async throws -> Answer {
        try await call("POST", "/v1/auth/password/forgot", #"{"email":"\#(email)"}"#)
    }

    fileprivate func reset(_ token: String, _ password: String) async throws -> Answer {
        try await call("POST", "/v1/auth/password/reset", #"{"token":"\#(token)","newPassword":"\#(password)"}"#)
    }

    fileprivate func change(_ account: Account, _ current: String, _ new: String) async throws -> Answer {
        try await call(
            "POST", "/v1/auth/password/change", token: account.token,
            #"{"currentPassword":"\#(current)","newPassword":"\#(new)"}"#)
    }
}

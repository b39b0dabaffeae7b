import EdgeServer
import RoostModel
import RoostProtocol
import Testing

@testable import Gateway
@testable import MemoryAdapters

@Suite struct AdminUserRoutesTests {
    @Test func operatorsSuspendAndLogOut() async throws {
        try await withGateway(.router) { world, client in
            let admin = AdminClient(gateway: world.admin)
            let bob = try await client.register("bob@x.example", name: "Bob")
            let path = "/admin/v1/users/\(bob.id)"
            #expect(try await admin.call("POST", "\(path)/logout", token: "wrong").status == 401)
            #expect(try await admin.call("POST", "\(path)/logout", token: World.adminToken).status == 204)
            #expect(try await client.call("GET", "/v1/me", token: bob.token).status == 401)
            let again = try await client.login("bob@x.example")
            _ = try await client.call("POST", "/v1/auth/password/forgot", #"{"email":"bob@x.example"}"#)
            let link = try #require(world.mails(.resetPassword).last?.token)
            let named = [("X-Roost-Operator", "alice")]
            #expect(try await admin.call("POST", "\(path)/suspend", token: World.adminToken, headers: named).status == 204)
            #expect(try await client.call("GET", "/v1/me", token: again.token).status == 401)
            #expect(try await client.tryLogin("bob@x.example", "correct horse").code == "suspended")
            let refresh = try await client.call(
                "POST", "/v1/auth/refresh", #"{"refreshToken":"\#(again.refreshToken)"}"#)
            #expect(refresh.status == 401)
            let reset = try await client.call(
                "POST", "/v1/auth/password/reset", #"{"token":"\#(link)","newPassword":"another horse"}"#)
            #expect(reset.code == "tokenInvalid")
            _ = try await client.call("POST", "/v1/auth/password/forgot", #"{"email":"bob@x.example"}"#)
            #expect(world.mails(.resetPassword).count == 1, "the suspended get no mail")
            let listed = try await admin.call("GET", "/admin/v1/users?query=BOB@", token: World.adminToken)
            #expect(listed.items.count == 1 && listed.items[0]["suspendedAt"]?.string != nil)
            #expect(listed.items[0]["email"]?.string == "bob@x.example")
            #expect(try await admin.call("POST", "\(path)/unsuspend", token: World.adminToken).status == 204)
            #expect(try await client.tryLogin("bob@x.example", "correct horse").status == 200)
            for verb in ["suspend", "unsuspend", "logout"] {
                let unknown = "/admin/v1/users/\(UserID.make())/\(verb)"
                #expect(try await admin.call("POST", unknown, token: World.adminToken).status == 404)
            }
            let audit = try await admin.call("GET", "/admin/v1/audit", token: World.adminToken)
            #expect(audit.items.map { $0["action"]?.string } == ["user.unsuspend", "user.suspend", "user.logout"])
            #expect(audit.items.map { $0["operator"]?.string } == ["operator", "alice", "operator"])
            #expect(audit.items.allSatisfy { $0["subject"]?.string == bob.id && $0["at"]?.string != nil })
        }
    }

    @Test(arguments: [true, false]) func deletedAccountsAreGone(byOperator: Bool) async throws {
        try await withGateway(.router) { world, client in
            let bob = try await client.register("bob@x.example", name: "Bob")
            let eve = try await client.register("eve@x.example", name: "Eve")
            _ = try await client.call("POST", "/v1/contacts", token: eve.token, #"{"email":"bob@x.example"}"#)
            let chat = try await client.openDirect(bob, with: eve)
            _ = try await client.post("hello", clientID: "1", by: bob, in: chat)
            func deletion(_ json: String?) async throws -> Answer {
                try await client.call("DELETE", "/v1/me", token: bob.token, json)
            }
            if byOperator {
                let admin = AdminClient(gateway: world.admin)
                let path = "/admin/v1/users/\(bob.id)"
                #expect(try await admin.call("DELETE", path, token: World.adminToken).status == 204)
                #expect(try await admin.call("DELETE", path, token: World.adminToken).status == 404)
                let listed = try await admin.call("GET", "/admin/v1/users?query=\(bob.id)", token: World.adminToken)
                #expect(listed.items.first?["deletedAt"]?.string != nil && listed.items.first?["email"] == .null)
            } else {
                #expect(try await deletion(nil).faults == ["password:required"])
                let wrong = try await deletion(#"{"password":"wrong horse"}"#)
                #expect(wrong.status == 403 && wrong.code == "wrongPassword")
                #expect(try await deletion(#"{"password":"correct horse"}"#).status == 204)
            }
            #expect(world.signals.heard.withLock { $0.revoked.map(\.description) } == [bob.device])
            #expect(world.signals.heard.withLock { $0.deleted.map(\.description) } == [bob.id])
            #expect(try await deletion(#"{"password":"correct horse"}"#).status == 401)
            #expect(try await client.tryLogin("bob@x.example", "correct horse").status == 401)
            let shown = try await client.call("GET", "/v1/users/\(bob.id)", token: eve.token)
            #expect(shown["displayName"]?.string == "Deleted account" && shown["isDeleted"] == .bool(true))
            let stranger = try await client.guest()
            #expect(try await client.call("GET", "/v1/users/\(bob.id)", token: stranger.token).status == 404)
            #expect(try await client.call("GET", "/v1/users/lookup?email=bob@x.example", token: eve.token).status == 404)
            #expect(try await client.call("GET", "/v1/contacts", token: eve.token).items.isEmpty)
            let view = try await client.call("GET", "/v1/conversations/\(chat)", token: eve.token)
            #expect(view["isReadOnly"] == .bool(true) && view["lastMessage"]?["text"]?.string == "hello")
            // The email is free at once, and is another account now.
            #expect(try await client.register("bob@x.example").id != bob.id)
        }
    }

    @Test func guestsDeleteThemselvesWithoutAPassword() async throws {
        try await withGateway(.router) { _, client in
            let guest = try await client.guest()
            #expect(try await client.call("DELETE", "/v1/me", token: guest.token, "{}").status == 204)
            #expect(try await client.call("GET", "/v1/me", token: guest.token).status == 401)
        }
    }
}

/// Straight into the operators' listener, without a socket.
struct AdminClient: TestClient {
    let gateway: AdminGateway

    func send(_ method: String, _ target: String, headers: [(String, String)], body: [UInt8]) async throws -> Answer {
        let head = try HTTPRequestHead(method: method, target: target, headers: HTTPHeaders(headers + [("Host", "test")]))
        return try await Answer(await gateway.respond(to: HTTPRequest(head: head, body: body)))
    }
}

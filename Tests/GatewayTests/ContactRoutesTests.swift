import RoostModel
import RoostProtocol
import Testing

@testable import Gateway

@Suite struct ContactRoutesTests {
    @Test(arguments: Transport.allCases) func anAddressBookIsKept(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            let bob = try await client.register("bob@x.example", name: "Bob")
            let eve = try await client.register("eve@x.example", name: "Eve")
            let zoe = try await client.register("zoe@x.example", name: "Zoë")
            func add(_ json: String) async throws -> Answer {
                try await client.call("POST", "/v1/contacts", token: bob.token, json)
            }
            let byEmail = try await add(#"{"email":" EVE@x.example","nickname":"  Evi "}"#)
            #expect(byEmail.status == 201)
            #expect(byEmail["user"]?["id"]?.string == eve.id && byEmail["user"]?["presence"] != .null)
            #expect(byEmail["email"]?.string == "eve@x.example" && byEmail["nickname"]?.string == "Evi")
            #expect(byEmail["photo"] == .null && byEmail["createdAt"]?.string != nil)
            let byID = try await add(#"{"userId":"\#(zoe.id)"}"#)
            #expect(byID.status == 201 && byID["email"] == .null && byID["nickname"] == .null)
            #expect(byID["user"]?["email"] == nil)
            #expect(try await add(#"{"userId":"\#(eve.id)"}"#).code == "alreadyContact")
            #expect(try await add(#"{"email":"eve@x.example"}"#).status == 409)
            for own in [#"{"userId":"\#(bob.id)"}"#, #"{"email":"bob@x.example"}"#] {
                let answer = try await add(own)
                #expect(answer.status == 422 && answer.code == "cannotAddSelf")
            }
            #expect(try await add("{}").faults == ["email:required"])
            #expect(try await add(#"{"email":"nobody@x.example"}"#).faults == ["email:unknown"])
            #expect(try await add(#"{"email":"nobody"}"#).faults == ["email:invalid"])
            #expect(try await add(#"{"userId":"\#(UserID.make())"}"#).faults == ["userId:unknown"])
            #expect(try await add(#"{"userId":"x"}"#).faults == ["userId:unknown"])
            #expect(try await add(#"{"userId":"\#(zoe.id)","email":"eve@x.example"}"#).faults == ["userId:invalid"])

            let page = try await client.call("GET", "/v1/contacts?limit=1", token: bob.token)
            #expect(page.items.map { $0["user"]?["id"]?.string } == [eve.id])
            let cursor = try #require(page["nextCursor"]?.string)
            let rest = try await client.call("GET", "/v1/contacts?limit=1&cursor=\(cursor)", token: bob.token)
            #expect(rest.items.map { $0["user"]?["id"]?.string } == [zoe.id] && rest["nextCursor"] == .null)
            #expect(try await client.call("GET", "/v1/contacts", token: eve.token).items.isEmpty, "it is private")

            func patch(_ id: String, _ json: String) async throws -> Answer {
                try await client.call("PATCH", "/v1/contacts/\(id)", token: bob.token, json)
            }
            #expect(try await patch(eve.id, "{}")["nickname"]?.string == "Evi")
            #expect(try await patch(eve.id, #"{"nickname":null}"#)["nickname"] == .null)
            #expect(try await patch(zoe.id, #"{"nickname":"Z"}"#)["nickname"]?.string == "Z")
            #expect(try await patch(bob.id, #"{"nickname":"Me"}"#).status == 404)
            #expect(try await client.call("DELETE", "/v1/contacts/\(eve.id)", token: bob.token).status == 204)
            #expect(try await client.call("DELETE", "/v1/contacts/\(eve.id)", token: bob.token).status == 404)
        }
    }

    @Test(arguments: Transport.allCases) func usersAreFoundByTheirExactEmail(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            let bob = try await client.register("bob@x.example", name: "Bob")
            let eve = try await client.register("eve@x.example", name: "Eve")
            func lookup(_ email: String) async throws -> Answer {
                try await client.call("GET", "/v1/users/lookup?email=\(email)", token: bob.token)
            }
            let found = try await lookup("Eve@X.example")
            #expect(found.status == 200 && found["id"]?.string == eve.id && found["email"] == nil)
            #expect(found["presence"]?["state"]?.string == "offline")
            for email in ["ev@x.example", "eve", "nobody@x.example", "eve@x.exampl"] {
                #expect(try await lookup(email).status == 404, "\(email)")
            }
            #expect(try await client.call("GET", "/v1/users/lookup", token: bob.token).code == "badParameter")

            // Whom the directory does not show is found by whoever was given the email, but their presence is not theirs to see
            // until they are a contact.
            _ = try await client.call("PATCH", "/v1/me", token: eve.token, #"{"settings":{"directoryVisible":false}}"#)
            #expect(try await lookup("eve@x.example")["presence"] == .null)
            #expect(try await client.call("GET", "/v1/users/\(eve.id)", token: bob.token).status == 404)
            let stranger = try await client.call(
                "POST", "/v1/contacts", token: bob.token, #"{"userId":"\#(eve.id)"}"#)
            #expect(stranger.faults == ["userId:unknown"])
            _ = try await client.call("POST", "/v1/contacts", token: bob.token, #"{"email":"eve@x.example"}"#)
            #expect(try await lookup("eve@x.example")["presence"] != .null)
            #expect(try await client.call("GET", "/v1/users/\(eve.id)", token: bob.token).status == 200)
            let presence = try await client.call("GET", "/v1/presence?userIds=\(eve.id)", token: bob.token)
            #expect(presence.items.count == 1)
        }
    }

    @Test(arguments: Transport.allCases) func blockedPairsSeeEachOtherOffline(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let bob = try await client.register("bob@x.example", name: "Bob")
            let eve = try await client.register("eve@x.example", name: "Eve")
            let ids = [bob, eve].map { UserID($0.id)! }
            try await world.accounts.recordLastSeen([ids[0]: .now, ids[1]: .now])
            world.presence.states.withLock { $0[ids[1]] = .online }
            func presence(_ of: Account, _ by: Account) async throws -> JSONValue? {
                try await client.call("GET", "/v1/presence?userIds=\(of.id)", token: by.token).items.first
            }
            #expect(try await presence(eve, bob)?["state"]?.string == "online")
            #expect(try await presence(bob, eve)?["lastSeenAt"]?.string != nil)
            let path = "/v1/blocks/\(eve.id)"
            for _ in 0..<2 { #expect(try await client.call("PUT", path, token: bob.token).status == 204) }
            #expect(world.signals.heard.withLock { $0.blocks.first } == Set(ids))
            #expect(try await presence(eve, bob)?["state"]?.string == "offline")
            #expect(try await presence(eve, bob)?["lastSeenAt"] == .null)
            #expect(try await presence(bob, eve)?["lastSeenAt"] == .null)
            let shown = try await client.call("GET", "/v1/users/\(bob.id)", token: eve.token)
            #expect(shown.status == 200 && shown["presence"]?["lastSeenAt"] == .null)
            let page = try await client.call("GET", "/v1/blocks", token: bob.token)
            #expect(page.items.map { $0["user"]?["id"]?.string } == [eve.id] && page.items[0]["createdAt"]?.string != nil)
            #expect(try await client.call("GET", "/v1/blocks", token: eve.token).items.isEmpty)
            // Opening the chat still answers as ever.
            _ = try await client.openDirect(eve, with: bob)
            for _ in 0..<2 { #expect(try await client.call("DELETE", path, token: bob.token).status == 204) }
            #expect(try await presence(eve, bob)?["state"]?.string == "online")
            #expect(try await client.call("PUT", "/v1/blocks/\(bob.id)", token: bob.token).code == "cannotAddSelf")
            #expect(try await client.call("PUT", "/v1/blocks/\(UserID.make())", token: bob.token).status == 404)
            #expect(try await client.call("PUT", "/v1/blocks/x", token: bob.token).status == 404)
            #expect(try await client.call("DELETE", "/v1/blocks/\(UserID.make())", token: bob.token).status == 204)
        }
    }
}

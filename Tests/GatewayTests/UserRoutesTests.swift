import RoostModel
import RoostProtocol
import Testing

@testable import Gateway

@Suite struct UserRoutesTests {
    @Test(arguments: Transport.allCases) func aProfileIsPatched(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let bob = try await client.register("bob@x.example", name: "Bob")
            func patch(_ json: String) async throws -> Answer { try await client.call("PATCH", "/v1/me", token: bob.token, json) }

            let full = try await patch(
                #"{"firstName":"Bob","lastName":"Müller","phone":"+49 30 1234567","about":"Hi\nthere","settings":{"shareLastSeen":false}}"#
            )
            #expect(full.status == 200)
            #expect(full["firstName"]?.string == "Bob" && full["lastName"]?.string == "Müller")
            #expect(full["settings"]?["shareLastSeen"] == .bool(false) && full["settings"]?["pushPreview"] == .bool(true))
            #expect(world.signals.heard.withLock { $0.changed.count } == 1)

            let cleared = try await patch(#"{"firstName":null,"photoMediaId":null,"unknown":[1]}"#)
            #expect(cleared["firstName"] == .null && cleared["lastName"]?.string == "Müller")
            #expect(try await patch(#"{"displayName":null}"#).faults == ["displayName:required"])
            #expect(try await patch(#"{"photoMediaId":"x"}"#).faults == ["photoMediaId:unknown"])
            #expect(try await patch(#"{"settings":{"pushPreview":1}}"#).code == "malformed")
            #expect(
                try await patch(#"{"displayName":"  ","lastName":"\#(String(repeating: "x", count: 81))"}"#).faults
                    == ["lastName:tooLong", "displayName:required"])
            // What changes nothing is announced to nobody.
            let before = world.signals.heard.withLock { $0.changed.count }
            #expect(try await patch("{}").status == 200)
            #expect(world.signals.heard.withLock { $0.changed.count } == before)
        }
    }

    @Test(arguments: Transport.allCases) func theDirectoryIsPaged(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            let caller = try await client.register("caller@x.example", name: "Caller")
            var expected: Set<String> = []
            for index in 0..<5 { expected.insert(try await client.register("u\(index)@x.example", name: "Uli \(index)").id) }
            _ = try await client.guest()
            var (found, cursor): ([String], String?) = ([], nil)
            repeat {
                let page = try await client.call(
                    "GET", "/v1/users?query=uli&limit=2" + (cursor.map { "&cursor=\($0)" } ?? ""), token: caller.token)
                #expect(page.status == 200 && page.items.count <= 2)
                found += page.items.compactMap { $0["id"]?.string }
                #expect(page.items.allSatisfy { $0["email"] == nil && $0["phone"] == nil && $0["presence"] != .null })
                cursor = page["nextCursor"]?.string
            } while cursor != nil
            #expect(found.count == 5 && Set(found) == expected)
        }
    }

    @Test(arguments: Transport.allCases) func onlyVisibleUsersAreShown(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            let bob = try await client.register("bob@x.example", name: "Bob")
            let eve = try await client.register("eve@x.example", name: "Eve")
            let shown = try await client.call("GET", "/v1/users/\(bob.id)", token: eve.token)
            #expect(shown.status == 200 && shown["displayName"]?.string == "Bob" && shown["email"] == nil)
            _ = try await client.call("PATCH", "/v1/me", token: bob.token, #"{"settings":{"directoryVisible":false}}"#)
            let hidden = try await client.call("GET", "/v1/users/\(bob.id)", token: eve.token)
            let madeUp = try await client.call("GET", "/v1/users/\(UserID.make())", token: eve.token)
            #expect(hidden.status == 404 && hidden.json == madeUp.json(like: hidden))
            _ = try await client.openDirect(bob, with: eve)
            #expect(try await client.call("GET", "/v1/users/\(bob.id)", token: eve.token).status == 200)
            #expect(try await client.call("GET", "/v1/users/\(bob.id)", token: bob.token).status == 200)
        }
    }

    @Test func presenceKeepsWhatIsNotShared() async throws {
        try await withGateway(.router) { world, client in
            let bob = try await client.register("bob@x.example")
            let eve = try await client.register("eve@x.example")
            let (bobID, eveID) = (UserID(bob.id)!, UserID(eve.id)!)
            func presence(of id: String) async throws -> JSONValue? {
                try await client.call("GET", "/v1/presence?userIds=\(id)", token: eve.token).items.first
            }
            try await world.accounts.recordLastSeen([bobID: .now, eveID: .now])
            #expect(try await presence(of: bob.id)?["state"]?.string == "offline")
            #expect(try await presence(of: bob.id)?["lastSeenAt"]?.string != nil)
            world.presence.states.withLock { $0[bobID] = .away }
            #expect(try await presence(of: bob.id)?["state"]?.string == "away")
            #expect(try await presence(of: bob.id)?["lastSeenAt"] == .null)
            world.presence.states.withLock { $0[bobID] = .offline }
            // Either of the two not sharing hides it.
            for (hider, other) in [(bob, eve), (eve, bob)] {
                _ = try await client.call("PATCH", "/v1/me", token: hider.token, #"{"settings":{"shareLastSeen":false}}"#)
                _ = try await client.call("PATCH", "/v1/me", token: other.token, #"{"settings":{"shareLastSeen":true}}"#)
                #expect(try await presence(of: bob.id)?["lastSeenAt"] == .null)
            }
            let guest = try await client.guest()
            #expect(try await presence(of: guest.id) == nil)
            #expect(try await presence(of: UserID.make().description) == nil)
        }
    }

    @Test func presenceChecksItsParameter() async throws {
        try await withGateway(.router) { world, client in
            let bob = try await client.register("bob@x.example")
            func get(_ query: String) async throws -> Answer {
                try await client.call("GET", "/v1/presence\(query)", token: bob.token)
            }
            #expect(try await get("").code == "badParameter")
            #expect(try await get("?userIds=x").code == "badParameter")
            #expect(try await get("?userIds=").items.isEmpty)
            let many = (0...200).map { _ in UserID.make().description }.joined(separator: ",")
            #expect(try await get("?userIds=\(many)").code == "badParameter")
            let twice = try await get("?userIds=\(bob.id),\(bob.id)")
            #expect(twice.items.count == 1)
            world.presence.isAway.withLock { $0 = true }
            let away = try await get("?userIds=\(bob.id)")
            #expect(away.status == 503 && away.header("Retry-After") != nil)
            // A profile is still worth showing without it.
            #expect(try await client.call("GET", "/v1/users/\(bob.id)", token: bob.token)["presence"] == .null)
        }
    }
}

extension Answer {
    /// The JSON with the other's request id, which alone may differ between answers that must look alike.
    func json(like other: Answer) -> JSONValue {
        guard case .object(var members) = json else { return json }
        members["requestId"] = other["requestId"]
        return .object(members)
    }
}

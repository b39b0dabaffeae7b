import RoostModel
import RoostProtocol
import Testing

@testable import Gateway

@Suite struct ChatRoutesTests {
    @Test(arguments: Transport.allCases) func aPairHasOneDirectConversation(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let bob = try await client.register("bob@x.example")
            let eve = try await client.guest()
            let first = try await client.call(
                "POST", "/v1/conversations", token: bob.token, #"{"kind":"direct","userId":"\#(eve.id)"}"#)
            #expect(first.status == 201)
            let view = try ConversationView.decode(first.body)
            #expect(view.lastSeq == .zero && view.kind == .direct && view.unreadCount == 0)
            #expect(Set(view.members.map(\.userID.description)) == [bob.id, eve.id])
            let second = try await client.call(
                "POST", "/v1/conversations", token: eve.token, #"{"kind":"direct","userId":"\#(bob.id)"}"#)
            #expect(second.status == 200 && second["id"] == first["id"])
            #expect(world.signals.heard.withLock { $0.opened } == [view.id])
        }
    }

    @Test func whatCannotBeOpened() async throws {
        try await withGateway(.router) { _, client in
            let bob = try await client.register("bob@x.example")
            func open(_ json: String) async throws -> Answer {
                try await client.call("POST", "/v1/conversations", token: bob.token, json)
            }
            #expect(try await open(#"{"kind":"direct","userId":"\#(bob.id)"}"#).code == "cannotChatWithSelf")
            #expect(try await open(#"{"kind":"direct","userId":"\#(UserID.make())"}"#).faults == ["userId:unknown"])
            #expect(try await open(#"{"kind":"direct","userId":"*"}"#).faults == ["userId:unknown"])
            #expect(try await open(#"{"kind":"direct"}"#).faults == ["userId:required"])
            #expect(try await open(#"{"kind":"circle"}"#).faults == ["kind:invalid"])
            #expect(try await open(#"{"kind":"group","title":" "}"#).faults == ["title:required"])
            #expect(try await open("{}").faults == ["kind:required"])
            #expect(try await open("").code == "malformed")
        }
    }

    @Test(arguments: Transport.allCases) func messagesTravel(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            let bob = try await client.register("bob@x.example")
            let eve = try await client.register("eve@x.example")
            let chat = try await client.openDirect(bob, with: eve)
            let base = "/v1/conversations/\(chat)"
            for number in 1...5 {
                let sent = try await client.post("Grüße \(number) 👩‍👩‍👧", clientID: "c\(number)", by: bob, in: chat)
                #expect(sent.status == 201 && sent["seq"]?.integer == Int64(number))
                #expect(sent["status"]?.string == "sent" && sent["seenByCount"]?.integer == 0)
                #expect(sent["text"]?.string == "Grüße \(number) 👩‍👩‍👧")
            }
            let newest = try HistoryPage.decode(
                try await client.call("GET", "\(base)/messages?limit=2", token: eve.token).body)
            #expect(newest.items.map(\.message.seq.value) == [4, 5] && newest.hasMoreBefore && !newest.hasMoreAfter)
            #expect(newest.items.allSatisfy { $0.delivery == nil })
            let before = try HistoryPage.decode(
                try await client.call("GET", "\(base)/messages?before=3", token: eve.token).body)
            #expect(before.items.map(\.message.seq.value) == [1, 2])
            let changes = try ChangesPage.decode(
                try await client.call("GET", "\(base)/changes?after=3", token: eve.token).body)
            #expect(changes.items.map(\.message.seq.value) == [4, 5] && changes.upToSeq == Seq(5) && !changes.hasMore)

            let read = try await client.call("POST", "\(base)/read", token: eve.token, #"{"seq":3}"#)
            #expect(read.status == 200 && read["readSeq"]?.integer == 3 && read["unreadCount"]?.integer == 2)
            let back = try await client.call("POST", "\(base)/read", token: eve.token, #"{"seq":1}"#)
            #expect(back["readSeq"]?.integer == 3)
            let delivered = try await client.call("POST", "\(base)/delivered", token: eve.token, #"{"seq":999}"#)
            #expect(delivered["deliveredSeq"]?.integer == 5 && delivered["readSeq"]?.integer == 3)

            let receipts = try await client.call("GET", "\(base)/messages/3/receipts", token: bob.token)
            #expect(receipts["status"]?.string == "read" && receipts["seenBy"]?.array?.count == 1)
            // Sent again: the same message, as it is now.
            let again = try await client.post("Grüße 3 👩‍👩‍👧", clientID: "c3", by: bob, in: chat)
            #expect(again.status == 200 && again["seq"]?.integer == 3 && again["status"]?.string == "read")
            #expect(again["seenByCount"]?.integer == 1)
            let other = try await client.post("another text", clientID: "c3", by: bob, in: chat)
            #expect(other.status == 409 && other.code == "clientIdReused")
        }
    }

    @Test func whatCannotBeSent() async throws {
        try await withGateway(.router) { _, client in
            let bob = try await client.register("bob@x.example")
            let chat = try await client.openDirect(bob, with: try await client.guest())
            func send(_ json: String) async throws -> Answer {
                try await client.call("POST", "/v1/conversations/\(chat)/messages", token: bob.token, json)
            }
            #expect(try await send("{}").faults == ["clientId:required"])
            #expect(try await send(#"{"clientId":"a"}"#).faults == ["type:required"])
            #expect(try await send(#"{"clientId":"a","type":"text","text":" \n\u200b"}"#).code == "emptyMessage")
            #expect(try await send(#"{"clientId":"a","type":"text"}"#).faults == ["text:required"])
            #expect(try await send(#"{"clientId":"a","type":"image","text":"x"}"#).faults == ["mediaId:required"])
            #expect(try await send(#"{"clientId":"a","type":"system","text":"x"}"#).faults == ["type:invalid"])
            #expect(try await send(#"{"clientId":"a","type":"text","text":"x","replyTo":1}"#).faults == ["replyTo:unknown"])
            #expect(try await send(#"{"clientId":"a","type":"image","mediaId":"m"}"#).faults == ["mediaId:unknown"])
            let long = String(repeating: "x", count: Limits.textGraphemes + 1)
            #expect(try await send(#"{"clientId":"a","type":"text","text":"\#(long)"}"#).faults == ["text:tooLong"])
            let longID = String(repeating: "i", count: 65)
            #expect(try await send(#"{"clientId":"\#(longID)","type":"text","text":"x"}"#).faults == ["clientId:tooLong"])
            #expect(try await send(#"{"clientId":"a","type":"text","text":"x","mentions":[],"replyTo":null}"#).status == 201)
        }
    }

    @Test(arguments: Transport.allCases) func listsAndMembersArePaged(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            let bob = try await client.register("bob@x.example")
            var chats: Set<String> = []
            for _ in 0..<3 { chats.insert(try await client.openDirect(bob, with: try await client.guest())) }
            let first = try await client.call("GET", "/v1/conversations?limit=2", token: bob.token)
            let cursor = try #require(first["nextCursor"]?.string)
            let second = try await client.call("GET", "/v1/conversations?limit=2&cursor=\(cursor)", token: bob.token)
            #expect(second["nextCursor"] == .null)
            #expect(Set((first.items + second.items).compactMap { $0["id"]?.string }) == chats)
            #expect(try await client.call("GET", "/v1/conversations?archived=true", token: bob.token).items.isEmpty)

            let chat = try #require(chats.first)
            let page = try await client.call("GET", "/v1/conversations/\(chat)/members?limit=1", token: bob.token)
            let next = try #require(page["nextCursor"]?.string)
            let rest = try await client.call("GET", "/v1/conversations/\(chat)/members?limit=1&cursor=\(next)", token: bob.token)
            #expect(rest["nextCursor"] == .null)
            #expect(Set((page.items + rest.items).compactMap { $0["userId"]?.string }).count == 2)

            let sync = try await client.call("GET", "/v1/sync", token: bob.token)
            #expect(sync["conversations"]?.array?.count == 3 && sync["hidden"]?.array == [] && sync["hasMore"] == .bool(false))
            let since = try await client.call("GET", "/v1/sync?since=\(sync["token"]?.string ?? "")", token: bob.token)
            #expect(since["conversations"]?.array == [])
        }
    }

    /// Another's conversation and one that does not exist must look alike on every route.
    @Test(arguments: Transport.allCases) func thereIsNoExistenceOracle(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            let bob = try await client.register("bob@x.example")
            let eve = try await client.register("eve@x.example")
            let real = try await client.openDirect(bob, with: try await client.guest())
            _ = try await client.post("secret", clientID: "c1", by: bob, in: real)
            let calls: [(String, String, String?)] = [
                ("GET", "", nil), ("GET", "/members", nil), ("GET", "/messages", nil), ("GET", "/messages?before=2", nil),
                ("GET", "/messages/1/receipts", nil), ("GET", "/changes?after=0", nil),
                ("POST", "/messages", #"{"clientId":"x","type":"text","text":"hello"}"#), ("POST", "/read", #"{"seq":1}"#),
                ("POST", "/delivered", #"{"seq":1}"#), ("GET", "/members?limit=0", nil), ("POST", "/messages", "{}"),
                ("POST", "/read", "{}"),
            ]
            for (method, path, body) in calls {
                let found = try await client.call(method, "/v1/conversations/\(real)\(path)", token: eve.token, body)
                let madeUp = try await client.call(
                    method, "/v1/conversations/\(ConversationID.make())\(path)", token: eve.token, body)
                #expect(found.status == madeUp.status && found.json == madeUp.json(like: found), "\(method) \(path)")
                if body == nil && !path.contains("limit=0") { #expect(found.status == 404, "\(method) \(path)") }
                #expect(Set(found.headers.map(\.name)) == Set(madeUp.headers.map(\.name)), "\(method) \(path)")
            }
        }
    }
}

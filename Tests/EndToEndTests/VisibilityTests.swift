import TestSupport
import Testing

extension EndToEnd {
    /// What is not for everyone: history before joining, what one hid, what lies between the two of a block; and one's own settings.
    @Suite struct Visibility {
        @Test func whoJoinsLaterSeesNothingOlderWhereHistoryBeginsWithJoining() async throws {
            let cluster = try await Cluster.shared()
            let admin = try await Person.registered("Admin", of: cluster, node: 1)
            let early = try await Person.guest("Early", of: cluster, node: 2)
            let late = try await Person.guest("Late", of: cluster, node: 3)
            let chat = try await admin.group("Group", [early], ["history": "sinceJoined"])
            let home = try await late.chat(with: early)
            let old = try await admin.say("ancient words", in: chat)
            let socket = try await Socket.connect(late)
            _ = try await admin.add([late.id], to: chat).expect(200)
            let joined = try #require(try await late.conversation(chat)["lastSeq"].int)
            _ = try await admin.edit(old, in: chat, "ancient words, edited").expect(200)
            _ = try await early.react("👍", to: old, in: chat).expect(200)
            let answer = try #require(
                try await early.send(["text": "an answer", "replyTo": .int(old)], to: chat).expect(201).json["seq"].int)

            func isYoung(_ message: JSON) -> Bool { message["seq"].int ?? 0 >= joined && message["replyTo"].isNull }
            for node in 1...3 {
                let reader = late.at(node)
                let history = try await reader.history(chat)
                #expect(history.seqs == [joined, answer] && history.allSatisfy(isYoung))
                let around = try await reader.call("GET", in: chat, "/messages?around=\(old)").expect(200).json
                #expect(around["items"].items.allSatisfy(isYoung) && around["hasMoreBefore"] == false)
                let changes = try await reader.changes(chat, after: 0)
                #expect(changes["items"].items.seqs == [joined, answer] && changes["upToSeq"] == .int(answer))
                for place in [nil, chat] { #expect(try await reader.search("ancient", in: place).isEmpty) }
                #expect(try await reader.search("answer").allSatisfy(isYoung))
                let row = try await reader.conversation(chat)
                #expect(row["unreadCount"] == 1 && isYoung(row["lastMessage"]))
            }
            #expect(try await early.search("ancient").seqs == [old], "others find it")
            #expect(try await early.message(answer, in: chat)["replyTo"]["text"] == "ancient words, edited")

            for refused in [
                try await late.react("👍", to: old, in: chat), try await late.delete(old, in: chat, for: "me"),
                try await late.delete(old, in: chat, for: "everyone"), try await late.edit(old, in: chat, "x"),
                try await late.call("GET", in: chat, "/messages/\(old)/receipts"),
            ] { #expect(refused.status == 404, "\(refused)") }
            #expect(try await late.send(["text": "r", "replyTo": .int(old)], to: chat).status == 422)
            #expect(try await late.forward(old, of: chat, to: home).status == 422)

            // Live, the count goes on without what it counts.
            try await socket.message("an answer", in: chat)
            let told = socket.events("message").filter { $0["conversationId"] == .string(chat) }
            #expect(told.seqs == Array(joined...answer))
            #expect(told.map { $0["message"].isNull } == [false, true, true, false])
            #expect(told.last?["message"]["replyTo"].isNull == true)

            // A return is a new joining.
            _ = try await admin.remove(late.id, from: chat).expect(204)
            try await admin.say("missed", in: chat)
            _ = try await admin.add([late.id], to: chat).expect(200)
            try await admin.say("welcome back", in: chat)
            #expect(try await late.history(chat).ofPeople.texts == ["welcome back"])
            #expect(try await late.changes(chat, after: 0)["items"].items.ofPeople.texts == ["welcome back"])
            _ = try await admin.call("PATCH", in: chat, "", ["history": "full"]).expect(200)
            #expect(
                try await late.history(chat).ofPeople.texts
                    == ["ancient words, edited", "an answer", "missed", "welcome back"])
            #expect(try await late.search("ancient").seqs == [old])
        }

        @Test func whatOneHidIsHiddenOnAllDevicesAndForNobodyElse() async throws {
            let cluster = try await Cluster.shared()
            let email = Person.uniqueEmail()
            let phone = try await Person.registered("Alice", of: cluster, node: 1, email: email)
            let desktop = try await Person.loggedIn(email: email, of: cluster, node: 2)
            let bob = try await Person.guest("Bob", of: cluster, node: 3)
            let chat = try await bob.chat(with: phone)
            try await bob.say("kept", in: chat)
            let seq = try await bob.say("embarrassing", in: chat)
            let token = try await desktop.sync().token
            let sockets = [try await Socket.connect(phone.at(3)), try await Socket.connect(desktop)]
            let bobs = try await Socket.connect(bob)
            for _ in 0..<2 { _ = try await phone.delete(seq, in: chat, for: "me").expect(204) }
            for socket in sockets {
                let event = try await socket.event("hidden")
                #expect(event["conversationId"] == .string(chat) && event["seq"] == .int(seq))
            }
            let reply = try #require(
                try await bob.send(["text": "as I said", "replyTo": .int(seq)], to: chat).expect(201).json["seq"].int)
            _ = try await bob.edit(seq, in: chat, "embarrassing, edited").expect(200)
            for device in [phone, desktop] {
                #expect(try await device.history(chat).texts == ["kept", "as I said"])
                #expect(try await device.changes(chat, after: 0)["items"].items.texts == ["kept", "as I said"])
                #expect(try await device.message(reply, in: chat)["replyTo"].isNull)
                #expect(try await device.search("embarrassing").isEmpty)
                let row = try await device.conversation(chat)
                #expect(row["unreadCount"] == 2 && row["lastMessage"]["text"] == "as I said")
                #expect(try await device.react("👍", to: seq, in: chat).status == 404)
            }
            let synced = try await desktop.sync(since: token)
            #expect(synced.hidden == [["conversationId": .string(chat), "seq": .int(seq)]])
            #expect(try await bob.history(chat).texts == ["kept", "embarrassing, edited", "as I said"])
            try await bobs.message("embarrassing, edited", in: chat)
            #expect(bobs.events("hidden").isEmpty)
            for socket in sockets {
                let event = try await socket.event("message") { $0["seq"] == .int(reply + 1) }
                #expect(event["message"].isNull, "the edit is counted and not shown")
                #expect(socket.events("hidden").count == 1)
            }
        }

        @Test func nothingPassesBetweenBlockerAndBlocked() async throws {
            let cluster = try await Cluster.shared()
            let alice = try await Person.registered("Alice", of: cluster, node: 1)
            let bob = try await Person.registered("Bob", of: cluster, node: 2)
            let group = try await alice.group("Group", [bob])
            let chat = try await alice.chat(with: bob)
            try await bob.say("before", in: chat)
            let alices = try await Socket.connect(alice)
            let bobs = try await Socket.connect(bob.at(3))
            for (socket, other) in [(alices, bob), (bobs, alice)] {
                let watched = try await socket.request("watch", ["userIds": [.string(other.id)]])
                #expect(watched["result"]["presence"][0]["state"] == "online")
            }
            _ = try await alice.call("PUT", "/v1/blocks/\(bob.id)").expect(204)
            _ = try await alice.at(2).call("PUT", "/v1/blocks/\(bob.id)").expect(204)
            #expect(try await alice.pages("/v1/blocks").map { $0["user"]["id"].string } == [bob.id])
            #expect(try await bob.pages("/v1/blocks").isEmpty, "nobody is told")

            for (person, socket) in [(alice, alices), (bob, bobs)] {
                for node in 1...3 { #expect(try await person.at(node).post("x", to: chat).expect(403).code == "blocked") }
                #expect(try await socket.post("x", to: chat)["error"]["code"] == "blocked")
                #expect(try await person.chat(with: person.id == alice.id ? bob : alice) == chat, "opening answers as ever")
            }
            for (person, other, socket) in [(alice, bob, alices), (bob, alice, bobs)] {
                let gone: JSON = ["userId": .string(other.id), "state": "offline", "lastSeenAt": nil]
                _ = try await socket.event("presence") { $0["presence"] == gone }
                for node in 1...3 {
                    try await eventually("offline, on node \(node)") { try await person.at(node).presence(of: other) == gone }
                }
            }
            _ = try await bobs.request("typing", ["conversationId": .string(chat), "active": true])
            // In a group both are as ever.
            _ = try await bobs.request("typing", ["conversationId": .string(group), "active": true])
            _ = try await alices.event("typing") { $0["conversationId"] == .string(group) }
            try await bob.say("in the group", in: group)
            try await alices.message("in the group", in: group)
            #expect(!alices.events("typing").contains { $0["conversationId"] == .string(chat) })
            #expect(try await alice.history(chat).texts == ["before"])

            _ = try await alice.call("DELETE", "/v1/blocks/\(bob.id)").expect(204)
            try await bob.say("after", in: chat)
            try await alices.message("after", in: chat)
            for (person, other) in [(alice, bob), (bob, alice)] {
                try await eventually("online again") { try await person.presence(of: other)["state"] == "online" }
            }
        }

        @Test func pinnedArchivedAndMutedAreOnesOwnOnAllDevices() async throws {
            let cluster = try await Cluster.shared()
            let email = Person.uniqueEmail()
            let alice = try await Person.registered("Alice", of: cluster, node: 1, email: email)
            let desktop = try await Person.loggedIn(email: email, of: cluster, node: 2)
            let bob = try await Person.registered("Bob", of: cluster, node: 3)
            var chats: [String] = []
            for title in ["one", "two", "three"] {
                chats.append(try await bob.group(title, [alice]))
                try await bob.say("hello", in: chats[chats.count - 1])
            }
            let socket = try await Socket.connect(desktop)
            let bobs = try await Socket.connect(bob)
            func list(_ query: String = "") async throws -> [String] {
                try await desktop.at(3).pages("/v1/conversations\(query)").ids
            }
            func set(_ chat: String, _ fields: JSON) async throws -> JSON {
                try await alice.call("PATCH", in: chat, "/settings", fields).expect(200).json
            }
            #expect(try await list() == [chats[2], chats[1], chats[0]])
            #expect(try await !set(chats[0], ["pinned": true])["pinnedAt"].isNull)
            let event = try await socket.event("conversation") { !$0["conversation"]["pinnedAt"].isNull }
            #expect(event["conversation"]["id"] == .string(chats[0]))
            #expect(try await list() == [chats[0], chats[2], chats[1]])

            for chat in chats.prefix(2) { #expect(try await !set(chat, ["archived": true])["archivedAt"].isNull) }
            #expect(try await list() == [chats[2]])
            #expect(try await Set(list("?archived=true")) == Set(chats.prefix(2)))
            // A muted one stays where it is.
            #expect(
                try await set(chats[1], ["mutedUntil": "2099-01-01T00:00:00.000Z"])["mutedUntil"] == "2099-01-01T00:00:00.000Z")
            for chat in chats.prefix(2) { try await bob.say("news", in: chat) }
            #expect(try await list() == [chats[0], chats[2]])
            #expect(try await list("?archived=true") == [chats[1]])
            #expect(try await desktop.conversation(chats[1])["unreadCount"] == 2, "muted is not read")
            #expect(try await set(chats[1], ["mutedUntil": nil])["mutedUntil"].isNull)
            try await bob.say("more news", in: chats[1])
            #expect(try await list() == [chats[0], chats[1], chats[2]])
            // One's own message brings nothing back.
            _ = try await set(chats[2], ["archived": true])
            try await alice.say("mine", in: chats[2])
            #expect(try await list() == [chats[0], chats[1]])
            #expect(try await set(chats[0], ["pinned": false])["pinnedAt"].isNull)
            #expect(try await list() == [chats[1], chats[0]])
            for chat in chats {
                let others = try await bob.conversation(chat)
                for key in ["pinnedAt", "archivedAt", "mutedUntil"] { #expect(others[key].isNull) }
            }
            try await bobs.settle()
            #expect(bobs.events("conversation").isEmpty)
        }
    }
}

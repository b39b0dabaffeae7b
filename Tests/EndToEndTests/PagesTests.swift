import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Pages, counters, receipts.
    @Suite struct Pages {
        @Test func pagesOfAThousandMessagesWhileMoreArriveAreExact() async throws {
            let (alice, bob, chat) = try await pair()
            let count = 1_000
            let more = 200
            let socket = try await Socket.connect(alice)
            for start in stride(from: 0, to: count, by: 100) {
                var ids: [String] = []
                for number in start..<start + 100 {
                    let body: JSON = [
                        "conversationId": .string(chat), "clientId": .string("m\(number)"), "type": "text",
                        "text": .string("\(number)"),
                    ]
                    ids.append(try await socket.begin("send", body))
                }
                for id in ids { #expect(try await socket.answer(id, to: "send")["ok"] == true) }
            }
            let arriving = Task {
                for number in 0..<more { _ = try await alice.at(3).post("late \(number)", to: chat).expect(201) }
            }
            var backwards: [Int] = []
            var before: Int?
            while true {
                let query = before.map { "before=\($0)&" } ?? ""
                let page = try await bob.call("GET", "/v1/conversations/\(chat)/messages?\(query)limit=37").expect(200).json
                let seqs = page["items"].items.compactMap { $0["seq"].int }
                #expect(seqs == seqs.sorted(), "a page ascends")
                backwards = seqs + backwards
                before = seqs.first
                if page["hasMoreBefore"] != true { break }
            }
            let newestSeen = try #require(backwards.last)
            #expect(newestSeen >= count && backwards == Array(1...newestSeen))
            try await arriving.value
            let forwards = try await bob.history(chat, pageSize: 41).compactMap { $0["seq"].int }
            #expect(forwards == Array(1...count + more))
            let around = try await bob.call("GET", "/v1/conversations/\(chat)/messages?around=500&limit=21").expect(200).json
            #expect(around["items"].items.compactMap { $0["seq"].int } == Array(490...510))
            #expect(around["hasMoreBefore"] == true && around["hasMoreAfter"] == true && around["lastSeq"] == .int(count + more))
        }

        @Test func theListOfConversationsPagesExactlyWhileOthersComeToTheTop() async throws {
            let cluster = try await Cluster.shared()
            let alice = try await Person.guest("Alice", of: cluster)
            var chats: Set<String> = []
            var friends: [(Person, String)] = []
            for number in 0..<12 {
                let friend = try await Person.guest("Friend \(number)", of: cluster, node: number)
                let chat = try await friend.chat(with: alice)
                _ = try await friend.post("hello", to: chat).expect(201)
                chats.insert(chat)
                friends.append((friend, chat))
            }
            var seen: [String] = []
            var cursor = ""
            while true {
                let page = try await alice.call("GET", "/v1/conversations?limit=5&cursor=\(cursor)").expect(200).json
                seen += page["items"].items.compactMap { $0["id"].string }
                guard let next = page["nextCursor"].string else { break }
                cursor = next
                let (friend, chat) = friends[0]
                _ = try await friend.post("up", to: chat).expect(201)
            }
            #expect(Set(seen).isSuperset(of: chats.subtracting([friends[0].1])))
            #expect(seen.count == Set(seen).count, "none is repeated")
            #expect(try await alice.call("GET", "/v1/conversations?cursor=x").expect(400).code == "badCursor")
            #expect(try await alice.call("GET", "/v1/conversations?limit=0").expect(400).code == "badParameter")
        }

        @Test func unreadCountsTheOthersMessagesOnly() async throws {
            let cluster = try await Cluster.shared()
            let email = Person.uniqueEmail()
            let alice = try await Person.registered("Alice", of: cluster, email: email)
            let bob = try await Person.guest("Bob", of: cluster, node: 2)
            let chat = try await alice.chat(with: bob)
            for number in 0..<3 { _ = try await bob.post("\(number)", to: chat).expect(201) }
            _ = try await alice.post("mine", to: chat).expect(201)
            for node in 1...3 { #expect(try await alice.at(node).conversation(chat)["unreadCount"] == 3) }
            #expect(try await bob.conversation(chat)["unreadCount"] == 1)
            let again = try await Person.loggedIn(email: email, of: cluster, node: 3)
            #expect(
                try await again.conversation(chat)["unreadCount"] == 3, "own messages are not unread after a new login either")
            #expect(try await again.mark("read", chat, 4)["unreadCount"] == 0)
            for node in 1...3 { #expect(try await alice.at(node).conversation(chat)["unreadCount"] == 0) }
        }

        @Test func readingIsMonotonicAcrossDevices() async throws {
            let cluster = try await Cluster.shared()
            let email = Person.uniqueEmail()
            let phone = try await Person.registered("Alice", of: cluster, email: email)
            let desktop = try await Person.loggedIn(email: email, of: cluster, node: 2)
            let bob = try await Person.guest("Bob", of: cluster, node: 3)
            let chat = try await bob.chat(with: phone)
            for number in 1...12 { _ = try await bob.post("\(number)", to: chat).expect(201) }
            async let ten = phone.mark("read", chat, 10)
            async let five = desktop.mark("read", chat, 5)
            _ = try await (ten, five)
            #expect(try await desktop.mark("read", chat, 5)["readSeq"] == 10)
            for device in [phone, desktop] {
                let conversation = try await device.conversation(chat)
                #expect(conversation["readSeq"] == 10 && conversation["deliveredSeq"] == 10 && conversation["unreadCount"] == 2)
            }
            #expect(try await phone.mark("read", chat, 9_999)["readSeq"] == 12, "beyond the counter is cut to it")
        }

        @Test func statusGoesFromSentOverDeliveredToRead() async throws {
            let (alice, bob, chat) = try await pair()
            let watcher = try await Socket.connect(alice.at(3))
            _ = try await alice.post("a", to: chat).expect(201)
            _ = try await alice.post("b", to: chat).expect(201)
            func statuses() async throws -> [String?] { try await alice.history(chat).map { $0["status"].string } }
            #expect(try await statuses() == ["sent", "sent"])
            try await bob.mark("delivered", chat, 2)
            #expect(try await statuses() == ["delivered", "delivered"])
            try await bob.mark("read", chat, 1)
            #expect(try await statuses() == ["read", "delivered"])
            #expect(try await bob.history(chat).allSatisfy { $0["status"].isNull }, "only the sender is told")
            let receipt = try await watcher.event("receipt") { $0["readSeq"] == 1 }
            #expect(receipt["userId"] == .string(bob.id) && receipt["conversationId"] == .string(chat))
        }
    }
}

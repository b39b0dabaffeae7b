import Foundation
import Testing

extension EndToEnd {
    /// Who blocks whom, and what becomes of the chats of those who go.
    @Suite struct People {
        @Test func aBlockHoldsOnEveryNodeAtOnce() async throws {
            let cluster = try await Cluster.shared()
            let alice = try await Person.registered("Alice", of: cluster, node: 1)
            let bob = try await Person.registered("Bob", of: cluster, node: 2)
            let chat = try await alice.chat(with: bob)
            _ = try await bob.post("before", to: chat).expect(201)
            let pairs = [
                (try await Socket.connect(alice), bob.id), (try await Socket.connect(bob.at(3)), alice.id),
            ]
            for (socket, other) in pairs {
                let watched = try await socket.request("watch", ["userIds": [.string(other)]])
                #expect(watched["result"]["presence"][0]["state"] == "online")
            }
            let path = "/v1/blocks/\(bob.id)"
            _ = try await alice.at(3).call("PUT", path).expect(204)
            for node in 1...3 {
                for person in [alice, bob] {
                    #expect(try await person.at(node).post("blocked", to: chat).expect(403).code == "blocked")
                }
            }
            for (socket, other) in pairs {
                let event = try await socket.event("presence") { $0["presence"]["userId"] == .string(other) }
                #expect(event["presence"]["state"] == "offline" && event["presence"]["lastSeenAt"] == nil)
            }
            let states = try await bob.call("GET", "/v1/presence?userIds=\(alice.id)").expect(200).json["items"]
            #expect(states[0]["state"] == "offline" && states[0]["lastSeenAt"] == nil)
            #expect(try await bob.chat(with: alice) == chat, "opening the chat answers as ever")
            #expect(try await bob.call("GET", "/v1/users/\(alice.id)").expect(200).json["displayName"] == "Alice")
            #expect(try await alice.history(chat).texts == ["before"])
            _ = try await alice.at(2).call("DELETE", path).expect(204)
            for (node, person) in [(3, alice), (1, bob)] { _ = try await person.at(node).post("after", to: chat).expect(201) }
            for (socket, other) in pairs {
                _ = try await socket.event("presence") {
                    $0["presence"]["userId"] == .string(other) && $0["presence"]["state"] == "online"
                }
            }
        }

        @Test func aDeletedAccountLeavesItsMessagesAndNothingElse() async throws {
            let cluster = try await Cluster.shared()
            let email = Person.uniqueEmail()
            let alice = try await Person.registered("Alice Unmistakable", of: cluster, node: 1, email: email)
            let bob = try await Person.registered("Bob", of: cluster, node: 2)
            let carol = try await Person.registered("Carol", of: cluster, node: 3)
            let direct = try await alice.chat(with: bob)
            let group = try await Self.group(alice, [bob, carol])
            for chat in [direct, group] { _ = try await alice.post("stays", to: chat).expect(201) }
            let theirs = try #require(try await bob.post("theirs", to: group).expect(201).json["seq"].int)
            let reaction = "/v1/conversations/\(group)/messages/\(theirs)/reactions/%F0%9F%91%8D"
            _ = try await alice.call("PUT", reaction).expect(200)
            _ = try await bob.call("POST", "/v1/contacts", ["email": .string(email), "nickname": "Al"]).expect(201)
            let own = try await Socket.connect(alice.at(3))
            let sockets = [try await Socket.connect(bob.at(3)), try await Socket.connect(carol.at(1))]

            let wrong: JSON = ["password": "wrong password"]
            #expect(try await alice.call("DELETE", "/v1/me", wrong).expect(403).code == "wrongPassword")
            _ = try await alice.call("DELETE", "/v1/me", ["password": .string(Person.password)]).expect(204)

            #expect(try await own.closed(within: .seconds(10)) == 4_003)
            for socket in sockets {
                let event = try await socket.event("user") { $0["user"]["id"] == .string(alice.id) }
                #expect(event["user"]["isDeleted"] == true && event["user"]["displayName"] == "Deleted account")
            }
            _ = try await sockets[0].event("conversation") {
                $0["conversation"]["id"] == .string(direct) && $0["conversation"]["isReadOnly"] == true
            }
            for node in 1...3 {
                let view = try await bob.at(node).conversation(direct)
                #expect(view["isReadOnly"] == true)
                #expect(try await bob.at(node).post("late", to: direct).expect(403).code == "readOnly")
                let members = try await bob.at(node).conversation(group)["members"].items
                #expect(Set(members.compactMap { $0["userId"].string }) == [bob.id, carol.id])
                #expect(members.contains { $0["role"] == "admin" }, "there is always an admin")
                let messages = try await bob.at(node).history(group)
                #expect(messages.texts.contains("stays"))
                #expect(messages.allSatisfy { $0["reactions"].items.isEmpty })
                let user = try await bob.at(node).call("GET", "/v1/users/\(alice.id)").expect(200).json
                #expect(user["isDeleted"] == true && user["displayName"] == "Deleted account" && user["firstName"] == nil)
                _ = try await carol.at(node).call("GET", "/v1/users/\(alice.id)").expect(404)
            }
            #expect(try await bob.call("GET", "/v1/contacts").expect(200).json["items"].items.isEmpty)
            for table in ["users", "contacts", "mail_outbox", "user_words", "devices"] {
                let rows = try await cluster.query(
                    "SELECT count(*) FROM \(table) t WHERE t::text ILIKE '%unmistakable%' OR t::text LIKE '%\(email)%'")
                #expect(rows == [["0"]], "\(table)")
            }
            let same: JSON = ["kind": "direct", "userId": .string(alice.id)]
            #expect(try await bob.call("POST", "/v1/conversations", same).expect(200).json["id"] == .string(direct))
            let again = try await Person.registered("Another", of: cluster, node: 2, email: email)
            #expect(again.id != alice.id)
            let new = try await again.call("POST", "/v1/conversations", same)
            #expect(new.status == 422, "only an existing one is answered")
        }

        @Test func aDeletionThatDiesWithItsNodeIsMadeWhole() async throws {
            let cluster = try await Cluster.shared()
            let alice = try await Person.guest("Alice", of: cluster, node: 3)
            let bob = try await Person.registered("Bob", of: cluster, node: 1)
            var chats: [String] = []
            for _ in 0..<40 { chats.append(try await alice.chat(with: Person.guest("Guest", of: cluster))) }
            chats.append(try await alice.chat(with: bob))
            for _ in 0..<10 { chats.append(try await Self.group(bob, [alice])) }
            // Killed as soon as the first step is committed, wherever the rest stands then.
            async let deletion = try? alice.call("DELETE", "/v1/me", patience: 10)
            try await cluster.until("the account is deleted") {
                try await cluster.query("SELECT deleted_at IS NOT NULL FROM users WHERE id = '\(alice.id)'") == [["t"]]
            }
            try cluster.signal(SIGKILL, node: 3)
            _ = await deletion
            // As if the dead node's claim were over.
            _ = try await cluster.query("UPDATE user_deletions SET claimed_until = now() WHERE user_id = '\(alice.id)'")
            try await cluster.until("nothing is left to do") {
                try await cluster.query("SELECT count(*) FROM user_deletions WHERE user_id = '\(alice.id)'") == [["0"]]
            }
            let open = try await cluster.query(
                """
                SELECT count(*) FROM members m JOIN conversations c ON c.id = m.conversation_id
                WHERE m.user_id = '\(alice.id)' AND (c.kind <> 0 OR NOT c.is_read_only)
                """)
            #expect(open == [["0"]])
            let view = try await bob.conversation(chats[40])
            #expect(view["isReadOnly"] == true)
            #expect(try await bob.post("late", to: chats[40]).expect(403).code == "readOnly")
            try await cluster.up()
        }

        private static func group(_ creator: Person, _ members: [Person]) async throws -> String {
            let body: JSON = [
                "kind": "group", "title": "Group", "memberIds": .array(members.map { .string($0.id) }),
            ]
            let answer = try await creator.call("POST", "/v1/conversations", body).expect(201)
            return try #require(answer.json["id"].string)
        }
    }
}

extension Cluster {
    /// Waits until it is so.
    func until(_ what: String, within limit: Duration = .seconds(60), _ isSo: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + limit
        while try await !isSo() {
            if ContinuousClock.now > deadline { throw Failure("not within \(limit): \(what)") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}

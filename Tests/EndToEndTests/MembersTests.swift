import TestSupport
import Testing

extension EndToEnd {
    /// Who belongs to a group, and what becomes of those who do not any more.
    @Suite struct Members {
        @Test func theLastEventOfARemovedMemberIsTheRemoval() async throws {
            let cluster = try await Cluster.shared()
            let admin = try await Person.registered("Admin", of: cluster, node: 1)
            let removed = try await Person.guest("Removed", of: cluster, node: 3)
            let other = try await Person.guest("Other", of: cluster, node: 3)
            let chat = try await admin.group("Group", [removed, other])
            let socket = try await Socket.connect(removed)
            let others = try await Socket.connect(other)
            let burst = Task { for number in 0..<60 { try await admin.at(2).say("\(number)", in: chat) } }
            try await socket.message("10", in: chat)
            _ = try await admin.remove(removed.id, from: chat).expect(204)
            _ = try await socket.event("conversation") { $0["removed"] == true && $0["conversationId"] == .string(chat) }
            try await burst.value
            try await admin.say("after", in: chat)
            try await others.message("after", in: chat)
            try await socket.settle()
            let last = socket.events.last { $0["conversationId"] == .string(chat) }
            #expect(last == ["event": "conversation", "conversationId": .string(chat), "removed": true])
            #expect(socket.messages(chat).texts.last != "after")

            for node in 1...3 {
                for route in Routes.conversation {
                    let answer = try await route.call(removed.at(node), in: chat, member: other.id)
                    #expect(answer.status == 404 && answer.code == "notFound", "\(route): \(answer)")
                }
            }
            for (op, fields) in Routes.operations {
                let answer = try await socket.request(op, fields.adding(["conversationId": .string(chat)]))
                #expect(answer["error"]["code"] == "notFound", "\(op): \(answer)")
            }
            #expect(try await removed.search("after").isEmpty)
            #expect(try await removed.sync().conversations[chat] == nil)
            #expect(try await other.history(chat).ofPeople.texts == (0..<60).map(String.init) + ["after"])
        }

        /// Who knows an id learns nothing by trying it.
        @Test func aRealConversationAndAMadeUpOneAnswerAlikeOnEveryRoute() async throws {
            let cluster = try await Cluster.shared()
            let alice = try await Person.registered("Alice", of: cluster, node: 1)
            let bob = try await Person.guest("Bob", of: cluster, node: 2)
            let eve = try await Person.registered("Eve", of: cluster, node: 3)
            let group = try await alice.group("Group", [bob])
            let direct = try await alice.chat(with: bob)
            for chat in [group, direct] {
                for _ in 0..<3 { try await alice.say("secret", in: chat) }
            }
            let home = try await eve.group("Home")
            let unknown = "01900000-0000-7000-8000-000000000000"
            let socket = try await Socket.connect(eve)
            for real in [group, direct] {
                for route in Routes.conversation {
                    let answers = [
                        try await route.call(eve, in: real, member: bob.id),
                        try await route.call(eve, in: unknown, member: bob.id),
                    ]
                    #expect(answers[0].status == 404 && answers[0].code == "notFound", "\(route): \(answers[0])")
                    #expect(Self.withoutIDs(answers[0].json) == Self.withoutIDs(answers[1].json), "\(route): \(answers)")
                    #expect(Set(answers[0].headers.keys) == Set(answers[1].headers.keys))
                }
                for (op, fields) in Routes.operations {
                    var answers: [JSON] = []
                    for id in [real, unknown] {
                        answers.append(try await socket.request(op, fields.adding(["conversationId": .string(id)]))["error"])
                    }
                    #expect(answers[0] == answers[1] && answers[0]["code"] == "notFound", "\(op): \(answers)")
                }
                let forwards = [try await eve.forward(2, of: real, to: home), try await eve.forward(2, of: unknown, to: home)]
                #expect(forwards.allSatisfy { $0.status == 422 })
                #expect(Self.withoutIDs(forwards[0].json) == Self.withoutIDs(forwards[1].json))
            }
            // Of people whom one shares nothing with, and of others' pictures, no more is to be learned.
            let picture = try await alice.picture()
            let pairs: [(String, String, (String) -> JSON?, real: String)] = [
                ("GET", "/v1/users/ID", { _ in nil }, bob.id), ("PUT", "/v1/blocks/ID", { _ in nil }, bob.id),
                ("POST", "/v1/contacts", { ["userId": .string($0)] }, bob.id),
                ("PATCH", "/v1/contacts/ID", { _ in ["nickname": "B"] }, bob.id),
                ("DELETE", "/v1/contacts/ID", { _ in nil }, bob.id), ("DELETE", "/v1/devices/ID", { _ in nil }, bob.deviceID),
                ("PATCH", "/v1/me", { ["photoMediaId": .string($0)] }, picture),
                (
                    "POST", "/v1/conversations",
                    { ["kind": "group", "title": "T", "memberIds": [], "photoMediaId": .string($0)] }, picture
                ),
            ]
            for (method, path, body, real) in pairs {
                var answers: [Answer] = []
                for id in [real, unknown] {
                    answers.append(try await eve.call(method, path.replacing("ID", with: id), body(id)))
                }
                #expect((400..<500).contains(answers[0].status), "\(method) \(path): \(answers[0])")
                #expect(Self.withoutIDs(answers[0].json) == Self.withoutIDs(answers[1].json), "\(method) \(path): \(answers)")
            }
            #expect(try await eve.call("GET", "/v1/presence?userIds=\(bob.id),\(unknown)").expect(200).json["items"] == [])
            #expect(try await eve.search("secret").isEmpty)
            #expect(try await alice.history(group).ofPeople.texts == ["secret", "secret", "secret"], "nothing was done")
            #expect(socket.events("message").allSatisfy { $0["conversationId"] == .string(home) })
        }

        @Test func whenTheLastAdminLeavesTheLongestStandingFollows() async throws {
            let cluster = try await Cluster.shared()
            let admin = try await Person.registered("Admin", of: cluster, node: 1)
            let early = try await Person.guest("Early", of: cluster, node: 2)
            let late = try await Person.guest("Late", of: cluster, node: 3)
            let chat = try await admin.group("Group", [early])
            _ = try await admin.add([late.id], to: chat).expect(200)
            let socket = try await Socket.connect(late)
            let before = try #require(try await late.conversation(chat)["lastSeq"].int)
            _ = try await admin.at(3).remove(admin.id, from: chat).expect(204)
            #expect(try await roles(late, chat) == [early.id: "admin", late.id: "member"])
            let promotion = try await socket.event("message") { $0["message"]["system"]["kind"] == "roleChanged" }
            #expect(promotion["seq"] == .int(before + 2), "leaving took one value, the promotion one of its own")
            #expect(promotion["message"]["system"]["userId"] == .string(early.id))
            // The last of all: nothing is left.
            _ = try await early.remove(early.id, from: chat).expect(204)
            #expect(try await roles(late, chat) == [late.id: "admin"])
            _ = try await late.remove(late.id, from: chat).expect(204)
            _ = try await late.call("GET", in: chat).expect(404)
            #expect(try await cluster.query("SELECT 1 FROM conversations WHERE id = '\(chat)'").isEmpty)
        }

        @Test func whenTwoLastAdminsLeaveAtOnceThereIsStillOne() async throws {
            let cluster = try await Cluster.shared()
            for _ in 0..<5 {
                let one = try await Person.registered("One", of: cluster, node: 1)
                let two = try await Person.registered("Two", of: cluster, node: 2)
                let rest = [try await Person.guest("Rest", of: cluster, node: 3), try await Person.guest("Rest", of: cluster)]
                let chat = try await one.group("Group", [two] + rest)
                _ = try await one.setRole("admin", of: two.id, in: chat).expect(200)
                let answers = try await atOnce(2) { try await [one, two][$0].remove([one, two][$0].id, from: chat) }
                #expect(answers.map(\.status) == [204, 204])
                #expect(try await roles(rest[0], chat).values.sorted() == ["admin", "member"])
                // And they lay it down at once: one of them keeps it, or hands it on.
                let left = try await roles(rest[0], chat)
                let admin = try #require(rest.first { left[$0.id] == "admin" })
                let member = try #require(rest.first { left[$0.id] == "member" })
                _ = try await admin.setRole("admin", of: member.id, in: chat).expect(200)
                _ = try await atOnce(2) { try await rest[$0].setRole("member", of: rest[$0].id, in: chat) }
                #expect(try await roles(rest[0], chat).values.contains("admin"))
            }
        }

        @Test func ninetyNineMembersAndTwentyAddsAtOnceAreAHundred() async throws {
            let cluster = try await Cluster.shared()
            let admin = try await Person.registered("Admin", of: cluster)
            let extras = try await cluster.extras(118)
            let chat = try await admin.group("Group", [], ["memberIds": .strings(Array(extras.prefix(98)))])
            #expect(try await admin.conversation(chat)["memberCount"] == 99)
            let answers = try await atOnce(20) { try await admin.at($0).add([extras[98 + $0]], to: chat) }
            #expect(answers.filter { $0.status == 200 }.count == 1)
            #expect(answers.filter { $0.code == "memberLimit" }.count == 19)
            for node in 1...3 {
                #expect(try await admin.at(node).members(chat).count == 100)
                #expect(try await admin.at(node).conversation(chat)["memberCount"] == 100)
            }
            // All or none: of two there is room for one, and none is added. Who is there already takes no room.
            _ = try await admin.remove(extras[0], from: chat).expect(204)
            #expect(try await admin.add([extras[98], extras[99], extras[100]], to: chat).expect(409).code == "memberLimit")
            #expect(try await admin.conversation(chat)["memberCount"] == 99)
            _ = try await admin.add([extras[1], extras[0], extras[2]], to: chat).expect(200)
            #expect(try await admin.conversation(chat)["memberCount"] == 100)
        }

        private func roles(_ person: Person, _ chat: String) async throws -> [String: String] {
            var roles: [String: String] = [:]
            for member in try await person.members(chat) { roles[member["userId"].string ?? ""] = member["role"].string }
            return roles
        }

        private static func withoutIDs(_ json: JSON) -> JSON { json.adding(["requestId": nil, "instance": nil]) }
    }
}

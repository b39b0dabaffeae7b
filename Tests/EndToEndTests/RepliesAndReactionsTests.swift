import TestSupport
import Testing

extension EndToEnd {
    /// Delete, reply, react.
    @Suite struct RepliesAndReactions {
        @Test func theQuoteOfADeletedMessageIsBlankWheneverTheReplyWasMade() async throws {
            let cluster = try await Cluster.shared()
            let alice = try await Person.registered("Alice", of: cluster, node: 1)
            let bob = try await Person.guest("Bob", of: cluster, node: 2)
            let chat = try await alice.group("Group", [bob])
            let socket = try await Socket.connect(bob.at(3))
            let original = try await alice.say("regrettable words", in: chat)
            func reply(_ number: Int) async throws -> Answer {
                let person = number % 2 == 0 ? alice.at(number) : bob.at(number)
                return try await person.send(["text": .string("reply \(number)"), "replyTo": .int(original)], to: chat)
            }
            let before = try await reply(0).expect(201).json
            #expect(before["replyTo"]["text"] == "regrettable words" && before["replyTo"]["isDeleted"] == false)
            let during = try await atOnce(20) { number in
                if number == 10 { return try await alice.delete(original, in: chat, for: "everyone") }
                let person = number % 2 == 0 ? alice.at(number) : bob.at(number)
                return try await person.send(["text": .string("reply \(number)"), "replyTo": .int(original)], to: chat)
            }
            #expect(during.filter { ![200, 201].contains($0.status) }.map(\.description) == [])
            let after = try await reply(21).expect(201).json
            #expect(after["replyTo"]["text"] == "" && after["replyTo"]["isDeleted"] == true)

            func isBlank(_ quote: JSON) -> Bool {
                quote["seq"] == .int(original) && quote["text"] == "" && quote["isDeleted"] == true
            }
            for node in 1...3 {
                let replies = try await bob.at(node).history(chat).filter { $0["text"].string?.hasPrefix("reply") == true }
                #expect(replies.count == 21)
                #expect(replies.allSatisfy { isBlank($0["replyTo"]) })
                let changes = try await bob.at(node).changes(chat, after: 1)["items"].items
                #expect(changes.filter { !$0["replyTo"].isNull }.allSatisfy { isBlank($0["replyTo"]) })
                #expect(changes.first { $0["seq"] == .int(original) }?["text"] == "")
                let found = try await bob.at(node).search("reply")
                #expect(found.count == 21 && found.allSatisfy { isBlank($0["replyTo"]) })
                #expect(try await bob.at(node).search("regrettable").isEmpty)
                #expect(try await isBlank(bob.at(node).conversation(chat)["lastMessage"]["replyTo"]))
                #expect(try await !bob.at(node).call("GET", "/v1/sync").expect(200).text.contains("regrettable"))
            }
            // What was told after the deletion has nothing of it.
            try await socket.message("reply 21", in: chat)
            let told = socket.messages(chat)
            let tombstone = try #require(told.firstIndex { !$0["deletedAt"].isNull })
            #expect(told[tombstone...].filter { !$0["replyTo"].isNull }.allSatisfy { isBlank($0["replyTo"]) })
            #expect(told[tombstone]["text"] == "")
            // A reply to nothing, to what was hidden, and to what comes later.
            let seen = try await bob.say("hide me", in: chat)
            _ = try await bob.delete(seen, in: chat, for: "me").expect(204)
            for seq in [seen, 99_999] {
                let refused = try await bob.send(["text": "r", "replyTo": .int(seq)], to: chat).expect(422)
                #expect(refused.json["errors"] == [["field": "replyTo", "code": "unknown"]])
            }
        }

        @Test func aReactionToggledTwentyTimesAtOnceIsThereOnceOrNot() async throws {
            let (alice, bob, chat) = try await pair()
            let seq = try await alice.say("react", in: chat)
            let answers = try await atOnce(20) { try await bob.at($0).react("👍", to: seq, in: chat, put: $0 % 2 == 0) }
            #expect(answers.filter { $0.status != 200 }.map(\.description) == [])
            for answer in answers {
                let users = answer.json["reactions"][0]["userIds"].items
                #expect(users.isEmpty || users == [.string(bob.id)])
            }
            let head = try #require(try await alice.conversation(chat)["lastSeq"].int)
            let isThere = try await alice.message(seq, in: chat)["reactions"] != []
            _ = try await bob.react("👍", to: seq, in: chat).expect(200)
            _ = try await bob.at(1).react("👍", to: seq, in: chat).expect(200)
            #expect(try await alice.message(seq, in: chat)["reactions"] == [["emoji": "👍", "userIds": [.string(bob.id)]]])
            #expect(
                try await alice.conversation(chat)["lastSeq"] == .int(isThere ? head : head + 1), "what is there takes no value")
            _ = try await bob.at(3).react("👍", to: seq, in: chat, put: false).expect(200)
            #expect(try await alice.message(seq, in: chat)["reactions"] == [])

            // With and without VS16 it is one, and shown fully qualified.
            for heart in ["\u{2764}", "\u{2764}\u{FE0F}"] { _ = try await alice.react(heart, to: seq, in: chat).expect(200) }
            let hearts: JSON = [["emoji": "\u{2764}\u{FE0F}", "userIds": [.string(alice.id)]]]
            #expect(try await bob.message(seq, in: chat)["reactions"] == hearts)
            _ = try await alice.react("\u{2764}", to: seq, in: chat, put: false).expect(200)
            #expect(try await bob.message(seq, in: chat)["reactions"] == [])
            for word in ["a", "ok", "👍👍", "1"] {
                #expect(try await alice.react(word, to: seq, in: chat).expect(422).code == "validationFailed", "\(word)")
            }
        }

        @Test func twentyPeopleReactAtOnceAndEachCountsOnce() async throws {
            let cluster = try await Cluster.shared()
            let admin = try await Person.registered("Admin", of: cluster)
            var people: [Person] = []
            for number in 0..<20 { people.append(try await Person.guest("P\(number)", of: cluster, node: number % 2 + 1)) }
            let crowd = people
            let chat = try await admin.group("Group", crowd)
            let socket = try await Socket.connect(admin.at(3))
            let seq = try await admin.say("react", in: chat)
            // Each twice, as an impatient thumb does.
            let answers = try await atOnce(40) { try await crowd[$0 % 20].react("🎉", to: seq, in: chat) }
            #expect(answers.filter { $0.status != 200 }.map(\.description) == [])
            let reactions = try await admin.message(seq, in: chat)["reactions"].items
            #expect(reactions.count == 1 && reactions[0]["userIds"].items.count == 20)
            #expect(Set(reactions[0]["userIds"].items) == Set(crowd.map { .string($0.id) }))
            #expect(try await admin.conversation(chat)["lastSeq"] == .int(seq + 20))
            let last = try await socket.event("message") { $0["seq"] == .int(seq + 20) }
            #expect(last["message"]["reactions"][0]["userIds"].items.count == 20)
            #expect(try await cluster.query("SELECT count(*) FROM reactions WHERE conversation_id = '\(chat)'") == [["20"]])
        }

        @Test func distinctEmojiAreCapped() async throws {
            let (alice, bob, chat) = try await pair()
            let seq = try await alice.say("react", in: chat)
            let emoji = [0x1F600...0x1F64F, 0x1F400...0x1F43E, 0x1F680...0x1F6C5].joined()
                .compactMap { Unicode.Scalar($0).map { String(Character($0)) } }
            var statuses: [String: Int] = [:]
            for start in stride(from: 0, to: emoji.count, by: 30) {
                let part = Array(emoji[start..<min(start + 30, emoji.count)])
                for answer in try await atOnce(
                    part.count,
                    { number in
                        try await (number % 2 == 0 ? alice : bob).at(number).react(part[number], to: seq, in: chat)
                    })
                {
                    statuses["\(answer.status) \(answer.code ?? "")", default: 0] += 1
                }
            }
            #expect(statuses == ["200 ": 30, "409 reactionLimit": emoji.count - 30])
            let reactions = try await bob.message(seq, in: chat)["reactions"].items
            #expect(reactions.count == 30)
            #expect(try await alice.conversation(chat)["lastSeq"] == .int(seq + 30))
            // One that is there is still open to others, and one taken away makes room.
            let first = try #require(reactions[0]["emoji"].string)
            for person in [alice, bob] { _ = try await person.react(first, to: seq, in: chat).expect(200) }
            for person in [alice, bob] { _ = try await person.react(first, to: seq, in: chat, put: false).expect(200) }
            _ = try await bob.react("🫠", to: seq, in: chat).expect(200)
            #expect(try await bob.react("🥲", to: seq, in: chat).expect(409).code == "reactionLimit")
        }

        @Test func nothingCanBeDoneToATombstone() async throws {
            let (alice, bob, chat) = try await pair()
            let seq = try await alice.say("gone", in: chat)
            let first = try await alice.delete(seq, in: chat, for: "everyone").expect(200).json
            #expect(!first["deletedAt"].isNull && first["text"] == "")
            let again = try await alice.at(2).delete(seq, in: chat, for: "everyone").expect(200).json
            #expect(again["changeSeq"] == first["changeSeq"] && again["deletedAt"] == first["deletedAt"])
            #expect(try await alice.edit(seq, in: chat, "back").expect(409).code == "messageDeleted")
            #expect(try await bob.react("👍", to: seq, in: chat).expect(409).code == "messageDeleted")
            #expect(try await bob.forward(seq, of: chat, to: chat).expect(409).code == "messageDeleted")
            #expect(try await alice.history(chat).count == 1)
        }
    }
}

import TestSupport
import Testing

extension EndToEnd {
    /// Counters and receipts: the same on every node, in every list, on every device.
    @Suite struct Counters {
        @Test func threeUnreadOfWhichTwoAreDeletedAreOneEverywhere() async throws {
            let cluster = try await Cluster.shared()
            let writer = try await Person.registered("Writer", of: cluster, node: 1)
            let online = try await Person.guest("Online", of: cluster, node: 2)
            let offline = try await Person.guest("Offline", of: cluster, node: 3)
            let chat = try await writer.group("Group", [online, offline])
            try await online.mark("read", chat, 1)
            try await offline.mark("read", chat, 1)
            let socket = try await Socket.connect(online)
            let token = try await offline.sync().token
            var seqs: [Int] = []
            for number in 1...3 { seqs.append(try await writer.at(number).say("\(number)", in: chat)) }
            for seq in seqs.prefix(2) { _ = try await writer.at(3).delete(seq, in: chat, for: "everyone").expect(200) }

            for seq in seqs.prefix(2) {
                let event = try await socket.event("message") {
                    $0["message"]["seq"] == .int(seq) && !$0["message"]["deletedAt"].isNull
                }
                #expect(event["message"]["text"] == "")
            }
            let answer = try await socket.request("delivered", ["conversationId": .string(chat), "seq": .int(seqs[2])])
            #expect(answer["result"]["unreadCount"] == 1)
            #expect(try await offline.sync(since: token).conversations[chat]?["unreadCount"] == 1)
            for reader in [online, offline] {
                for node in 1...3 {
                    #expect(try await reader.at(node).conversation(chat)["unreadCount"] == 1)
                    #expect(try await reader.at(node).pages("/v1/conversations").map { $0["unreadCount"] } == [1])
                    #expect(try await reader.at(node).sync().conversations[chat]?["unreadCount"] == 1)
                }
            }
            // Read up to a deleted one: the third is still to come.
            #expect(try await offline.mark("read", chat, seqs[1])["unreadCount"] == 1)
            #expect(try await offline.mark("read", chat, seqs[2])["unreadCount"] == 0)
        }

        @Test func inAGroupOfThreeOneReaderIsSeenByOneAndNotRead() async throws {
            let cluster = try await Cluster.shared()
            let writer = try await Person.registered("Writer", of: cluster, node: 1)
            let first = try await Person.guest("First", of: cluster, node: 2)
            let second = try await Person.guest("Second", of: cluster, node: 3)
            let chat = try await writer.group("Group", [first, second])
            let seq = try await writer.say("seen?", in: chat)

            func expect(_ status: JSON, seenBy readers: [Person], deliveredTo receivers: [Person]) async throws {
                for node in 1...3 {
                    let message = try await writer.at(node).message(seq, in: chat)
                    #expect(message["status"] == status && message["seenByCount"] == .int(readers.count), "node \(node)")
                    let receipts = try await writer.at(node).call("GET", in: chat, "/messages/\(seq)/receipts").expect(200).json
                    #expect(receipts["status"] == status)
                    #expect(Set(receipts["seenBy"].items.map { $0["userId"] }) == Set(readers.map { .string($0.id) }))
                    #expect(Set(receipts["deliveredTo"].items.map { $0["userId"] }) == Set(receivers.map { .string($0.id) }))
                }
                let last = try await writer.conversation(chat)["lastMessage"]
                #expect(last["status"] == status && last["seenByCount"] == .int(readers.count))
            }
            try await expect("sent", seenBy: [], deliveredTo: [])
            try await first.mark("read", chat, seq)
            try await expect("sent", seenBy: [first], deliveredTo: [first])
            try await second.mark("delivered", chat, seq)
            try await expect("delivered", seenBy: [first], deliveredTo: [first, second])
            try await second.mark("read", chat, seq)
            try await expect("read", seenBy: [first, second], deliveredTo: [first, second])
            // Who has gone counts no more.
            _ = try await writer.remove(second.id, from: chat).expect(204)
            #expect(try await writer.message(seq, in: chat)["seenByCount"] == 1)
        }

        @Test func mentionsAreCountedUntilTheyAreReadDeletedOrHidden() async throws {
            let cluster = try await Cluster.shared()
            let writer = try await Person.registered("Writer", of: cluster, node: 1)
            let reader = try await Person.guest("Reader", of: cluster, node: 2)
            let chat = try await writer.group("Group", [reader])
            try await reader.mark("read", chat, 1)
            let mentioning: JSON = ["text": "@Reader", "mentions": [.string(reader.id)]]
            var seqs: [Int] = []
            for _ in 0..<4 { seqs.append(try #require(try await writer.send(mentioning, to: chat).expect(201).json["seq"].int)) }
            try await writer.say("no mention", in: chat)
            func counts() async throws -> [JSON] {
                let row = try await reader.at(3).conversation(chat)
                return [row["unreadCount"], row["mentionCount"]]
            }
            #expect(try await counts() == [5, 4])
            _ = try await writer.delete(seqs[0], in: chat, for: "everyone").expect(200)
            #expect(try await counts() == [4, 3])
            _ = try await reader.delete(seqs[1], in: chat, for: "me").expect(204)
            #expect(try await counts() == [3, 2])
            let read = try await reader.mark("read", chat, seqs[2])
            #expect(read["unreadCount"] == 2 && read["mentionCount"] == 1)
            #expect(try await counts() == [2, 1])
            // A mention of a stranger, or of nobody, is refused; none of the two takes a number.
            let stranger = try await Person.guest("Stranger", of: cluster)
            for id in [stranger.id, "01900000-0000-7000-8000-000000000000", "x"] {
                let refused = try await writer.send(["text": "@?", "mentions": [.string(id)]], to: chat).expect(422)
                #expect(refused.json["errors"] == [["field": "mentions", "code": "unknown"]])
            }
            #expect(try await counts() == [2, 1])
        }

        /// Every change takes the next value of the counter, and every session hears of every value.
        @Test func changesOfEveryKindAreDenseForAllWhoListen() async throws {
            let cluster = try await Cluster.shared()
            let admin = try await Person.registered("Admin", of: cluster, node: 1)
            let members = [
                try await Person.guest("One", of: cluster, node: 2), try await Person.guest("Two", of: cluster, node: 3),
            ]
            let chat = try await admin.group("Group", members)
            var sockets: [Socket] = []
            for person in [admin] + members { sockets.append(try await Socket.connect(person)) }
            let targets = try await [admin.say("a", in: chat), admin.say("b", in: chat), admin.say("c", in: chat)]
            let answers = try await atOnce(60) { number in
                let person = number % 2 == 0 ? admin.at(number) : members[number % 4 / 2]
                return switch number % 6 {
                case 0: try await admin.at(number).edit(targets[0], in: chat, "a\(number)")
                case 1, 2: try await person.react(["👍", "🎉", "🙂"][number % 3], to: targets[1], in: chat, put: number % 4 < 2)
                case 3: try await person.post("\(number)", to: chat)
                case 4: try await admin.call("PATCH", in: chat, "", ["title": .string("Title \(number)")])
                default: try await members[number % 2].delete(targets[2], in: chat, for: "me")
                }
            }
            #expect(answers.filter { $0.status >= 300 }.map(\.description) == [])
            _ = try await admin.delete(targets[2], in: chat, for: "everyone").expect(200)
            let last = try await admin.say("last", in: chat)
            for (socket, person) in zip(sockets, [admin] + members) {
                try await socket.message("last", in: chat)
                let told = socket.events("message").filter { $0["conversationId"] == .string(chat) }.seqs
                #expect(told == Array(2...last), "\(person.id)")
                #expect(try await person.conversation(chat)["lastSeq"] == .int(last))
                // What it was told, and what is read, are the same.
                var shown: [Int: JSON] = [:]
                for event in socket.messages(chat) where !event.isNull { shown[event["seq"].int ?? 0] = event }
                for message in try await person.history(chat) where message["seq"] != 1 {
                    let event = shown[message["seq"].int ?? 0] ?? .null
                    for key in ["text", "changeSeq", "reactions", "editedAt", "deletedAt"] {
                        #expect(event[key] == message[key], "\(key) of \(message)")
                    }
                }
            }
        }
    }
}

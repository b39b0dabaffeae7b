import Foundation
import Runtime
import TestSupport
import Testing

extension EndToEnd {
    /// Whatever is done in groups while nodes die is done once, and wholly.
    @Suite struct Kills {
        /// What those who act know to be done.
        private struct Known {
            var sent: Set<String> = []
            var gone: Set<Int> = []
            var text = ""
            var isReacted = false
            var isMember = false
            var read = 0
            var faults: [String] = []
        }

        @Test func afterKillsEverythingAnsweredIsThereAndCountersAreWhatTheRowsSay() async throws {
            let cluster = try await Cluster.shared()
            let admin = try await Person.registered("Admin", of: cluster, node: 1)
            let people = [
                try await Person.guest("One", of: cluster, node: 2), try await Person.guest("Two", of: cluster, node: 3),
                try await Person.guest("Three", of: cluster, node: 1),
            ]
            let (writer, reader, eraser) = (people[0], people[1], people[2])
            let comer = try await Person.guest("Comer", of: cluster)
            let channel = try await admin.channel("Channel")
            _ = try await admin.add(people.map(\.id), to: channel).expect(200)
            for chat in [try await admin.group("Group", people), channel] {
                let target = try await admin.say("target", in: chat)
                let known = Locked(Known())
                let isOver = Locked(false)
                /// One thing after the other, each until it is answered.
                @Sendable func keep(_ act: @Sendable (Int) async throws -> Void) async throws {
                    var number = 0
                    while !isOver.withLock({ $0 }) {
                        number += 1
                        try await act(number)
                    }
                }
                @Sendable func check(_ answer: Answer, _ expected: [Int]) {
                    if !expected.contains(answer.status) { known.withLock { $0.faults.append("\(answer)") } }
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await keep { number in
                            let fields: JSON = [
                                "text": .string("w\(number)"), "clientId": .string("w\(number)"),
                                "mentions": [.string(reader.id)],
                            ]
                            check(try await writer.insist { try await $0.send(fields, to: chat) }, [200, 201])
                            known.withLock { _ = $0.sent.insert("w\(number)") }
                        }
                    }
                    group.addTask {
                        try await keep { number in
                            check(try await admin.insist { try await $0.edit(target, in: chat, "edit \(number)") }, [200])
                            known.withLock { $0.text = "edit \(number)" }
                        }
                    }
                    group.addTask {
                        try await keep { number in
                            let put = number % 2 == 1
                            check(try await writer.insist { try await $0.react("👍", to: target, in: chat, put: put) }, [200])
                            known.withLock { $0.isReacted = put }
                        }
                    }
                    group.addTask {
                        try await keep { number in
                            let comes = number % 2 == 1
                            let answer = try await admin.insist {
                                try await comes ? $0.add([comer.id], to: chat) : $0.remove(comer.id, from: chat)
                            }
                            // Removed before an answer that was lost.
                            check(answer, comes ? [200] : [204, 404])
                            known.withLock { $0.isMember = comes }
                        }
                    }
                    group.addTask {
                        try await keep { number in
                            let answer = try await reader.insist {
                                try await $0.call("POST", in: chat, "/read", ["seq": .int(3 * number)])
                            }
                            check(answer, [200])
                            known.withLock { $0.read = answer.json["readSeq"].int ?? -1 }
                        }
                    }
                    group.addTask {
                        try await keep { number in
                            let fields: JSON = [
                                "text": "slip", "clientId": .string("e\(number)"), "mentions": [.string(reader.id)],
                            ]
                            let sent = try await eraser.insist { try await $0.send(fields, to: chat) }
                            guard let seq = sent.json["seq"].int else { return check(sent, [200, 201]) }
                            check(try await eraser.insist { try await $0.delete(seq, in: chat, for: "everyone") }, [200])
                            known.withLock { _ = $0.gone.insert(seq) }
                        }
                    }
                    group.addTask {
                        defer { isOver.withLock { $0 = true } }
                        for _ in 0..<(Limits.isLong ? 10 : 1) {
                            // The conversation's owner, and then another one.
                            for offset in 0...1 {
                                let before = known.withLock { $0.sent.count }
                                try await eventually("more is sent") { known.withLock { $0.sent.count } > before + 5 }
                                try cluster.signal(SIGKILL, node: (try await cluster.owner(of: chat) - 1 + offset) % 3 + 1)
                                try await cluster.up()
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                try await compare(known.withLock { $0 }, target, chat, [admin] + people, comer, reader)
            }
        }

        private func compare(
            _ known: Known, _ target: Int, _ chat: String, _ people: [Person], _ comer: Person, _ reader: Person
        ) async throws {
            #expect(known.faults == [])
            #expect(known.sent.count > 10 && known.gone.count > 2)
            let admin = people[0]
            let cluster = admin.cluster
            for node in 1...3 {
                let history = try await admin.at(node).history(chat)
                let texts = history.texts.filter { $0.hasPrefix("w") }
                #expect(texts.count == known.sent.count && Set(texts) == known.sent, "each once")
                #expect(!history.texts.contains("slip"))
                #expect(Set(history.filter { !$0["deletedAt"].isNull }.seqs) == known.gone)
                let edited = history.first { $0["seq"] == .int(target) }
                #expect(edited?["text"] == .string(known.text))
                #expect(edited?["reactions"].items.count == (known.isReacted ? 1 : 0))
                let members = try await admin.at(node).members(chat).compactMap { $0["userId"].string }
                #expect(members.contains(comer.id) == known.isMember)
                #expect(members.count == people.count + (known.isMember ? 1 : 0))
                #expect(try await admin.at(node).conversation(chat)["memberCount"] == .int(members.count))
                // Every value of the counter is some message's, at its birth or at its last change, or has been passed since.
                let changes = try await pages(of: chat, by: admin.at(node))
                #expect(Set(changes.map { $0["changeSeq"].int }).count == changes.count)
                #expect(changes.last?["changeSeq"] == (try await admin.conversation(chat)["lastSeq"]))
                #expect(Set(changes.seqs) == Set(history.seqs))

                for person in people {
                    let row = try await person.at(node).conversation(chat)
                    let counted = try await cluster.query(
                        """
                        SELECT LEAST(count(*), 999), LEAST(count(*) FILTER (WHERE '\(person.id)' = ANY (m.mentions)), 999)
                        FROM messages m
                        JOIN members r ON r.conversation_id = m.conversation_id AND r.user_id = '\(person.id)'
                        WHERE m.conversation_id = '\(chat)' AND m.seq > r.read_seq AND m.sender_id <> r.user_id
                            AND m.kind <> 5 AND m.deleted_at IS NULL
                        """)
                    #expect([row["unreadCount"].int, row["mentionCount"].int].map { "\($0 ?? -1)" } == counted.first)
                    // From what it is shown as well.
                    let unread = try await person.at(node).history(chat).ofPeople.filter {
                        $0["seq"].int ?? 0 > row["readSeq"].int ?? 0 && $0["senderId"].string != person.id
                            && $0["deletedAt"].isNull
                    }
                    #expect(row["unreadCount"] == .int(min(unread.count, 999)))
                }
            }
            #expect(try await reader.conversation(chat)["readSeq"].int ?? 0 >= max(known.read, 1))
            let strays = [
                "SELECT 1 FROM reactions r JOIN messages m USING (conversation_id, seq) WHERE m.deleted_at IS NOT NULL",
                "SELECT 1 FROM mentions n JOIN messages m USING (conversation_id, seq) WHERE m.deleted_at IS NOT NULL",
                "SELECT 1 FROM messages WHERE deleted_at IS NOT NULL AND (text <> '' OR media_id IS NOT NULL)",
                """
                SELECT 1 FROM conversations c WHERE c.kind = 2
                    AND c.member_count <> (SELECT count(*) FROM members m WHERE m.conversation_id = c.id)
                """,
            ]
            for stray in strays { #expect(try await cluster.query(stray).isEmpty, "\(stray)") }
        }

        private func pages(of chat: String, by person: Person) async throws -> [JSON] {
            var items: [JSON] = []
            var after = 0
            while true {
                let page = try await person.changes(chat, after: after)
                items += page["items"].items
                after = try #require(page["upToSeq"].int)
                if page["hasMore"] != true { return items }
            }
        }
    }
}

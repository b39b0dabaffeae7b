import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Order, duplicates, loss.
    @Suite struct Order {
        @Test func aRetryThroughOtherNodesIsTheSameMessage() async throws {
            let (alice, _, chat) = try await pair()
            // The answer is lost: the client hangs up as soon as the request is out.
            let body = #"{"clientId":"lost","type":"text","text":"once"}"#
            let request = """
                POST /v1/conversations/\(chat)/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(alice.token)\r
                Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)
                """
            let url = try alice.cluster.url(1)
            try await onThread { try TCPSocket(url).write(Array(request.utf8)) }

            var seqs: Set<Int> = []
            for node in 1...5 {
                let answer = try await alice.at(node).post("once", to: chat, clientID: "lost").expect(200, 201)
                seqs.insert(try #require(answer.json["seq"].int))
            }
            #expect(seqs == [1])
            #expect(try await alice.history(chat).count == 1)
        }

        @Test func theSameClientIDWithAnotherBodyIsRefused() async throws {
            let (alice, _, chat) = try await pair()
            _ = try await alice.post("first", to: chat, clientID: "c").expect(201)
            let answer = try await alice.at(2).post("second", to: chat, clientID: "c").expect(409)
            #expect(answer.code == "clientIdReused")
            #expect(try await alice.history(chat).map { $0["text"].string } == ["first"])
        }

        @Test func twoHundredParallelSendsOverTwoNodesAreDense() async throws {
            let (alice, bob, chat) = try await pair()
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                for number in 0..<200 {
                    let sender = number.isMultiple(of: 2) ? alice : bob
                    group.addTask { try await sender.post("\(number)", to: chat) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.filter { $0.status != 201 }.map(\.description) == [])
            #expect(answers.compactMap { $0.json["seq"].int }.sorted() == Array(1...200))
            #expect(try await alice.post("next", to: chat).expect(201).json["seq"] == 201)
            #expect(try await bob.history(chat).map { $0["seq"].int } == (1...201).map(Optional.some))
        }

        @Test func aClientsClockDecidesNothing() async throws {
            let (alice, bob, chat) = try await pair()
            _ = try await bob.post("before", to: chat).expect(201)
            let tomorrow = Date().addingTimeInterval(86_400).formatted(.iso8601)
            let body: JSON = ["clientId": "t", "type": "text", "text": "now", "createdAt": .string(tomorrow), "seq": 99]
            let sent = try await alice.call("POST", "/v1/conversations/\(chat)/messages", body).expect(201).json
            _ = try await bob.post("after", to: chat).expect(201)
            let created = try #require(sent["createdAt"].string)
            let formatter = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            #expect(abs(try formatter.parse(created).timeIntervalSinceNow) < 3_600)
            #expect(try await bob.history(chat).map { $0["text"].string } == ["before", "now", "after"])
        }

        @Test func aSyncTokenSkipsNoChangeThatWasStalled() async throws {
            let (alice, _, chat) = try await pair()
            let cluster = alice.cluster
            // Another transaction holds the conversation's row, which its first message after a quiet time has to change.
            let stall = Task {
                try await cluster.query(
                    "BEGIN; SELECT pg_sleep(3) FROM (SELECT 1 FROM conversations WHERE id = '\(chat)' FOR UPDATE) r; COMMIT")
            }
            try await eventually("the row is held") {
                try await !cluster.query("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'").isEmpty
            }
            let send = Task { try await alice.postInTheEnd("stalled", to: chat, within: .seconds(30)) }
            // Meanwhile others commit, and the client takes its token.
            let owner = try await cluster.owner(of: chat)
            for _ in 0..<5 {
                let other = try await Person.guest("Other", of: cluster, node: 2)
                let otherChat = try await alice.at(2).chat(with: other)
                // On the same node it would wait behind the stalled commit, and the token would come after that.
                guard try await cluster.owner(of: otherChat) != owner else { continue }
                _ = try await alice.at(2).post("busy", to: otherChat).expect(201)
            }
            let before = try await alice.at(3).call("GET", "/v1/sync").expect(200).json
            #expect(!before["token"].isNull)
            _ = try await stall.value
            _ = try await send.value
            let token = try #require(before["token"].string)
            var seen: Set<String> = []
            var since = token
            while true {
                let page = try await alice.at(3).call("GET", "/v1/sync?since=\(since)").expect(200).json
                for item in page["conversations"].items where item["lastSeq"] == 1 { seen.insert(item["id"].string ?? "") }
                since = try #require(page["token"].string)
                if page["hasMore"] != true { break }
            }
            #expect(seen.contains(chat))
        }

        @Test func changesSkipNothingWhileACommitIsStalled() async throws {
            let (alice, bob, chat) = try await pair()
            let cluster = alice.cluster
            let listener = try await Socket.connect(bob)
            _ = try await alice.post("first", to: chat).expect(201)
            // In its lane, others would wait behind the stalled commit. Made now, for the server ends a statement after 4 s.
            let owner = try await cluster.owner(of: chat)
            var others: [String] = []
            while others.count < 3 {
                let other = try await alice.chat(with: Person.guest("Other", of: cluster, node: 2))
                if try await cluster.owner(of: other) != owner { others.append(other) }
            }
            // Another transaction is about to give the next value away, and gives it back when it is ended.
            let stall = Task {
                try? await cluster.query(
                    """
                    BEGIN;
                    INSERT INTO messages (conversation_id, sender_id, seq, change_seq, created_at, kind, client_id, text)
                        VALUES ('\(chat)', '\(alice.id)', 2, 2, now(), 0, 'never stored', '');
                    SELECT pg_sleep(120)
                    """)
            }
            let holders = "pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%\(chat)%'"
            try await eventually("the value is held") { try await cluster.query("SELECT 1 FROM \(holders)").count == 1 }
            let waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'transactionid'"
            let stalled = Task { try await alice.postInTheEnd("stalled", to: chat, within: .seconds(60)) }
            try await eventually("the commit waits") { try await cluster.query(waiting).count == 1 }
            let behind = Task { try await bob.postInTheEnd("behind", to: chat, within: .seconds(60)) }

            for other in others { _ = try await alice.at(3).post("busy", to: other).expect(201) }
            var tokens: [String] = []
            for node in 1...3 {
                for after in [0, 1] {
                    let page = try await bob.at(node).changes(chat, after: after)
                    #expect(page["items"].items.texts == (after == 0 ? ["first"] : []))
                    #expect(page["upToSeq"] == 1 && page["hasMore"] == false, "\(page)")
                }
                let page = try await bob.at(node).call("GET", "/v1/sync").expect(200).json
                tokens.append(try #require(page["token"].string))
            }
            #expect(try await cluster.query(waiting).count == 1, "it was stalled all the time")
            _ = try await cluster.query("SELECT pg_terminate_backend(pid) FROM \(holders)")
            _ = await stall.value
            #expect(try await stalled.value.json["seq"] == 2)
            #expect(try await behind.value.json["seq"] == 3)

            for node in 1...3 {
                #expect(try await bob.at(node).changes(chat, after: 1)["items"].items.texts == ["stalled", "behind"])
                let page = try await bob.at(node).call("GET", "/v1/sync?since=\(tokens[node - 1])").expect(200).json
                #expect(page["conversations"].items.contains { $0["id"] == .string(chat) && $0["lastSeq"] == 3 })
            }
            try await listener.message("behind", in: chat)
            #expect(listener.messages(chat).texts == ["first", "stalled", "behind"])
        }

        @Test func aReceiverUnpluggedInTheMiddleOfABurstMissesNothing() async throws {
            let (alice, bob, chat) = try await pair()
            let first = try await Socket.connect(bob)
            let burst = Task {
                for number in 0..<300 { _ = try await alice.post("\(number)", to: chat).expect(201) }
            }
            try await first.message("50", in: chat)
            first.reset()
            let seen = first.messages(chat).compactMap { $0["seq"].int }
            try await Task.sleep(for: .seconds(Limits.isLong ? 5 : 1))
            let second = try await Socket.connect(bob)
            let last = try #require(seen.last)
            var caughtUp: [Int] = []
            var position = last
            while true {
                let page = try await bob.changes(chat, after: position, limit: 100)
                caughtUp += page["items"].items.compactMap { $0["seq"].int }
                position = try #require(page["upToSeq"].int)
                if page["hasMore"] != true { break }
            }
            try await burst.value
            _ = try await alice.post("the last", to: chat).expect(201)
            try await second.message("the last", in: chat)
            let live = second.messages(chat).compactMap { $0["seq"].int }
            #expect(Set(seen + caughtUp + live) == Set(1...301))
            #expect(live == Array(live[0]...301), "within a session there is no hole")
        }

        @Test func aReturningClientIsToldWhetherItsPositionIsComplete() async throws {
            let (alice, bob, chat) = try await pair()
            for number in 1...60 { _ = try await alice.post("\(number)", to: chat).expect(201) }
            for node in 1...3 {
                let reader = bob.at(node)
                let current = try await reader.changes(chat, after: 60)
                #expect(current["items"].items.isEmpty && current["upToSeq"] == 60 && current["hasMore"] == false)
                let little = try await reader.changes(chat, after: 57)
                #expect(little["items"].items.compactMap { $0["seq"].int } == [58, 59, 60] && little["hasMore"] == false)
                let far = try await reader.changes(chat, after: 0, limit: 50)
                #expect(far["items"].items.count == 50 && far["upToSeq"] == 50 && far["hasMore"] == true)
            }
            let token = try #require(try await bob.call("GET", "/v1/sync").expect(200).json["token"].string)
            try await alice.cluster.node("restart", "node1")
            _ = try await alice.at(2).postInTheEnd("61", to: chat, within: .seconds(30))
            let after = try await bob.call("GET", "/v1/sync?since=\(token)").expect(200).json
            #expect(after["conversations"].items.contains { $0["id"] == .string(chat) && $0["lastSeq"] == 61 })
            #expect(try await bob.changes(chat, after: 60)["items"].items.map { $0["text"].string } == ["61"])
            for bad in ["x", "%00", "0", "-1", String(repeating: "9", count: 400)] {
                let answer = try await bob.call("GET", "/v1/sync?since=\(bad)").expect(400)
                #expect(answer.code == "badCursor" || answer.code == "malformed")
            }
        }
    }
}

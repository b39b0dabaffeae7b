import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Owners, nodes, NATS, PostgreSQL: what dies, and what must not.
    @Suite struct Chaos {
        @Test func aNodeKilledUnderLoadLosesNothingAndIsUsedAgain() async throws {
            let cluster = try await Cluster.shared()
            let load = try await Load(pairs: Limits.isLong ? 100 : 30, of: cluster)
            let receivers = try await listen(to: load.pairs.filter { ($0.receiver.node - 1) % 3 != 1 })
            try await load.run {
                try await Task.sleep(for: .seconds(2))
                try cluster.signal(SIGKILL, node: 2)
                try await Task.sleep(for: .seconds(8))
                // It returns under the same name, at once.
                try await cluster.node("start", "node2")
                try await Task.sleep(for: .seconds(5))
            }
            #expect(try await load.faults() == [])
            let pauses = load.pauses
            report("kill -9", load)
            #expect(pauses[pauses.count / 2] < .seconds(4) && pauses.last ?? .zero < .seconds(8), "\(pauses)")
            for (pair, socket) in receivers { try await expectEverythingLive(pair, at: socket) }
            #expect(try await cluster.conversationsWithHoles() == [])
            try await eventually("node2 owns shards again", within: .seconds(60)) {
                try await cluster.ownedShards()["node2", default: 0] > 0
            }
            let carol = try await Person.guest("Carol", of: cluster, node: 2)
            let chat = try await carol.chat(with: load.pairs[0].sender)
            _ = try await carol.post("through node2", to: chat).expect(201)
        }

        @Test func theOwnerOfAConversationKilledTakesNoMoreThanTheFailoverTime() async throws {
            let (alice, bob, chat) = try await pair()
            let cluster = alice.cluster
            for number in 1...5 { _ = try await alice.post("\(number)", to: chat).expect(201) }
            let owner = try await cluster.owner(of: chat)
            let others = [1, 2, 3].filter { $0 != owner }
            try cluster.signal(SIGKILL, node: owner)
            let start = ContinuousClock.now
            let sent = try await alice.at(others[0]).postInTheEnd("after", to: chat, within: .seconds(20))
            #expect(sent.json["seq"] == 6)
            print("the owner killed: the next send took \(ContinuousClock.now - start)")
            #expect(try await bob.at(others[1]).history(chat).compactMap { $0["seq"].int } == Array(1...6))
            try await cluster.up()
        }

        @Test func natsRestartedInTheMiddleOfABurst() async throws {
            let cluster = try await Cluster.shared()
            let load = try await Load(pairs: 12, of: cluster)
            let receivers = try await listen(to: load.pairs)
            try await load.run(pause: .milliseconds(20)) {
                try await Task.sleep(for: .seconds(1))
                try await cluster.service("restart", "nats")
                try await Task.sleep(for: .seconds(2))
                try await cluster.service("stop", "nats")
                try await Task.sleep(for: .seconds(3))
                try await cluster.service("start", "nats")
                try await Task.sleep(for: .seconds(2))
            }
            report("NATS restarted", load)
            #expect(try await load.faults() == [])
            for (pair, socket) in receivers { try await expectEverythingLive(pair, at: socket) }
            for node in 1...3 { try await eventually("ready again") { try await cluster.isReady(node) } }
        }

        @Test func postgresStoppedGivesPromptRefusalsAndRecoversByItself() async throws {
            let cluster = try await Cluster.shared()
            let load = try await Load(pairs: 12, of: cluster)
            let receivers = try await listen(to: load.pairs)
            let pids = try cluster.nodes().map(\.pid)
            try await load.run {
                try await Task.sleep(for: .seconds(1))
                try await cluster.service("stop", "postgres")
                for node in 1...3 { try await eventually("not ready") { try await !cluster.isReady(node) } }
                try await expectPromptRefusals(load.pairs[0])
                try await Task.sleep(for: .seconds(Limits.isLong ? 60 : 8))
                // Not only at first: also when the nodes have tried to come back for a while.
                for node in 1...3 { #expect(try await !cluster.isReady(node)) }
                try await expectPromptRefusals(load.pairs[0])
                try await cluster.service("start", "postgres")
                for node in 1...3 { try await eventually("ready again") { try await cluster.isReady(node) } }
                try await Task.sleep(for: .seconds(2))
            }
            report("PostgreSQL stopped", load)
            #expect(try await load.faults() == [])
            #expect(try cluster.nodes().map(\.pid) == pids, "without a restart")
            for (pair, socket) in receivers { try await expectEverythingLive(pair, at: socket) }
        }

        @Test func oneConversationHammeredWhileNodesLeaveAndJoinHasNoForkAndNoHole() async throws {
            let (alice, bob, chat) = try await pair()
            let cluster = alice.cluster
            let senders = (0..<6).map { ($0.isMultiple(of: 2) ? alice : bob).at($0 + 1) }
            try await withThrowingTaskGroup(of: [Int: String].self) { group in
                let deadline = ContinuousClock.now + .seconds(Limits.isLong ? 180 : 20)
                for (index, sender) in senders.enumerated() {
                    group.addTask {
                        var acknowledged: [Int: String] = [:]
                        var number = 0
                        while ContinuousClock.now < deadline {
                            number += 1
                            let text = "\(index): \(number)"
                            let answer = try await sender.postInTheEnd(text, to: chat, clientID: text, within: .seconds(30))
                            acknowledged[answer.json["seq"].int ?? 0] = text
                        }
                        return acknowledged
                    }
                }
                var round = 0
                while ContinuousClock.now < deadline - .seconds(6) {
                    round += 1
                    let node = round % 3 + 1
                    if round.isMultiple(of: 2) {
                        try await cluster.node("restart", "node\(node)")
                    } else {
                        try cluster.signal(SIGKILL, node: node)
                        try await Task.sleep(for: .seconds(2))
                        try await cluster.node("start", "node\(node)")
                    }
                    try await Task.sleep(for: .seconds(1))
                }
                var acknowledged: [Int: String] = [:]
                for try await part in group {
                    for (seq, text) in part { #expect(acknowledged.updateValue(text, forKey: seq) == nil, "\(seq) twice") }
                }
                let history = try await alice.history(chat)
                #expect(history.compactMap { $0["seq"].int } == Array(1...history.count))
                let stored = Dictionary(history.map { ($0["seq"].int ?? 0, $0["text"].string ?? "") }) { $1 }
                #expect(acknowledged.filter { stored[$0.key] != $0.value } == [:])
                #expect(Set(stored.values).count == history.count)
            }
            try await cluster.up()
        }

        @Test func aNodeHaltedPastItsLeaseCommitsNothingWhenItWakes() async throws {
            let (alice, bob, chat) = try await pair()
            let cluster = alice.cluster
            for number in 1...3 { _ = try await alice.post("\(number)", to: chat).expect(201) }
            let owner = try await cluster.owner(of: chat)
            let others = [1, 2, 3].filter { $0 != owner }
            // Sends that reach the halted owner wait in its sockets and are handled when it wakes.
            try cluster.signal(SIGSTOP, node: owner)
            let stale = Task { try? await alice.at(owner).post("stale", to: chat, clientID: "stale", patience: 40) }
            let taken = try await bob.at(others[0]).postInTheEnd("4", to: chat, within: .seconds(30))
            #expect(taken.json["seq"] == 4)
            try await eventually("its shards have other owners", within: .seconds(30)) {
                try await cluster.ownedShards()["node\(owner)", default: 0] == 0
            }
            try cluster.signal(SIGCONT, node: owner)
            _ = await stale.value
            _ = try await bob.at(others[1]).postInTheEnd("5", to: chat, within: .seconds(30))
            let history = try await bob.at(others[1]).history(chat)
            #expect(history.compactMap { $0["seq"].int } == Array(1...history.count))
            #expect(Set(history.compactMap { $0["clientId"].string }).count == history.count)
            try await cluster.up()
        }

        @Test func ofTwoOwnersTheDatabaseRefusesTheStaleOne() async throws {
            let (alice, bob, chat) = try await pair()
            let cluster = alice.cluster
            for number in 1...3 { _ = try await alice.post("\(number)", to: chat).expect(201) }
            let owner = try await cluster.owner(of: chat)
            let others = [1, 2, 3].filter { $0 != owner }
            // A test hook makes the owner stand still in what concerns its lease, and yet serve as though that were good.
            try await cluster.hook("freeze", node: owner)
            try await eventually("another node owns the conversation", within: .seconds(30)) {
                try await cluster.owner(of: chat) != owner
            }
            let taken = try await bob.at(others[0]).postInTheEnd("4", to: chat, within: .seconds(30))
            #expect(taken.json["seq"] == 4)
            let refusals = "roost_journal_fenced_total"
            let before = try await cluster.metric(refusals, node: owner)
            let stale = try await alice.at(owner).post("stale", to: chat, clientID: "stale")
            #expect(stale.status == 503 && stale.code == "unavailable", "\(stale)")
            #expect(try await cluster.metric(refusals, node: owner) > before)
            #expect(try await bob.at(others[1]).history(chat).texts == ["1", "2", "3", "4"])
            try await cluster.hook("thaw", node: owner)
            try await cluster.up()
            // The same send again is a send like any other.
            let again = try await alice.at(owner).postInTheEnd("stale", to: chat, clientID: "stale", within: .seconds(30))
            #expect(again.json["seq"] == 5)
        }

        @Test func theLeaderRestartedAgainAndAgainLeavesEveryNodeWithActors() async throws {
            let cluster = try await Cluster.shared()
            for _ in 0..<(Limits.isLong ? 10 : 3) {
                let rows = try await cluster.query(
                    "SELECT n.name FROM cluster_state s JOIN cluster_nodes n ON n.incarnation = s.leader AND n.state = 'up'")
                guard let leader = rows.first?.first else {
                    try await Task.sleep(for: .seconds(1))
                    continue
                }
                try await cluster.node("restart", leader)
            }
            try await eventually("every node hosts actors of both kinds", within: .seconds(60)) {
                let rows = try await cluster.query(
                    """
                    SELECT n.name, s.kind FROM shards s JOIN cluster_nodes n ON n.incarnation = s.owner AND n.state = 'up'
                    GROUP BY 1, 2
                    """)
                let owned = try await cluster.query(
                    "SELECT count(*) FROM shards s JOIN cluster_nodes n ON n.incarnation = s.owner AND n.state = 'up'")
                return rows.count == 6 && owned == [["1280"]]
            }
            let (alice, _, chat) = try await pair()
            _ = try await alice.postInTheEnd("works", to: chat, within: .seconds(20))
        }

        @Test func aRollingRestartMovesEachShardAtMostSixTimes() async throws {
            let cluster = try await Cluster.shared()
            try await eventually("all shards have settled", within: .seconds(60)) {
                try await cluster.query("SELECT count(*) FROM shards WHERE target IS NOT NULL OR owner IS NULL") == [["0"]]
            }
            _ = try await cluster.query(
                "DROP TABLE IF EXISTS epochs_before; CREATE TABLE epochs_before AS SELECT kind, number, epoch FROM shards")
            for node in 1...3 { try await cluster.node("restart", "node\(node)") }
            let most = try await cluster.query(
                "SELECT max(s.epoch - b.epoch) FROM shards s JOIN epochs_before b USING (kind, number)")
            _ = try await cluster.query("DROP TABLE epochs_before")
            let moves = try #require(most.first?.first.flatMap { Int($0) })
            print("a rolling restart of three nodes: a shard moved at most \(moves) times")
            #expect(moves <= 6)
        }

        // MARK: Helpers

        private func listen(to pairs: [Load.Pair]) async throws -> [(Load.Pair, Socket)] {
            var receivers: [(Load.Pair, Socket)] = []
            for pair in pairs { receivers.append((pair, try await Socket.connect(pair.receiver))) }
            return receivers
        }

        /// Without a database every node lives, is not ready, and refuses whatever needs it at once, in a way that says when to come back.
        private func expectPromptRefusals(_ pair: Load.Pair) async throws {
            let cluster = pair.sender.cluster
            for node in 1...3 {
                let sender = pair.sender.at(node)
                let calls: [(String, String, JSON?)] = [
                    (
                        "POST", "/v1/conversations/\(pair.chat)/messages",
                        ["clientId": "refused \(node)", "type": "text", "text": "refused"]
                    ),
                    ("GET", "/v1/conversations/\(pair.chat)/changes?after=0", nil), ("GET", "/v1/sync", nil),
                    ("POST", "/v1/auth/anonymous", ["displayName": "Refused"]),
                ]
                for (method, path, body) in calls {
                    let start = ContinuousClock.now
                    let answer = try await sender.call(method, path, body)
                    let isRefusal =
                        answer.status == 503 && answer.code == "unavailable" && answer.headers["retry-after"] != nil
                    #expect(isRefusal, "\(method) \(path): \(answer)")
                    #expect(ContinuousClock.now - start < .seconds(3), "\(method) \(path)")
                }
                #expect(try await HTTP.call("GET", cluster.url(node), "/readyz").status == 503)
                #expect(try await HTTP.call("GET", cluster.url(node), "/healthz").status == 200)
            }
        }

        /// What is stored has come live, each once and in order; where the session was told to `resync`, or a hole shows, from changes.
        private func expectEverythingLive(_ pair: Load.Pair, at socket: Socket) async throws {
            let stored = try await pair.receiver.history(pair.chat).compactMap { $0["seq"].int }
            try await eventually(
                "\(stored.count) messages are there live, of which \(socket.messages(pair.chat).count) came", within: .seconds(30)
            ) {
                socket.messages(pair.chat).last?["seq"].int == stored.last || socket.closeCode != nil
            }
            #expect(socket.closeCode == nil)
            let live = socket.messages(pair.chat).compactMap { $0["seq"].int }
            #expect(live == stored || !socket.events("resync").isEmpty)
            #expect(live == Array(Set(live)).sorted(), "each once, in order")
        }

        private func report(_ what: String, _ load: Load) {
            let pauses = load.pauses
            print(
                "\(what): \(load.acknowledgedCount) acknowledged, refused \(load.refusals), longest pauses p50 \(pauses[pauses.count / 2]), worst \(pauses.last ?? .zero)"
            )
        }

        /// How many shards each live node owns.
    }
}

import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// What the person on call does, and that nobody notices.
    @Suite struct Operators {
        @Test func aDrainUnderLoadItsReturnAndARebalanceLoseNothing() async throws {
            let cluster = try await Cluster.shared()
            try await cluster.rest()
            let (clients, rate, seconds) = Limits.isLong ? (500, 1000, 60) : (200, 300, 22)
            let report = try await cluster.load(clients: clients, rate: rate, seconds: seconds) {
                let drain = try await cluster.operate("POST", "nodes/node3/drain", ["timeoutSeconds": 60]).expect(202).json
                #expect(drain["kind"] == "drain" && drain["node"] == "node3" && drain["movesPlanned"].int ?? 0 > 300)
                #expect(try await !cluster.isReady(3))
                let end = try await cluster.end(of: drain)
                #expect(end["state"] == "done" && end["movesDone"] == end["movesPlanned"] && end["movesFailed"] == 0)
                #expect(end["longestPauseMilliseconds"].double ?? 1000 < 1000)
                print("drain: longest pause until stored \(end["longestPauseMilliseconds"].double ?? -1) ms")
                #expect(try await cluster.ownedShards()["node3"] == nil)
                #expect(try await cluster.status(of: "node3")["state"] == "drained")
                try await expectEven(cluster, among: 2)
                // Its clients have gone elsewhere; who comes is sent on.
                try await eventually("node3 has no clients") {
                    try await cluster.status(of: "node3")["sessions"].int == 0
                }
                _ = try await cluster.operate("POST", "nodes/node3/uncordon").expect(200)
                try await eventually("node3 is ready") { try await cluster.isReady(3) }
                try await eventually("node3 is used again", within: .seconds(60)) {
                    try await cluster.ownedShards()["node3", default: 0] > 300
                }
                try await cluster.rest()
                try await applyRebalance(cluster)
                try await expectEven(cluster, among: 3)
            }
            print("drain and return under load: \(report["latency"].text)")
            #expect(try await cluster.conversationsWithHoles() == [])
        }

        @Test func aRollingRestartUnderLoadLosesNothing() async throws {
            let cluster = try await Cluster.shared()
            try await cluster.rest()
            _ = try await cluster.load(seconds: Limits.isLong ? 60 : 25) {
                for name in ["node1", "node2", "node3"] {
                    try await cluster.node("restart", name)
                    try await eventually("\(name) is used again", within: .seconds(60)) {
                        try await cluster.ownedShards()[name, default: 0] > 300
                    }
                    try await cluster.rest()
                }
            }
            #expect(try await cluster.conversationsWithHoles() == [])
        }

        @Test func aCordonStaysOverARestartAndBringsNoNewShards() async throws {
            let cluster = try await Cluster.shared()
            try await cluster.rest()
            let before = try await cluster.ownedShards()["node2", default: 0]
            let answer = try await cluster.operate("POST", "nodes/node2/cordon").expect(200).json
            #expect(answer["state"] == "cordoned")
            _ = try await cluster.operate("POST", "nodes/node2/cordon").expect(200)
            // Sessions go on.
            let alice = try await Person.guest("Alice", of: cluster, node: 2)
            let socket = try await Socket.connect(alice)
            #expect(try await cluster.isReady(2))
            #expect(try await cluster.ownedShards()["node2"] == before)
            try await cluster.node("restart", "node2")
            try await eventually("node2 is back, and cordoned") {
                try await cluster.status(of: "node2")["state"] == "cordoned"
            }
            _ = socket
            _ = try await cluster.operate("POST", "nodes/node2/uncordon").expect(200)
            try await eventually("node2 is used", within: .seconds(60)) {
                try await cluster.ownedShards()["node2", default: 0] > 300
            }
            try await cluster.rest()
        }

        @Test func aPlanIsShownAppliedAndRefusedWhenItIsOld() async throws {
            let cluster = try await Cluster.shared()
            try await cluster.rest()
            // All that node1 has is hot: a plan is drawn up from what the nodes tell.
            let dry = try await cluster.operate("POST", "nodes/node1/drain", ["dryRun": true]).expect(200).json
            #expect(dry["moves"].items.count > 300 && dry["moves"].items.allSatisfy { $0["from"] == "node1" })
            #expect(dry["after"].items.first { $0["node"] == "node1" }?["load"] == 0)
            let plan = try await eventualPlan(cluster)
            #expect(Set(plan["before"].items.map { $0["node"].string }) == ["node1", "node2", "node3"])
            let id = try #require(plan["id"].string)
            // Whatever changes the view makes the plan one of yesterday.
            _ = try await cluster.operate("POST", "nodes/node3/cordon").expect(200)
            let refused = try await cluster.operate("POST", "rebalance", ["planId": .string(id)])
            #expect(refused.status == 409 && refused.code == "planOutdated")
            _ = try await cluster.operate("POST", "nodes/node3/uncordon").expect(200)
            let fresh = try await eventualPlan(cluster)
            let applied = try await cluster.operate("POST", "rebalance", ["planId": fresh["id"]]).expect(202).json
            #expect(applied["kind"] == "rebalance" && applied["movesPlanned"].int == fresh["moves"].items.count)
            #expect(try await cluster.end(of: applied)["state"] == "done")
            let listed = try await cluster.operate("GET", "operations?limit=1").expect(200).json
            #expect(listed["items"].items.first?["id"] == applied["id"])
            for verb in ["pause", "resume", "cancel"] {
                let late = try await cluster.operate("POST", "operations/\(applied["id"].string ?? "")/\(verb)")
                #expect(late.status == 409 && late.code == "conflict")
            }
        }

        @Test func aPinnedConversationMovesAloneStaysAndGoesBack() async throws {
            let (alice, bob, chat) = try await pair()
            let cluster = alice.cluster
            try await cluster.rest()
            for number in 1...5 { _ = try await alice.post("\(number)", to: chat).expect(201) }
            let home = try await cluster.owner(of: chat)
            let other = home % 3 + 1
            let path = "actors/conversation/\(chat)"
            var actor = try await cluster.operate("GET", path).expect(200).json
            #expect(actor["node"].string == "node\(home)" && actor["active"] == true && actor["kind"] == "conversation")
            let pin = try await cluster.operate("PUT", "\(path)/pin", ["node": .string("node\(other)")]).expect(202).json
            #expect(pin["kind"] == "pin" && pin["node"].string == "node\(other)")
            #expect(try await cluster.end(of: pin)["state"] == "done")
            actor = try await cluster.operate("GET", path, node: 2).expect(200).json
            #expect(actor["node"].string == "node\(other)" && actor["reason"] == "pin")
            // The shard stays where it was, and the conversation goes on.
            #expect(try await cluster.owner(of: chat) == home)
            for number in 6...10 { _ = try await bob.post("\(number)", to: chat).expect(201) }
            #expect(try await alice.history(chat).compactMap { $0["seq"].int } == Array(1...10))
            let listed = try await cluster.operate("GET", "actors?kind=conversation&sort=load&node=node\(other)&limit=200")
            #expect(try listed.expect(200).json["items"].items.contains { $0["id"].string == chat })
            // Its node dies: it lives with its shard meanwhile, and returns.
            try cluster.signal(SIGKILL, node: other)
            _ = try await alice.at(home).postInTheEnd("meanwhile", to: chat, within: .seconds(20))
            try await cluster.node("start", "node\(other)")
            try await eventually("it is back", within: .seconds(40)) {
                try await cluster.operate("GET", path, node: home).expect(200).json["node"].string == "node\(other)"
            }
            let back = try await cluster.operate("DELETE", "\(path)/pin", node: home).expect(202).json
            #expect(try await cluster.end(of: back, node: home)["state"] == "done")
            _ = try await cluster.operate("DELETE", "\(path)/pin", node: home).expect(204)
            #expect(
                try await cluster.operate("GET", path, node: home).expect(200).json["node"].string
                    == "node\(try await cluster.owner(of: chat))")
            _ = try await bob.at(home).post("at home", to: chat).expect(201)
            #expect(try await alice.at(home).history(chat).compactMap { $0["seq"].int } == Array(1...12))
        }

        @Test func aDrainOutlivesTheLeaderAndCanBeCancelled() async throws {
            let cluster = try await Cluster.shared()
            try await cluster.rest()
            let nodes = try await cluster.operate("GET", "nodes").expect(200).json["items"].items
            let leader = try #require(nodes.first { $0["isLeader"] == true }?["name"].string)
            let names = ["node1", "node2", "node3"]
            let drained = try #require(names.first { $0 != leader })
            let witness = try #require(names.firstIndex { $0 != leader && $0 != drained }) + 1
            // Paused at once, so that the leader dies in the middle of it.
            let drain = try await cluster.operate("POST", "nodes/\(drained)/drain", node: witness).expect(202).json
            let id = try #require(drain["id"].string)
            let paused = try await cluster.operate("POST", "operations/\(id)/pause", node: witness)
            #expect(paused.status == 200 || paused.status == 409, "it may have been faster")
            try cluster.signal(SIGKILL, node: names.firstIndex(of: leader)! + 1)
            try await eventually("another leads", within: .seconds(20)) {
                try await cluster.operate("GET", "nodes", node: witness).json["items"].items.contains {
                    $0["isLeader"] == true && $0["name"].string != leader && $0["state"] != "dead"
                }
            }
            let resumed = try await cluster.operate("POST", "operations/\(id)/resume", node: witness)
            #expect(resumed.status == 200 || resumed.status == 409, "a paused one that has nothing left to move ends too")
            let end = try await cluster.end(of: drain, node: witness)
            #expect(end["state"] == "done")
            try await cluster.node("start", leader)
            _ = try await cluster.operate("POST", "nodes/\(drained)/uncordon", node: witness).expect(200)
            try await cluster.rest()
            let second = try await cluster.operate("POST", "nodes/\(drained)/drain", node: witness).expect(202).json
            let cancelled = try await cluster.operate(
                "POST", "operations/\(second["id"].string ?? "")/cancel", node: witness
            )
            // It may have been faster.
            #expect(cancelled.status == 200 || cancelled.status == 409)
            _ = try await cluster.operate("POST", "nodes/\(drained)/uncordon", node: witness).expect(200)
            try await cluster.rest()
            for node in 1...3 { try await eventually("ready", within: .seconds(30)) { try await cluster.isReady(node) } }
        }

        @Test func whatMakesNoSenseIsRefusedAndWhatWasDoneIsNoted() async throws {
            let (alice, _, chat) = try await pair()
            let cluster = alice.cluster
            func expect(_ status: Int, _ code: String, _ method: String, _ path: String, _ body: JSON? = nil) async throws {
                let answer = try await cluster.operate(method, path, body)
                #expect(
                    answer.status == status && answer.code == code, "\(method) \(path): \(answer.status) \(answer.code ?? "-")")
            }
            let nobody = UUID().uuidString.lowercased()
            for verb in ["cordon", "uncordon", "drain"] { try await expect(404, "notFound", "POST", "nodes/nowhere/\(verb)") }
            try await expect(422, "validationFailed", "POST", "nodes/node1/drain", ["timeoutSeconds": -1])
            try await expect(422, "validationFailed", "POST", "rebalance", ["maxMoves": 0])
            try await expect(400, "malformed", "POST", "rebalance", ["maxMoves": "many"])
            try await expect(404, "notFound", "POST", "rebalance", ["planId": .string(nobody)])
            try await expect(404, "notFound", "GET", "actors/conversation/\(nobody)")
            try await expect(404, "notFound", "GET", "actors/cat/\(chat)")
            try await expect(404, "notFound", "GET", "actors/conversation/x")
            try await expect(404, "notFound", "PUT", "actors/conversation/\(nobody)/pin", ["node": "node1"])
            try await expect(404, "notFound", "PUT", "actors/conversation/\(chat)/pin", ["node": "nowhere"])
            try await expect(422, "validationFailed", "PUT", "actors/conversation/\(chat)/pin", [:])
            try await expect(400, "badParameter", "GET", "actors?kind=cat")
            try await expect(400, "badParameter", "GET", "actors?sort=name")
            try await expect(400, "badCursor", "GET", "actors?cursor=x")
            try await expect(404, "notFound", "GET", "actors?node=nowhere")
            try await expect(400, "badCursor", "GET", "operations?cursor=x")
            try await expect(404, "notFound", "GET", "operations/\(nobody)")
            for verb in ["pause", "resume", "cancel"] {
                try await expect(404, "notFound", "POST", "operations/\(nobody)/\(verb)")
            }
            #expect(try await cluster.operate("GET", "shards").expect(200).json["items"].items.count == 1280)
            let asleep = try await cluster.operate("GET", "actors/presence/\(alice.id)").expect(200).json
            #expect(asleep["kind"] == "presence" && asleep["node"].string?.hasPrefix("node") == true)
            _ = try await cluster.operate("POST", "nodes/node1/cordon").expect(200)
            _ = try await cluster.operate("POST", "nodes/node1/uncordon").expect(200)
            let audit = try await cluster.operate("GET", "audit?limit=2").expect(200).json["items"].items
            #expect(audit.map { $0["action"].string } == ["node.uncordon", "node.cordon"])
            #expect(audit.allSatisfy { $0["subject"] == "node1" })
        }

        /// A cluster at work is as it should be, and what is put in by hand is found.
        @Test func aCheckFindsDamageAndMendsWhatIsCertain() async throws {
            let (alice, _, chat) = try await pair()
            let cluster = alice.cluster
            try await cluster.rest()
            for number in 1...3 { _ = try await alice.post("\(number)", to: chat).expect(201) }
            let (tool, file) = (try cluster.program("roostctl"), "\(cluster.data)/cluster.json")
            func check(_ options: String...) async throws -> JSON {
                try JSON(Data(try await Shell.run([tool, "check", "--json", "--cluster", file] + options).utf8))
            }
            _ = try await check("--repair")
            #expect(try await check()["findings"].items.isEmpty)
            // A member who has also left.
            _ = try await cluster.query("INSERT INTO departures (user_id, conversation_id) VALUES ('\(alice.id)', '\(chat)')")
            await #expect(throws: (any Error).self, "damage that is left is a failure") { try await check() }
            let mended = try await check("--repair")
            #expect(mended["findings"].items.allSatisfy { $0["count"] == $0["repaired"] } && !mended["findings"].items.isEmpty)
            #expect(try await check()["findings"].items.isEmpty)
            #expect(try await alice.history(chat).count == 3)
        }

        // MARK: Helpers

        /// A plan is refused for a few seconds after a node has come: it has yet to tell of its work.
        private func eventualPlan(_ cluster: Cluster) async throws -> JSON {
            try await eventually("all have told of their work", within: .seconds(20)) {
                try await cluster.operate("POST", "rebalance", ["dryRun": true]).status == 200
            }
            return try await cluster.operate("POST", "rebalance", ["dryRun": true]).expect(200).json
        }

        private func applyRebalance(_ cluster: Cluster) async throws {
            try await eventually("a rebalance runs", within: .seconds(20)) {
                let answer = try await cluster.operate("POST", "rebalance")
                guard answer.status == 202 else { return false }
                _ = try await cluster.end(of: answer.json)
                return true
            }
        }

        /// The hottest of `count` open nodes has at most a quarter more to do than the mean.
        private func expectEven(_ cluster: Cluster, among count: Int) async throws {
            @Sendable func loads() async throws -> [Double] {
                try await cluster.operate("GET", "nodes").expect(200).json["items"].items
                    .filter { $0["state"] == "up" }.compactMap { $0["load"].double }
            }
            try await eventually("the loads are even", within: .seconds(30)) {
                let loads = try await loads()
                return loads.count == count && loads.max()! * Double(count) <= loads.reduce(0, +) * 1.25
            }
        }
    }
}

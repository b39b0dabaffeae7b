import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// What a node that is drained tells its clients, and how a drain may end.
    @Suite struct Drains {
        @Test func clientsOfADrainedNodeAreSentAwayAndNoNewOnesCome() async throws {
            let (alice, bob, chat) = try await pair(on: 1, 3)
            try await withEvenCluster { cluster in
                let (staying, leaving) = (try await Socket.connect(alice), try await Socket.connect(bob))
                let drain = try await cluster.operate("POST", "nodes/node3/drain").expect(202).json
                let goaway = try await leaving.event("goaway", within: .seconds(60))
                #expect(goaway["afterSeconds"].int ?? 0 >= 2)
                #expect(try await leaving.closed() == 4010)
                #expect(try await cluster.end(of: drain)["state"] == "done")
                // Who comes is told to go elsewhere, before any socket is made; requests are served all the same.
                try await expectNoSocket(bob)
                #expect(try await bob.post("through a drained node", to: chat).status == 201)
                try await staying.message("through a drained node", in: chat)
                #expect(try await HTTP.call("GET", cluster.url(3), "/healthz").status == 200)
                #expect(try await !cluster.isReady(3))
                // Drained again, it says at once that it is.
                let again = try await cluster.operate("POST", "nodes/node3/drain", ["timeoutSeconds": 60]).expect(202).json
                #expect(try await cluster.end(of: again)["state"] == "done")
                #expect(try await cluster.status(of: "node3")["state"] == "drained")
                _ = try await cluster.operate("POST", "nodes/node3/uncordon").expect(200)
                try await eventually("node3 is ready") { try await cluster.isReady(3) }
                let back = try await Socket.connect(bob)
                _ = try await alice.post("welcome back", to: chat).expect(201)
                try await back.message("welcome back", in: chat)
                #expect(staying.closeCode == nil && staying.events("resync").isEmpty)
            }
        }

        @Test func theLastOpenNodeWaitsUntilItsTimeIsOverOrItIsCalledOff() async throws {
            try await withEvenCluster { cluster in
                let alice = try await Person.guest("Alice", of: cluster, node: 3)
                for name in ["node1", "node2"] { _ = try await cluster.operate("POST", "nodes/\(name)/cordon").expect(200) }
                let drain = try await cluster.operate("POST", "nodes/node3/drain").expect(202).json
                let path = "operations/\(drain["id"].string ?? "")"
                try await eventually("it says what it waits for") {
                    try await cluster.operate("GET", path).expect(200).json["blockedBy"].items == ["no other node is open"]
                }
                #expect(try await !cluster.isReady(3))
                #expect(try await cluster.ownedShards()["node3", default: 0] > 300)
                #expect(try await cluster.operate("POST", "\(path)/cancel").expect(200).json["state"] == "cancelled")
                #expect(try await cluster.status(of: "node3")["state"] == "cordoned")
                try await eventually("it takes clients again") { try await cluster.isReady(3) }
                _ = try await Socket.connect(alice)
                _ = try await cluster.operate("POST", "nodes/node3/uncordon").expect(200)
                let timed = try await cluster.operate("POST", "nodes/node3/drain", ["timeoutSeconds": 2]).expect(202).json
                let end = try await cluster.end(of: timed)
                #expect(end["state"] == "failed" && end["reason"] == "timeout" && end["endedAt"].string != nil)
                #expect(try await cluster.status(of: "node3")["state"] == "cordoned")
                try await eventually("it takes clients again") { try await cluster.isReady(3) }
                for name in ["node1", "node2", "node3"] {
                    _ = try await cluster.operate("POST", "nodes/\(name)/uncordon").expect(200)
                }
            }
        }

        @Test func aNodeTakenBackInTheMiddleOfItsDrainKeepsItsClients() async throws {
            try await withEvenCluster { cluster in
                let alice = try await Person.guest("Alice", of: cluster, node: 3)
                let socket = try await Socket.connect(alice)
                // Nothing can leave while no other node is open, so this is the middle.
                for name in ["node1", "node2"] { _ = try await cluster.operate("POST", "nodes/\(name)/cordon").expect(200) }
                let drain = try await cluster.operate("POST", "nodes/node3/drain").expect(202).json
                try await eventually("it is not ready") { try await !cluster.isReady(3) }
                try await expectNoSocket(alice)
                #expect(try await cluster.operate("POST", "nodes/node3/uncordon").expect(200).json["state"] == "up")
                let end = try await cluster.end(of: drain)
                #expect(end["state"] == "cancelled" && end["reason"] == "uncordoned")
                try await eventually("it is ready") { try await cluster.isReady(3) }
                _ = try await Socket.connect(alice)
                try await socket.settle()
                #expect(socket.events("goaway").isEmpty && socket.closeCode == nil)
            }
        }

        @Test func aDrainedNodeReturnsByARestart() async throws {
            try await withEvenCluster { cluster in
                let drain = try await cluster.operate("POST", "nodes/node2/drain").expect(202).json
                #expect(try await cluster.end(of: drain)["state"] == "done")
                try await cluster.node("restart", "node2")
                #expect(try await cluster.isReady(2))
                #expect(try await cluster.status(of: "node2")["state"] == "up")
                try await eventually("it is used", within: .seconds(60)) {
                    try await cluster.ownedShards()["node2", default: 0] > 300
                }
            }
        }

        @Test func theDeathOfADrainingNodeEndsItsDrain() async throws {
            try await withEvenCluster { cluster in
                let drain = try await cluster.operate("POST", "nodes/node2/drain").expect(202).json
                let path = "operations/\(drain["id"].string ?? "")"
                let paused = try await cluster.operate("POST", "\(path)/pause").expect(200).json
                #expect(paused["state"] == "paused")
                try await eventually("nothing moves any more") {
                    try await cluster.query("SELECT count(*) FROM shards WHERE target IS NOT NULL")[0][0] == "0"
                }
                let remaining = try await cluster.ownedShards()["node2", default: 0]
                #expect(remaining > 0)
                try cluster.signal(SIGKILL, node: 2)
                let end = try await cluster.end(of: drain)
                #expect(end["state"] == "failed" && end["reason"] == "nodeDied")
                try await cluster.node("start", "node2")
                #expect(try await cluster.status(of: "node2")["state"] == "up")
            }
        }

        @Test func aPinGivesWayToADrainAndComesBackAndEverySendIsKept() async throws {
            try await withEvenCluster { cluster in
                let load = try await Load(pairs: 3, of: cluster)
                let chats = load.pairs.map(\.chat)
                for chat in chats {
                    let pin = try await cluster.operate(
                        "PUT", "actors/conversation/\(chat)/pin", ["node": "node2"]
                    ).expect(202).json
                    #expect(try await cluster.end(of: pin)["state"] == "done")
                }
                try await load.run(pause: .milliseconds(20)) {
                    let drain = try await cluster.operate("POST", "nodes/node2/drain").expect(202).json
                    #expect(try await cluster.end(of: drain)["state"] == "done")
                    for chat in chats {
                        let actor = try await cluster.operate("GET", "actors/conversation/\(chat)").expect(200).json
                        #expect(actor["node"] != "node2" && actor["reason"] != "pin")
                    }
                    let pins = try await cluster.operate("GET", "pins").expect(200).json["items"].items
                    #expect(pins.count { $0["wanted"] == "node2" && $0["owner"] == .null } == chats.count)
                    _ = try await cluster.operate("POST", "nodes/node2/uncordon").expect(200)
                    try await eventually("they are back", within: .seconds(30)) {
                        for chat in chats {
                            let actor = try await cluster.operate("GET", "actors/conversation/\(chat)").expect(200).json
                            guard actor["node"] == "node2", actor["reason"] == "pin" else { return false }
                        }
                        return true
                    }
                }
                #expect(try await load.faults() == [])
                print("a pin moved to and fro: \(load.acknowledgedCount) sends, pauses \(load.pauses), refused \(load.refusals)")
                for chat in chats {
                    let back = try await cluster.operate("DELETE", "actors/conversation/\(chat)/pin").expect(202).json
                    #expect(try await cluster.end(of: back)["state"] == "done")
                }
                #expect(try await cluster.operate("GET", "pins").expect(200).json["items"].items.isEmpty)
            }
        }

        // MARK: Helpers

        /// Every node is open and has its share at the beginning, and is open in the end.
        private func withEvenCluster(_ body: (Cluster) async throws -> Void) async throws {
            let cluster = try await Cluster.shared()
            try await cluster.rest()
            let outcome: Result<Void, any Error>
            do { outcome = .success(try await body(cluster)) } catch { outcome = .failure(error) }
            for name in ["node1", "node2", "node3"] { _ = try await cluster.operate("POST", "nodes/\(name)/uncordon") }
            try outcome.get()
        }

        private func expectNoSocket(_ person: Person) async throws {
            do {
                _ = try await Socket.open(person.cluster.url(person.node))
                Issue.record("a socket was opened on a node that takes none")
            } catch let failure as Failure {
                let head = "\(failure)"
                #expect(head.contains("HTTP/1.1 503") && head.lowercased().contains("retry-after:"), "\(head)")
            }
        }
    }
}

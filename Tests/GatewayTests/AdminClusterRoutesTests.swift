import ClusterOperations
import MemoryAdapters
import RoostModel
import RoostProtocol
import Testing

@testable import Gateway

/// The operators' routes over stores in memory, where node1 is up.
@Suite struct AdminClusterRoutesTests {
    private struct Operators {
        let world: World
        let client: any TestClient
        let admin: AdminClient

        func call(_ method: String, _ path: String, _ json: String? = nil) async throws -> Answer {
            try await admin.call(method, "/admin/v1/\(path)", token: World.adminToken, json)
        }

        /// Another node; it may have left in good order.
        func addNode(_ name: String, leaves: Bool = false) async throws {
            let node = NodeIdentity(name: name, incarnation: .make())
            let store = MemoryClusterStore(world.database)
            try await store.register(node, lanes: 1, url: "", adminURL: "", version: "", leaseSeconds: 3_600)
            if leaves { try await store.leave(node) }
        }

        func conversation() async throws -> (id: String, user: String) {
            let (ann, bob) = (try await client.guest(), try await client.guest())
            return (try await client.openDirect(ann, with: bob), ann.id)
        }

        /// What stands in the audit, the oldest first.
        func audit() async throws -> [String] {
            try await call("GET", "audit").items.reversed().map {
                "\($0["operator"]?.string ?? "-") \($0["action"]?.string ?? "-") \($0["subject"]?.string ?? "-")"
            }
        }
    }

    private func withOperators(_ body: (Operators) async throws -> Void) async throws {
        try await withGateway(.router) { world, client in
            world.inspector.state.withLock { state in
                state.nodes = [
                    NodeStatus(
                        name: "node1", incarnation: .make(), state: .up, version: "1", startedAt: .now, url: "", isLeader: true),
                    NodeStatus(
                        name: "gone", incarnation: .make(), state: .dead, version: "1", startedAt: .now, url: "", isLeader: false),
                ]
            }
            try await body(Operators(world: world, client: client, admin: AdminClient(gateway: world.admin)))
        }
    }

    private func plan(version: Int64, moves: Int) -> RebalancePlan {
        RebalancePlan(
            id: .make(), viewVersion: version,
            moves: (0..<moves).map {
                PlannedMove(
                    place: .shard(ShardID(kind: .conversation, number: $0)), from: "node1", to: "node2", load: 2.5,
                    expectedPauseMilliseconds: 15)
            }, before: [NodeLoad(node: "node1", load: 10)], after: [NodeLoad(node: "node1", load: 5)])
    }

    // MARK: Who may

    @Test(arguments: [
        "GET nodes", "POST nodes/node1/cordon", "POST nodes/node1/uncordon", "POST nodes/node1/drain", "POST rebalance",
        "GET shards",
        "GET pins", "GET actors", "GET actors/conversation/x", "PUT actors/conversation/x/pin",
        "DELETE actors/conversation/x/pin",
        "GET operations", "GET operations/x", "POST operations/x/pause", "POST operations/x/resume", "POST operations/x/cancel",
        "GET audit",
    ])
    func nothingWithoutTheToken(route: String) async throws {
        try await withOperators { operators in
            let parts = route.split(separator: " ").map(String.init)
            for token in [nil, "wrong"] {
                let answer = try await operators.admin.call(parts[0], "/admin/v1/\(parts[1])", token: token)
                #expect(answer.status == 401 && answer.code == "unauthenticated", "\(route)")
            }
            #expect(try await operators.audit() == [])
        }
    }

    // MARK: Nodes

    @Test func nodesAreCordonedDrainedAndTakenBack() async throws {
        try await withOperators { operators in
            let cordoned = try await operators.call("POST", "nodes/node1/cordon")
            #expect(cordoned.status == 200 && cordoned["name"]?.string == "node1")
            #expect(try await operators.call("POST", "nodes/node1/uncordon").status == 200)
            let drain = try await operators.call("POST", "nodes/node1/drain", #"{"timeoutSeconds":60}"#)
            #expect(drain.status == 202)
            for field in [
                "id", "kind", "state", "reason", "startedAt", "endedAt", "movesPlanned", "movesDone", "movesFailed",
                "longestPauseMilliseconds", "blockedBy",
            ] { #expect(drain[field] != nil, "\(field)") }
            #expect(drain["kind"]?.string == "drain" && drain["state"]?.string == "running" && drain["node"]?.string == "node1")
            let id = try #require(drain["id"]?.string)
            // Asked twice it is one drain.
            #expect(try await operators.call("POST", "nodes/node1/drain")["id"]?.string == id)
            #expect(try await operators.call("GET", "operations/\(id)")["state"]?.string == "running")
            #expect(try await operators.call("POST", "nodes/node1/uncordon").status == 200)
            let ended = try await operators.call("GET", "operations/\(id)")
            #expect(ended["state"]?.string == "cancelled" && ended["endedAt"]?.string != nil)
            #expect(
                try await operators.audit() == [
                    "operator node.cordon node1", "operator node.uncordon node1", "operator node.drain node1",
                    "operator node.uncordon node1",
                ])
        }
    }

    @Test(arguments: ["cordon", "uncordon", "drain"]) func onlyNodesThatAreUp(verb: String) async throws {
        try await withOperators { operators in
            try await operators.addNode("gone", leaves: true)
            let unknown = try await operators.call("POST", "nodes/nowhere/\(verb)")
            #expect(unknown.status == 404 && unknown.code == "notFound")
            let dead = try await operators.call("POST", "nodes/gone/\(verb)")
            #expect(dead.status == 409 && dead.code == "conflict")
            for name in ["*", "a.b", "%20", "node1%2F", "%3E"] {
                #expect(try await operators.call("POST", "nodes/\(name)/\(verb)").status == 404, "\(name)")
            }
            #expect(try await operators.call("GET", "nodes/node1/\(verb)").status == 405)
            #expect(try await operators.audit() == [])
        }
    }

    @Test func theDryRunOfADrainIsAPlanAndNothingElse() async throws {
        try await withOperators { operators in
            let plan = plan(version: 7, moves: 2)
            operators.world.inspector.state.withLock { $0.drainPlans["node1"] = plan }
            let answer = try await operators.call("POST", "nodes/node1/drain", #"{"dryRun":true}"#)
            #expect(answer.status == 200 && answer["id"]?.string == "\(plan.id)" && answer["viewVersion"]?.integer == 7)
            let move = try #require(answer["moves"]?.array?.first)
            #expect(move["kind"]?.string == "conversation" && move["shard"]?.integer == 0 && move["from"]?.string == "node1")
            #expect(move["to"]?.string == "node2" && move["expectedPauseMilliseconds"]?.integer == 15)
            #expect(answer["before"]?.array?.first?["node"]?.string == "node1")
            #expect(answer["after"]?.array?.first?["load"]?.integer == 5)
            #expect(try await operators.call("POST", "nodes/nowhere/drain", #"{"dryRun":true}"#).status == 404)
            #expect(try await operators.call("POST", "nodes/gone/drain", #"{"dryRun":true}"#).code == "conflict")
            #expect(try await operators.call("GET", "operations").items.isEmpty)
            #expect(try await operators.audit() == [])
        }
    }

    // MARK: Rebalancing

    @Test func aPlanIsShownKeptAppliedOnceAndRefusedWhenItIsOld() async throws {
        try await withOperators { operators in
            let silent = try await operators.call("POST", "rebalance", #"{"dryRun":true}"#)
            #expect(silent.status == 503 && silent.code == "unavailable", "a node has not told of its work")
            let version = try await MemoryClusterStore(operators.world.database).viewVersion()
            let plan = plan(version: version, moves: 3)
            operators.world.inspector.state.withLock { $0.plan = plan }
            #expect(try await operators.call("POST", "rebalance", #"{"dryRun":true}"#)["moves"]?.array?.count == 3)
            // Shown again it is the same one, and as short as is wished.
            let again = try await operators.call("POST", "rebalance", #"{"dryRun":true,"planId":"\#(plan.id)","maxMoves":1}"#)
            #expect(again.status == 200 && again["id"]?.string == "\(plan.id)" && again["moves"]?.array?.count == 1)
            let applied = try await operators.call("POST", "rebalance", #"{"planId":"\#(plan.id)","maxConcurrentMoves":1}"#)
            #expect(applied.status == 202 && applied["kind"]?.string == "rebalance" && applied["movesPlanned"]?.integer == 3)
            let late = try await operators.call("POST", "rebalance", #"{"planId":"\#(plan.id)"}"#)
            #expect(late.status == 409 && late.code == "planOutdated")
            let unknown = try await operators.call("POST", "rebalance", #"{"planId":"\#(PlanID.make())"}"#)
            #expect(unknown.status == 404)
            let id = try #require(applied["id"]?.string)
            #expect(try await operators.audit() == ["operator rebalance \(id)"])
            // One at a time.
            let fresh = self.plan(version: try await MemoryClusterStore(operators.world.database).viewVersion(), moves: 1)
            operators.world.inspector.state.withLock { $0.plan = fresh }
            #expect(try await operators.call("POST", "rebalance").code == "conflict")
        }
    }

    @Test func withNothingToMoveItIsDoneAtOnce() async throws {
        try await withOperators { operators in
            let plan = plan(version: try await MemoryClusterStore(operators.world.database).viewVersion(), moves: 0)
            operators.world.inspector.state.withLock { $0.plan = plan }
            let answer = try await operators.call("POST", "rebalance", "{}")
            #expect(answer.status == 202 && answer["state"]?.string == "done" && answer["endedAt"]?.string != nil)
        }
    }

    // MARK: Actors

    @Test func actorsAreListedAsAsked() async throws {
        try await withOperators { operators in
            let address = ActorAddress(kind: .conversation, high: 1, low: 2)
            operators.world.inspector.state.withLock { state in
                state.actors = [
                    ActorStatus(
                        actor: address, node: "node1", epoch: Epoch(4), since: Timestamp(milliseconds: 0), reason: .rebalance,
                        activity: ActorActivity(
                            messagesPerSecond: 1.23456, mailboxDepth: 2, idleSeconds: 0.5, routes: ["node1", "node2"]))
                ]
            }
            let answer = try await operators.call("GET", "actors?kind=conversation&sort=load&node=node1&limit=7")
            let actor = try #require(answer.items.first)
            #expect(actor["id"]?.string == "\(address.conversationID)" && actor["active"] == .bool(true))
            #expect(actor["reason"]?.string == "rebalance" && actor["epoch"]?.integer == 4 && actor["mailboxDepth"]?.integer == 2)
            #expect(
                actor["since"]?.string == "1970-01-01T00:00:00.000Z" && actor["shard"]?.integer == Int64(address.shard.number))
            #expect(actor["routes"]?.array?.map(\.string) == ["node1", "node2"])
            #expect(answer["nextCursor"] == .null && answer["missing"]?.array?.map(\.string) == ["node9"])
            _ = try await operators.call("GET", "actors?limit=9999")
            let queries = operators.world.inspector.state.withLock { $0.queries }
            #expect(queries.count == 2 && queries[0].byLoad && queries[0].kind == .conversation && queries[0].node == "node1")
            #expect(queries[0].limit == 7 && queries[1].limit == 200 && !queries[1].byLoad && queries[1].kind == nil)
        }
    }

    @Test func whetherAnActorExistsTheStoreSays() async throws {
        try await withOperators { operators in
            let (chat, user) = try await operators.conversation()
            for (kind, id) in [("conversation", chat), ("presence", user)] {
                let address = try #require(ActorAddress("\(kind)/\(id)"))
                let unowned = try await operators.call("GET", "actors/\(kind)/\(id)")
                #expect(unowned.status == 503, "nobody owns it at this moment")
                operators.world.inspector.state.withLock {
                    $0.actors = [
                        ActorStatus(
                            actor: address, node: "node1", epoch: Epoch(1), since: nil, reason: .placement, activity: nil)
                    ]
                }
                let answer = try await operators.call("GET", "actors/\(kind)/\(id)")
                #expect(answer.status == 200 && answer["active"] == .bool(false) && answer["node"]?.string == "node1")
                #expect(answer["idleSeconds"] == .null && answer["kind"]?.string == kind)
            }
            for path in [
                "conversation/\(user)", "presence/\(chat)", "conversation/\(ConversationID.make())", "cat/\(chat)",
                "conversation/x", "conversation/\(chat.uppercased())", "presence/*", "conversation/%20",
            ] {
                #expect(try await operators.call("GET", "actors/\(path)").status == 404, "\(path)")
                #expect(try await operators.call("PUT", "actors/\(path)/pin", #"{"node":"node1"}"#).status == 404, "\(path)")
                #expect(try await operators.call("DELETE", "actors/\(path)/pin").status == 404, "\(path)")
            }
        }
    }

    @Test func anActorIsPinnedMovedElsewhereAndLetGo() async throws {
        try await withOperators { operators in
            try await operators.addNode("node2")
            try await operators.addNode("gone", leaves: true)
            let chat = try await operators.conversation().id
            let path = "actors/conversation/\(chat)/pin"
            #expect(try await operators.call("DELETE", path).status == 204)
            let pin = try await operators.call("PUT", path, #"{"node":"node2"}"#)
            #expect(pin.status == 202 && pin["kind"]?.string == "pin" && pin["node"]?.string == "node2")
            #expect(pin["actor"]?.string == "conversation/\(chat)" && pin["movesPlanned"]?.integer == 1)
            let other = try await operators.call("PUT", path, #"{"node":"node1"}"#)
            #expect(other.status == 202)
            let first = try await operators.call("GET", "operations/\(pin["id"]?.string ?? "")")
            #expect(first["state"]?.string == "cancelled" && first["reason"]?.string == "superseded")
            #expect(try await operators.call("PUT", path, #"{"node":"nowhere"}"#).status == 404)
            let dead = try await operators.call("PUT", path, #"{"node":"gone"}"#)
            #expect(dead.status == 409 && dead.code == "conflict")
            _ = try await operators.call("POST", "nodes/node2/cordon")
            #expect(try await operators.call("PUT", path, #"{"node":"node2"}"#).code == "conflict", "given nothing more")
            let back = try await operators.call("DELETE", path)
            #expect(back.status == 202 && back["node"] == .null)
            #expect(try await operators.call("DELETE", path).status == 204)
            #expect(
                try await operators.audit().filter { $0.contains("actor") } == [
                    "operator actor.pin conversation/\(chat)", "operator actor.pin conversation/\(chat)",
                    "operator actor.unpin conversation/\(chat)",
                ])
        }
    }

    @Test func thePinOfWhatIsGoneCanBeTakenAway() async throws {
        try await withOperators { operators in
            let (ann, bob) = (try await operators.client.register("ann@x.example"), try await operators.client.guest())
            let made = try await operators.client.call(
                "POST", "/v1/conversations", token: ann.token,
                #"{"kind":"group","title":"Group","memberIds":["\#(bob.id)"]}"#)
            let group = try #require(made["id"]?.string)
            let path = "actors/conversation/\(group)/pin"
            #expect(try await operators.call("PUT", path, #"{"node":"node1"}"#).status == 202)
            let gone = try await operators.client.call("DELETE", "/v1/conversations/\(group)", token: ann.token)
            #expect(gone.status == 204)
            #expect(try await operators.call("PUT", path, #"{"node":"node1"}"#).status == 404)
            #expect(try await operators.call("DELETE", path).status == 202)
            #expect(try await operators.call("DELETE", path).status == 404)
        }
    }

    // MARK: Operations

    @Test func operationsArePausedResumedCancelledAndListed() async throws {
        try await withOperators { operators in
            let id = try #require(try await operators.call("POST", "nodes/node1/drain")["id"]?.string)
            for (verb, state) in [("pause", "paused"), ("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")] {
                let answer = try await operators.call("POST", "operations/\(id)/\(verb)")
                #expect(answer.status == 200 && answer["state"]?.string == state && answer["id"]?.string == id)
            }
            for verb in ["pause", "resume", "cancel"] {
                let late = try await operators.call("POST", "operations/\(id)/\(verb)")
                #expect(late.status == 409 && late.code == "conflict")
                for unknown in [OperationID.make().description, "x", "%20"] {
                    #expect(try await operators.call("POST", "operations/\(unknown)/\(verb)").status == 404)
                }
            }
            #expect(try await operators.call("GET", "operations/\(OperationID.make())").status == 404)
            var ids = [id]
            for _ in 0..<4 {
                _ = try await operators.call("POST", "nodes/node1/uncordon")
                ids.append(try #require(try await operators.call("POST", "nodes/node1/drain")["id"]?.string))
            }
            var (listed, cursor): ([String], String?) = ([], nil)
            repeat {
                let page = try await operators.call("GET", "operations?limit=2" + (cursor.map { "&cursor=\($0)" } ?? ""))
                #expect(page.status == 200 && page.items.count <= 2)
                listed += page.items.compactMap { $0["id"]?.string }
                cursor = page["nextCursor"]?.string
            } while cursor != nil
            // Within a millisecond any order will do.
            #expect(listed == ids.sorted().reversed())
        }
    }

    // MARK: What makes no sense

    @Test(
        arguments: [
            (#"{"timeoutSeconds":0}"#, ["timeoutSeconds:invalid"]), (#"{"timeoutSeconds":-1}"#, ["timeoutSeconds:invalid"]),
            (#"{"timeoutSeconds":1.5}"#, ["timeoutSeconds:invalid"]), (#"{"timeoutSeconds":1e300}"#, ["timeoutSeconds:invalid"]),
            (#"{"timeoutSeconds":86401}"#, ["timeoutSeconds:invalid"]), (#"{"timeoutSeconds":"60"}"#, nil),
            (#"{"dryRun":1}"#, nil),
            (#"[]"#, nil), (#"{"#, nil), (#"{"dryRun":"\u0000"}"#, nil), ("\"", nil),
        ] as [(String, [String]?)])
    func wrongDrainsAreRefused(body: String, faults: [String]?) async throws {
        try await withOperators { operators in
            try await expect(try await operators.call("POST", "nodes/node1/drain", body), faults, body)
            #expect(try await operators.call("GET", "operations").items.isEmpty)
            #expect(try await operators.audit() == [])
        }
    }

    @Test(
        arguments: [
            (
                #"{"maxMoves":0,"maxConcurrentMoves":65,"planId":"x"}"#,
                ["maxConcurrentMoves:invalid", "maxMoves:invalid", "planId:unknown"]
            ), (#"{"maxConcurrentMoves":0}"#, ["maxConcurrentMoves:invalid"]), (#"{"maxMoves":100001}"#, ["maxMoves:invalid"]),
            (#"{"maxMoves":"many"}"#, nil), (#"{"planId":7}"#, nil), (#"{"dryRun":"yes"}"#, nil), ("7", nil),
        ] as [(String, [String]?)])
    func wrongRebalancesAreRefused(body: String, faults: [String]?) async throws {
        try await withOperators { operators in
            try await expect(try await operators.call("POST", "rebalance", body), faults, body)
            #expect(try await operators.audit() == [])
        }
    }

    @Test(
        arguments: [
            (nil, nil), ("{}", ["node:required"]), (#"{"node":null}"#, ["node:required"]), (#"{"node":7}"#, nil),
            (#"{"node":"#, nil), (#"{"node":"a\u0000b"}"#, nil),
        ] as [(String?, [String]?)])
    func wrongPinsAreRefused(body: String?, faults: [String]?) async throws {
        try await withOperators { operators in
            let chat = try await operators.conversation().id
            let answer = try await operators.call("PUT", "actors/conversation/\(chat)/pin", body)
            try await expect(answer, faults, body ?? "nothing")
            #expect(try await operators.audit() == [])
        }
    }

    /// 422 with these faults, or 400 `malformed` where there are none.
    private func expect(_ answer: Answer, _ faults: [String]?, _ body: String) async throws {
        if let faults {
            #expect(answer.status == 422 && answer.code == "validationFailed" && answer.faults.sorted() == faults, "\(body)")
        } else {
            #expect(answer.status == 400 && answer.code == "malformed", "\(body): \(answer.status) \(answer.code ?? "-")")
        }
    }

    @Test(arguments: [
        ("actors?kind=cat", "badParameter"), ("actors?sort=name", "badParameter"), ("actors?limit=0", "badParameter"),
        ("actors?limit=x", "badParameter"), ("actors?cursor=bad", "badCursor"), ("operations?limit=-1", "badParameter"),
        ("operations?cursor=x", "badCursor"), ("audit?cursor=x", "badCursor"),
    ])
    func wrongQueriesAreRefused(path: String, code: String) async throws {
        try await withOperators { operators in
            let answer = try await operators.call("GET", path)
            #expect(answer.status == 400 && answer.code == code, "\(path): \(answer.status) \(answer.code ?? "-")")
        }
    }

    @Test func otherContentTypesAreRefused() async throws {
        try await withOperators { operators in
            let answer = try await operators.admin.call(
                "POST", "/admin/v1/rebalance", token: World.adminToken, "{}", headers: [("Content-Type", "text/plain")])
            #expect(answer.status == 415)
        }
    }

    @Test func withoutTheDatabaseNothingIsDone() async throws {
        try await withOperators { operators in
            let chat = try await operators.conversation().id
            operators.world.database.setAvailable(false)
            for (method, path, body) in [
                ("POST", "nodes/node1/cordon", nil), ("POST", "nodes/node1/uncordon", nil), ("POST", "nodes/node1/drain", nil),
                ("GET", "actors/conversation/\(chat)", nil), ("PUT", "actors/conversation/\(chat)/pin", #"{"node":"node1"}"#),
                ("DELETE", "actors/conversation/\(chat)/pin", nil), ("GET", "operations", nil),
                ("GET", "operations/\(OperationID.make())", nil), ("POST", "operations/\(OperationID.make())/cancel", nil),
                ("POST", "rebalance", #"{"planId":"\#(PlanID.make())"}"#), ("GET", "audit", nil),
            ] as [(String, String, String?)] {
                let answer = try await operators.call(method, path, body)
                #expect(answer.status == 503 && answer.code == "unavailable" && answer.header("Retry-After") != nil, "\(path)")
            }
            operators.world.database.setAvailable(true)
            #expect(try await operators.audit() == [])
        }
    }
}

import Ports
import RoostModel
import Testing

/// What every ``OperationStore`` keeps, beside the ``ClusterStore`` of the same database. Each test has a cluster of its own.
@Suite struct OperationStoreContract {
    private struct Cluster {
        let world: StoreWorld
        let a = NodeIdentity(name: "a", incarnation: .make())
        let b = NodeIdentity(name: "b", incarnation: .make())
        let term: Int64

        var store: any OperationStore { world.operations }

        /// Two nodes; `a` leads and owns the first four conversation shards.
        init(_ kind: StoreKind) async throws {
            world = try await .fresh(kind)
            for node in [a, b] { try await Self.register(node, world) }
            term = try #require(try await world.cluster.lead(a, displacing: nil, leaseSeconds: 60))
            let shards = (0..<4).map { ShardID(kind: .conversation, number: $0) }
            let isTaken = try await world.cluster.place(
                shards.map { ShardPlacement(shard: $0, to: a, ifEpoch: Epoch(0), isMove: false, reason: .placement) }, term: term)
            #expect(isTaken)
        }

        static func register(_ node: NodeIdentity, _ world: StoreWorld) async throws {
            try await world.cluster.register(
                node, lanes: 1, url: "http://u", adminURL: "http://a", version: "9", leaseSeconds: 60)
        }

        func view() async throws -> ClusterSnapshot { try await world.cluster.view() }

        func use(_ node: NodeIdentity) async throws -> NodeUse? {
            try await view().nodes.first { $0.identity == node }?.use
        }

        func audit() async throws -> [String] {
            try await world.operators.audit(cursor: nil, limit: 50).items.map { "\($0.name) \($0.action)" }
        }

        func plan(_ numbers: [Int], version: Int64? = nil) async throws -> RebalancePlan {
            let current = try await world.cluster.viewVersion()
            return RebalancePlan(
                id: .make(), viewVersion: version ?? current,
                moves: numbers.map {
                    PlannedMove(
                        place: .shard(ShardID(kind: .conversation, number: $0)), from: "a", to: "b", load: 1.25,
                        expectedPauseMilliseconds: 20)
                }, before: [NodeLoad(node: "a", load: 5), NodeLoad(node: "b", load: 0)],
                after: [NodeLoad(node: "a", load: 2.5), NodeLoad(node: "b", load: 2.5)])
        }
    }

    private func operation(_ outcome: OperationOutcome) throws -> OperationRecord {
        guard case .operation(let operation) = outcome else {
            Issue.record("\(outcome)")
            throw StoreError(.failed)
        }
        return operation
    }

    @Test(arguments: StoreKind.allCases) func aCordonStaysOverRestarts(_ kind: StoreKind) async throws {
        let cluster = try await Cluster(kind)
        let version = try await cluster.world.cluster.viewVersion()
        #expect(try await cluster.store.setUse(.cordoned, of: "c", by: "op") == false)
        #expect(try await cluster.store.setUse(.cordoned, of: "b", by: "op"))
        #expect(try await cluster.use(cluster.b) == .cordoned)
        #expect(try await cluster.world.cluster.viewVersion() > version)
        // Nothing moves there; an orphan may be placed there.
        let shards = try await cluster.view().shards
        _ = try await cluster.world.cluster.place(
            [
                ShardPlacement(shard: shards[0].id, to: cluster.b, ifEpoch: Epoch(1), isMove: true, reason: .rebalance),
                ShardPlacement(shard: shards[9].id, to: cluster.b, ifEpoch: Epoch(0), isMove: false, reason: .failover),
            ], term: cluster.term)
        let placed = try await cluster.view().shards
        #expect(placed[0].target == nil && placed[9].owner == cluster.b && placed[9].reason == .failover)
        #expect(placed[9].since != nil && placed[10].since == nil)
        let next = NodeIdentity(name: "b", incarnation: .make())
        try await Cluster.register(next, cluster.world)
        #expect(try await cluster.use(next) == .cordoned)
        #expect(try await cluster.store.setUse(.open, of: "b", by: "op"))
        #expect(try await cluster.use(next) == .open)
        #expect(try await cluster.audit() == ["op node.uncordon", "op node.cordon"])
    }

    @Test(arguments: StoreKind.allCases) func aDrainEndsWhenNothingIsLeft(_ kind: StoreKind) async throws {
        let cluster = try await Cluster(kind)
        #expect(try await cluster.store.beginDrain(of: "x", timeout: nil, by: "op") == .notFound)
        let drain = try operation(try await cluster.store.beginDrain(of: "a", timeout: .seconds(60), by: "op"))
        #expect(drain.kind == .drain && drain.state == .running && drain.node == "a" && drain.startedBy == "op")
        #expect(drain.incarnation == cluster.a.incarnation && drain.progress.movesPlanned == 4)
        #expect(drain.deadline.map { $0 > drain.startedAt } == true)
        #expect(try await cluster.store.beginDrain(of: "a", timeout: nil, by: "op") == .operation(drain))
        #expect(try await cluster.use(cluster.a) == .draining)
        #expect(try await cluster.view().operations == [drain])
        #expect(try await cluster.store.endDrain(of: cluster.a) == false)
        let shards = try await cluster.view().shards.prefix(4)
        _ = try await cluster.world.cluster.place(
            shards.map {
                ShardPlacement(
                    shard: $0.id, to: cluster.b, ifEpoch: $0.epoch, isMove: true, reason: .drain, operation: drain.id)
            }, term: cluster.term)
        #expect(try await cluster.view().shards[0].operation == drain.id)
        try await cluster.world.cluster.release(
            shards.map { .shard($0.id) }, by: cluster.a, closedFor: .milliseconds(12))
        let moved = try await cluster.view().shards[0]
        #expect(moved.owner == cluster.b && moved.epoch == Epoch(2) && moved.reason == .drain && moved.operation == nil)
        #expect(try await cluster.store.endDrain(of: cluster.a))
        #expect(try await cluster.use(cluster.a) == .drained)
        let ended = try #require(try await cluster.store.operation(drain.id))
        #expect(ended.state == .done && ended.endedAt != nil && ended.progress.movesDone == 4)
        #expect((12..<2000).contains(ended.progress.longestPauseMilliseconds ?? 0))
        #expect(try await cluster.view().operations.isEmpty)
        // A cordon would bring it half back.
        #expect(try await cluster.store.setUse(.cordoned, of: "a", by: "op"))
        #expect(try await cluster.use(cluster.a) == .drained)
        #expect(try await cluster.store.setUse(.open, of: "a", by: "op"))
        #expect(try await cluster.use(cluster.a) == .open)
    }

    @Test(arguments: StoreKind.allCases) func aDrainIsCancelledByAnyOfFourWays(_ kind: StoreKind) async throws {
        let cluster = try await Cluster(kind)
        func drain() async throws -> OperationID {
            try operation(try await cluster.store.beginDrain(of: "b", timeout: nil, by: "op")).id
        }
        func state(_ id: OperationID) async throws -> String {
            let record = try await cluster.store.operation(id)
            return "\(record?.state.rawValue ?? "-") \(record?.reason ?? "-")"
        }
        let cancelled = try await drain()
        _ = try operation(try await cluster.store.change(cancelled, .cancel, by: "op"))
        #expect(try await state(cancelled) == "cancelled cancelled")
        #expect(try await cluster.use(cluster.b) == .cordoned)
        let opened = try await drain()
        _ = try await cluster.store.setUse(.open, of: "b", by: "op")
        #expect(try await state(opened) == "cancelled uncordoned")
        let late = try await drain()
        let end = OperationEnd(.failed, reason: "timeout")
        #expect(try await cluster.store.note(OperationProgress(), of: late, end: end, term: cluster.term))
        #expect(try await state(late) == "failed timeout")
        #expect(try await cluster.use(cluster.b) == .cordoned)
        let died = try await drain()
        #expect(try await cluster.world.cluster.declareDead(cluster.b.incarnation, placements: [], term: cluster.term))
        #expect(try await state(died) == "failed nodeDied")
        #expect(try await cluster.store.beginDrain(of: "b", timeout: nil, by: "op") == .conflict)
        let next = NodeIdentity(name: "b", incarnation: .make())
        try await Cluster.register(next, cluster.world)
        #expect(try await cluster.use(next) == .open)
        let left = try await drain()
        try await cluster.world.cluster.leave(next)
        #expect(try await state(left) == "done nodeLeft")
    }

    @Test(arguments: StoreKind.allCases) func plansAreOfOneView(_ kind: StoreKind) async throws {
        let cluster = try await Cluster(kind)
        let plan = try await cluster.plan([1, 2])
        try await cluster.store.save(plan)
        #expect(try await cluster.store.plan(plan.id) == plan)
        #expect(try await cluster.store.plan(.make()) == nil)
        let old = try await cluster.plan([1], version: plan.viewVersion - 1)
        #expect(
            try await cluster.store.beginRebalance(old, maxConcurrentMoves: 4, reason: nil, by: "op") == .planOutdated)
        let running = try operation(
            try await cluster.store.beginRebalance(plan, maxConcurrentMoves: 3, reason: "why", by: "op"))
        #expect(running.moves == plan.moves && running.maxConcurrentMoves == 3 && running.progress.movesPlanned == 2)
        #expect(running.reason == "why")
        let second = try await cluster.plan([3])
        #expect(try await cluster.store.beginRebalance(second, maxConcurrentMoves: 4, reason: nil, by: "op") == .conflict)
        #expect(try operation(try await cluster.store.change(running.id, .pause, by: "op")).state == .paused)
        #expect(try await cluster.view().operations.map(\.state) == [.paused])
        #expect(try operation(try await cluster.store.change(running.id, .resume, by: "op")).state == .running)
        let progress = OperationProgress(movesPlanned: 2, movesDone: 1, movesFailed: 1, blockedBy: ["a is away"])
        #expect(try await cluster.store.note(progress, of: running.id, end: nil, term: cluster.term + 1) == false)
        let version = try await cluster.world.cluster.viewVersion()
        #expect(try await cluster.store.note(progress, of: running.id, end: nil, term: cluster.term))
        #expect(try await cluster.world.cluster.viewVersion() == version)
        #expect(try await cluster.store.operation(running.id)?.progress == progress)
        #expect(try await cluster.store.note(progress, of: running.id, end: OperationEnd(.done), term: cluster.term))
        #expect(try await cluster.store.operation(running.id)?.state == .done)
        for change in OperationChange.allCases {
            #expect(try await cluster.store.change(running.id, change, by: "op") == .conflict)
            #expect(try await cluster.store.change(.make(), change, by: "op") == .notFound)
        }
        let empty = try operation(
            try await cluster.store.beginRebalance(
                try await cluster.plan([]), maxConcurrentMoves: 4, reason: nil, by: "op"))
        #expect(empty.state == .done && empty.endedAt != nil)
    }

    @Test(arguments: StoreKind.allCases) func aPinMovesOneActorThereAndBack(_ kind: StoreKind) async throws {
        let cluster = try await Cluster(kind)
        let id = try #require(
            (0..<100_000).lazy.map { _ in ConversationID.make() }.first { ShardID(of: $0).number < 4 })
        let actor = ActorAddress(id)
        #expect(try await cluster.store.unpin(actor, by: "op") == nil)
        #expect(try await cluster.store.pin(actor, to: "x", by: "op") == .notFound)
        _ = try await cluster.store.setUse(.cordoned, of: "b", by: "op")
        #expect(try await cluster.store.pin(actor, to: "b", by: "op") == .conflict)
        _ = try await cluster.store.setUse(.open, of: "b", by: "op")
        let first = try operation(try await cluster.store.pin(actor, to: "a", by: "op"))
        let pin = try operation(try await cluster.store.pin(actor, to: "b", by: "op"))
        #expect(try await cluster.store.operation(first.id)?.state == .cancelled)
        var record = try #require(try await cluster.view().pins.first)
        #expect(record.actor == actor && record.node == "b" && record.owner == nil && !record.isMoving)
        func move(to node: NodeIdentity?) async throws {
            let placement = PinPlacement(actor: actor, to: node, ifEpoch: record.epoch)
            #expect(try await cluster.world.cluster.move([placement], term: cluster.term))
        }
        func release(by node: NodeIdentity) async throws -> PinRecord? {
            try await cluster.world.cluster.release([.actor(actor)], by: node, closedFor: .milliseconds(3))
            return try await cluster.view().pins.first
        }
        #expect(try await release(by: cluster.a)?.owner == nil, "it does not move yet")
        try await move(to: cluster.b)
        #expect(try await release(by: cluster.b)?.owner == nil, "it is not b's")
        record = try #require(try await release(by: cluster.a))
        #expect(record.owner == cluster.b && record.epoch == Epoch(1) && !record.isMoving && record.target == nil)
        #expect(try await cluster.store.operation(pin.id)?.progress.longestPauseMilliseconds ?? 0 >= 3)
        // A restart keeps it, a death gives it back, and the wish stays.
        let next = NodeIdentity(name: "b", incarnation: .make())
        try await Cluster.register(next, cluster.world)
        record = try #require(try await cluster.view().pins.first)
        #expect(record.owner == next && record.epoch == Epoch(2))
        #expect(try await cluster.world.cluster.declareDead(next.incarnation, placements: [], term: cluster.term))
        record = try #require(try await cluster.view().pins.first)
        #expect(record.owner == nil && record.epoch == Epoch(3) && record.node == "b")
        let last = NodeIdentity(name: "b", incarnation: .make())
        try await Cluster.register(last, cluster.world)
        try await move(to: last)
        record = try #require(try await release(by: cluster.a))
        let back = try #require(try await cluster.store.unpin(actor, by: "op"))
        #expect(back.state == .running && back.node == nil && back.actor == actor)
        #expect(try await cluster.store.unpin(actor, by: "op") == nil)
        try await move(to: nil)
        #expect(try await release(by: last) == nil, "gone")
        // One that never left its shard is let go at once.
        _ = try await cluster.store.pin(actor, to: "b", by: "op")
        #expect(try await cluster.store.unpin(actor, by: "op")?.state == .done)
        #expect(try await cluster.view().pins.isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func operationsArePagedNewestFirst(_ kind: StoreKind) async throws {
        let cluster = try await Cluster(kind)
        var ids: [OperationID] = []
        for _ in 0..<5 {
            let plan = try await cluster.plan([])
            ids.append(
                try operation(
                    try await cluster.store.beginRebalance(plan, maxConcurrentMoves: 1, reason: nil, by: "op")
                ).id)
        }
        var seen: [OperationID] = []
        var cursor: String?
        repeat {
            let page = try await cluster.store.operations(cursor: cursor, limit: 2)
            seen += page.items.map(\.id)
            cursor = page.nextCursor
        } while cursor != nil
        #expect(seen == ids.sorted(by: >))
        await #expect(throws: StoreError.self) { try await cluster.store.operations(cursor: "x", limit: 2) }
    }
}

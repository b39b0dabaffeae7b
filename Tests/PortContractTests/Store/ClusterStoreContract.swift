import Ports
import RoostModel
import Testing

/// What every ``ClusterStore`` keeps. Each test has a cluster of its own.
@Suite struct ClusterStoreContract {
    private func node(_ name: String) -> NodeIdentity { NodeIdentity(name: name, incarnation: .make()) }

    private func register(_ node: NodeIdentity, in world: StoreWorld, lease: Double = 60) async throws {
        try await world.cluster.register(node, lanes: 2, url: "http://u", adminURL: "http://a", version: "9", leaseSeconds: lease)
    }

    private func placement(_ number: Int, _ node: NodeIdentity, epoch: Int64, isMove: Bool = false) -> ShardPlacement {
        ShardPlacement(
            shard: ShardID(kind: .conversation, number: number), to: node, ifEpoch: Epoch(epoch), isMove: isMove)
    }

    @Test(arguments: StoreKind.allCases) func startsEmpty(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.fresh(kind)
        let view = try await world.cluster.view()
        #expect(view.nodes.isEmpty && view.leader == nil && view.leaderTerm == 0 && view.leaderLeaseRemaining <= 0)
        #expect(view.shards.count == 1280 && Set(view.shards.map(\.id)).count == 1280)
        #expect(view.shards.allSatisfy { $0.owner == nil && $0.epoch == Epoch(0) && $0.target == nil })
        #expect(try await world.cluster.viewVersion() == view.version)
    }

    @Test(arguments: StoreKind.allCases) func leasesAndLeadership(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.fresh(kind)
        let (a, b) = (node("a"), node("b"))
        try await register(a, in: world)
        try await register(b, in: world, lease: -1)
        let view = try await world.cluster.view()
        #expect(Set(view.nodes.map(\.identity)) == [a, b] && view.nodes.allSatisfy { $0.state == .up && $0.version == "9" })
        #expect(view.nodes.allSatisfy { ($0.leaseRemaining > 0) == ($0.identity == a) })
        #expect(try await world.cluster.renewLease(b, leaseSeconds: 60))
        #expect(try await world.cluster.renewLease(node("c"), leaseSeconds: 60) == false)
        // Renewals are no change of the view.
        #expect(try await world.cluster.viewVersion() == view.version)

        #expect(try await world.cluster.lead(a, displacing: nil, leaseSeconds: 60) == 1)
        #expect(try await world.cluster.lead(b, displacing: nil, leaseSeconds: 60) == nil)
        #expect(try await world.cluster.lead(a, displacing: nil, leaseSeconds: 60) == 1)
        #expect(try await world.cluster.lead(b, displacing: b.incarnation, leaseSeconds: 60) == nil)
        #expect(try await world.cluster.lead(b, displacing: a.incarnation, leaseSeconds: -1) == 2)
        #expect(try await world.cluster.lead(a, displacing: nil, leaseSeconds: 60) == 3)
        #expect(try await world.cluster.lead(node("c"), displacing: a.incarnation, leaseSeconds: 60) == nil)
        let led = try await world.cluster.view()
        #expect(led.leader == a.incarnation && led.leaderTerm == 3 && led.leaderLeaseRemaining > 50 && led.version > view.version)
        // A leader that leaves makes room at once.
        try await world.cluster.leave(a)
        #expect(try await world.cluster.lead(b, displacing: nil, leaseSeconds: 60) == 4)
        #expect(try await world.cluster.renewLease(a, leaseSeconds: 60) == false)
        #expect(try await world.cluster.view().nodes.first { $0.identity == a }?.state == .left)
    }

    @Test(arguments: StoreKind.allCases) func placementsHoldByEpochAndTerm(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.fresh(kind)
        let (a, b) = (node("a"), node("b"))
        try await register(a, in: world)
        try await register(b, in: world)
        let term = try #require(try await world.cluster.lead(a, displacing: nil, leaseSeconds: 60))
        #expect(try await world.cluster.place([placement(1, a, epoch: 0), placement(2, b, epoch: 0)], term: term))
        #expect(try await world.cluster.place([placement(3, a, epoch: 0)], term: term + 1) == false)
        // Owned already; of another epoch; to a node that is not there.
        #expect(
            try await world.cluster.place(
                [placement(1, b, epoch: 1), placement(4, a, epoch: 7), placement(5, node("x"), epoch: 0)], term: term))
        var shards = try await world.cluster.view().shards
        #expect(shards[1].owner == a && shards[1].epoch == Epoch(1) && shards[2].owner == b)
        #expect(shards[3].owner == nil && shards[4].owner == nil && shards[5].owner == nil)

        #expect(try await world.cluster.place([placement(1, b, epoch: 1, isMove: true)], term: term))
        shards = try await world.cluster.view().shards
        #expect(shards[1].owner == a && shards[1].target == b && shards[1].epoch == Epoch(1))
        let version = try await world.cluster.viewVersion()
        try await world.cluster.release([.shard(shards[1].id), .shard(shards[2].id)], by: b, closedFor: .zero)
        #expect(try await world.cluster.viewVersion() == version)
        try await world.cluster.release([.shard(shards[1].id), .shard(shards[2].id)], by: a, closedFor: .zero)
        shards = try await world.cluster.view().shards
        #expect(shards[1].owner == b && shards[1].target == nil && shards[1].epoch == Epoch(2) && shards[2].owner == b)
        #expect(try await world.cluster.viewVersion() > version)
    }

    @Test(arguments: StoreKind.allCases) func theDeadLoseTheirShards(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.fresh(kind)
        let (a, b) = (node("a"), node("b"))
        try await register(a, in: world)
        try await register(b, in: world)
        let term = try #require(try await world.cluster.lead(a, displacing: nil, leaseSeconds: 60))
        _ = try await world.cluster.place([placement(1, b, epoch: 0), placement(2, a, epoch: 0)], term: term)
        _ = try await world.cluster.place([placement(2, b, epoch: 1, isMove: true)], term: term)
        #expect(
            try await world.cluster.declareDead(b.incarnation, placements: [placement(1, a, epoch: 1)], term: term - 1) == false)
        #expect(try await world.cluster.renewLease(b, leaseSeconds: 60))
        #expect(try await world.cluster.declareDead(b.incarnation, placements: [placement(1, a, epoch: 1)], term: term))
        let view = try await world.cluster.view()
        #expect(view.shards[1].owner == a && view.shards[1].epoch == Epoch(2))
        #expect(view.shards[2].owner == a && view.shards[2].target == nil)
        #expect(view.nodes.first { $0.identity == b }?.state == .dead)
        #expect(try await world.cluster.renewLease(b, leaseSeconds: 60) == false)
    }

    @Test(arguments: StoreKind.allCases) func aRestartTakesItsOwnShards(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.fresh(kind)
        let (old, new, other) = (node("a"), node("a"), node("b"))
        try await register(old, in: world)
        try await register(other, in: world)
        let term = try #require(try await world.cluster.lead(old, displacing: nil, leaseSeconds: 60))
        _ = try await world.cluster.place([placement(1, old, epoch: 0), placement(2, other, epoch: 0)], term: term)
        let lane = try await JournalLane(world: world, node: old, lane: 1)
        let (id, user, _) = try await world.makeDirect()
        try await lane.send("one", in: id, from: user, first: 1)

        try await register(new, in: world)
        let view = try await world.cluster.view()
        #expect(view.shards[1].owner == new && view.shards[1].epoch == Epoch(2) && view.shards[2].epoch == Epoch(1))
        #expect(Set(view.nodes.map(\.identity)) == [new, other])
        #expect(await storeErrorCode { try await lane.send("two", in: id, from: user, first: 2) } == .fenced)
        #expect(try await world.cluster.renewLease(old, leaseSeconds: 60) == false)
        #expect(try await world.cluster.lead(other, displacing: nil, leaseSeconds: 60) == term + 1)
        let fresh = try await JournalLane(world: world, node: new, lane: 1)
        try await fresh.send("two", in: id, from: user, first: 2)
    }
}

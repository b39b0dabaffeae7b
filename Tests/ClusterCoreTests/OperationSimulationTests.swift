import RoostModel
import TestSupport
import Testing

@testable import ClusterCore

/// Operations under deaths, in virtual time: whatever dies at whatever step of a hand-off, it is completed or undone, and nothing hangs.
@Suite struct OperationSimulationTests {
    private func settled(seed: UInt64, nodes: Int = 3) async -> Simulation {
        let simulation = Simulation(seed: seed)
        for index in 1...nodes { simulation.start("node\(index)") }
        #expect(await simulation.settle(within: .seconds(4)) != nil, "seed \(seed): no start")
        await simulation.run(for: .seconds(3))
        simulation.forgetOrphanage()
        return simulation
    }

    private func owned(_ simulation: Simulation, by name: String) -> Int {
        simulation.store.shards.count { $0.owner?.name == name }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func aDrainEmptiesANodeAndUncordoningBringsItBack(seed: UInt64) async throws {
        let simulation = await settled(seed: seed)
        let drain = simulation.drain("node2")
        let time = try #require(
            await simulation.run(until: { simulation.operation(drain)?.state.isEnd == true }, within: .seconds(60)))
        #expect(simulation.operation(drain)?.state == .done, "seed \(seed), after \(time)")
        #expect(owned(simulation, by: "node2") == 0 && simulation.operation(drain)?.progress.movesDone ?? 0 > 400)
        let others = ["node1", "node3"].map { owned(simulation, by: $0) }
        #expect(abs(others[0] - others[1]) < 100, "\(others)")
        // Where the answer to a release is lost, its heir finds out with its next poll.
        #expect(simulation.longestOrphanage < .milliseconds(1500), "seed \(seed): \(simulation.longestOrphanage)")
        // It stays empty until it is wanted again.
        await simulation.run(for: .seconds(20))
        #expect(owned(simulation, by: "node2") == 0 && simulation.unfinished.isEmpty)
        simulation.store.advance(to: simulation.now)
        _ = simulation.store.tables.setUse(.open, of: "node2", at: simulation.store.time)
        #expect(await simulation.run(until: { self.owned(simulation, by: "node2") > 400 }, within: .seconds(60)) != nil)
        #expect(simulation.violations.isEmpty, "\(simulation.violations.prefix(3))")
    }

    /// One step of a hand-off after the other: marked, closed, released; the node that is killed is the source, the target or the leader.
    @Test(arguments: 0..<12, ["source", "target", "leader"])
    func aDeathAtAnyStepOfAHandOffIsCompletedOrUndone(step: Int, victim: String) async throws {
        let simulation = await settled(seed: UInt64(100 + step))
        let drain = simulation.drain("node2")
        // In the middle of the drain, then some tens of milliseconds later each time.
        _ = await simulation.run(until: { simulation.isMoving }, within: .seconds(5))
        await simulation.run(for: .milliseconds(25 * step))
        let name: String
        switch victim {
        case "source": name = "node2"
        case "target":
            name = simulation.store.shards.first { $0.target != nil }?.target?.name ?? "node1"
        default: name = simulation.leaderName ?? "node1"
        }
        simulation.crash(name)
        let label = "step \(step), \(victim) \(name)"
        // Every shard is served by a living node again, and none is stuck on its way.
        let stuck = await simulation.run(
            until: {
                simulation.orphans.allSatisfy { $0 < .milliseconds(100) }
                    && !simulation.store.shards.contains {
                        $0.owner?.name == name
                    }
            }, within: .seconds(8))
        #expect(stuck != nil, "\(label)")
        let end = await simulation.run(until: { simulation.operation(drain)?.state.isEnd == true }, within: .seconds(90))
        #expect(end != nil, "\(label): the drain hangs in \(String(describing: simulation.operation(drain)))")
        if name == "node2" {
            #expect(simulation.operation(drain)?.state == .failed && simulation.operation(drain)?.reason == "nodeDied")
        } else {
            #expect(simulation.operation(drain)?.state == .done, "\(label)")
        }
        await simulation.run(for: .seconds(10))
        #expect(!simulation.isMoving && simulation.unfinished.isEmpty && simulation.orphans.isEmpty, "\(label)")
        #expect(simulation.violations.isEmpty, "\(label): \(simulation.violations.prefix(3))")
    }

    /// The same for a rebalance; it ends, whoever dies, with what could be done.
    @Test(arguments: 0..<6, ["source", "target", "leader"])
    func aDeathDuringARebalanceEndsItAllTheSame(step: Int, victim: String) async throws {
        let simulation = await settled(seed: UInt64(200 + step))
        let shards = simulation.store.shards.filter { $0.owner?.name == "node2" }
        let moves = shards.prefix(60).enumerated().map { index, shard in
            PlannedMove(
                place: .shard(shard.id), from: "node2", to: index.isMultiple(of: 2) ? "node1" : "node3", load: 1,
                expectedPauseMilliseconds: 15)
        }
        let id = try #require(simulation.rebalance(moves))
        _ = await simulation.run(until: { simulation.isMoving }, within: .seconds(5))
        await simulation.run(for: .milliseconds(40 * step))
        let name =
            switch victim {
            case "source": "node2"
            case "target": simulation.store.shards.first { $0.target != nil }?.target?.name ?? "node1"
            default: simulation.leaderName ?? "node1"
            }
        simulation.crash(name)
        let label = "step \(step), \(victim) \(name)"
        let served = await simulation.run(
            until: {
                simulation.orphans.allSatisfy { $0 < .milliseconds(100) }
                    && !simulation.store.shards.contains { $0.owner?.name == name }
            }, within: .seconds(8))
        #expect(served != nil, "\(label)")
        let end = await simulation.run(until: { simulation.operation(id)?.state.isEnd == true }, within: .seconds(8))
        #expect(end != nil, "\(label): \(String(describing: simulation.operation(id)?.progress))")
        let progress = simulation.operation(id)!.progress
        #expect(progress.movesDone + progress.movesFailed == 60, "\(label): \(progress)")
        await simulation.run(for: .seconds(5))
        #expect(!simulation.isMoving && simulation.unfinished.isEmpty && simulation.violations.isEmpty, "\(label)")
    }

    /// And for a single actor: it lives somewhere, in one place only, and its operation ends.
    @Test(arguments: 0..<8, ["holder", "wanted", "leader"])
    func aDeathWhileAnActorIsPinnedLeavesNothingHanging(step: Int, victim: String) async throws {
        let simulation = await settled(seed: UInt64(300 + step))
        let actor = ActorAddress(ConversationID(high: 7, low: UInt64(step)))
        let home = simulation.store.shards[actor.shard.tableIndex].owner!.name
        let wanted = ["node1", "node2", "node3"].first { $0 != home }!
        let id = try #require(simulation.pin(actor, to: wanted))
        await simulation.run(for: .milliseconds(30 * step))
        let name = victim == "holder" ? home : victim == "wanted" ? wanted : simulation.leaderName ?? "node1"
        simulation.crash(name)
        let label = "step \(step), \(victim) \(name)"
        let end = await simulation.run(until: { simulation.operation(id)?.state.isEnd == true }, within: .seconds(8))
        #expect(end != nil, "\(label): \(String(describing: simulation.operation(id)))")
        await simulation.run(for: .seconds(8))
        let pin = try #require(simulation.store.snapshot(at: simulation.now).pins.first)
        #expect(!pin.isMoving && pin.node == wanted, "\(label): \(pin)")
        #expect(pin.owner?.name == (name == wanted ? nil : wanted), "\(label): \(pin)")
        #expect(simulation.unfinished.isEmpty && simulation.violations.isEmpty, "\(label)")
        // The pin was not forgotten.
        guard name == wanted else { return }
        simulation.start(wanted)
        let back = await simulation.run(
            until: { simulation.store.snapshot(at: simulation.now).pins.first?.owner?.name == wanted }, within: .seconds(10))
        #expect(back != nil, "\(label)")
    }

    /// The store goes away in the middle of a drain: that is nobody's fault, and the drain goes on.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func aStoreThatWasAwayCostsNobodyItsLife(seed: UInt64) async throws {
        let simulation = await settled(seed: 400 + seed)
        let drain = simulation.drain("node2")
        _ = await simulation.run(until: { simulation.isMoving }, within: .seconds(5))
        await simulation.run(for: .milliseconds(Int(seed) * 37))
        simulation.isStoreUp = false
        await simulation.run(for: .milliseconds(3000 + 1500 * Int(seed)))
        simulation.isStoreUp = true
        let end = await simulation.run(until: { simulation.operation(drain)?.state.isEnd == true }, within: .seconds(90))
        #expect(end != nil && simulation.operation(drain)?.state == .done)
        #expect(simulation.store.deaths.isEmpty, "seed \(seed): \(simulation.store.deaths)")
        #expect(simulation.violations.isEmpty, "\(simulation.violations.prefix(3))")
    }

    /// A node may be cordoned or drained while shards are on their way to it: it is given nothing more.
    @Test(arguments: 0..<6)
    func whatIsOnItsWayToANodeThatIsClosedIsTurnedBack(step: Int) async throws {
        let simulation = await settled(seed: UInt64(500 + step))
        let first = simulation.drain("node2")
        _ = await simulation.run(until: { simulation.store.shards.contains { $0.target?.name == "node3" } }, within: .seconds(5))
        await simulation.run(for: .milliseconds(20 * step))
        let second = simulation.drain("node3")
        let end = await simulation.run(
            until: { [first, second].allSatisfy { simulation.operation($0)?.state.isEnd == true } }, within: .seconds(120))
        #expect(end != nil)
        await simulation.run(for: .seconds(5))
        #expect(owned(simulation, by: "node1") == ShardID.all.count, "step \(step)")
        #expect(simulation.orphans.isEmpty && simulation.violations.isEmpty && !simulation.isMoving)
    }

    /// Loads that differ are evened out by the leader, and then it is quiet: what evens out numbers does not undo it.
    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func unevenLoadsComeToRest(seed: UInt64) async throws {
        let simulation = await settled(seed: 600 + seed)
        let hot = simulation.store.shards.filter { $0.owner?.name == "node1" }.prefix(Int(seed) * 3).map(\.id)
        simulation.costs = { hot.contains($0) ? 60 : 0.1 }
        func loads() -> [Double] {
            ["node1", "node2", "node3"].map { name in
                simulation.store.shards.filter { $0.owner?.name == name }.reduce(0) { $0 + simulation.costs!($1.id) }
            }
        }
        #expect(RebalancePlanner.unevenness(loads()) > 1.25)
        _ = await simulation.run(
            until: { RebalancePlanner.unevenness(loads()) <= 1.25 && simulation.unfinished.isEmpty }, within: .seconds(180))
        #expect(RebalancePlanner.unevenness(loads()) <= 1.25, "seed \(seed): \(loads())")
        let version = simulation.store.version
        await simulation.run(for: .seconds(120))
        #expect(simulation.store.version == version, "something still moves")
        #expect(simulation.violations.isEmpty)
    }

    @Test func theLastOpenNodeCannotBeDrainedAndSaysWhy() async throws {
        let simulation = await settled(seed: 5, nodes: 2)
        simulation.store.advance(to: simulation.now)
        _ = simulation.store.tables.setUse(.cordoned, of: "node1", at: simulation.store.time)
        let drain = simulation.drain("node2", timeout: .seconds(10))
        _ = await simulation.run(
            until: { simulation.operation(drain)?.progress.blockedBy.isEmpty == false }, within: .seconds(3))
        #expect(simulation.operation(drain)?.progress.blockedBy == ["no other node is open"])
        _ = await simulation.run(until: { simulation.operation(drain)?.state.isEnd == true }, within: .seconds(15))
        #expect(simulation.operation(drain)?.state == .failed && simulation.operation(drain)?.reason == "timeout")
        #expect(simulation.orphans.isEmpty && simulation.violations.isEmpty)
    }

    @Test func aPausedDrainMovesNothingUntilItGoesOn() async throws {
        let simulation = await settled(seed: 6)
        let drain = try #require(simulation.drain("node3"))
        await simulation.run(for: .seconds(1))
        _ = simulation.store.tables.change(drain, .pause, at: simulation.store.time)
        await simulation.run(for: .seconds(2))
        let count = owned(simulation, by: "node3")
        #expect(count > 0)
        await simulation.run(for: .seconds(10))
        #expect(owned(simulation, by: "node3") == count && !simulation.isMoving)
        _ = simulation.store.tables.change(drain, .resume, at: simulation.store.time)
        #expect(await simulation.run(until: { simulation.operation(drain)?.state == .done }, within: .seconds(60)) != nil)
    }

    @Test func aPinnedActorFollowsItsNodeThroughDeathAndDrain() async throws {
        let simulation = await settled(seed: 7)
        let actor = ActorAddress(ConversationID(high: 1, low: 2))
        let home = simulation.store.shards[actor.shard.tableIndex].owner!.name
        let other = ["node1", "node2", "node3"].first { $0 != home }!
        func owner() -> String? { simulation.store.tables.snapshot(at: simulation.store.time).pins.first?.owner?.name }
        simulation.store.advance(to: simulation.now)
        guard
            case .operation(let pin) = simulation.store.tables.pin(
                simulation.newOperation(), actor, to: other, by: "op", at: simulation.store.time)
        else {
            Issue.record("no pin")
            return
        }
        #expect(await simulation.run(until: { owner() == other }, within: .seconds(5)) != nil)
        #expect(await simulation.run(until: { simulation.operation(pin.id)?.state == .done }, within: .seconds(3)) != nil)
        simulation.crash(other)
        #expect(await simulation.run(until: { owner() == nil }, within: .seconds(8)) != nil)
        simulation.start(other)
        #expect(await simulation.run(until: { owner() == other }, within: .seconds(10)) != nil)
        simulation.drain(other)
        #expect(await simulation.run(until: { owner() == nil }, within: .seconds(60)) != nil)
        #expect(await simulation.run(until: { simulation.unfinished.isEmpty }, within: .seconds(60)) != nil)
        simulation.store.advance(to: simulation.now)
        _ = simulation.store.tables.setUse(.open, of: other, at: simulation.store.time)
        #expect(await simulation.run(until: { owner() == other }, within: .seconds(60)) != nil)
        simulation.store.advance(to: simulation.now)
        let back = simulation.store.tables.unpin(simulation.newOperation(), actor, by: "op", at: simulation.store.time)
        #expect(await simulation.run(until: { simulation.operation(back?.id)?.state == .done }, within: .seconds(10)) != nil)
        #expect(simulation.store.tables.snapshot(at: simulation.store.time).pins.isEmpty)
        #expect(simulation.violations.isEmpty, "\(simulation.violations.prefix(3))")
    }

    @Test func noNodeGivesOrTakesTwiceAtOnce() async throws {
        let simulation = await settled(seed: 8, nodes: 4)
        simulation.drain("node2")
        simulation.drain("node3")
        var most = 0
        _ = await simulation.run(
            until: {
                var pairs: Set<[String]> = []
                for shard in simulation.store.shards where shard.target != nil {
                    pairs.insert([shard.owner?.name ?? "-", shard.target!.name])
                }
                let (sources, targets) = (Set(pairs.map { $0[0] }), Set(pairs.map { $0[1] }))
                if pairs.count != sources.count || pairs.count != targets.count { Issue.record("\(pairs)") }
                most = max(most, pairs.count)
                if simulation.store.shards.count(where: { $0.target != nil }) > 16 * pairs.count { Issue.record("too many") }
                return simulation.unfinished.isEmpty
            }, within: .seconds(120))
        #expect(most == 2 && simulation.unfinished.isEmpty)
    }
}

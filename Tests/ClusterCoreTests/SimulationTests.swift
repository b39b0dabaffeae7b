import RoostModel
import Testing

@testable import ClusterCore

@Suite struct SimulationTests {
    private func settled(seed: UInt64, nodes: Int = 3) async -> Simulation {
        let simulation = Simulation(seed: seed)
        for index in 1...nodes { simulation.start("node\(index)") }
        #expect(await simulation.settle(within: .seconds(4)) != nil, "seed \(seed): no start")
        await simulation.run(for: .seconds(10))
        #expect(simulation.spread <= 1, "seed \(seed): uneven")
        #expect(simulation.leaderName != nil, "seed \(seed): no leader")
        simulation.forgetOrphanage()
        return simulation
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func aCrashedNodeIsReplacedInTimeAndUsedAgain(seed: UInt64) async throws {
        let simulation = await settled(seed: seed)
        let victim = ["node1", "node2", "node3"].randomElement(using: &simulation.random)!
        simulation.crash(victim)
        let pause = try #require(await simulation.settle(within: .seconds(8)), "seed \(seed): not replaced")
        // The contract allows 4 s at the median.
        #expect(pause < .seconds(4), "seed \(seed)")
        simulation.start(victim)
        await simulation.run(for: .seconds(12))
        #expect(simulation.spread <= 1, "seed \(seed)")
        #expect(simulation.orphans.isEmpty)
        #expect(simulation.violations.isEmpty, "seed \(seed): \(simulation.violations.prefix(3))")
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func aNodeRestartedAtOnceUnderItsNameServesWithinASecond(seed: UInt64) async throws {
        let simulation = await settled(seed: seed)
        simulation.crash("node2")
        await simulation.run(for: .milliseconds(300))
        simulation.start("node2")
        let pause = try #require(await simulation.settle(within: .seconds(8)))
        #expect(pause < .seconds(1))
        #expect(simulation.store.deaths.isEmpty)
        #expect(simulation.violations.isEmpty, "\(simulation.violations.prefix(3))")
    }

    @Test func theLastOfTwoIsReplacedByItsLease() async throws {
        let simulation = await settled(seed: 5, nodes: 2)
        simulation.crash("node1")
        let pause = try #require(await simulation.settle(within: .seconds(8)))
        #expect(pause > .seconds(3))
        #expect(simulation.violations.isEmpty)
    }

    @Test func theLeaderIsKilledTenTimesInARow() async throws {
        let simulation = await settled(seed: 7)
        for round in 1...10 {
            let leader = try #require(simulation.leaderName, "round \(round)")
            simulation.crash(leader)
            #expect(await simulation.settle(within: .seconds(8)) != nil, "round \(round)")
            simulation.start(leader)
            await simulation.run(for: .seconds(5))
        }
        await simulation.run(for: .seconds(10))
        #expect(simulation.spread <= 1)
        #expect(simulation.violations.isEmpty, "\(simulation.violations.prefix(3))")
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func theBusIsAwayAndNobodyIsDeclaredDead(seed: UInt64) async {
        let simulation = await settled(seed: seed)
        simulation.isBusUp = false
        simulation.busChanged()
        await simulation.run(for: .seconds(10))
        simulation.isBusUp = true
        simulation.busChanged()
        await simulation.run(for: .seconds(10))
        #expect(simulation.store.deaths.isEmpty)
        #expect(simulation.orphans.isEmpty)
        #expect(simulation.longestOrphanage == .zero)
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func theDatabaseIsAwayAndEveryoneComesBack(seed: UInt64) async {
        let simulation = await settled(seed: seed)
        simulation.isStoreUp = false
        await simulation.run(for: .seconds(5))
        #expect(
            simulation.orphans.isEmpty == false
                || simulation.processes.values.allSatisfy { $0.machine.servingDeadline! < simulation.now })
        await simulation.run(for: .seconds(15))
        simulation.isStoreUp = true
        #expect(await simulation.settle(within: .seconds(2)) != nil)
        await simulation.run(for: .seconds(10))
        #expect(simulation.store.deaths.isEmpty)
        #expect(simulation.violations.isEmpty, "\(simulation.violations.prefix(3))")
    }

    @Test func aPausedNodeIsFencedAndComesBackAsANewOne() async {
        let simulation = await settled(seed: 9)
        simulation.pause("node3", for: .seconds(10))
        #expect(await simulation.settle(within: .seconds(8)) != nil)
        await simulation.run(for: .seconds(20))
        #expect(simulation.store.deaths.map(\.name) == ["node3"])
        #expect(simulation.spread <= 1)
        #expect(simulation.violations.isEmpty, "\(simulation.violations.prefix(3))")
    }

    @Test func aNodeThatLeavesIsReplacedAtOnce() async throws {
        let simulation = await settled(seed: 11)
        simulation.leave("node1")
        let pause = try #require(await simulation.settle(within: .seconds(8)))
        #expect(pause < .seconds(1))
        #expect(simulation.violations.isEmpty, "\(simulation.violations.prefix(3))")
    }

    /// Anything at any time; at the end all heals, and the cluster must be whole.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func survivesChaos(seed: UInt64) async {
        let simulation = Simulation(seed: seed)
        let names = ["node1", "node2", "node3", "node4"]
        for name in names.prefix(3) { simulation.start(name) }
        for _ in 0..<25 {
            await simulation.run(for: .milliseconds(Int.random(in: 50...4000, using: &simulation.random)))
            let name = names.randomElement(using: &simulation.random)!
            switch Int.random(in: 0..<9, using: &simulation.random) {
            case 0, 1: if simulation.processes.count > 1 { simulation.crash(name) }
            case 2, 3, 4: if simulation.processes[name] == nil { simulation.start(name) }
            case 5: simulation.pause(name, for: .milliseconds(Int.random(in: 100...9000, using: &simulation.random)))
            case 6:
                if simulation.busCut.remove(name) == nil { simulation.busCut.insert(name) }
                simulation.busChanged()
            case 7: if simulation.storeCut.remove(name) == nil { simulation.storeCut.insert(name) }
            default:
                if Bool.random(using: &simulation.random) {
                    simulation.isStoreUp.toggle()
                } else {
                    simulation.isBusUp.toggle()
                    simulation.busChanged()
                }
            }
        }
        simulation.isStoreUp = true
        simulation.isBusUp = true
        simulation.busCut = []
        simulation.storeCut = []
        simulation.busChanged()
        for name in names where simulation.processes[name] == nil { simulation.start(name) }
        await simulation.run(for: .seconds(40))
        #expect(await simulation.settle(within: .seconds(1)) != nil, "seed \(seed): \(simulation.orphans.count) shards unserved")
        #expect(simulation.spread <= 1, "seed \(seed)")
        #expect(!simulation.isMoving, "seed \(seed)")
        #expect(simulation.leaderName != nil, "seed \(seed)")
        #expect(simulation.violations.isEmpty, "seed \(seed): \(simulation.violations.prefix(3))")
    }
}

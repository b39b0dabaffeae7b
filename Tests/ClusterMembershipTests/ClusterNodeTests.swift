import ClusterCore
import Ports
import RoostModel
import TestSupport
import Testing

@testable import ClusterMembership

@Suite(.serialized, .timeLimit(.minutes(5))) struct ClusterNodeTests {
    private func three() async -> TestCluster {
        let cluster = TestCluster()
        cluster.start("node1", "node2", "node3")
        #expect(await cluster.run(until: { cluster.isWhole }, within: .seconds(3)) != nil)
        await cluster.run(.seconds(4))
        #expect(cluster.isEven)
        return cluster
    }

    @Test func threeNodesJoinAndShareTheShards() async {
        let cluster = await three()
        for name in ["node1", "node2", "node3"] {
            let node = cluster[name].node
            #expect(node.isServing)
            #expect(node.liveNodes.map(\.identity.name) == ["node1", "node2", "node3"])
            #expect(node.leader?.node.name == cluster.leaderName)
            guard case .joined = cluster[name].witness.calls.first(where: { $0 != .serving(true) }) else {
                Issue.record("joined must come first")
                return
            }
        }
        #expect(cluster.snapshot.deaths.isEmpty)
        await cluster.stopAll()
    }

    @Test func aKilledNodeIsTakenOverAndUsedAgainAfterItsReturn() async throws {
        let cluster = await three()
        let victim = try #require(cluster.followerName)
        cluster.kill(victim)
        let pause = try #require(await cluster.run(until: { cluster.isWhole }, within: .seconds(8)))
        #expect(pause <= .seconds(3))
        let failovers = cluster.running.values.reduce(0) { $0 + ($1.witness.state.withLock { $0.gained[.failover] } ?? 0) }
        #expect(failovers > 400)
        cluster.start(victim)
        #expect(await cluster.run(until: { cluster.isWhole && cluster.isEven }, within: .seconds(8)) != nil)
        #expect(cluster[victim].witness.state.withLock { $0.gained[.join] ?? 0 } > 400)
        await cluster.stopAll()
    }

    @Test func theLeaderIsKilledTenTimesInARow() async throws {
        let cluster = await three()
        for round in 1...10 {
            let leader = try #require(cluster.leaderName, "round \(round)")
            cluster.kill(leader)
            #expect(await cluster.run(until: { cluster.isWhole }, within: .seconds(8)) != nil, "round \(round)")
            cluster.start(leader)
            await cluster.run(.seconds(4))
        }
        #expect(await cluster.run(until: { cluster.isWhole && cluster.isEven }, within: .seconds(8)) != nil)
        await cluster.stopAll()
    }

    @Test func aRestartAtOnceUnderTheSameNameKeepsItsShards() async throws {
        let cluster = await three()
        let before = cluster.owned("node2")
        cluster.kill("node2")
        cluster.start("node2")
        let pause = try #require(await cluster.run(until: { cluster.isWhole }, within: .seconds(3)))
        #expect(pause <= .seconds(1))
        #expect(cluster.owned("node2") == before)
        #expect(cluster.snapshot.deaths.isEmpty)
        await cluster.stopAll()
    }

    @Test func theBusIsAwayAndNobodyIsDeclaredDead() async {
        let cluster = await three()
        for process in cluster.running.values { process.bus.setConnected(false) }
        await cluster.run(.seconds(10))
        #expect(cluster.running.values.allSatisfy { $0.node.isServing })
        for process in cluster.running.values { process.bus.setConnected(true) }
        await cluster.run(.seconds(6))
        #expect(cluster.snapshot.deaths.isEmpty)
        #expect(cluster.isWhole)
        await cluster.stopAll()
    }

    @Test func theDatabaseIsAwayForTwentySeconds() async {
        let cluster = await three()
        cluster.store.state.withLock { $0.isUp = false }
        await cluster.run(.seconds(20))
        #expect(cluster.running.values.allSatisfy { !$0.node.isServing })
        cluster.store.state.withLock { $0.isUp = true }
        #expect(await cluster.run(until: { cluster.isWhole }, within: .seconds(2)) != nil)
        await cluster.run(.seconds(10))
        #expect(cluster.snapshot.deaths.isEmpty)
        for process in cluster.running.values {
            let serving = process.witness.calls.filter { if case .serving = $0 { true } else { false } }
            #expect(serving == [.serving(true), .serving(false), .serving(true)])
        }
        await cluster.stopAll()
    }

    @Test func aJoiningNodeGetsItsShareThroughReleases() async {
        let cluster = await three()
        cluster.start("node4")
        #expect(
            await cluster.run(until: { cluster.owned("node4") >= 319 && cluster.isWhole && cluster.isEven }, within: .seconds(10))
                != nil)
        let quiesced = cluster.running.values.reduce(0) { total, process in
            total + process.witness.calls.reduce(0) { if case .quiesce(let count) = $1 { $0 + count } else { $0 } }
        }
        #expect(quiesced == cluster.owned("node4"))
        #expect(cluster["node4"].witness.state.withLock { $0.gained } == [.join: quiesced])
        await cluster.stopAll()
    }

    @Test func aLeavingNodeHandsOverAtOnce() async throws {
        let cluster = await three()
        let owned = cluster.owned("node1")
        let witness = cluster["node1"].witness
        await cluster.stop("node1")
        #expect(witness.calls.contains(.quiesce(owned)))
        #expect(witness.calls.last == .serving(false))
        let pause = try #require(await cluster.run(until: { cluster.isWhole }, within: .seconds(3)))
        #expect(pause <= .seconds(1))
        #expect(cluster.snapshot.deaths.isEmpty)
        // Left in good order: nothing to recover.
        #expect(cluster.running.values.allSatisfy { $0.witness.state.withLock { $0.gained[.failover] } == nil })
        await cluster.stopAll()
    }

    @Test func aMoverThatIsStuckIsFencedAndComesBack() async throws {
        let cluster = await three()
        let stuck = try #require(cluster.followerName)
        let before = cluster[stuck].node.identity
        cluster[stuck].witness.state.withLock { $0.isQuiesceStuck = true }
        cluster.start("node4")
        #expect(await cluster.run(until: { cluster.snapshot.deaths.map(\.name) == [stuck] }, within: .seconds(10)) != nil)
        cluster[stuck].witness.state.withLock { $0.isQuiesceStuck = false }
        #expect(
            await cluster.run(until: { cluster.isWhole && cluster.isEven && cluster.owned(stuck) > 0 }, within: .seconds(40))
                != nil)
        #expect(cluster[stuck].node.identity != before)
        await cluster.stopAll()
    }

    @Test func aFrozenNodeBelievesItServesAndIsFenced() async throws {
        let cluster = await three()
        let node = cluster["node3"].node
        let before = try #require(node.identity)
        #expect(node.freeze())
        #expect(await cluster.run(until: { cluster.snapshot.deaths == [before] }, within: .seconds(8)) != nil)
        await cluster.run(.seconds(10))
        #expect(node.isServing)
        #expect(node.identity == before)
        #expect(!cluster.snapshot.isFenceOpen(before))
        node.thaw()
        await cluster.run(.milliseconds(300))
        #expect(node.identity != before)
        #expect(await cluster.run(until: { cluster.isWhole && cluster.isEven }, within: .seconds(10)) != nil)
        #expect(cluster["node3"].metrics.render().contains("roost_cluster_fenced_total 1\n"))
        await cluster.stopAll()
    }

    @Test func aSecondProcessOfTheSameNameEndsTheFirst() async {
        let cluster = TestCluster()
        cluster.start("node1")
        #expect(await cluster.run(until: { cluster.isWhole }, within: .seconds(3)) != nil)
        let first = cluster["node1"].node
        cluster.start("node1")
        await cluster.run(.seconds(3))
        #expect(cluster.displaced.withLock { $0 } == ["node1"])
        #expect(!first.isServing)
        #expect(cluster.isWhole)
        await cluster.stopAll()
    }

    @Test func aRefreshFindsWhatNoHintTold() async {
        let cluster = await three()
        let node = cluster["node1"].node
        let before = node.currentView!.version
        cluster.store.state.withLock { state in
            _ = state.store.tables.setUse(.cordoned, of: "node3", at: state.store.time)
        }
        node.refreshView()
        node.refreshView()
        await cluster.run(.milliseconds(100))
        #expect(node.currentView!.version == before + 1)
        await cluster.stopAll()
    }

    @Test func garbageOnTheBusIsCountedAndIgnored() async throws {
        let cluster = await three()
        let stranger = DirectBus(cluster.hub)
        for payload in [[], [0xFF], [UInt8](repeating: 1, count: 5000), ClusterWire.encode(viewVersion: -5)] {
            try stranger.publish(payload, to: ClusterSubject.heartbeat)
            try stranger.publish(payload, to: ClusterSubject.view)
        }
        await cluster.run(.seconds(1))
        #expect(cluster["node1"].metrics.render().contains("roost_cluster_malformed_total 8\n"))
        #expect(cluster.isWhole)
        await cluster.stopAll()
    }

    @Test func wrongOptionsAreRefusedWithEveryFault() async {
        let cluster = TestCluster()
        var options = ClusterNodeOptions(name: "a.b", url: "", adminURL: "", version: "1", lanes: 0)
        options.timings.tick = .zero
        let node = ClusterNode(
            options, store: cluster.store, operations: cluster.store, bus: DirectBus(cluster.hub), logger: .silent,
            metrics: .init())
        node.attach(Witness(clock: cluster.clock))
        await #expect { try await node.start() } throws: { error in
            guard let error = error as? ClusterError, error.code == .badOptions else { return false }
            return error.detail.contains("name") && error.detail.contains("lanes") && error.detail.contains("tick")
        }
    }

    @Test func stoppingBeforeTheStartHasJoinedEndsIt() async {
        let cluster = TestCluster()
        cluster.store.state.withLock { $0.isUp = false }
        cluster.start("node1")
        await cluster.run(.seconds(2))
        let process = cluster["node1"]
        process.start.cancel()
        await #expect(throws: CancellationError.self) { try await process.start.value }
    }
}

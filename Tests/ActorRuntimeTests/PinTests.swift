import EventLoop
import RoostModel
import Runtime
import TestSupport
import Testing

@testable import ActorRuntime

/// Actors that live apart from their shards, and the ways there and back.
@Suite(.timeLimit(.minutes(1))) struct PinTests {
    private func withCluster(_ count: Int, _ body: (ClusterFixture) async throws -> Void) async throws {
        let cluster = try await ClusterFixture(count)
        try await body(cluster)
        await cluster.stop()
    }

    /// Two conversations of one shard.
    private func neighbours() -> (ConversationID, ConversationID) {
        let first = ConversationID.make()
        while true {
            let second = ConversationID.make()
            if ShardID(of: second) == ShardID(of: first) { return (first, second) }
        }
    }

    private func place(_ id: ConversationID) -> Place { .actor(ActorAddress(id)) }

    @Test func aPinnedActorLivesApartFromItsNeighbours() async throws {
        try await withCluster(3) { cluster in
            let (pinned, neighbour) = neighbours()
            cluster.own(0, pins: [cluster.pin(pinned, at: 1, epoch: 1)])
            for caller in 0...2 {
                #expect(await cluster.call(pinned, [1], from: caller) == .success([UInt8(caller + 1), 1]))
                #expect(await cluster.call(neighbour, [2], from: caller) == .success([UInt8(caller + 1), 2]))
            }
            #expect(await cluster.awake(at: 0) == [ActorAddress(neighbour)])
            #expect(await cluster.awake(at: 1) == [ActorAddress(pinned)])
        }
    }

    @Test func anActorThatIsPinnedGoesAlone() async throws {
        try await withCluster(3) { cluster in
            let (leaving, neighbour) = neighbours()
            cluster.own(0, pins: [cluster.pin(leaving, at: nil, epoch: 0, moving: true, to: 1)])
            _ = await cluster.call(leaving, [1], from: 2)
            _ = await cluster.call(neighbour, [1], from: 2)
            await cluster.close([place(leaving)], at: 0)
            async let answer = cluster.call(leaving, [2], from: 2)
            #expect(await cluster.call(neighbour, [2], from: 2) == .success([2, 2]))
            cluster.own(0, pins: [cluster.pin(leaving, at: 1, epoch: 1)])
            #expect(await answer == .success([1, 2]))
            #expect(await cluster.call(neighbour, [3], from: 2) == .success([3, 3]))
        }
    }

    @Test func aShardThatGoesLeavesThePinnedBehind() async throws {
        try await withCluster(3) { cluster in
            let (pinned, neighbour) = neighbours()
            let pin = cluster.pin(pinned, at: 0, epoch: 1)
            cluster.own(0, movingTo: 1, pins: [pin])
            _ = await cluster.call(pinned, [1], from: 2)
            _ = await cluster.call(neighbour, [1], from: 2)
            await cluster.close([.shard(ShardID(of: pinned))], at: 0)
            async let answer = cluster.call(neighbour, [2], from: 2)
            #expect(await cluster.call(pinned, [2], from: 2) == .success([2, 2]))
            cluster.own(1, epoch: 2, pins: [pin])
            #expect(await answer == .success([1, 2]))
            #expect(await cluster.call(pinned, [3], from: 2) == .success([3, 3]))
        }
    }

    @Test func anActorOnItsWayGoesWithItsShardTooIfThatIsClosed() async throws {
        try await withCluster(3) { cluster in
            let (leaving, _) = neighbours()
            let onItsWay = cluster.pin(leaving, at: nil, epoch: 0, moving: true, to: 2)
            cluster.own(0, movingTo: 1, pins: [onItsWay])
            _ = await cluster.call(leaving, [1], from: 2)
            await cluster.close([.shard(ShardID(of: leaving))], at: 0)
            #expect(await cluster.awake(at: 0) == [])
            async let answer = cluster.call(leaving, [2], from: 2)
            // The shard has gone first; its new owner is the one to let the actor go.
            cluster.own(1, epoch: 2, pins: [onItsWay])
            #expect(await answer == .success([1, 2]))
            await cluster.close([place(leaving)], at: 1)
            async let next = cluster.call(leaving, [3], from: 0)
            cluster.own(1, epoch: 2, pins: [cluster.pin(leaving, at: 2, epoch: 1)])
            #expect(await next == .success([1, 3]))
        }
    }

    @Test func aPinnedActorComesHomeToWhoeverHasItsShard() async throws {
        try await withCluster(3) { cluster in
            let (pinned, _) = neighbours()
            cluster.own(0, pins: [cluster.pin(pinned, at: 1, epoch: 1, moving: true)])
            _ = await cluster.call(pinned, [1], from: 0)
            await cluster.close([place(pinned)], at: 1)
            async let answer = cluster.call(pinned, [2], from: 0)
            cluster.own(2, epoch: 2)
            #expect(await answer == .success([1, 2]))
            #expect(await cluster.awake(at: 1) == [])
        }
    }

    @Test func aMoveOfAnActorThatIsCalledOffOpensItAgain() async throws {
        try await withCluster(2) { cluster in
            let (staying, _) = neighbours()
            cluster.own(0, pins: [cluster.pin(staying, at: nil, epoch: 0, moving: true, to: 1)])
            await cluster.close([place(staying)], at: 0)
            async let answer = cluster.call(staying, [1], from: 1)
            cluster.own(0, pins: [cluster.pin(staying, at: nil, epoch: 0)])
            #expect(await answer == .success([1, 1]))
        }
    }

    @Test func anActorThatWasAwayAndIsBackUnderAnotherEpochOpensAgain() async throws {
        try await withCluster(2) { cluster in
            let (pinned, _) = neighbours()
            cluster.own(0, pins: [cluster.pin(pinned, at: 1, epoch: 1, moving: true, to: 0)])
            await cluster.close([place(pinned)], at: 1)
            async let answer = cluster.call(pinned, [1], from: 0)
            // Between two views of these nodes: released and given back.
            cluster.own(0, pins: [cluster.pin(pinned, at: 1, epoch: 3)])
            #expect(await answer == .success([1, 1]))
        }
    }

    @Test func callsToAPinnedActorWhoseNodeDiedGoToItsShard() async throws {
        try await withCluster(3) { cluster in
            let (pinned, _) = neighbours()
            cluster.own(0, pins: [cluster.pin(pinned, at: 1, epoch: 1)])
            #expect(await cluster.call(pinned, [1], from: 2) == .success([1, 1]))
            await cluster.members[1].system.leave()
            async let answer = cluster.call(pinned, [2], from: 2)
            cluster.own(0, pins: [cluster.pin(pinned, at: nil, epoch: 2)], live: [0, 2], viewers: [0, 2])
            #expect(await answer == .success([1, 2]))
        }
    }

    @Test(arguments: 1...5) func callsKeepTheirOrderWhileTheirActorGoesThereAndBack(round: Int) async throws {
        try await withCluster(3) { cluster in
            let (pinned, _) = neighbours()
            cluster.own(0, pins: [cluster.pin(pinned, at: nil, epoch: 0)])
            let answers = Locked<[UInt8]>([])
            let endpoint = cluster.members[2].system.endpoints.last!
            let count = 200
            async let done: Void = withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                @Sendable func send(_ index: Int) {
                    guard index < count else { return }
                    endpoint.call(
                        ActorAddress(pinned), verb: CommonVerb.firstOfKind, payload: [UInt8(index)], timeout: .seconds(20)
                    ) { result in
                        answers.withLock { $0.append((try? result.get())?.last ?? 255) }
                        if answers.withLock({ $0.count }) == count { continuation.resume() }
                        // Eight on their way at any time.
                        send(index + 8)
                    }
                }
                endpoint.loop.execute { for index in 0..<8 { send(index) } }
            }
            let steps: [(closing: Int, moving: PinRecord, then: PinRecord)] = [
                (0, cluster.pin(pinned, at: nil, epoch: 0, moving: true, to: 1), cluster.pin(pinned, at: 1, epoch: 1)),
                (1, cluster.pin(pinned, at: 1, epoch: 1, moving: true, to: 2), cluster.pin(pinned, at: 2, epoch: 2)),
                (2, cluster.pin(pinned, at: 2, epoch: 2, moving: true), cluster.pin(pinned, at: nil, epoch: 3)),
            ]
            for step in steps {
                cluster.own(0, pins: [step.moving])
                await cluster.close([place(pinned)], at: step.closing)
                // Nodes hear of it one after another, in whatever order.
                for viewer in [0, 1, 2].shuffled() {
                    cluster.own(0, pins: [step.then], viewers: [viewer])
                    await Task.yield()
                }
            }
            await done
            #expect(answers.withLock { $0 } == (0..<count).map { UInt8($0) })
        }
    }

    // MARK: Callers that know more than the new owner

    @Test func aCallForAShardThatIsArrivingWaitsForIt() async throws {
        try await withCluster(2) { cluster in
            let id = ConversationID.make()
            cluster.own(0, movingTo: 1)
            await cluster.close([.shard(ShardID(of: id))], at: 0)
            cluster.own(1, epoch: 2, viewers: [0])
            async let answer = cluster.call(id, [1], from: 0)
            try await eventually("the call is held") { cluster.members[1].system.metrics.heldCalls.value > 0 }
            cluster.own(1, epoch: 2, viewers: [1])
            #expect(await answer == .success([1, 1]))
        }
    }

    @Test func aCallForAnActorThatIsComingHomeWaitsForIt() async throws {
        try await withCluster(2) { cluster in
            let id = ConversationID.make()
            cluster.own(0, pins: [cluster.pin(id, at: 1, epoch: 1, moving: true)])
            await cluster.close([place(id)], at: 1)
            cluster.own(0, pins: [cluster.pin(id, at: nil, epoch: 2)], viewers: [1])
            async let answer = cluster.call(id, [1], from: 1)
            try await eventually("the call is held") { cluster.members[0].system.metrics.heldCalls.value > 0 }
            cluster.own(0, pins: [cluster.pin(id, at: nil, epoch: 2)], viewers: [0])
            #expect(await answer == .success([1, 1]))
        }
    }

    @Test func aCallWhoseActorDoesNotArriveIsSentBack() async throws {
        try await withCluster(3) { cluster in
            let id = ConversationID.make()
            cluster.own(0, movingTo: 1)
            await cluster.close([.shard(ShardID(of: id))], at: 0)
            cluster.own(1, epoch: 2, viewers: [0])
            async let answer = cluster.call(id, [1], from: 0)
            try await eventually("the call was held and sent back") {
                cluster.members[0].system.metrics.notOwnerAnswers.value > 0
            }
            // The move was called off meanwhile, and the shard went elsewhere.
            cluster.own(2, epoch: 4)
            #expect(await answer == .success([1, 1]))
        }
    }
}

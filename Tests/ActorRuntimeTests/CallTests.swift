import EventLoop
import Ports
import RoostModel
import Runtime
import TestSupport
import Testing

@testable import ActorRuntime

extension Endpoint {
    /// How many calls wait for their answers.
    fileprivate func unanswered() async -> Int {
        await withCheckedContinuation { continuation in loop.execute { continuation.resume(returning: self.unansweredCount) } }
    }
}

@Suite(.timeLimit(.minutes(1))) struct CallTests {
    private func withCluster(_ count: Int, _ body: (ClusterFixture) async throws -> Void) async throws {
        let cluster = try await ClusterFixture(count)
        try await body(cluster)
        await cluster.stop()
    }

    @Test func aCallReachesItsActorFromItsOwnNodeAndFromAnother() async throws {
        try await withCluster(2) { cluster in
            cluster.own(0)
            let id = ConversationID.make()
            #expect(await cluster.call(id, [7], from: 0) == .success([1, 7]))
            #expect(await cluster.call(id, [8], from: 1) == .success([2, 8]))
        }
    }

    @Test func callsOfOneEndpointArriveInOrderOverAChangeOfOwner() async throws {
        try await withCluster(3) { cluster in
            cluster.own(0)
            let id = ConversationID.make()
            let answers = Locked<[UInt8]>([])
            let endpoint = cluster.members[2].system.endpoints.last!
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                endpoint.loop.execute {
                    for index in 0..<100 {
                        endpoint.call(
                            ActorAddress(id), verb: CommonVerb.firstOfKind, payload: [UInt8(index)], timeout: .seconds(10)
                        ) { result in
                            answers.withLock { $0.append((try? result.get())?.last ?? 255) }
                            if answers.withLock({ $0.count }) == 100 { continuation.resume() }
                        }
                    }
                }
                // The caller still believes in node 1, which has given the shard to node 2 meanwhile.
                cluster.own(1, epoch: 2, viewers: [0, 1])
                cluster.own(1, epoch: 2, viewers: [2])
            }
            #expect(answers.withLock { $0 } == (0..<100).map { UInt8($0) })
        }
    }

    @Test func aCallWaitsForAnOwnerAndThenReachesIt() async throws {
        try await withCluster(2) { cluster in
            let id = ConversationID.make()
            async let answer = cluster.call(id, [1], from: 1)
            cluster.own(0)
            #expect(await answer == .success([1, 1]))
        }
    }

    @Test func aCallWithoutAnOwnerEndsAtItsDeadline() async throws {
        try await withCluster(1) { cluster in
            let result = await cluster.call(.make(), [1], from: 0, timeout: .milliseconds(150))
            #expect(result == .failure(.unavailable))
        }
    }

    @Test func callsToANodeThatDiedGoToItsSuccessor() async throws {
        try await withCluster(3) { cluster in
            cluster.own(0)
            let id = ConversationID.make()
            #expect(await cluster.call(id, [1], from: 2) == .success([1, 1]))
            // The owner falls silent: nothing it is sent is answered any more.
            await cluster.members[0].system.leave()
            async let answer = cluster.call(id, [2], from: 2)
            cluster.own(1, epoch: 2, live: [1, 2], viewers: [1, 2])
            #expect(await answer == .success([1, 2]))
        }
    }

    @Test func withoutTheBusRemoteCallsFailAtOnceAndLocalOnesWork() async throws {
        try await withCluster(2) { cluster in
            cluster.own(0)
            let id = ConversationID.make()
            _ = await cluster.call(id, [1], from: 1)
            cluster.hub.disconnect()
            #expect(await cluster.call(id, [2], from: 1, timeout: .seconds(50)) == .failure(.unavailable))
            #expect(await cluster.call(id, [3], from: 0) == .success([2, 3]))
            cluster.hub.reconnect()
            #expect(await cluster.call(id, [4], from: 1) == .success([3, 4]))
        }
    }

    @Test func aCallThatFoundNobodyIsSentAgainWhenItsNodeListens() async throws {
        try await withCluster(2) { cluster in
            cluster.own(0)
            let id = ConversationID.make()
            _ = await cluster.call(id, [1], from: 1)
            cluster.hub.setFilter { $0.receiver == "node1" ? .drop : .deliver }
            async let answer = cluster.call(id, [2], from: 1, timeout: .seconds(50))
            // Nothing tells that the call was lost, until its receiver says that it is there again.
            let endpoint = cluster.members[1].system.endpoints.last!
            try await eventually("the call is on its way") { await endpoint.unanswered() == 1 }
            cluster.hub.setFilter(nil)
            cluster.members[1].system.peerReturned(cluster.members[0].identity)
            #expect(await answer == .success([2, 2]))
        }
    }

    @Test func aClosedShardAnswersNoMoreUntilItHasANewOwner() async throws {
        try await withCluster(2) { cluster in
            cluster.own(0)
            let id = ConversationID.make()
            _ = await cluster.call(id, [1], from: 0)
            await cluster.members[0].system.close(Set([.shard(ShardID(of: id))]))
            async let answer = cluster.call(id, [2], from: 0)
            cluster.own(1, epoch: 2)
            #expect(await answer == .success([1, 2]))
        }
    }

    @Test func aShardWhoseMoveIsCalledOffOpensAgain() async throws {
        try await withCluster(2) { cluster in
            cluster.own(0, movingTo: 1)
            let id = ConversationID.make()
            _ = await cluster.call(id, [1], from: 0)
            await cluster.members[0].system.close(Set([.shard(ShardID(of: id))]))
            async let answer = cluster.call(id, [2], from: 0)
            cluster.own(0)
            #expect(await answer == .success([1, 2]))
        }
    }

    @Test func aShardThatComesBackUnderAnotherEpochOpensAgain() async throws {
        try await withCluster(2) { cluster in
            cluster.own(0, movingTo: 1)
            let id = ConversationID.make()
            _ = await cluster.call(id, [1], from: 0)
            await cluster.members[0].system.close(Set([.shard(ShardID(of: id))]))
            async let answer = cluster.call(id, [2], from: 0)
            // Released and given back, between two views of this node, and on the move already.
            cluster.own(0, epoch: 3, movingTo: 1)
            #expect(await answer == .success([1, 2]))
        }
    }

    @Test func aNodeThatMayNotServeSaysSo() async throws {
        try await withCluster(1) { cluster in
            cluster.own(0)
            let member = cluster.members[0]
            var routing = Routing(identity: member.identity, table: .empty, live: [member.identity], isServing: false)
            routing.table = await withCheckedContinuation { continuation in
                let endpoint = member.system.endpoints[0]
                endpoint.loop.execute { continuation.resume(returning: endpoint.routing.table) }
            }
            member.system.apply(routing)
            #expect(await cluster.call(.make(), [1], from: 0) == .failure(.unavailable))
        }
    }

    @Test func theDistributedEntryCrossesNodesAndCarriesErrors() async throws {
        try await withCluster(2) { cluster in
            cluster.own(0)
            let id = ConversationID.make()
            _ = await cluster.call(id, [1], from: 1)
            let actor = try EchoActor.resolve(id: ActorAddress(id), using: cluster.members[1].system)
            let answer = try await actor.perform(ActorEnvelope(verb: "describe"))
            #expect(answer == ActorEnvelope(verb: "described", body: ["count": "1", "isolated": "true"]))
            await #expect(throws: RoostError(.malformed)) {
                _ = try await actor.perform(ActorEnvelope(verb: "nonsense"))
            }
        }
    }
}

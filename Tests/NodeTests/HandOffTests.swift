import ClusterCore
import RoostModel
import RoostProtocol
import TestSupport
import Testing

/// Shards and single actors change their owner while people write: nothing is lost, doubled or out of order, and presence does not
/// flicker.
@Suite(.timeLimit(.minutes(2))) struct HandOffTests {
    /// Gives traffic a while between two moves: some texts of each conversation.
    private func breathe() async throws { try await Task.sleep(for: .milliseconds(20)) }

    @Test func shardsMoveUnderTraffic() async throws {
        try await withCluster(3) { cluster in
            let handOffs = try await HandOffs(cluster)
            let outcomes = try await withTraffic(cluster, 12, at: [0, 1, 2]) { traffic in
                let shards = Set(traffic.map { ShardID(of: $0.chat) })
                for target in [1, 2, 0, 2, 1, 0, 1] {
                    try await handOffs.move(shards, to: target)
                    try await breathe()
                }
            }
            let gaps = outcomes.map(\.longestGap).sorted()
            print("hand-offs: longest gaps \(gaps[gaps.count / 2]) median, \(gaps.last!) worst")
            #expect(outcomes.allSatisfy { $0.sent > 7 })
        }
    }

    @Test func aPinnedActorMovesAloneUnderTraffic() async throws {
        try await withCluster(3) { cluster in
            let handOffs = try await HandOffs(cluster)
            _ = try await withTraffic(cluster, 4, at: [0, 1, 2]) { traffic in
                let actor = ActorAddress(traffic[0].chat)
                for target: Int? in [1, 2, nil, 0, 1, nil] {
                    try await handOffs.move(actor, to: target)
                    try await breathe()
                    let node = try #require(await cluster.nodes[target ?? 0].chat.actor(actor))
                    #expect(node.activity != nil)
                }
                #expect(try await handOffs.table().pins.isEmpty)
                // The others have stayed where they were.
                #expect(await cluster.nodes[0].chat.actors(of: .conversation, byLoad: false, after: nil, limit: 10).count == 4)
                #expect(await cluster.nodes[1].chat.actors(of: .conversation, byLoad: false, after: nil, limit: 10).isEmpty)
            }
        }
    }

    @Test func aShardMovesWhileOneOfItsActorsIsOnItsWay() async throws {
        try await withCluster(3) { cluster in
            let handOffs = try await HandOffs(cluster)
            _ = try await withTraffic(cluster, 2, at: [0, 2]) { traffic in
                let actor = ActorAddress(traffic[0].chat)
                // Both at once, from the same node.
                try await handOffs.mark([actor.shard], to: 2)
                try await handOffs.move(actor, to: 1)
                try await breathe()
                #expect(try await handOffs.table().owner(of: actor) == cluster.nodes[1].identity)
                // The shard alone, under the pinned one.
                try await handOffs.move([actor.shard], to: 0)
                try await breathe()
                #expect(try await handOffs.table().owner(of: actor) == cluster.nodes[1].identity)
                // Home, while home is on its way.
                try await handOffs.mark([actor.shard], to: 2)
                try await handOffs.move(actor, to: nil)
                try await breathe()
                #expect(try await handOffs.table().owner(of: actor) == cluster.nodes[2].identity)
            }
        }
    }

    @Test func theOwnerOfAPinnedActorDiesUnderTraffic() async throws {
        try await withCluster(3) { cluster in
            let handOffs = try await HandOffs(cluster)
            _ = try await withTraffic(cluster, 2, at: [0, 2]) { traffic in
                let actor = ActorAddress(traffic[0].chat)
                try await handOffs.move(actor, to: 1)
                try await breathe()
                try await handOffs.kill(1, heir: 2)
                try await breathe()
                let table = try await handOffs.table()
                #expect(table.owner(of: actor) == cluster.nodes[0].identity)
                // Suspended, not forgotten.
                #expect(table.pins[actor]?.node == cluster.nodes[1].identity.name)
            }
        }
    }

    @Test func whatAPinnedActorCommittedAndCouldNotTellIsToldAfterItsNodesDeath() async throws {
        try await withCluster(3) { cluster in
            let handOffs = try await HandOffs(cluster)
            let (ann, bob, chat) = try await cluster.pair()
            let sender = try await cluster.session(ann, at: 0)
            let receiver = try await cluster.session(bob, at: 2)
            try await handOffs.move(ActorAddress(chat), to: 1)
            let (owner, deaf) = (cluster.nodes[1].identity.name, cluster.nodes[2].identity.name)
            cluster.hub.setFilter { $0.sender == owner && $0.receiver == deaf ? .drop : .deliver }
            await sender.send(.send(conversationID: chat, SendBody(clientID: "1", text: "hello")), id: 1)
            #expect(try await sender.answer(to: 1).get().message().seq == Seq(1))
            try await handOffs.kill(1, heir: 0)
            #expect(try await receiver.messageSeq() == Seq(1))
        }
    }

    @Test func theOwnerOfShardsDiesUnderTraffic() async throws {
        try await withCluster(3) { cluster in
            let handOffs = try await HandOffs(cluster)
            _ = try await withTraffic(cluster, 6, at: [0, 2]) { traffic in
                try await handOffs.move(Set(traffic.map { ShardID(of: $0.chat) }), to: 1)
                try await breathe()
                try await handOffs.kill(1, heir: 2)
                try await breathe()
            }
        }
    }

    // MARK: Presence

    /// The next thing that a watcher is told.
    private func nextPresence(_ socket: TestSocket) async throws -> PresenceState {
        try await socket.first { frame in
            guard case .presence(let presence) = frame else { return nil }
            return presence.state
        }
    }

    @Test func presenceDoesNotFlickerWhenItIsPinnedAndComesHome() async throws {
        try await withCluster(3) { cluster in
            let handOffs = try await HandOffs(cluster)
            let (ann, bob, _) = try await cluster.pair()
            let seen = try await cluster.session(ann, at: 2)
            let watcher = try await cluster.session(bob, at: 0)
            await watcher.send(.watch([ann.user.id]), id: 1)
            _ = try await watcher.answer(to: 1)
            let actor = ActorAddress(ann.user.id)
            var isBackground = false
            for target: Int? in [1, 2, nil] {
                try await handOffs.move(actor, to: target)
                isBackground.toggle()
                await seen.send(.state(isBackground: isBackground))
                // Had the new owner taken the user for gone, that would come first.
                #expect(try await nextPresence(watcher) == (isBackground ? .away : .online))
            }
            await seen.channel.close(code: 1000)
            #expect(try await nextPresence(watcher) == .offline)
        }
    }

    @Test func presenceOutlivesTheDeathOfTheNodeItWasPinnedTo() async throws {
        try await withCluster(3) { cluster in
            let handOffs = try await HandOffs(cluster)
            let (ann, bob, _) = try await cluster.pair()
            let seen = try await cluster.session(ann, at: 2)
            let watcher = try await cluster.session(bob, at: 0)
            await watcher.send(.watch([ann.user.id]), id: 1)
            _ = try await watcher.answer(to: 1)
            try await handOffs.move(ActorAddress(ann.user.id), to: 1)
            try await handOffs.kill(1, heir: 0)
            await seen.send(.state(isBackground: true))
            #expect(try await nextPresence(watcher) == .away)
        }
    }
}

import ChatActors
import EventLoop
import MemoryAdapters
import Ports
import RoostModel
import Runtime

@testable import ClusterCore

/// Moves shards and pinned actors between the nodes of a test, as leader and owners do it: marked, closed, released, and every node
/// told at a time of its own.
final class HandOffs: Sendable {
    let cluster: TestCluster
    private let store: MemoryClusterStore
    private let operations: MemoryOperationStore
    private let term: Int64
    /// Nodes that are alive, by index.
    private let living: Locked<[Int]>

    /// All shards are the first node's.
    init(_ cluster: TestCluster) async throws {
        self.cluster = cluster
        store = MemoryClusterStore(cluster.database)
        operations = MemoryOperationStore(cluster.database)
        living = Locked(Array(cluster.nodes.indices))
        guard let term = try await store.lead(cluster.nodes[0].identity, displacing: nil, leaseSeconds: 3_600) else {
            throw Unexpected("no leader")
        }
        self.term = term
        try await place(ShardID.all, on: 0)
        try await tellAll()
    }

    private func place(_ shards: [ShardID], on node: Int, moving: Bool = false) async throws {
        let view = try await store.view()
        let table = ShardTable(view)
        _ = try await store.place(
            shards.map {
                ShardPlacement(
                    shard: $0, to: cluster.nodes[node].identity, ifEpoch: table.epoch(of: $0), isMove: moving,
                    reason: moving ? .rebalance : .placement)
            }, term: term)
    }

    /// In any order, and one a little later than the other.
    func tellAll() async throws {
        let view = try await store.view()
        for node in living.withLock({ $0.shuffled() }) {
            cluster.nodes[node].apply(view)
            for _ in 0..<Int.random(in: 0...20) { await Task.yield() }
        }
    }

    func table() async throws -> ShardTable { ShardTable(try await store.view()) }

    // MARK: Moves

    /// Marks shards as moving; ``carryOut()`` moves them.
    func mark(_ shards: Set<ShardID>, to node: Int) async throws { try await place(Array(shards), on: node, moving: true) }

    func move(_ shards: Set<ShardID>, to node: Int) async throws {
        try await mark(shards, to: node)
        try await carryOut()
    }

    /// Marks an actor as moving to a node, or home for nil.
    func mark(_ actor: ActorAddress, to node: Int?) async throws {
        if let node {
            _ = try await operations.pin(actor, to: cluster.nodes[node].identity.name, by: "test")
        } else {
            _ = try await operations.unpin(actor, by: "test")
        }
        guard let pin = try await table().pins[actor] else { return }
        _ = try await store.move(
            [PinPlacement(actor: actor, to: node.map { cluster.nodes[$0].identity }, ifEpoch: pin.epoch)], term: term)
    }

    func move(_ actor: ActorAddress, to node: Int?) async throws {
        try await mark(actor, to: node)
        try await carryOut()
    }

    /// All hand-offs that are marked: every owner closes what it has to give, releases it, and everybody is told.
    func carryOut() async throws {
        try await tellAll()
        for _ in 0..<3 {
            let table = try await table()
            var isDone = true
            for index in living.withLock({ $0 }) {
                let node = cluster.nodes[index]
                let places = table.moving(from: node.identity).map(\.place)
                guard !places.isEmpty else { continue }
                isDone = false
                let start = MonotonicTime.now
                await node.chat.close(places)
                try await store.release(places, by: node.identity, closedFor: MonotonicTime.now - start)
            }
            if isDone { return }
            try await tellAll()
        }
        throw Unexpected("moves that do not end")
    }

    // MARK: Deaths

    /// A node falls silent, with whatever it has committed and not told; then the others bury it and `heir` takes its shards.
    func kill(_ node: Int, heir: Int) async throws {
        let name = cluster.nodes[node].identity.name
        cluster.hub.setFilter { $0.sender == name || $0.receiver == name ? .drop : .deliver }
        living.withLock { $0.removeAll { $0 == node } }
        let table = try await table()
        let placements = table.shards(ownedBy: cluster.nodes[node].identity).map {
            ShardPlacement(
                shard: $0, to: cluster.nodes[heir].identity, ifEpoch: table.epoch(of: $0), isMove: false, reason: .failover)
        }
        _ = try await store.declareDead(cluster.nodes[node].identity.incarnation, placements: placements, term: term)
        try await tellAll()
    }
}

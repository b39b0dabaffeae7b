import Ports
import RoostModel
import TestSupport
import Testing

@testable import PostgresStore

/// Rows that cannot be, put into the cluster's tables by hand: the cluster says what it found, repairs it, and goes on.
@Suite struct MendTests {
    private static let nobody = "00000000-0000-7000-8000-00000000dead"

    struct Damage: CustomTestStringConvertible, Sendable {
        let statement: String
        let finding: String
        var testDescription: String { finding }
    }

    static let damages = [
        Damage(statement: "DELETE FROM cluster_state", finding: "cluster_state had no row"),
        Damage(
            statement: "INSERT INTO shards (kind, number) VALUES (0, 1024), (7, 1), (1, -1)", finding: "3 shards do not exist"),
        Damage(statement: "DELETE FROM shards WHERE number < 5", finding: "10 shards had no row"),
        Damage(
            statement: "UPDATE cluster_nodes SET state = 'sleepy' WHERE name = 'b'", finding: "1 nodes were in no known state"),
        Damage(statement: "UPDATE cluster_nodes SET use = 'often' WHERE name = 'b'", finding: "1 nodes had no known use"),
        Damage(statement: "UPDATE cluster_nodes SET lease_until = 'infinity'", finding: "2 leases lay in the far future"),
        Damage(
            statement: "DELETE FROM node_fences WHERE incarnation = (SELECT incarnation FROM cluster_nodes WHERE name = 'b')",
            finding: "1 nodes were up twice, or without a fence"),
        Damage(
            statement: "INSERT INTO node_fences VALUES ('\(nobody)', 0, true)",
            finding: "1 fences of nodes that are gone were open"),
        Damage(statement: "UPDATE shards SET epoch = -5 WHERE kind = 0 AND number < 3", finding: "3 shards had a negative epoch"),
        Damage(
            statement: "UPDATE shards SET owner = '\(nobody)' WHERE kind = 1 AND number < 4",
            finding: "4 shards were owned by nodes that nobody knows"),
        Damage(
            statement: "UPDATE shards SET target = '\(nobody)' WHERE kind = 0 AND number < 2",
            finding: "2 shards were on their way to nowhere"),
        Damage(
            statement: "UPDATE shards SET reason = 'whim' WHERE number = 1", finding: "2 shards were placed for no known reason"),
        Damage(
            statement: "INSERT INTO actor_pins (kind, id, shard, since) VALUES (0, '\(nobody)', 1, now())",
            finding: "1 pins held nothing"),
        Damage(
            statement:
                "INSERT INTO actor_pins (kind, id, shard, node, owner, since) VALUES (0, '\(nobody)', 1, 'b', '\(nobody)', now())",
            finding: "1 pinned actors were owned by nodes that nobody knows"),
        Damage(
            statement: """
                INSERT INTO operations (id, kind, state, started_at, started_by) VALUES ('\(nobody)', 'dance', 'running', now(), 'x')
                """, finding: "1 operations could not end"),
        Damage(
            statement: "UPDATE cluster_state SET leader = '\(nobody)', leader_lease_until = 'infinity'",
            finding: "the leader was nobody known, or led for ever"),
    ]

    @Test(arguments: damages) func whatCannotBeIsFoundAndRepaired(_ damage: Damage) async throws {
        let base = try await Base()
        let store = base.world.cluster
        let (a, b) = (
            NodeIdentity(name: "a", incarnation: .make()), NodeIdentity(name: "b", incarnation: .make())
        )
        for node in [a, b] {
            try await store.register(node, lanes: 1, url: "u", adminURL: "a", version: "1", leaseSeconds: 60)
        }
        let term = try #require(try await store.lead(a, displacing: nil, leaseSeconds: 60))
        let placed = try await store.view().shards.map {
            ShardPlacement(shard: $0.id, to: a, ifEpoch: $0.epoch, isMove: false)
        }
        #expect(try await store.place(placed, term: term))
        #expect(try await store.mend() == [], "a healthy cluster has nothing to mend")

        let session = try await base.session()
        try await session.run(damage.statement)
        // Whatever stands there, reading it must not end the process.
        _ = try? await store.view()
        // One fault may bring another to light: a node that is dead leaves an open fence.
        #expect(try await store.mend().first == damage.finding)
        #expect(try await store.mend() == [])
        // A node can come, lead, and give everything to somebody.
        let c = NodeIdentity(name: "c", incarnation: .make())
        try await store.register(c, lanes: 1, url: "u", adminURL: "a", version: "1", leaseSeconds: 60)
        let leader = try #require(try await store.lead(c, displacing: a.incarnation, leaseSeconds: 60))
        let view = try await store.view()
        #expect(view.shards.count == 1280 && Set(view.shards.map(\.id)).count == 1280)
        let orphans = view.shards.filter { $0.owner == nil }
        #expect(
            try await store.place(
                orphans.map { ShardPlacement(shard: $0.id, to: c, ifEpoch: $0.epoch, isMove: false) }, term: leader))
        #expect(try await store.view().shards.allSatisfy { $0.owner != nil && $0.epoch > Epoch(0) })
    }
}

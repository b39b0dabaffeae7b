import Ports
import RoostModel
import TestSupport
import Testing

@testable import PostgresStore

/// Rows of the cluster's tables as nobody ever writes them: a view is read or refused, mending tells what was wrong, and afterwards a
/// node can register, lead and own shards.
@Suite struct MendTests {
    /// What is done to the tables (`{a}`, `{b}`: incarnations of nodes that are up and own shards; `{x}`: unknown to all), and the words
    /// of what is mended.
    struct Damage: Sendable, CustomTestStringConvertible {
        let words: [String]
        let statement: String
        var testDescription: String { words.joined(separator: ", ") }

        init(_ words: String..., by statement: String) {
            self.words = words
            self.statement = statement
        }
    }

    static let damages = [
        Damage("clusterStateMissing", by: "DELETE FROM cluster_state"),
        Damage("clusterVersionWrong", by: "UPDATE cluster_state SET version = 9223372036854775807"),
        Damage("leaderTermWrong", by: "UPDATE cluster_state SET leader_term = -5"),
        Damage("leaderLeaseTooLong", by: "UPDATE cluster_state SET leader_lease_until = 'infinity'"),
        Damage(
            "leaderUnknown", by: "UPDATE cluster_state SET leader = '{x}', leader_lease_until = now() + interval '20 seconds'"),
        Damage("nodeTimeWrong", by: "UPDATE cluster_nodes SET started_at = 'infinity' WHERE incarnation = '{a}'"),
        Damage("nodeTimeWrong", by: "UPDATE cluster_nodes SET started_at = '-infinity' WHERE incarnation = '{a}'"),
        Damage("nodeTimeWrong", by: "UPDATE cluster_nodes SET started_at = '20000-01-01' WHERE incarnation = '{a}'"),
        Damage("leaseTooLong", by: "UPDATE cluster_nodes SET lease_until = 'infinity' WHERE incarnation = '{a}'"),
        Damage(
            "leaseTooLong", by: "UPDATE cluster_nodes SET lease_until = now() + interval '400 years' WHERE incarnation = '{a}'"),
        Damage("nodeUseUnknown", by: "UPDATE cluster_nodes SET use = 'asleep' WHERE incarnation = '{a}'"),
        Damage("nodeStateUnknown", "leaderUnknown", by: "UPDATE cluster_nodes SET state = 'zombie' WHERE incarnation = '{a}'"),
        Damage("deadFenceOpen", "leaderUnknown", by: "UPDATE cluster_nodes SET state = 'dead' WHERE incarnation = '{a}'"),
        Damage("deadFenceOpen", "leaderUnknown", by: "UPDATE cluster_nodes SET state = 'left' WHERE incarnation = '{a}'"),
        Damage(
            "nodeTwice", "leaderUnknown",
            by:
                "UPDATE cluster_nodes SET name = (SELECT name FROM cluster_nodes WHERE incarnation = '{b}') WHERE incarnation = '{a}'"
        ),
        Damage("nodeUnfenced", "leaderUnknown", by: "DELETE FROM node_fences WHERE incarnation = '{a}'"),
        Damage(
            "nodeFenceClosed", "leaderUnknown",
            by: "UPDATE node_fences SET is_open = false WHERE incarnation = '{a}' AND lane = 1"),
        Damage("fenceWithoutNode", by: "INSERT INTO node_fences VALUES ('{x}', 0, true)"),
        Damage(
            "shardUnknown", by: "INSERT INTO shards (kind, number, owner) VALUES (7, 1, '{a}'), (0, 1024, '{b}'), (1, -1, NULL)"),
        Damage("shardMissing", by: "DELETE FROM shards WHERE kind = 0 AND number < 20"),
        Damage("shardMissing", by: "DELETE FROM shards"),
        Damage("shardEpochWrong", by: "UPDATE shards SET epoch = -3 WHERE kind = 0 AND number = 1"),
        Damage("shardEpochWrong", by: "UPDATE shards SET epoch = 9223372036854775807 WHERE kind = 0 AND number < 3"),
        Damage("shardOwnerUnknown", by: "UPDATE shards SET owner = '{x}', target = '{a}' WHERE kind = 0 AND number = 1"),
        Damage("shardTargetWrong", by: "UPDATE shards SET target = '{x}' WHERE kind = 0 AND number = 1"),
        Damage("shardTargetWrong", by: "UPDATE shards SET owner = NULL, target = '{a}' WHERE kind = 0 AND number = 1"),
        Damage("shardTargetWrong", by: "UPDATE shards SET owner = '{a}', target = '{a}' WHERE kind = 0 AND number = 1"),
        Damage("shardReasonWrong", by: "UPDATE shards SET reason = 'whim' WHERE kind = 1 AND number = 255"),
        Damage("shardReasonWrong", by: "UPDATE shards SET since = 'infinity' WHERE kind = 0 AND number = 1"),
        Damage("pinWrong", by: "INSERT INTO actor_pins VALUES (9, '{x}', 1, 'a', NULL, 0, false, NULL, now(), NULL)"),
        Damage("pinWrong", by: "INSERT INTO actor_pins VALUES (0, '{x}', 5000, 'a', NULL, 0, false, NULL, now(), NULL)"),
        Damage("pinWrong", by: "INSERT INTO actor_pins VALUES (0, '{x}', 5, NULL, NULL, 0, false, NULL, now(), NULL)"),
        Damage("pinEpochWrong", by: "INSERT INTO actor_pins VALUES (1, '{x}', 5, 'known', '{a}', -9, false, NULL, now(), NULL)"),
        Damage("pinOwnerUnknown", by: "INSERT INTO actor_pins VALUES (0, '{x}', 5, 'known', '{x}', 1, false, NULL, now(), NULL)"),
        Damage("pinTargetWrong", by: "INSERT INTO actor_pins VALUES (0, '{x}', 5, 'known', '{a}', 1, true, '{x}', now(), NULL)"),
        Damage("pinTargetWrong", by: "INSERT INTO actor_pins VALUES (0, '{x}', 5, 'known', NULL, 1, true, NULL, now(), NULL)"),
        Damage(
            "pinNodeUnknown", by: "INSERT INTO actor_pins VALUES (0, '{x}', 5, 'nowhere', '{a}', 1, false, NULL, now(), NULL)"),
        Damage(
            "pinTimeWrong", by: "INSERT INTO actor_pins VALUES (0, '{x}', 5, 'known', '{a}', 1, false, NULL, '-infinity', NULL)"),
        Damage(
            "operationStateWrong", "operationNumbersWrong",
            by: """
                INSERT INTO operations (id, kind, state, started_at, started_by, moves, blocked_by, longest_pause)
                VALUES ('{x}', 'rebalance', 'dancing', now(), 'x', 'conversation 99999 a b nan 1;;; x', '{NULL,a}', 'NaN')
                """),
        Damage(
            "operationStateWrong",
            by: """
                INSERT INTO operations (id, kind, state, started_at, started_by, blocked_by)
                VALUES ('{x}', 'holiday', 'running', now(), 'x', '{{a,b},{c,d}}')
                """),
        Damage(
            "drainWithoutNode",
            by: """
                INSERT INTO operations (id, kind, state, node, incarnation, started_at, started_by)
                VALUES ('{x}', 'drain', 'running', 'gone', '{x}', now(), 'x')
                """),
        Damage(
            "operationTwice",
            by: """
                INSERT INTO operations (id, kind, state, started_at, started_by)
                SELECT gen_random_uuid(), 'rebalance', 'running', now(), 'x' FROM generate_series(1, 2)
                """),
        Damage(
            "operationNumbersWrong",
            by: """
                INSERT INTO operations (id, kind, state, started_at, deadline, started_by, max_moves, moves_done, longest_pause)
                VALUES ('{x}', 'rebalance', 'paused', '-infinity', 'infinity', 'x', -2147483648, -1, 'infinity')
                """),
        Damage("drainWithoutOperation", by: "UPDATE cluster_nodes SET use = 'draining' WHERE incarnation = '{a}'"),
    ]

    @Test func whateverStandsInTheTablesIsMended() async throws {
        let base = try await Base()
        let cluster = PostgresClusterStore(pool: base.pool)
        let session = try await base.session()
        for damage in Self.damages {
            try await session.run("DELETE FROM actor_pins")
            try await session.run("DELETE FROM operations")
            let (a, b) = (NodeIdentity(name: "known", incarnation: .make()), NodeIdentity(name: "other", incarnation: .make()))
            for node in [a, b] {
                try await cluster.register(node, lanes: 2, url: "", adminURL: "", version: "1", leaseSeconds: 60)
            }
            let term = try #require(try await cluster.lead(a, displacing: nil, leaseSeconds: 60), "\(damage)")
            let orphans = try await cluster.view().shards.filter { $0.owner == nil }
            let placements = orphans.map {
                ShardPlacement(shard: $0.id, to: $0.id.number % 2 == 0 ? a : b, ifEpoch: $0.epoch, isMove: false)
            }
            #expect(try await cluster.place(placements, term: term))
            #expect(try await cluster.mend() == [], "before \(damage)")

            let unknown = IncarnationID.make()
            try await session.run(
                damage.statement.replacing("{a}", with: "\(a.incarnation)").replacing("{b}", with: "\(b.incarnation)")
                    .replacing("{x}", with: "\(unknown)"))
            // Read or refused, but nobody dies of it.
            _ = try? await cluster.view()
            _ = try? await cluster.viewVersion()
            _ = try? await PostgresOperationStore(pool: base.pool).operations(cursor: nil, limit: 50)
            let dry = try await PostgresIntegrityStore(pool: base.pool).check(repair: false)
            #expect(damage.words.allSatisfy { word in dry.findings.contains { $0.code == word } }, "\(damage): \(dry.findings)")

            let notes = try await cluster.mend()
            #expect(notes.map { String($0.prefix { $0 != " " }) } == damage.words, "\(damage): \(notes)")
            #expect(try await cluster.mend() == [], "after \(damage)")
            let view = try await cluster.view()
            #expect(view.shards.count == 1280 && view.shards.allSatisfy { $0.epoch.value >= 0 }, "\(damage)")
            #expect(view.version > 0)

            let new = NodeIdentity(name: "new", incarnation: .make())
            try await cluster.register(new, lanes: 2, url: "", adminURL: "", version: "1", leaseSeconds: 60)
            #expect(try await cluster.lead(new, displacing: view.leader, leaseSeconds: 60) != nil, "\(damage)")
            try await cluster.leave(new)
        }
    }

    /// A shard whose row was lost comes back with an epoch that is beyond what it had.
    @Test func aLostShardComesBackWithAHigherEpoch() async throws {
        let base = try await Base()
        let cluster = PostgresClusterStore(pool: base.pool)
        let session = try await base.session()
        try await session.run("UPDATE shards SET epoch = 70")
        try await session.run("DELETE FROM shards WHERE kind = 0 AND number = 12")
        #expect(try await cluster.view().shards.count == 1279)
        #expect(try await cluster.mend() == ["shardMissing 1 shard/conversation/12"])
        #expect(try await cluster.view().shards[12].epoch > Epoch(70))
    }

    /// A commit under a fence that nobody knows, or of a node that counts as dead, is refused once the tables are mended.
    @Test func whoeverIsNobodyMayNotWrite() async throws {
        let base = try await Base()
        let lane = try await base.world.makeLane()
        let (id, user, _) = try await base.world.makeDirect()
        try await lane.send("one", in: id, from: user, first: 1)
        try await base.session().run("DELETE FROM cluster_nodes WHERE incarnation = '\(lane.node.incarnation)'")
        try await lane.send("two", in: id, from: user, first: 2)
        #expect(try await base.world.cluster.mend() == ["fenceWithoutNode 1 node/\(lane.node.incarnation)"])
        #expect(await storeErrorCode { try await lane.send("three", in: id, from: user, first: 3) } == .fenced)
    }
}

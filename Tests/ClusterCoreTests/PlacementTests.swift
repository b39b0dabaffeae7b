import RoostModel
import Testing

@testable import ClusterCore

@Suite struct PlacementTests {
    private let names = ["node1", "node2", "node3", "node4", "node5"]

    private func unowned() -> [ShardRecord] { ShardTable.empty.records }

    private func apply(_ placements: [ShardPlacement], to shards: [ShardRecord]) -> [ShardRecord] {
        var shards = shards
        for placement in placements {
            let index = placement.shard.tableIndex
            #expect(shards[index].epoch == placement.ifEpoch)
            // A move is finished at once here.
            shards[index].owner = placement.to
            shards[index].target = nil
            shards[index].epoch = shards[index].epoch.next
        }
        return shards
    }

    private func spread(_ shards: [ShardRecord], over nodes: [NodeIdentity]) -> [ShardKind: Int] {
        var result: [ShardKind: Int] = [:]
        for kind in ShardKind.allCases {
            let counts = nodes.map { node in shards.filter { $0.id.kind == kind && $0.owner == node }.count }
            result[kind] = counts.max()! - counts.min()!
        }
        return result
    }

    @Test func rendezvousIsStableAndSpreads() {
        // Frozen: a change here would move shards in a rolling upgrade.
        #expect(Rendezvous.seed(ofNode: "node1") == 0x1899_9FD1_2BD1_629A)
        var counts: [String: Int] = [:]
        for shard in ShardID.all where shard.kind == .conversation {
            counts[Rendezvous.proposal(for: shard, among: ["node1", "node2", "node3"])!, default: 0] += 1
        }
        #expect(counts.count == 3)
        // Three standard deviations.
        #expect(counts.values.allSatisfy { abs($0 - 341) < 46 })
        #expect(Rendezvous.proposal(for: ShardID.all[0], among: []) == nil)
    }

    @Test func rendezvousMovesOnlyWhatTheNewNodeGains() {
        for shard in ShardID.all {
            let before = Rendezvous.proposal(for: shard, among: Array(names[..<3]))
            let after = Rendezvous.proposal(for: shard, among: Array(names[..<4]))
            #expect(after == before || after == "node4")
        }
    }

    @Test func freshPlacementIsEven() {
        for count in 1...5 {
            let nodes = names[..<count].map { node($0) }
            let placements = Placement(nodes: nodes).repairs(of: unowned(), owners: Set(nodes))
            #expect(placements.count == 1280)
            #expect(placements.allSatisfy { !$0.isMove })
            let shards = apply(placements, to: unowned())
            #expect(spread(shards, over: nodes).values.allSatisfy { $0 <= 1 })
        }
    }

    @Test func aDeadNodesShardsGoToTheOthersEvenlyAndNothingElseMoves() {
        let nodes = names.map { node($0) }
        let before = apply(Placement(nodes: nodes).repairs(of: unowned(), owners: Set(nodes)), to: unowned())
        let living = Array(nodes.dropFirst())
        let placements = Placement(nodes: living).repairs(of: before, owners: Set(living))
        #expect(Set(placements.map(\.shard)) == Set(before.filter { $0.owner == nodes[0] }.map(\.id)))
        #expect(spread(apply(placements, to: before), over: living).values.allSatisfy { $0 <= 1 })
        #expect(Placement(nodes: living).moves(of: apply(placements, to: before), limit: 2000).isEmpty)
    }

    @Test func aJoiningNodeGetsItsShareAndNothingMovesBetweenTheOthers() {
        let old = names[..<3].map { node($0) }
        let all = old + [node("node4")]
        let before = apply(Placement(nodes: old).repairs(of: unowned(), owners: Set(old)), to: unowned())
        let moves = Placement(nodes: all).moves(of: before, limit: 2000)
        #expect(moves.allSatisfy { $0.isMove && $0.to == node("node4") })
        #expect(moves.count == 256 + 64)
        #expect(Set(moves.map(\.shard)).count == moves.count)
        let proposed = moves.filter { Rendezvous.proposal(for: $0.shard, among: all.map(\.name)) == "node4" }
        #expect(Double(proposed.count) > 0.85 * Double(moves.count))
        let after = apply(moves, to: before)
        #expect(spread(after, over: all).values.allSatisfy { $0 <= 1 })
        #expect(Placement(nodes: all).moves(of: after, limit: 2000).isEmpty)
    }

    @Test func roundsOfLimitedMovesEndInTheSameSpread() {
        let old = [node("node1")]
        let all = old + [node("node2"), node("node3")]
        var shards = apply(Placement(nodes: old).repairs(of: unowned(), owners: Set(old)), to: unowned())
        var rounds = 0
        while true {
            let moves = Placement(nodes: all).moves(of: shards, limit: 100)
            if moves.isEmpty { break }
            #expect(moves.count <= 100)
            shards = apply(moves, to: shards)
            rounds += 1
        }
        #expect(spread(shards, over: all).values.allSatisfy { $0 <= 1 })
        #expect(rounds == 9)
    }

    @Test func whatMovesOrIsNotTheirsTakesNoPart() {
        let nodes = [node("node1"), node("node2")]
        var lopsided = apply(Placement(nodes: [nodes[0]]).repairs(of: unowned(), owners: [nodes[0]]), to: unowned())
        lopsided[0].target = nodes[1]
        lopsided[1].owner = nil
        for index in 2..<200 { lopsided[index].owner = node("cordoned") }
        let moves = Placement(nodes: nodes).moves(of: lopsided, limit: 2000)
        #expect(moves.allSatisfy { $0.shard.tableIndex >= 200 && $0.to == nodes[1] })
        #expect(moves.count == (1024 - 200) / 2 + 256 / 2)
    }

    @Test func aMoveTowardsADeadNodeReturnsToItsOwner() {
        let (a, b) = (node("a"), node("b"))
        var shards = apply(Placement(nodes: [a]).repairs(of: unowned(), owners: [a]), to: unowned())
        shards[7].target = b
        let placements = Placement(nodes: [a]).repairs(of: shards, owners: [a])
        #expect(placements == [ShardPlacement(shard: shards[7].id, to: a, ifEpoch: Epoch(1), isMove: true)])
    }

    @Test func aMoveTowardsANodeThatIsNotToBeGivenAnythingIsTurnedBack() {
        let (a, b) = (node("a"), node("b"))
        var shards = apply(Placement(nodes: [a]).repairs(of: unowned(), owners: [a]), to: unowned())
        shards[7].target = b
        let placements = Placement(nodes: [a]).repairs(of: shards, owners: [a, b], closed: [b])
        #expect(placements.map(\.shard) == [shards[7].id] && placements[0].to == a && placements[0].isMove)
        #expect(Placement(nodes: [a, b]).repairs(of: shards, owners: [a, b]).isEmpty)
        // On its way back already, and to an owner that is itself cordoned.
        shards[7].target = a
        #expect(Placement(nodes: [b]).repairs(of: shards, owners: [a, b], closed: [a]).isEmpty)
    }

    @Test func aMoveOfADeadOwnerIsFinished() {
        let (a, b, c) = (node("a"), node("b"), node("c"))
        var shards = apply(Placement(nodes: [a, b, c]).repairs(of: unowned(), owners: [a, b, c]), to: unowned())
        let index = shards.firstIndex { $0.owner == a }!
        shards[index].target = c
        let placements = Placement(nodes: [b, c]).repairs(of: shards, owners: [b, c])
        #expect(placements.first { $0.shard == shards[index].id }?.to == c)
        #expect(placements.allSatisfy { !$0.isMove })
    }

    @Test func nobodyToPlaceOnGivesNothing() {
        #expect(Placement(nodes: []).repairs(of: unowned(), owners: []).isEmpty)
        #expect(Placement(nodes: []).moves(of: unowned(), limit: 10).isEmpty)
    }
}

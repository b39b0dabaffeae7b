import RoostModel
import Testing

@testable import ClusterCore

@Suite struct LeaderDutiesTests {
    private let a = node("a")
    private let b = node("b")
    private let c = node("c")
    private let timings = ClusterTimings()

    private func snapshot(_ nodes: [NodeRecord], _ shards: [ShardRecord] = ShardTable.empty.records) -> ClusterSnapshot {
        ClusterSnapshot(version: 1, nodes: nodes, shards: shards, leader: a.incarnation, leaderTerm: 1, leaderLeaseRemaining: 6)
    }

    private func even(_ nodes: [NodeIdentity]) -> [ShardRecord] {
        var shards = ShardTable.empty.records
        for placement in Placement(nodes: nodes).repairs(of: shards, owners: Set(nodes)) {
            shards[placement.shard.tableIndex].owner = placement.to
            shards[placement.shard.tableIndex].epoch = Epoch(1)
        }
        return shards
    }

    private func calm(_ nodes: NodeIdentity...) -> LeaderDuties.Judgement {
        var judgement = LeaderDuties.Judgement()
        judgement.ready = Set(nodes)
        return judgement
    }

    @Test func placesOnTheReadyOnly() {
        var duties = LeaderDuties(timings: timings)
        let duty = duties.next(snapshot([record(a), record(b), record(c)]), by: a, in: .init(calm(a, b)), at: .zero)
        guard case .repair(let placements) = duty else {
            Issue.record("\(String(describing: duty))")
            return
        }
        #expect(placements.count == 1280)
        #expect(Set(placements.map(\.to)) == [a, b])
    }

    @Test func aSilentNodeIsBuriedWithItsShardsGivenAway() {
        var duties = LeaderDuties(timings: timings)
        var judgement = calm(a, b, c)
        judgement.silent = [c]
        judgement.isCalm = false
        let shards = even([a, b, c])
        let duty = duties.next(snapshot([record(a), record(b), record(c)], shards), by: a, in: .init(judgement), at: .zero)
        guard case .declareDead(c, .silent, let placements) = duty else {
            Issue.record("\(String(describing: duty))")
            return
        }
        #expect(Set(placements.map(\.shard)) == Set(shards.filter { $0.owner == c }.map(\.id)))
        #expect(Set(placements.map(\.to)) == [a, b])
        #expect(placements.allSatisfy { $0.reason == .failover })
    }

    @Test func anExpiredLeaseIsDeathToo() {
        var duties = LeaderDuties(timings: timings)
        var judgement = calm(a, b)
        judgement.expired = [a, b]
        let duty = duties.next(snapshot([record(a), record(b)], even([a, b])), by: a, in: .init(judgement), at: .zero)
        guard case .declareDead(b, .leaseExpired, _) = duty else {
            // The leader does not bury itself for a lease it is about to renew.
            Issue.record("\(String(describing: duty))")
            return
        }
    }

    @Test func shardsOfANodeThatLeftArePlacedAtOnce() {
        var duties = LeaderDuties(timings: timings)
        let shards = even([a, b, c])
        let duty = duties.next(
            snapshot([record(a), record(b), record(c, .left)], shards), by: a, in: .init(calm(a, b)), at: .zero)
        guard case .repair(let placements) = duty else {
            Issue.record("\(String(describing: duty))")
            return
        }
        #expect(Set(placements.map(\.shard)) == Set(shards.filter { $0.owner == c }.map(\.id)))
        #expect(placements.allSatisfy { $0.reason == .placement })
    }

    @Test func aNewcomerGetsItsShareOnceAllIsQuiet() {
        var duties = LeaderDuties(timings: timings)
        let view = snapshot([record(a), record(b), record(c)], even([a, b]))
        same(duties.next(view, by: a, in: .init(calm(a, b, c)), at: .zero), nil)
        same(duties.next(view, by: a, in: .init(calm(a, b)), at: .seconds(1)), nil)
        var uneasy = calm(a, b, c)
        uneasy.isCalm = false
        same(duties.next(view, by: a, in: .init(uneasy), at: .seconds(1)), nil)
        let duty = duties.next(view, by: a, in: .init(calm(a, b, c)), at: .seconds(1))
        guard case .beginRebalance(let plan, .nodeJoined) = duty else {
            Issue.record("\(String(describing: duty))")
            return
        }
        #expect((424...428).contains(plan.moves.count))
        #expect(Set(plan.moves.map(\.to)) == ["c"])
    }

    @Test func aStalledMoverIsFenced() {
        var duties = LeaderDuties(timings: timings)
        var shards = even([a, b])
        let index = shards.firstIndex { $0.owner == b }!
        shards[index].target = a
        let view = snapshot([record(a), record(b)], shards)
        same(duties.next(view, by: a, in: .init(calm(a, b)), at: .zero), nil)
        same(duties.next(view, by: a, in: .init(calm(a, b)), at: .milliseconds(4_900)), nil)
        let duty = duties.next(view, by: a, in: .init(calm(a, b)), at: .seconds(5))
        guard case .declareDead(b, .moveStalled, let placements) = duty else {
            Issue.record("\(String(describing: duty))")
            return
        }
        #expect(placements.allSatisfy { $0.to == a && !$0.isMove })
    }

    /// Nobody could hand over anything while the store was away.
    @Test func nobodyIsFencedForAStoreThatWasAway() {
        var duties = LeaderDuties(timings: timings)
        var shards = even([a, b])
        shards[shards.firstIndex { $0.owner == b }!].target = a
        let view = snapshot([record(a), record(b)], shards)
        var surroundings = LeaderDuties.Surroundings(calm(a, b))
        same(duties.next(view, by: a, in: surroundings, at: .zero), nil)
        surroundings.storeAnswersSince = nil
        same(duties.next(view, by: a, in: surroundings, at: .seconds(9)), nil)
        surroundings.storeAnswersSince = .seconds(10)
        same(duties.next(view, by: a, in: surroundings, at: .seconds(14)), nil)
        guard case .declareDead(b, .moveStalled, _) = duties.next(view, by: a, in: surroundings, at: .seconds(15)) else {
            Issue.record("it must not be forgiven for ever")
            return
        }
    }

    @Test func aNewcomerGetsItsShareThoughAnotherNodeIsCordoned() {
        var duties = LeaderDuties(timings: timings)
        var closed = record(b)
        closed.use = .cordoned
        let view = snapshot([record(a), closed, record(c)], even([a, b]))
        same(duties.next(view, by: a, in: .init(calm(a, b, c)), at: .zero), nil)
        guard case .beginRebalance(let plan, .nodeJoined) = duties.next(view, by: a, in: .init(calm(a, b, c)), at: .seconds(1))
        else {
            Issue.record("the newcomer gets nothing")
            return
        }
        #expect(Set(plan.moves.map(\.from)) == ["a"] && Set(plan.moves.map(\.to)) == ["c"])
        #expect((319...321).contains(plan.moves.count))
    }

    @Test func progressIsNoNewView() {
        let progress = OperationProgress(movesPlanned: 1)
        #expect(!LeaderDuties.Duty.note(OperationID(high: 1, low: 1), progress, nil).changesView)
        #expect(LeaderDuties.Duty.note(OperationID(high: 1, low: 1), progress, OperationEnd(.done)).changesView)
    }

    @Test func patienceBeginsAnewWithEachMoveOfAShard() {
        var duties = LeaderDuties(timings: timings)
        var shards = even([a, b])
        let index = shards.firstIndex { $0.owner == b }!
        shards[index].target = a
        _ = duties.next(snapshot([record(a), record(b)], shards), by: a, in: .init(calm(a, b)), at: .zero)
        shards[index].epoch = Epoch(3)
        same(duties.next(snapshot([record(a), record(b)], shards), by: a, in: .init(calm(a, b)), at: .seconds(6)), nil)
    }
}

@Suite struct ClusterWireTests {
    @Test func heartbeatsSurviveTheWire() {
        let heartbeat = Heartbeat(node: node("node-1_a"), viewVersion: 1 << 40)
        #expect(ClusterWire.heartbeat(ClusterWire.encode(heartbeat)) == heartbeat)
        #expect(ClusterWire.viewVersion(ClusterWire.encode(viewVersion: 77)) == 77)
        let hint = ClusterWire.encode(viewVersion: .max, from: heartbeat.node.incarnation)
        #expect(ClusterWire.viewVersion(hint) == .max && ClusterWire.hintSender(hint) == heartbeat.node.incarnation)
        #expect(ClusterWire.hintSender(ClusterWire.encode(viewVersion: 77)) == nil)
    }

    /// Frozen: nodes of the release before send these.
    @Test func knownBytes() {
        let identity = NodeIdentity(name: "n1", incarnation: IncarnationID(high: 0x0102, low: 0x0304))
        let bytes: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 9, 0x6E, 0x31]
        #expect(ClusterWire.encode(Heartbeat(node: identity, viewVersion: 9)) == bytes)
    }

    @Test func anythingElseIsRefused() {
        let good = ClusterWire.encode(Heartbeat(node: node("n"), viewVersion: 1))
        for length in 0..<good.count { #expect(ClusterWire.heartbeat(Array(good[..<length])) == nil) }
        #expect(ClusterWire.heartbeat([2] + good.dropFirst()) == nil)
        #expect(ClusterWire.heartbeat(good + Array("a.>".utf8)) == nil)
        #expect(ClusterWire.heartbeat(good + [UInt8](repeating: 0x61, count: 200)) == nil)
        #expect(ClusterWire.heartbeat(ClusterWire.encode(Heartbeat(node: node("n"), viewVersion: -1))) == nil)
        #expect(ClusterWire.viewVersion([]) == nil)
        #expect(ClusterWire.viewVersion([1, 2, 3]) == nil)
        #expect(ClusterWire.viewVersion([9, 0, 0, 0, 0, 0, 0, 0, 1]) == nil)
    }
}

@Suite struct ClusterTimingsTests {
    @Test func defaultsAreSound() { #expect(ClusterTimings().faults().isEmpty) }

    @Test func everyFaultIsNamed() {
        var timings = ClusterTimings()
        timings.servingWindow = .seconds(7)
        timings.tick = .seconds(1)
        timings.missedHeartbeats = 1
        timings.probeTimeout = .zero
        timings.loadInterval = .zero
        #expect(timings.faults().count == 6)
    }
}

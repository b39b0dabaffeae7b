import RoostModel
import Testing

@testable import ClusterCore

@Suite struct ShardTableTests {
    private let a = node("a")
    private let b = node("b")

    private func shard(_ number: Int, _ owner: NodeIdentity?, _ epoch: Int64, to target: NodeIdentity? = nil) -> ShardRecord {
        ShardRecord(id: ShardID(kind: .conversation, number: number), owner: owner, epoch: Epoch(epoch), target: target)
    }

    @Test func indexIsDenseAndUnique() {
        #expect(ShardID.all.count == 1280)
        #expect(ShardID.all.enumerated().allSatisfy { $0.offset == $0.element.tableIndex })
        #expect(!ShardID(kind: .presence, number: 256).isValid)
        #expect(!ShardID(kind: .presence, number: -1).isValid)
    }

    @Test func missingRowsAreUnownedAndStrayOnesIgnored() {
        let stray = ShardRecord(id: ShardID(kind: .presence, number: 4096), owner: a, epoch: Epoch(1), target: nil)
        let table = ShardTable(version: 3, records: [shard(5, a, 2), stray])
        #expect(table.records.count == 1280)
        #expect(table.owner(of: ShardID(kind: .conversation, number: 5)) == a)
        #expect(table.epoch(of: ShardID(kind: .conversation, number: 5)) == Epoch(2))
        #expect(table.owner(of: ShardID(kind: .presence, number: 5)) == nil)
        #expect(table.shards(ownedBy: a) == [ShardID(kind: .conversation, number: 5)])
    }

    @Test func changesNameGainedLostLeavingAndArriving() {
        let old = ShardTable(
            version: 1, records: [shard(0, a, 1), shard(1, a, 1), shard(2, b, 1), shard(3, a, 1), shard(4, b, 1)])
        let new = ShardTable(
            version: 2,
            records: [shard(0, a, 1), shard(1, b, 2), shard(2, a, 2), shard(3, a, 1, to: b), shard(4, b, 1, to: a)])
        let mine = new.changes(since: old, for: a)
        #expect(mine.gained.map(\.id.number) == [2])
        #expect(mine.lost.map(\.id.number) == [1])
        #expect(mine.leaving.map(\.id.number) == [3])
        #expect(mine.arriving.map(\.id.number) == [4])
        #expect(new.changes(since: new, for: a).isEmpty)
    }

    @Test func aHigherEpochOfTheSameOwnerIsLostAndGained() {
        let old = ShardTable(version: 1, records: [shard(0, a, 1)])
        let new = ShardTable(version: 2, records: [shard(0, a, 3)])
        let changes = new.changes(since: old, for: a)
        #expect(changes.lost.map(\.epoch) == [Epoch(1)])
        #expect(changes.gained.map(\.epoch) == [Epoch(3)])
    }

    @Test func aRetargetedMoveLeavesAgain() {
        let old = ShardTable(version: 1, records: [shard(0, a, 1, to: b)])
        let same = ShardTable(version: 2, records: [shard(0, a, 1, to: b), shard(1, b, 1)])
        let other = ShardTable(version: 3, records: [shard(0, a, 1, to: node("c"))])
        #expect(same.changes(since: old, for: a).leaving.isEmpty)
        #expect(other.changes(since: old, for: a).leaving.map(\.target) == [node("c")])
    }

    @Test func aNodeIsEmptyWhenNothingIsThereOrOnItsWay() {
        let actor = ActorAddress(kind: .presence, high: 1, low: 2)
        let pin = PinRecord(actor: actor, node: "b", owner: b, epoch: Epoch(1), since: Timestamp(milliseconds: 0))
        var coming = pin
        coming.owner = nil
        #expect(ShardTable(version: 1, records: [shard(0, a, 1)]).isEmpty(b))
        #expect(!ShardTable(version: 1, records: [shard(0, a, 1, to: b)]).isEmpty(b))
        #expect(!ShardTable(version: 1, records: [shard(0, b, 1)]).isEmpty(b))
        #expect(!ShardTable(version: 1, records: [], pins: [pin]).isEmpty(b))
        #expect(ShardTable(version: 1, records: [], pins: [coming]).isEmpty(b))
        coming.isMoving = true
        coming.target = b
        #expect(!ShardTable(version: 1, records: [], pins: [coming]).isEmpty(b))
    }
}

import EventLoop
import RoostModel
import Testing

@testable import ChatActors

@Suite struct LaneLoadTests {
    private let shard = ShardID(kind: .conversation, number: 7)
    private let start = MonotonicTime.now

    private func load() -> (LaneLoad, LaneLoad.Slot) {
        let load = LaneLoad(at: start)
        return (load, load.slot(of: .shard(shard)))
    }

    @Test func theFirstLookGivesWhatHappenedASecond() {
        let (load, slot) = load()
        load.committed(30, in: slot)
        load.delivered(100, in: slot)
        let look = load.look(at: start + .seconds(2))
        #expect(look.shards[shard.tableIndex] == 15 + 50 * LoadReport.costOfDelivery)
        #expect(look.commitsPerSecond == 15 && look.deliveriesPerSecond == 50)
        #expect(look.shards.indices.filter { look.shards[$0] != 0 } == [shard.tableIndex])
    }

    @Test func halfOfWhatWasIsForgottenInTenSeconds() {
        let (load, slot) = load()
        load.committed(200, in: slot)
        #expect(load.look(at: start + .seconds(2)).shards[shard.tableIndex] == 100)
        let quiet = load.look(at: start + .seconds(12))
        #expect(abs(quiet.shards[shard.tableIndex] - 50) < 1e-9)
        // Rates of the period itself do not lag.
        #expect(quiet.commitsPerSecond == 0)
        // In many short periods as in one long.
        for tick in 1...5 { _ = load.look(at: start + .seconds(12) + .seconds(2) * tick) }
        #expect(abs(load.look(at: start + .seconds(32)).shards[shard.tableIndex] - 12.5) < 1e-9)
    }

    @Test func whatComesBackBeginsAnew() {
        let (load, slot) = load()
        load.committed(200, in: slot)
        _ = load.look(at: start + .seconds(2))
        load.forget { $0 == .shard(shard) }
        #expect(load.look(at: start + .seconds(4)).shards[shard.tableIndex] == 0)
        load.forget { $0 == .shard(shard) }
        load.committed(20, in: slot)
        // Its first figure, not a fraction of it.
        #expect(load.look(at: start + .seconds(6)).shards[shard.tableIndex] == 10)
    }

    @Test func aPinnedActorIsCountedApartFromItsShard() {
        let (load, slot) = load()
        let (first, second) = (ActorAddress(ConversationID.make()), ActorAddress(ConversationID.make()))
        let pinned = load.slot(of: .actor(first))
        #expect(load.slot(of: .actor(first)) == pinned && load.slot(of: .actor(second)) != pinned)
        load.committed(10, in: slot)
        load.committed(4, in: pinned)
        load.delivered(20, in: pinned)
        let look = load.look(at: start + .seconds(2))
        #expect(look.shards[shard.tableIndex] == 5)
        #expect(look.pins == [first: 2 + 10 * LoadReport.costOfDelivery, second: 0])
        load.forget { $0 == .actor(first) }
        #expect(load.look(at: start + .seconds(4)).pins == [second: 0])
        // Its room goes to the next, without its history.
        #expect(load.slot(of: .actor(first)) == pinned)
        #expect(load.look(at: start + .seconds(6)).pins[first] == 0)
    }

    @Test func timesAreThoseOfThePeriod() {
        let (load, _) = load()
        for milliseconds in 1...3 { load.commitTook(.milliseconds(milliseconds)) }
        #expect(load.look(at: start + .seconds(2)).commitTimes.sorted() == [1, 2, 3])
        #expect(load.look(at: start + .seconds(4)).commitTimes == [])
        for _ in 0..<10_000 { load.commitTook(.milliseconds(5)) }
        let many = load.look(at: start + .seconds(6)).commitTimes
        #expect(many.count < 1_000 && many.allSatisfy { $0 == 5 })
    }
}

@Suite struct ActivityRateTests {
    @Test func aSteadyPaceIsFoundAndForgotten() {
        let start = MonotonicTime.now
        var rate = ActivityRate(at: start)
        for second in 1...60 { rate.happened(8, at: start + .seconds(second)) }
        // Between one addition and the next it swings by a step of the time constant.
        #expect(abs(rate.perSecond(at: start + .seconds(60)) - 8) < 0.5)
        #expect(rate.perSecond(at: start + .seconds(120)) < 0.05)
    }
}

import EventLoop
import Glibc
import RoostModel

/// What the actors of one lane have done since the last look, by shard, and by actor where one lives apart from its shard. Counting
/// is one addition. Confined to the lane's loop.
final class LaneLoad: @unchecked Sendable {
    /// Where something is counted: a shard by its ``RoostModel/ShardID/tableIndex``, or one of the pinned actors behind them.
    struct Slot: Hashable, Sendable {
        fileprivate let index: Int
    }

    private struct Counts {
        var commits: Int32 = 0
        var deliveries: Int32 = 0
        /// A second, averaged; nil before the first look: the first figure of what came is an average by itself.
        var rate: Double?
    }

    private var counts = [Counts](repeating: Counts(), count: ShardID.all.count)
    private var pinSlots: [ActorAddress: Int] = [:]
    private var freeSlots: [Int] = []
    /// Milliseconds that the commits of this period took; a part of them where there were many.
    private var commitTimes: [Float] = []
    private var lastLook: MonotonicTime
    private static let timesKept = 512
    /// How fast the averages forget.
    private static let halfLife = 10.0

    init(at now: MonotonicTime) { lastLook = now }

    // MARK: Counting

    func slot(of place: Place) -> Slot {
        switch place {
        case .shard(let shard): return Slot(index: shard.tableIndex)
        case .actor(let actor):
            if let known = pinSlots[actor] { return Slot(index: known) }
            let index = freeSlots.popLast() ?? counts.endIndex
            if index == counts.endIndex { counts.append(Counts()) }
            pinSlots[actor] = index
            return Slot(index: index)
        }
    }

    func committed(_ count: Int, in slot: Slot) { counts[slot.index].commits &+= Int32(truncatingIfNeeded: count) }

    func delivered(_ count: Int, in slot: Slot) { counts[slot.index].deliveries &+= Int32(truncatingIfNeeded: count) }

    func commitTook(_ duration: Duration) {
        let milliseconds = Float(duration / .milliseconds(1))
        if commitTimes.count < Self.timesKept {
            commitTimes.append(milliseconds)
        } else {
            commitTimes[Int.random(in: 0..<Self.timesKept)] = milliseconds
        }
    }

    // MARK: Looking

    /// What happened since the last look.
    struct Look: Sendable {
        /// By ``RoostModel/ShardID/tableIndex``: commits a second, plus a tenth of the deliveries, averaged.
        var shards: [Double] = []
        var pins: [ActorAddress: Double] = [:]
        var commitsPerSecond = 0.0
        var deliveriesPerSecond = 0.0
        var commitTimes: [Float] = []
    }

    func look(at now: MonotonicTime) -> Look {
        let seconds = max(0.001, (now - lastLook) / .seconds(1))
        let keep = exp2(-seconds / Self.halfLife)
        var look = Look()
        for index in counts.indices {
            let (done, told) = (Double(counts[index].commits) / seconds, Double(counts[index].deliveries) / seconds)
            look.commitsPerSecond += done
            look.deliveriesPerSecond += told
            let current = done + told * LoadReport.costOfDelivery
            counts[index] = Counts(rate: counts[index].rate.map { $0 * keep + current * (1 - keep) } ?? current)
        }
        look.shards = counts[..<ShardID.all.count].map { $0.rate ?? 0 }
        look.pins = pinSlots.mapValues { counts[$0].rate ?? 0 }
        look.commitTimes = commitTimes
        commitTimes.removeAll(keepingCapacity: true)
        lastLook = now
        return look
    }

    /// What went away takes its history along.
    func forget(where isGone: (Place) -> Bool) {
        for (index, shard) in ShardID.all.enumerated() where counts[index].rate != nil && isGone(.shard(shard)) {
            counts[index] = Counts()
        }
        for (actor, index) in pinSlots where isGone(.actor(actor)) {
            counts[index] = Counts()
            pinSlots[actor] = nil
            freeSlots.append(index)
        }
    }
}

import EventLoop
import Glibc
import RoostModel

/// What the actors of one lane have done since the last look, by shard. Counting is one addition. Confined to the lane's loop.
final class LaneLoad: @unchecked Sendable {
    private var commits = [Int32](repeating: 0, count: ShardID.all.count)
    private var deliveries = [Int32](repeating: 0, count: ShardID.all.count)
    /// A second, averaged.
    private var rates = [Double](repeating: 0, count: ShardID.all.count)
    /// Whether there is an average yet: the first figure of a shard that came is one by itself.
    private var isKnown = [Bool](repeating: false, count: ShardID.all.count)
    /// Milliseconds that the commits of this period took; a part of them where there were many.
    private var commitTimes: [Float] = []
    private var lastLook: MonotonicTime
    private static let timesKept = 512
    /// How fast the averages forget.
    private static let halfLife = 10.0

    init(at now: MonotonicTime) { lastLook = now }

    func committed(_ count: Int, in shard: ShardID) { commits[shard.tableIndex] &+= Int32(truncatingIfNeeded: count) }

    func delivered(_ count: Int, of shard: ShardID) { deliveries[shard.tableIndex] &+= Int32(truncatingIfNeeded: count) }

    func commitTook(_ duration: Duration) {
        let milliseconds = Float(duration / .milliseconds(1))
        if commitTimes.count < Self.timesKept {
            commitTimes.append(milliseconds)
        } else {
            commitTimes[Int.random(in: 0..<Self.timesKept)] = milliseconds
        }
    }

    /// What happened since the last look.
    struct Look: Sendable {
        /// By ``RoostModel/ShardID/tableIndex``: commits a second, plus a tenth of the deliveries, averaged.
        var rates: [Double]
        var commitsPerSecond: Double
        var deliveriesPerSecond: Double
        var commitTimes: [Float]
    }

    func look(at now: MonotonicTime) -> Look {
        let seconds = max(0.001, (now - lastLook) / .seconds(1))
        let keep = exp2(-seconds / Self.halfLife)
        var look = Look(rates: [], commitsPerSecond: 0, deliveriesPerSecond: 0, commitTimes: commitTimes)
        for index in rates.indices {
            let (done, told) = (Double(commits[index]) / seconds, Double(deliveries[index]) / seconds)
            look.commitsPerSecond += done
            look.deliveriesPerSecond += told
            let share = isKnown[index] ? keep : 0
            rates[index] = rates[index] * share + (done + told * LoadReport.costOfDelivery) * (1 - share)
            isKnown[index] = true
            commits[index] = 0
            deliveries[index] = 0
        }
        look.rates = rates
        commitTimes.removeAll(keepingCapacity: true)
        lastLook = now
        return look
    }

    /// A shard that went away takes its history along.
    func forget(where isGone: (ShardID) -> Bool) {
        for (index, shard) in ShardID.all.enumerated() where isKnown[index] && isGone(shard) {
            rates[index] = 0
            isKnown[index] = false
        }
    }
}

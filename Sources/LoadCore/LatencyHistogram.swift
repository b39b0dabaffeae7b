/// Counts of durations in microseconds, exact to three significant digits: buckets whose width doubles with each power of two, as in
/// Gil Tene's HdrHistogram. Values from 0 to about nineteen hours; longer ones count as the longest.
public struct LatencyHistogram: Sendable, Equatable {
    /// Values below this stand in a bucket of their own.
    private static let linear = 2048
    private static let half = linear / 2
    private static let doublings = 25
    public static let highest: Int64 = Int64(linear) << Int64(doublings) - 1

    private var counts: [UInt64] = []
    public private(set) var count: UInt64 = 0
    private var sum: Double = 0
    private var lowest: Int64 = .max
    private var largest: Int64 = 0

    public init() {}

    /// The exact greatest and least value recorded; 0 when empty.
    public var max: Int64 { largest }
    public var min: Int64 { count == 0 ? 0 : lowest }
    public var mean: Double { count == 0 ? 0 : sum / Double(count) }

    /// Counts one value; a negative one counts as 0.
    public mutating func record(_ microseconds: Int64) {
        let value = Swift.min(Swift.max(0, microseconds), Self.highest)
        // Made on first use: many histograms of a run stay empty.
        if counts.isEmpty { counts = Array(repeating: 0, count: Self.index(of: Self.highest) + 1) }
        counts[Self.index(of: value)] += 1
        count += 1
        sum += Double(value)
        if value < lowest { lowest = value }
        if value > largest { largest = value }
    }

    public mutating func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        record(seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }

    public mutating func merge(_ other: LatencyHistogram) {
        guard other.count > 0 else { return }
        guard count > 0 else {
            self = other
            return
        }
        for index in counts.indices { counts[index] += other.counts[index] }
        count += other.count
        sum += other.sum
        lowest = Swift.min(lowest, other.lowest)
        largest = Swift.max(largest, other.largest)
    }

    /// The least value that at least the fraction `quantile` (0…1) of all does not exceed, rounded up to its bucket's end.
    public func value(at quantile: Double) -> Int64 {
        guard count > 0 else { return 0 }
        let wanted = Swift.max(1, UInt64((Swift.min(1, Swift.max(0, quantile)) * Double(count)).rounded(.up)))
        var seen: UInt64 = 0
        for index in counts.indices {
            seen += counts[index]
            if seen >= wanted { return Swift.min(Self.last(of: index), largest) }
        }
        return largest
    }

    /// How many values do not exceed `microseconds`, to the bucket's precision.
    public func count(upTo microseconds: Int64) -> UInt64 {
        guard count > 0, microseconds >= 0 else { return 0 }
        let end = Self.index(of: Swift.min(microseconds, Self.highest))
        return counts[...end].reduce(0, +)
    }

    static func index(of value: Int64) -> Int {
        if value < Int64(linear) { return Int(value) }
        let exponent = 53 - value.leadingZeroBitCount
        return exponent * half + Int(value >> Int64(exponent))
    }

    static func last(of index: Int) -> Int64 {
        if index < linear { return Int64(index) }
        let exponent = index / half - 1
        let mantissa = Int64(index - exponent * half)
        return (mantissa + 1) << Int64(exponent) - 1
    }
}

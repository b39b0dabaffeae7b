/// The longest time that a conversation went without an acknowledged send, within the run. Nanoseconds.
public struct AckGaps: Sendable, Equatable {
    private var last: Int64?
    public private(set) var longest: Int64 = 0
    /// When the longest began.
    public private(set) var longestFrom: Int64 = 0

    public init() {}

    /// The load begins: the time to the first acknowledgement counts too.
    public mutating func begin(at time: Int64) { last = time }

    public mutating func acknowledged(at time: Int64) {
        guard let before = last else { return }
        // Answers that come late out of two sockets may pass each other.
        guard time > before else { return }
        if time - before > longest {
            longest = time - before
            longestFrom = before
        }
        last = time
    }

    /// The load ends: the time since the last acknowledgement counts too.
    public mutating func end(at time: Int64) {
        acknowledged(at: time)
        last = nil
    }
}

/// How the longest gaps of all conversations are spread. Seconds.
public struct GapSpread: Sendable, Equatable {
    public let count: Int
    public let median: Double
    public let p90: Double
    public let worst: Double

    public init(_ nanoseconds: [Int64]) {
        let sorted = nanoseconds.sorted()
        count = sorted.count
        func at(_ quantile: Double) -> Double {
            guard !sorted.isEmpty else { return 0 }
            let rank = Int((quantile * Double(sorted.count)).rounded(.up))
            return Double(sorted[Swift.min(sorted.count - 1, Swift.max(0, rank - 1))]) / 1e9
        }
        median = at(0.5)
        p90 = at(0.9)
        worst = at(1)
    }
}

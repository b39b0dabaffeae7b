/// An open loop: send *k* is due at `start + k / rate`, whatever became of those before it. Nanoseconds of a monotonic clock.
public struct SendSchedule: Sendable {
    public let start: Int64
    /// Sends a second.
    public let rate: Double
    /// No send is due at or after this.
    public private(set) var end: Int64
    private var index: Int64 = 0

    public init(start: Int64, rate: Double, end: Int64) {
        self.start = start
        self.rate = rate
        self.end = end
    }

    public struct Due: Equatable, Sendable {
        public let index: Int64
        public let time: Int64
    }

    private func time(of index: Int64) -> Int64 { start + Int64(Double(index) * 1e9 / rate) }

    /// When the next send is due; nil after the end.
    public var next: Int64? {
        let time = time(of: index)
        return time < end ? time : nil
    }

    /// Takes the next send if it is due.
    public mutating func take(at now: Int64) -> Due? {
        guard let time = next, time <= now else { return nil }
        defer { index += 1 }
        return Due(index: index, time: time)
    }

    /// Ends the load now, before its time.
    public mutating func stop(at now: Int64) { end = min(end, now) }
}

/// In which order the clients send: each once a round, in an order of the seed's choosing, so that neighbours in time are not neighbours
/// in the cluster.
public struct Rotation: Sendable {
    private let order: [Int]
    private var position = 0

    public init(count: Int, seed: UInt64) {
        var random = SeededRandom(seed: seed)
        order = Array(0..<count).shuffled(using: &random)
    }

    public mutating func next() -> Int {
        defer { position = (position + 1) % order.count }
        return order[position]
    }
}

/// Pauses between attempts that grow and are spread, so that many clients do not come back at once.
public struct Backoff: Sendable {
    public let first: Duration
    public let longest: Duration
    private var failures = 0

    public init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    /// A random part, at least a quarter, of `first` × 2ⁿ, at most `longest`.
    public mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
        let full = min(longest, first * (1 << min(failures, 10)))
        failures += 1
        return full * Double.random(in: 0.25...1, using: &random)
    }

    public mutating func reset() { failures = 0 }
    public var attempts: Int { failures }
}

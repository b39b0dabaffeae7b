import EventLoop
import Synchronization

/// Counts up. An increment is one relaxed atomic add.
public final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    init() {}

    @inline(__always)
    public func increment(by amount: Int = 1) { count.wrappingAdd(amount, ordering: .relaxed) }

    public var value: Int { count.load(ordering: .relaxed) }
}

/// Goes up and down.
public final class Gauge: Sendable {
    private let current = Atomic<Int>(0)

    init() {}

    @inline(__always)
    public func set(_ value: Int) { current.store(value, ordering: .relaxed) }

    @inline(__always)
    public func add(_ amount: Int) { current.wrappingAdd(amount, ordering: .relaxed) }

    public var value: Int { current.load(ordering: .relaxed) }
}

/// Counts observations in fixed buckets: two relaxed atomic adds each, after a walk over the bounds.
public final class Histogram: Sendable {
    /// The upper bounds of the buckets, ascending, in the unit observed; one above all of them is added.
    public struct Buckets: Sendable {
        let bounds: [Int]
        /// Units observed per unit shown: a duration is observed in nanoseconds and shown in seconds.
        let unitsPerShown: Double

        /// Plain numbers: bytes, rows.
        public static func counts(_ bounds: [Int]) -> Buckets { Buckets(bounds: bounds, unitsPerShown: 1) }

        /// For ``Histogram/observe(_:)-(Duration)``; the metric's name ends in `_seconds`.
        public static func durations(_ bounds: [Duration]) -> Buckets {
            Buckets(bounds: bounds.map { Int($0.nanoseconds) }, unitsPerShown: 1e9)
        }

        /// From 0.1 ms to 10 s, three a decade.
        public static let latency = durations(
            [
                100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
                5_000_000, 10_000_000,
            ].map { Duration.microseconds($0) })

        /// From 1 to 4,096, by powers of two.
        public static let batch = counts((0...12).map { 1 << $0 })
    }

    private let buckets: Buckets
    private let counts: AtomicArray
    private let sum = Atomic<Int>(0)

    init(_ buckets: Buckets) {
        precondition(zip(buckets.bounds, buckets.bounds.dropFirst()).allSatisfy { $0 < $1 }, "bounds must ascend")
        self.buckets = buckets
        counts = AtomicArray(count: buckets.bounds.count + 1)
    }

    public func observe(_ value: Int) {
        var index = 0
        while index < buckets.bounds.count, value > buckets.bounds[index] { index += 1 }
        counts.increment(at: index)
        sum.wrappingAdd(value, ordering: .relaxed)
    }

    public func observe(_ duration: Duration) { observe(Int(duration.nanoseconds)) }

    public var count: Int { snapshot().cumulative.last ?? 0 }

    var boundTexts: [String] { buckets.bounds.map { Exposition.number(Double($0) / buckets.unitsPerShown) } }

    func snapshot() -> (cumulative: [Int], sum: Double) {
        var total = 0
        let cumulative = (0...buckets.bounds.count).map { index in
            total += counts.load(at: index)
            return total
        }
        return (cumulative, Double(sum.load(ordering: .relaxed)) / buckets.unitsPerShown)
    }
}

/// Counters side by side.
private final class AtomicArray: @unchecked Sendable {
    private let base: UnsafeMutablePointer<Atomic<Int>>
    private let count: Int

    init(count: Int) {
        self.count = count
        base = .allocate(capacity: count)
        for index in 0..<count { (base + index).initialize(to: Atomic(0)) }
    }

    deinit {
        base.deinitialize(count: count)
        base.deallocate()
    }

    func increment(at index: Int) { base[index].wrappingAdd(1, ordering: .relaxed) }
    func load(at index: Int) -> Int { base[index].load(ordering: .relaxed) }
}

import EventLoop
import Glibc

/// How often something happens: an average that forgets, with a time constant of ten seconds.
struct ActivityRate: Sendable {
    static let timeConstant = 10.0

    private var weight = 0.0
    private var last: MonotonicTime

    init(at now: MonotonicTime) { last = now }

    mutating func happened(_ count: Int, at now: MonotonicTime) {
        decay(to: now)
        weight += Double(count)
    }

    /// A second.
    func perSecond(at now: MonotonicTime) -> Double {
        var copy = self
        copy.decay(to: now)
        return copy.weight / Self.timeConstant
    }

    private mutating func decay(to now: MonotonicTime) {
        let elapsed = (now - last) / .seconds(1)
        guard elapsed > 0 else { return }
        weight *= exp(-elapsed / Self.timeConstant)
        last = now
    }
}

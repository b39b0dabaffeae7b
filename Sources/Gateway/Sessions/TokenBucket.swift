import EventLoop

/// So many at once, so many a second. Pure; 16 bytes.
struct TokenBucket {
    struct Rate: Sendable {
        let perSecond: Double
        let burst: Double
    }

    private var tokens: Double
    private var updated: MonotonicTime

    init(_ rate: Rate, at now: MonotonicTime) {
        tokens = rate.burst
        updated = now
    }

    /// Whether one more is allowed now.
    mutating func take(_ rate: Rate, at now: MonotonicTime) -> Bool {
        let elapsed = Double((now - updated).nanoseconds) / 1e9
        updated = now
        tokens = min(rate.burst, tokens + elapsed * rate.perSecond)
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }
}

import EventLoop

/// So many at once, so many a second. Pure; 16 bytes.
struct TokenBucket: Sendable {
    /// - Precondition: `burst` is at least 1.
    struct Rate: Hashable, Sendable {
        /// Tokens that come back a second; 0 for none.
        let perSecond: Double
        /// The most that can be saved up.
        let burst: Double
    }

    private var tokens: Double
    private var updated: MonotonicTime

    init(_ rate: Rate, at now: MonotonicTime) {
        tokens = rate.burst
        updated = now
    }

    /// Whether one more is allowed now. What is refused costs nothing.
    mutating func take(_ rate: Rate, at now: MonotonicTime) -> Bool {
        // Time that was read on another thread may be a little behind.
        let elapsed = max(0, Double((now - updated).nanoseconds) / 1e9)
        updated = max(updated, now)
        tokens = min(rate.burst, tokens + elapsed * rate.perSecond)
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// After a refusal: whole seconds until a token is there, from 1 to ``longestWait``.
    func secondsUntilNext(_ rate: Rate) -> Int {
        guard rate.perSecond > 0 else { return Self.longestWait }
        let seconds = ((1 - tokens) / rate.perSecond).rounded(.up)
        return max(1, min(Self.longestWait, Int(exactly: seconds) ?? Self.longestWait))
    }

    static let longestWait = 86_400
}

/// A node's own lease: when to renew it, and until when the node may serve.
///
/// The deadline counts from the *start* of a successful renewal, so it ends before the database's copy does, however long the
/// answer took. Times are since any fixed moment of a monotonic clock.
public struct LeaseMachine: Sendable {
    public enum Outcome: Hashable, Sendable {
        case renewed
        /// The database said that this incarnation is dead.
        case declaredDead
        /// The database was away, or too slow.
        case failed
    }

    enum State: Hashable, Sendable {
        case none
        case held
        /// Declared dead; only a new incarnation can go on.
        case lost
    }

    private let timings: ClusterTimings
    private(set) var state = State.none
    private var lastStart = Duration.zero
    private var nextRenewal = Duration.zero
    private var isRenewing = false
    /// How many renewals in a row have failed.
    public private(set) var failures = 0

    public init(timings: ClusterTimings) {
        self.timings = timings
    }

    /// A registration that was begun at `start` succeeded: a fresh lease.
    public mutating func registered(startedAt start: Duration) {
        state = .held
        lastStart = start
        nextRenewal = start + timings.renewalInterval
        isRenewing = false
        failures = 0
    }

    /// Whether to begin a renewal now; the caller does, and reports its end.
    public mutating func shouldRenew(at now: Duration) -> Bool {
        guard state == .held, !isRenewing, now >= nextRenewal else { return false }
        isRenewing = true
        nextRenewal = now + timings.renewalInterval
        return true
    }

    /// The end of a renewal that was begun at `start`.
    public mutating func renewalEnded(_ outcome: Outcome, startedAt start: Duration, at now: Duration) {
        guard state == .held else { return }
        isRenewing = false
        switch outcome {
        case .renewed:
            lastStart = max(lastStart, start)
            failures = 0
        case .failed:
            failures += 1
            nextRenewal = now + timings.retryInterval
        case .declaredDead:
            state = .lost
        }
    }

    /// Found out by other means, or given up.
    public mutating func end() { state = .lost }

    /// Until when the node may serve as far as it knows now; nil where it may not at all.
    public var servingDeadline: Duration? {
        switch state {
        case .held: lastStart + timings.servingWindow
        case .none, .lost: nil
        }
    }

    public func mayServe(at now: Duration) -> Bool { servingDeadline.map { now < $0 } ?? false }

    /// Since the start of the last successful renewal; nil without a lease.
    public func age(at now: Duration) -> Duration? { state == .held ? now - lastStart : nil }
}

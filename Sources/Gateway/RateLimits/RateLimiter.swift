import EdgeServer
import EventLoop
import RoostModel
import Runtime

/// Counts what clients ask of this node, by address, account, device and email. Any thread; memory is bounded.
///
/// Nodes count each for themselves: a client that spreads its requests over all of them gets as many times the rate.
public final class RateLimiter: Sendable {
    /// What is counted, and by what.
    enum Kind: String, CaseIterable, Sendable {
        /// Every request, by the client's address.
        case address
        /// Requests with an access token.
        case account, device
        /// Sockets opened, by the client's address.
        case sockets
        /// Frames of all sockets, by the account.
        case frames
        /// Attempts to get tokens, to prove an email or a password, by the client's address, and by the email given or, of those who
        /// have a token, by the account.
        case signIn, email
        /// Questions whether an email has an account, by the account that asks.
        case lookup
    }

    private static let stripeCount = 16

    private struct Counted: Sendable {
        let stripes: [Locked<BucketTable>]
        let refused: Counter
    }

    private let tables: [Kind: Counted]
    private let proxies: TrustedProxies
    private let now: @Sendable () -> MonotonicTime
    /// Emails are kept as keyed hashes, of one size.
    private let hashKey = Sodium.randomBytes(Sodium.keyBytes)

    public init(
        _ settings: RateLimitSettings, now: @escaping @Sendable () -> MonotonicTime = { .now }, metrics: Metrics
    ) {
        proxies = settings.proxies
        self.now = now
        tables = Dictionary(
            uniqueKeysWithValues: settings.rates.map { kind, rate in
                let capacity = max(1, settings.entries / Self.stripeCount)
                let stripes = (0..<Self.stripeCount).map { _ in Locked(BucketTable(rate, capacity: capacity)) }
                let labels: Metrics.Labels = ["kind": kind.rawValue]
                metrics.gauge("roost_rate_limit_entries", help: "Clients that are counted now.", labels: labels) {
                    Double(stripes.reduce(0) { $0 + $1.withLock { $0.count } })
                }
                metrics.counter(
                    "roost_rate_limit_dropped_total", help: "Clients forgotten because too many were counted.", labels: labels
                ) { Double(stripes.reduce(0) { $0 + $1.withLock { $0.dropped } }) }
                let refused = metrics.counter(
                    "roost_rate_limited_total", help: "Requests refused because their client asked too much.", labels: labels)
                return (kind, Counted(stripes: stripes, refused: refused))
            })
    }

    /// Without any limit.
    public static let off = RateLimiter(RateLimitSettings(), metrics: Metrics())

    // Each throws `rateLimited` with the time after which the next one is allowed.

    /// What the head of a request alone decides.
    func admit(_ head: HTTPRequestHead, _ limit: Route.Limit) throws(RoostError) {
        switch limit {
        case .none: return
        case .usual, .lookup: try take(.address, head)
        case .signIn:
            try take(.address, head)
            try take(.signIn, head)
        }
    }

    func admitSocket(_ head: HTTPRequestHead) throws(RoostError) {
        try take(.address, head)
        try take(.sockets, head)
    }

    func admit(_ caller: Caller, _ limit: Route.Limit) throws(RoostError) {
        switch limit {
        case .none: return
        case .usual: break
        case .signIn: try take(.email, key(caller.userID))
        case .lookup: try take(.lookup, key(caller.userID))
        }
        try take(.device, key(caller.deviceID))
        try take(.account, key(caller.userID))
    }

    func admitFrame(_ caller: Caller) throws(RoostError) { try take(.frames, key(caller.userID)) }

    /// - Parameter email: normalised.
    func admit(email: String) throws(RoostError) {
        guard tables[.email] != nil else { return }
        let hash = Sodium.hash(email.utf8, key: hashKey)
        func word(_ offset: Int) -> UInt64 { hash[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        try take(.email, BucketTable.Key(high: word(0), low: word(8)))
    }

    private func take(_ kind: Kind, _ head: HTTPRequestHead) throws(RoostError) {
        guard tables[kind] != nil else { return }
        let address = proxies.client(of: head).counted
        try take(kind, BucketTable.Key(high: address.high, low: address.low))
    }

    private func key<Subject>(_ id: Identifier<Subject>) -> BucketTable.Key { BucketTable.Key(high: id.high, low: id.low) }

    private func take(_ kind: Kind, _ key: BucketTable.Key) throws(RoostError) {
        guard let counted = tables[kind] else { return }
        let stripe = counted.stripes[(key.hashValue >> 8) & (Self.stripeCount - 1)]
        let time = now()
        switch stripe.withLock({ $0.take(key, at: time) }) {
        case .allowed: return
        case .refused(let seconds):
            counted.refused.increment()
            throw RoostError(.rateLimited, retryAfter: seconds)
        }
    }
}

/// The sums of a run.
public struct Tally: Sendable, Equatable {
    // What was done.
    public var scheduled = 0
    /// Frames written, retries included.
    public var attempts = 0
    public var acknowledged = 0
    /// Message events received.
    public var events = 0
    /// Messages that reached a member for the first time, the sender's own copy included.
    public var deliveries = 0
    /// Messages that reached the partner.
    public var delivered = 0
    /// Found in the server's history at the end.
    public var stored = 0

    // What must be 0.
    /// Acknowledged, but not in history at the end.
    public var lostFromHistory = 0
    /// Acknowledged, but not at both ends when all was quiet.
    public var neverDelivered = 0
    /// One send under two sequence numbers, or one event twice in a session.
    public var duplicated = 0
    /// An event with a smaller number than one before it in its session.
    public var outOfOrder = 0
    /// Two sends of one session, neither retried, stored in the other order.
    public var reordered = 0
    /// Delivered, but neither acknowledged nor in history: fan-out before the commit.
    public var phantoms = 0
    /// Sequence numbers missing or repeated in history.
    public var notDense = 0
    /// A text that came back otherwise than it was sent.
    public var corrupted = 0

    // What may happen when something breaks.
    public var failures: [String: Int] = [:]
    public var retryableErrors: [String: Int] = [:]
    public var failedButStored = 0
    public var unknownStored = 0
    public var unknownNotStored = 0
    public var neverSent = 0
    /// Jumps in a session, mended through changes.
    public var holes = 0
    /// Messages that came through changes.
    public var repaired = 0
    /// An event for a message that had come before by another way.
    public var redelivered = 0
    public var repeatedAnswers = 0
    public var unexpected = 0
    public var resyncs = 0
    public var goaways = 0
    public var reconnects = 0
    public var answerTimeouts = 0
    public var tokenRefreshes = 0
    /// Conversations that no node would show at the end; nothing is known of their messages.
    public var unchecked = 0
    /// Clients that gave up: revoked, or no token to be had.
    public var deadClients = 0

    // Microseconds, from the scheduled time.
    public var ackLatency = LatencyHistogram()
    public var deliveryLatency = LatencyHistogram()
    /// How late the load tester itself wrote.
    public var sendLag = LatencyHistogram()

    public init() {}

    public var lost: Int { lostFromHistory + neverDelivered }
    public var failed: Int { failures.values.reduce(0, +) }
    public var retryable: Int { retryableErrors.values.reduce(0, +) }

    /// Whether nothing was lost, doubled, garbled or out of order, and everything was looked at.
    public var isClean: Bool {
        lost == 0 && duplicated == 0 && outOfOrder == 0 && reordered == 0 && notDense == 0 && phantoms == 0 && corrupted == 0
            && unchecked == 0 && deadClients == 0
    }

    /// Starts the latencies afresh after a warm-up; the counts go on, as both ends must still agree.
    public mutating func forgetLatencies() {
        ackLatency = LatencyHistogram()
        deliveryLatency = LatencyHistogram()
        sendLag = LatencyHistogram()
    }
}

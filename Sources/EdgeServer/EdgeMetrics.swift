import Synchronization

/// Counters of one server, written by its loops and read by anyone. All but the gauges only grow.
public final class EdgeMetrics: Sendable {
    /// One loop's counters, so that loops do not share cache lines.
    final class Counters: Sendable {
        let connectionsAccepted = Atomic<Int>(0)
        let connectionsRefused = Atomic<Int>(0)
        let connectionsOpen = Atomic<Int>(0)
        let acceptBackoffs = Atomic<Int>(0)
        let requests = Atomic<Int>(0)
        let faults = Atomic<Int>(0)
        let timeouts = Atomic<Int>(0)
        let webSocketsOpened = Atomic<Int>(0)
        let webSocketsOpen = Atomic<Int>(0)
        let messagesReceived = Atomic<Int>(0)
        let messagesSent = Atomic<Int>(0)
        let sendsRefused = Atomic<Int>(0)
        let bytesReceived = Atomic<Int>(0)
        let bytesSent = Atomic<Int>(0)
        let writes = Atomic<Int>(0)
        init() {}
    }

    /// A reading of all counters, summed over the loops.
    public struct Snapshot: Sendable, Equatable {
        public var connectionsAccepted = 0
        /// Over the connection limit: closed at once.
        public var connectionsRefused = 0
        /// Gauge.
        public var connectionsOpen = 0
        /// Times that accepting paused as no descriptor was left.
        public var acceptBackoffs = 0
        public var requests = 0
        /// Requests that the server refused itself (4xx and 5xx of ``HTTPFault``).
        public var faults = 0
        /// Connections ended by any of the time-outs.
        public var timeouts = 0
        public var webSocketsOpened = 0
        /// Gauge.
        public var webSocketsOpen = 0
        public var messagesReceived = 0
        public var messagesSent = 0
        /// Sends refused by a full outbox.
        public var sendsRefused = 0
        public var bytesReceived = 0
        public var bytesSent = 0
        /// System calls that wrote.
        public var writes = 0
        public init() {}
    }

    private let loops: [Counters]

    init(loops: Int) { self.loops = (0..<loops).map { _ in Counters() } }

    func counters(_ index: Int) -> Counters { loops[index] }

    public func snapshot() -> Snapshot {
        var sum = Snapshot()
        for loop in loops {
            sum.connectionsAccepted += loop.connectionsAccepted.load(ordering: .relaxed)
            sum.connectionsRefused += loop.connectionsRefused.load(ordering: .relaxed)
            sum.connectionsOpen += loop.connectionsOpen.load(ordering: .relaxed)
            sum.acceptBackoffs += loop.acceptBackoffs.load(ordering: .relaxed)
            sum.requests += loop.requests.load(ordering: .relaxed)
            sum.faults += loop.faults.load(ordering: .relaxed)
            sum.timeouts += loop.timeouts.load(ordering: .relaxed)
            sum.webSocketsOpened += loop.webSocketsOpened.load(ordering: .relaxed)
            sum.webSocketsOpen += loop.webSocketsOpen.load(ordering: .relaxed)
            sum.messagesReceived += loop.messagesReceived.load(ordering: .relaxed)
            sum.messagesSent += loop.messagesSent.load(ordering: .relaxed)
            sum.sendsRefused += loop.sendsRefused.load(ordering: .relaxed)
            sum.bytesReceived += loop.bytesReceived.load(ordering: .relaxed)
            sum.bytesSent += loop.bytesSent.load(ordering: .relaxed)
            sum.writes += loop.writes.load(ordering: .relaxed)
        }
        return sum
    }
}

extension Atomic where Value == Int {
    /// Written by one loop only, so a plain load and store do, without a locked instruction.
    @inline(__always)
    func bump(_ amount: Int = 1) { store(load(ordering: .relaxed) &+ amount, ordering: .relaxed) }
}

extension EdgeMetrics {
    /// Over all loops, now.
    public var connectionsOpen: Int { loops.reduce(0) { $0 + $1.connectionsOpen.load(ordering: .relaxed) } }
}

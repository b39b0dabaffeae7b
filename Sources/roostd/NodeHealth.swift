import NATSBus
import Ports
import PostgresStore
import Runtime

/// What `/readyz` says: false before a drain begins, while the database or NATS is away, and while the lease does not let us serve.
final class NodeHealth: Sendable {
    private let bus: NATSBus
    private let pool: PostgresPool
    private let isServing: @Sendable () -> Bool
    private let reasons = Locked((isLeaving: false, isDrained: false))

    init(bus: NATSBus, pool: PostgresPool, isServing: @escaping @Sendable () -> Bool) {
        self.bus = bus
        self.pool = pool
        self.isServing = isServing
    }

    var isReady: Bool { mayBeReady && bus.state == .connected && pool.isAvailable && isServing() }

    private var mayBeReady: Bool { reasons.withLock { !$0.isLeaving && !$0.isDrained } }

    /// The process is about to end.
    func beginDrain() { reasons.withLock { $0.isLeaving = true } }

    /// Operators drain this node, or have taken it back.
    func setDrained(_ isDrained: Bool) { reasons.withLock { $0.isDrained = isDrained } }
}

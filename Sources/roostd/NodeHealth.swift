import NATSBus
import Ports
import PostgresStore
import Runtime

/// What `/readyz` says: false before a drain begins, while the database or NATS is away, and while the lease does not let us serve.
final class NodeHealth: Sendable {
    private let bus: NATSBus
    private let pool: PostgresPool
    private let isServing: @Sendable () -> Bool
    private let isDraining = Locked(false)

    init(bus: NATSBus, pool: PostgresPool, isServing: @escaping @Sendable () -> Bool) {
        self.bus = bus
        self.pool = pool
        self.isServing = isServing
    }

    var isReady: Bool { !isDraining.withLock { $0 } && bus.state == .connected && pool.isAvailable && isServing() }

    func beginDrain() { isDraining.withLock { $0 = true } }

    /// Only a drain by operators ends; one that leads to the end of the process does not.
    func endDrain() { isDraining.withLock { $0 = false } }
}

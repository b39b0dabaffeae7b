import ClusterCore
import ClusterOperations
import Gateway
import Ports
import RoostModel
import Runtime

/// Carries out what ``ClusterOperations/DrainMachine`` decides. The process lives on, and is ready again when it is opened.
final class NodeDrain: Service {
    let name = "operators' drain"
    /// Clients that go at once would come to their next node at once.
    private static let sessionsPerSecond = 500
    private static let shortestSpread = 2
    private static let longestSpread = 30

    private struct State {
        var machine = DrainMachine()
        var dismissal: Task<Void, Never>?
        var isStopped = false
    }

    private let health: NodeHealth
    private let registry: SessionRegistry
    private let operations: any OperationStore
    /// The others are to hear of it.
    private let announce: @Sendable () -> Void
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let state = Locked(State())

    init(
        health: NodeHealth, registry: SessionRegistry, operations: any OperationStore, announce: @escaping @Sendable () -> Void,
        clock: any Clock<Duration> = ContinuousClock(), logger: Logger
    ) {
        self.health = health
        self.registry = registry
        self.operations = operations
        self.announce = announce
        self.clock = clock
        self.logger = logger
    }

    func start() async throws {}

    /// From now on this node leaves for good, whatever operators want of it.
    func stop() async {
        let dismissal = state.withLock { state in
            state.isStopped = true
            return state.dismissal
        }
        dismissal?.cancel()
        await dismissal?.value
    }

    /// Must be called for one view after the other.
    func viewChanged(_ view: ClusterView) {
        // What is still on its way here is turned back by the leader.
        let isEmpty = view.table.isEmpty(view.identity)
        state.withLock { state in
            guard !state.isStopped,
                let action = state.machine.viewChanged(view.ownUse, of: view.identity, isEmpty: isEmpty)
            else { return }
            switch action {
            case .close: close()
            case .dismiss(let dismissal):
                close()
                // One that is over ends by itself.
                state.dismissal = Task { await dismiss(dismissal) }
            case .reopen:
                registry.reopen()
                health.setDrained(false)
                logger.info("in use again")
            }
        }
    }

    private func close() {
        health.setDrained(true)
        registry.close()
    }

    private func isPresent(_ dismissal: DrainMachine.Dismissal) -> Bool {
        state.withLock { !$0.isStopped && $0.machine.isPresent(dismissal) }
    }

    private func dismiss(_ dismissal: DrainMachine.Dismissal) async {
        let seconds = min(
            max(Self.shortestSpread, registry.count / Self.sessionsPerSecond), Self.longestSpread)
        logger.info("nothing lives here any more, clients are sent elsewhere", [.count: registry.count])
        registry.leave(afterSeconds: seconds)
        for _ in 0..<(seconds * 20) where registry.count > 0 && isPresent(dismissal) {
            guard (try? await clock.sleep(for: .milliseconds(50))) != nil else { return }
        }
        guard isPresent(dismissal) else { return }
        registry.forEach { $0.close(.goingAway) }
        // The database may be away for a while, or something may have come back and be on its way out again.
        while isPresent(dismissal) {
            if (try? await operations.endDrain(of: dismissal.node)) == true {
                state.withLock { $0.machine.ended(dismissal) }
                announce()
                return
            }
            guard (try? await clock.sleep(for: .milliseconds(500))) != nil else { return }
        }
    }
}

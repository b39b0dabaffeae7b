import ClusterCore
import Gateway
import Ports
import RoostModel
import Runtime

/// This node's part in being drained by operators: not ready at once, and when nothing lives here any more it sends its clients elsewhere
/// and says so. The process lives on, and is ready again when it is opened.
final class NodeDrain: Sendable {
    private enum Phase: Equatable {
        case none
        /// Things still live here.
        case emptying(IncarnationID)
        /// Clients are told to go.
        case dismissing(IncarnationID)
        case drained(IncarnationID)
    }

    /// Clients that go at once would come to their next node at once.
    private static let sessionsPerSecond = 500
    private static let shortestSpread = 2
    private static let longestSpread = 30

    private let health: NodeHealth
    private let registry: SessionRegistry
    private let operations: any OperationStore
    /// The others are to hear of it.
    private let announce: @Sendable () -> Void
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let phase = Locked(Phase.none)

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

    func viewChanged(_ view: ClusterView) {
        let node = view.identity
        switch view.ownUse {
        case .open, .cordoned:
            let wasDraining = phase.withLock { phase in
                defer { phase = .none }
                return phase != .none
            }
            guard wasDraining else { return }
            registry.reopen()
            health.endDrain()
            logger.info("in use again")
        case .draining, .drained:
            health.beginDrain()
            registry.close()
            let isEmpty = view.table.places(ownedBy: node).isEmpty
            let isDue = phase.withLock { phase in
                switch phase {
                case .dismissing(node.incarnation), .drained(node.incarnation): return false
                case .none, .emptying, .dismissing, .drained:
                    phase = isEmpty ? .dismissing(node.incarnation) : .emptying(node.incarnation)
                    return isEmpty
                }
            }
            if isDue { Task { await dismiss(node) } }
        }
    }

    private func isDismissing(_ node: NodeIdentity) -> Bool {
        phase.withLock { $0 == .dismissing(node.incarnation) }
    }

    private func dismiss(_ node: NodeIdentity) async {
        let seconds = min(
            max(Self.shortestSpread, registry.count / Self.sessionsPerSecond), Self.longestSpread)
        logger.info("nothing lives here any more, clients are sent elsewhere", [.count: registry.count])
        registry.leave(afterSeconds: seconds)
        // Opened again at this very moment.
        guard isDismissing(node) else { return registry.reopen() }
        for _ in 0..<(seconds * 20) where registry.count > 0 && isDismissing(node) {
            guard (try? await clock.sleep(for: .milliseconds(50))) != nil else { return }
        }
        guard isDismissing(node) else { return }
        registry.forEach { $0.close(.goingAway) }
        // The database may be away for a while.
        while isDismissing(node) {
            if let isDrained = try? await operations.endDrain(of: node) {
                announce()
                phase.withLock { phase in
                    // Something came back meanwhile: the next view says so, and it begins anew.
                    guard phase == .dismissing(node.incarnation) else { return }
                    phase = isDrained ? .drained(node.incarnation) : .emptying(node.incarnation)
                }
                return
            }
            guard (try? await clock.sleep(for: .milliseconds(500))) != nil else { return }
        }
    }
}

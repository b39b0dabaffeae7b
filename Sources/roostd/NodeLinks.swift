import ChatActors
import Gateway
import Runtime

/// The wires that run against the order in which the parts are made.
final class NodeLinks: Sendable {
    private struct Ends {
        var watches: WatchHub?
        var signals: SignalHandler?
        var refreshView: @Sendable () -> Void = {}
    }

    private let ends = Locked(Ends())

    func connect(watches: WatchHub, signals: SignalHandler, refreshView: @escaping @Sendable () -> Void) {
        ends.withLock { $0 = Ends(watches: watches, signals: signals, refreshView: refreshView) }
    }

    func received(_ signal: Signals.Signal) { ends.withLock { $0.signals }?.received(signal) }

    func chatEvents(_ registry: SessionRegistry) -> ChatNode.Events {
        ChatNode.Events(
            staleRouting: { [self] in ends.withLock { $0.refreshView }() },
            // The lease finds out by itself; asking for the view makes it sooner.
            fenced: { [self] in ends.withLock { $0.refreshView }() },
            missedEvents: { registry.forEach { $0.resync() } },
            presenceChanged: { [self] in ends.withLock { $0.watches }?.received($0) })
    }
}

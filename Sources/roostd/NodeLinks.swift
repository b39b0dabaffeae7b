import ChatActors
import EventLoop
import Gateway
import Runtime

/// The wires that run against the order in which the parts are made.
final class NodeLinks: Sendable {
    private struct Ends {
        var watches: WatchHub?
        var signals: SignalHandler?
        var refreshView: @Sendable () -> Void = {}
        var refreshedAt = MonotonicTime(nanoseconds: 0)
    }

    /// A stale view shows in every call that meets it; one look at the database serves them all.
    private static let refreshInterval: Duration = .milliseconds(100)

    private let ends = Locked(Ends())

    func connect(watches: WatchHub, signals: SignalHandler, refreshView: @escaping @Sendable () -> Void) {
        ends.withLock { $0 = Ends(watches: watches, signals: signals, refreshView: refreshView) }
    }

    func received(_ signal: Signals.Signal) { ends.withLock { $0.signals }?.received(signal) }

    private func refreshView() {
        let refresh = ends.withLock { ends -> (@Sendable () -> Void)? in
            let now = MonotonicTime.now
            guard now - ends.refreshedAt >= Self.refreshInterval else { return nil }
            ends.refreshedAt = now
            return ends.refreshView
        }
        refresh?()
    }

    func chatEvents(_ registry: SessionRegistry) -> ChatNode.Events {
        ChatNode.Events(
            staleRouting: { [self] in refreshView() },
            // The lease finds out by itself; asking for the view makes it sooner.
            fenced: { [self] in refreshView() },
            missedEvents: { [self] in
                registry.forEach { $0.mayHaveMissedNews() }
                ends.withLock { $0.watches }?.askAgain()
            },
            presenceChanged: { [self] in ends.withLock { $0.watches }?.received($0) })
    }
}

import EventLoop
import LoadCore
import Runtime

/// Whether SIGTERM or SIGINT came: the load then ends early, in good order. A second one ends the process at once.
final class StopSignal: Sendable {
    private let count = Locked(0)
    private let signals = ProcessSignals()

    /// - Parameter listens: false leaves the process's signals alone, for tests.
    init(listens: Bool = true) {
        guard listens else { return }
        signals.listen { [count] _ in
            let times = count.withLock { count in
                count += 1
                return count
            }
            if times > 1 { Output.exit(130) }
        }
    }

    var isSet: Bool { count.withLock { $0 > 0 } }

    /// Waits so long, or until the signal; for ever where `seconds` is nil.
    func wait(seconds: Double?) async {
        let end = seconds.map { MonotonicTime.now + .seconds($0) }
        while !isSet {
            var pause = Duration.milliseconds(50)
            if let end {
                let left = end - MonotonicTime.now
                guard left > .zero else { return }
                pause = min(pause, left)
            }
            try? await Task.sleep(for: pause)
        }
    }
}

import Dispatch
import Glibc

/// Where signals come from; tests have their own.
public protocol SignalSource: Sendable {
    /// Calls `handler` with the signal's number for each SIGTERM and SIGINT, on a thread that is never one of Swift's pool.
    func listen(_ handler: @escaping @Sendable (Int32) -> Void)
    func ignore()
}

/// The signals of this process.
public final class ProcessSignals: SignalSource {
    private let sources = Locked<[Source]>([])
    private let queue = DispatchQueue(label: "roost.signals")

    /// Dispatch's sources are safe to share, but not marked so.
    private struct Source: @unchecked Sendable {
        let source: any DispatchSourceSignal
    }

    public init() {}

    public func listen(_ handler: @escaping @Sendable (Int32) -> Void) {
        for number in [SIGTERM, SIGINT] {
            // The default action would end the process before the source sees the signal.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                // Signals of one kind that come close together are merged into one event; the count tells.
                for _ in 0..<max(1, source.data) { handler(number) }
            }
            source.resume()
            let shared = Source(source: source)
            sources.withLock { $0.append(shared) }
        }
    }

    public func ignore() {
        let sources = sources.withLock { sources in
            let all = sources
            sources = []
            return all
        }
        for shared in sources { shared.source.cancel() }
    }
}

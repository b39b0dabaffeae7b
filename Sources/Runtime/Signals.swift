import CEpoll
import EventLoop
import Glibc

/// Where signals come from; tests have their own.
public protocol SignalSource: Sendable {
    /// Calls `handler` with the signal's number for each SIGTERM and SIGINT, on a thread that is never one of Swift's pool.
    func listen(_ handler: @escaping @Sendable (Int32) -> Void)
    func ignore()
}

/// The signals of this process: a handler in C sends them to a socket, a thread reads them. One of these at a time.
///
/// Dispatch's signal sources want the signals ignored, and the kernel drops an ignored signal unless the right thread blocks it.
public final class ProcessSignals: SignalSource {
    private static let numbers = [SIGTERM, SIGINT]

    private let writeEnd = Locked<Int32?>(nil)

    public init() {}

    public func listen(_ handler: @escaping @Sendable (Int32) -> Void) {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { preconditionFailure("no descriptor for signals") }
        let (readEnd, writeEnd) = (ends[0], ends[1])
        self.writeEnd.withLock { $0 = writeEnd }
        LoopThread().start(name: "signals") {
            var number: UInt8 = 0
            while true {
                let count = read(readEnd, &number, 1)
                if count < 0 && errno == EINTR { continue }
                if count <= 0 || number == 0 { break }
                handler(Int32(number))
            }
            close(readEnd)
        }
        for number in Self.numbers { _ = roost_catch_signal(number, writeEnd) }
    }

    /// From now on the signals do nothing.
    public func ignore() {
        guard
            let writeEnd = writeEnd.withLock({ end in
                let open = end
                end = nil
                return open
            })
        else { return }
        for number in Self.numbers { signal(number, SIG_IGN) }
        var end: UInt8 = 0
        _ = send(writeEnd, &end, 1, Int32(MSG_NOSIGNAL))
        // Left open: a handler that has begun on another thread may still write to it.
    }
}

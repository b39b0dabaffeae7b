import CEpoll
import EventLoop
import Glibc

/// Calls `due` at absolute times with the precision of a timerfd: the loop's own timers have that of epoll, a millisecond, which would
/// spoil latencies counted from the scheduled time. Confined to its loop.
final class Pacer: ReadinessHandler {
    private let loop: EventLoop
    private let descriptor: Int32
    /// Sends something, and gives the time of the next call, in nanoseconds; nil for none.
    var due: (() -> Int64?)?

    init(_ loop: EventLoop) throws {
        self.loop = loop
        descriptor = roost_timerfd()
        guard descriptor >= 0 else { throw LoadFault("no timer: errno \(errno)") }
        try loop.watch(descriptor, .readable, handler: self)
    }

    deinit { close(descriptor) }

    func start() { arm(due?()) }

    func stop() {
        due = nil
        arm(nil)
        loop.unwatch(descriptor)
    }

    func ready(_ readiness: Readiness) {
        var expirations: UInt64 = 0
        _ = read(descriptor, &expirations, 8)
        arm(due?())
    }

    private func arm(_ time: Int64?) {
        // 0 would disarm it; a time that has passed fires at once.
        _ = roost_timerfd_set(descriptor, time.map { max(1, $0) } ?? 0)
    }
}

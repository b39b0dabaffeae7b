import CEpoll
import Glibc
import Locks

/// A thread with an epoll set: timers, readiness of file descriptors and work handed in by other threads.
///
/// It is a `SerialExecutor`, so actors can live on it and be entered with `assumeIsolated` by code that already runs there.
/// Work submitted by one thread runs in the order submitted. One turn of the loop is: wait, timers, descriptors, submitted work,
/// end-of-turn work. Whatever gathers during a turn (bytes for a socket, rows for a commit) is sent once, at its end.
public final class EventLoop: SerialExecutor, @unchecked Sendable {
    public let name: String

    // Confined to the loop's thread.
    private let epoll: Int32
    private let wake: Int32
    private var watches: [Watch?] = []
    private var timers = TimerHeap()
    private var endOfTurn: [() -> Void] = []
    private var stopping = false

    // Shared between threads.
    private let inbox = Locked(Inbox())
    private let thread = LoopThread()

    private struct Inbox {
        var work: [Work] = []
        var isOpen = true
        var wakePending = false
    }

    enum Work {
        case closure(@Sendable () -> Void)
        case job(UnownedJob)
    }

    private struct Watch {
        var handler: any ReadinessHandler
        var generation: UInt32
    }

    /// - Throws: ``EventLoopError`` when the process is out of file descriptors.
    public init(name: String) throws {
        self.name = name
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        wake = roost_eventfd()
        guard epoll >= 0, wake >= 0 else { throw EventLoopError(operation: "create", errno: errno) }
        guard roost_epoll_control(epoll, EPOLL_CTL_ADD, wake, UInt32(ROOST_EPOLLIN), UInt64(UInt32(bitPattern: wake))) == 0
        else { throw EventLoopError(operation: "epoll_ctl", errno: errno) }
    }

    deinit {
        close(epoll)
        close(wake)
    }

    /// Starts the thread. The loop keeps itself alive until ``stop()``.
    public func start() {
        thread.start(name: name) { self.run() }
    }

    /// Runs what was submitted before, then ends the thread. Later submissions are dropped. Must not be called on the loop.
    public func stop() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            thread.onExit { continuation.resume() }
            execute { self.stopping = true }
        }
    }

    /// Whether the caller runs on this loop's thread.
    @inline(__always)
    public var isCurrent: Bool { thread.isCurrent }

    public func preconditionCurrent() {
        precondition(isCurrent, "must run on event loop")
    }

    // MARK: Work from any thread

    /// Runs `work` on the loop, after all that this thread submitted earlier.
    public func execute(_ work: @escaping @Sendable () -> Void) {
        submit(.closure(work))
    }

    /// Runs `work` at once when already on the loop, else submits it.
    @inline(__always)
    public func run(_ work: @escaping @Sendable () -> Void) {
        if isCurrent { work() } else { submit(.closure(work)) }
    }

    private func submit(_ work: Work) {
        let mustWake = inbox.withLock { inbox -> Bool in
            guard inbox.isOpen else { return false }
            inbox.work.append(work)
            if inbox.wakePending { return false }
            inbox.wakePending = true
            return true
        }
        if mustWake && !isCurrent {
            var one: UInt64 = 1
            _ = write(wake, &one, 8)
        }
    }

    // MARK: On the loop

    /// Runs `work` once at the end of the current turn: the place to flush what gathered in it.
    public func atEndOfTurn(_ work: @escaping () -> Void) {
        endOfTurn.append(work)
    }

    /// Runs `work` on the loop once `delay` has passed. Call on the loop only.
    @discardableResult
    public func schedule(after delay: Duration, _ work: @escaping () -> Void) -> LoopTimer {
        let timer = LoopTimer(deadline: MonotonicTime.now + delay, work: work)
        timers.push(timer)
        return timer
    }

    /// Reports readiness of `descriptor` (level triggered) to `handler`, which the loop retains until ``unwatch(_:)``.
    public func watch(_ descriptor: Int32, _ interest: Readiness, handler: any ReadinessHandler) throws(EventLoopError) {
        let index = Int(descriptor)
        if index >= watches.count {
            watches.append(contentsOf: repeatElement(nil, count: max(64, index + 1 - watches.count)))
        }
        generation &+= 1
        watches[index] = Watch(handler: handler, generation: generation)
        let result = roost_epoll_control(epoll, EPOLL_CTL_ADD, descriptor, interest.rawValue, Self.key(descriptor, generation))
        if result != 0 {
            watches[index] = nil
            throw EventLoopError(operation: "epoll_ctl", errno: errno)
        }
    }

    private var generation: UInt32 = 0

    public func update(_ descriptor: Int32, _ interest: Readiness) {
        guard let watch = watches[Int(descriptor)] else { return }
        _ = roost_epoll_control(epoll, EPOLL_CTL_MOD, descriptor, interest.rawValue, Self.key(descriptor, watch.generation))
    }

    /// Hands a watched descriptor over to another handler, with no system call.
    public func rewatch(_ descriptor: Int32, handler: any ReadinessHandler) {
        watches[Int(descriptor)]?.handler = handler
    }

    /// Stops reporting; call before the descriptor is closed.
    public func unwatch(_ descriptor: Int32) {
        guard Int(descriptor) < watches.count, watches[Int(descriptor)] != nil else { return }
        watches[Int(descriptor)] = nil
        _ = roost_epoll_control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0)
    }

    private static func key(_ descriptor: Int32, _ generation: UInt32) -> UInt64 {
        UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
    }

    // MARK: The turn

    private func run() {
        let capacity = 256
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
        defer { events.deallocate() }
        var pending: [Work] = []
        while true {
            let count = Int(epoll_wait(epoll, events, Int32(capacity), waitMilliseconds()))
            fireTimers()
            if count > 0 { dispatch(events, count) }
            takeInbox(into: &pending)
            for work in pending { perform(work) }
            pending.removeAll(keepingCapacity: pending.capacity <= 4096)
            runEndOfTurn()
            if stopping { break }
        }
        let dropped = inbox.withLock { inbox in
            inbox.isOpen = false
            let work = inbox.work
            inbox.work = []
            return work
        }
        for work in dropped { perform(work) }
        runEndOfTurn()
        watches = []
        timers = TimerHeap()
    }

    private func waitMilliseconds() -> Int32 {
        let hasWork = inbox.withLock { !$0.work.isEmpty }
        if hasWork { return 0 }
        guard let deadline = timers.nextDeadline else { return -1 }
        let remaining = deadline - MonotonicTime.now
        if remaining <= .zero { return 0 }
        // Rounded up, so that the loop does not spin through the last fraction of a millisecond.
        let milliseconds = remaining.milliseconds + 1
        return Int32(min(milliseconds, 60_000))
    }

    private func fireTimers() {
        guard let first = timers.nextDeadline else { return }
        let now = MonotonicTime.now
        if first > now { return }
        while let timer = timers.popDue(at: now) { timer.fire() }
    }

    private func dispatch(_ events: UnsafeMutablePointer<epoll_event>, _ count: Int) {
        for index in 0..<count {
            let data = roost_epoll_data(events + index)
            let descriptor = Int(data & 0xFFFF_FFFF)
            if descriptor == Int(wake) {
                var value: UInt64 = 0
                _ = read(wake, &value, 8)
                continue
            }
            // A handler earlier in this turn may have closed this descriptor, and a new one may carry its number.
            guard let watch = watches[descriptor], watch.generation == UInt32(data >> 32) else { continue }
            watch.handler.ready(Readiness(rawValue: roost_epoll_events(events + index)))
        }
    }

    private func takeInbox(into pending: inout [Work]) {
        inbox.withLock { inbox in
            swap(&inbox.work, &pending)
            inbox.wakePending = false
        }
    }

    private func perform(_ work: Work) {
        switch work {
        case .closure(let closure): closure()
        case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
        }
    }

    private func runEndOfTurn() {
        // Work added while flushing belongs to the same turn; a bound keeps two flushers from feeding each other for ever.
        var rounds = 0
        while !endOfTurn.isEmpty, rounds < 8 {
            let work = endOfTurn
            endOfTurn.removeAll(keepingCapacity: true)
            for closure in work { closure() }
            rounds += 1
        }
        if !endOfTurn.isEmpty {
            // Left for the next turn, which must then not wait.
            execute {}
        }
    }

    // MARK: SerialExecutor

    public func enqueue(_ job: consuming ExecutorJob) {
        submit(.job(UnownedJob(job)))
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    public func checkIsolated() {
        precondition(isCurrent, "not on the event loop of this actor")
    }

    public func isIsolatingCurrentContext() -> Bool? { isCurrent }
}

/// Told of a descriptor's readiness, on the loop.
public protocol ReadinessHandler: AnyObject {
    func ready(_ readiness: Readiness)
}

/// A set of epoll's readiness bits.
public struct Readiness: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let readable = Readiness(rawValue: UInt32(ROOST_EPOLLIN))
    public static let writable = Readiness(rawValue: UInt32(ROOST_EPOLLOUT))
    public static let error = Readiness(rawValue: UInt32(ROOST_EPOLLERR))
    public static let hangUp = Readiness(rawValue: UInt32(ROOST_EPOLLHUP))
    /// The peer has shut its writing side.
    public static let readHangUp = Readiness(rawValue: UInt32(ROOST_EPOLLRDHUP))
}

public struct EventLoopError: Error, CustomStringConvertible {
    public let operation: String
    public let errno: Int32
    public var description: String { "\(operation): errno \(errno)" }
}

import CEpoll
import Glibc
import Locks
import Synchronization

/// A POSIX thread with a name: under an event loop, or one of a pool of workers.
public final class LoopThread: Sendable {
    private struct State {
        var exited = false
        var waiters: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())
    private let identifier = Atomic<UInt>(0)

    public init() {}

    public var isCurrent: Bool { identifier.load(ordering: .relaxed) == UInt(pthread_self()) }

    public func start(name: String, _ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Body(thread: self, name: name, run: body))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // JSON and zlib want more than musl-sized stacks, and glibc's default of 8 MiB is only address space.
        pthread_attr_setstacksize(&attributes, 2 << 20)
        var handle = pthread_t()
        let result = pthread_create(&handle, &attributes, { argument in LoopThread.main(argument) }, box.toOpaque())
        pthread_attr_destroy(&attributes)
        precondition(result == 0, "pthread_create failed")
    }

    /// Calls `waiter` once the thread has left its body, at once if it has already.
    public func onExit(_ waiter: @escaping @Sendable () -> Void) {
        let exited = state.withLock { state in
            if !state.exited { state.waiters.append(waiter) }
            return state.exited
        }
        if exited { waiter() }
    }

    private func exit() {
        let waiters = state.withLock { state in
            state.exited = true
            let waiters = state.waiters
            state.waiters = []
            return waiters
        }
        for waiter in waiters { waiter() }
    }

    private static func main(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        let body = Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue()
        body.thread.identifier.store(UInt(pthread_self()), ordering: .relaxed)
        roost_name_thread(String(body.name.prefix(15)))
        body.run()
        body.thread.exit()
        return nil
    }

    private final class Body: Sendable {
        let thread: LoopThread
        let name: String
        let run: @Sendable () -> Void
        init(thread: LoopThread, name: String, run: @escaping @Sendable () -> Void) {
            self.thread = thread
            self.name = name
            self.run = run
        }
    }
}

import EventLoop
import Glibc

/// A few threads for work that blocks or burns CPU (password hashing, image decoding), apart from Swift's pool of as many threads
/// as cores. The queue is bounded: when it is full, the caller is told at once.
public final class WorkerThreads: Service {
    public let name: String
    private let threadCount: Int
    private let queueLimit: Int
    private let monitor = Monitor()

    /// - Parameter queueLimit: how much may wait beside what runs.
    public init(name: String, threads: Int, queueLimit: Int) {
        precondition(threads > 0 && queueLimit >= 0)
        self.name = name
        threadCount = threads
        self.queueLimit = queueLimit
    }

    /// Runs `work` on one of the threads.
    ///
    /// - Throws: what `work` throws, or ``WorkerThreadsError``.
    public func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let refusal = submit { continuation.resume(with: Result(catching: work)) }
            if let refusal { continuation.resume(throwing: refusal) }
        }
    }

    /// How much waits or runs now.
    public var load: Int { monitor.withLock { $0.queue.count + $0.busy } }

    public func start() async throws {
        for index in 0..<threadCount {
            let thread = LoopThread()
            monitor.withLock { $0.threads.append(thread) }
            thread.start(name: "\(name)-\(index)") { [monitor] in monitor.work() }
        }
        monitor.withLock { $0.isOpen = true }
    }

    /// Runs what was submitted, then ends the threads.
    public func stop() async {
        let threads = monitor.withLock { state in
            state.isOpen = false
            let threads = state.threads
            state.threads = []
            return threads
        }
        monitor.wakeAll()
        for thread in threads {
            await withCheckedContinuation { continuation in thread.onExit { continuation.resume() } }
        }
    }

    /// Shows how much waits or runs, and how much was refused.
    public func register(in metrics: Metrics) {
        metrics.gauge("roost_workers_load", help: "Work that waits or runs.", labels: ["pool": name]) { [monitor] in
            Double(monitor.withLock { $0.queue.count + $0.busy })
        }
        metrics.counter("roost_workers_refused_total", help: "Work refused: queue full.", labels: ["pool": name]) { [monitor] in
            Double(monitor.withLock { $0.refused })
        }
    }

    private func submit(_ job: @escaping @Sendable () -> Void) -> WorkerThreadsError? {
        let refusal = monitor.withLock { state -> WorkerThreadsError? in
            guard state.isOpen else { return .stopped }
            guard state.queue.count + state.busy < queueLimit + threadCount else {
                state.refused += 1
                return .queueFull
            }
            state.queue.append(job)
            return nil
        }
        if refusal == nil { monitor.wakeOne() }
        return refusal
    }
}

public enum WorkerThreadsError: Error, Sendable {
    /// Retryable: too much is waiting.
    case queueFull
    /// Not started, or stopped.
    case stopped
}

/// A mutex and a condition: the one place of the project where a thread waits for another.
private final class Monitor: @unchecked Sendable {
    struct State {
        var queue: [@Sendable () -> Void] = []
        var busy = 0
        var refused = 0
        var isOpen = false
        var threads: [LoopThread] = []
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var state = State()

    init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&state)
    }

    func wakeOne() { pthread_cond_signal(condition) }
    func wakeAll() { pthread_cond_broadcast(condition) }

    /// The body of a worker: returns when closed and nothing waits.
    func work() {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        // A thread may come here before its pool has opened; only a pool that has no threads any more is over.
        while true {
            if !state.queue.isEmpty {
                let job = state.queue.removeFirst()
                state.busy += 1
                pthread_mutex_unlock(mutex)
                job()
                pthread_mutex_lock(mutex)
                state.busy -= 1
            } else if state.threads.isEmpty {
                return
            } else {
                pthread_cond_wait(condition, mutex)
            }
        }
    }
}

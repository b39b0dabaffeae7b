import Runtime

/// Runs small asynchronous errands as children of one service, a bounded number waiting. What does not fit is dropped and counted:
/// every errand has a slower way behind it.
public final class BackgroundWork: Service {
    public let name = "background"
    private static let parallel = 16

    private let jobs: AsyncStream<@Sendable () async -> Void>
    private let feed: AsyncStream<@Sendable () async -> Void>.Continuation
    private let runner = Locked<Task<Void, Never>?>(nil)
    private let dropped: Counter

    public init(limit: Int = 4096, metrics: Metrics) {
        (jobs, feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(limit))
        dropped = metrics.counter("roost_background_dropped_total", help: "Errands dropped because too many were waiting.")
    }

    public func start() async throws {
        let jobs = jobs
        let task = Task {
            await withTaskGroup(of: Void.self) { group in
                var running = 0
                for await job in jobs {
                    if running == Self.parallel {
                        await group.next()
                        running -= 1
                    }
                    group.addTask(operation: job)
                    running += 1
                }
            }
        }
        runner.withLock { $0 = task }
    }

    public func stop() async {
        feed.finish()
        await runner.withLock { $0 }?.value
    }

    public func submit(_ job: @escaping @Sendable () async -> Void) {
        if case .dropped = feed.yield(job) { dropped.increment() }
    }
}

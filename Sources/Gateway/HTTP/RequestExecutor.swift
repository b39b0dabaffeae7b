import RoostModel
import Runtime

/// Runs requests as tasks, all children of one service, at most so many at once and each for so long.
///
/// A request beyond the bound is refused at once, and one that takes too long is answered `unavailable` while its task is cancelled:
/// it keeps its place until it has really ended, so that the bound holds for the work and not only for the answers.
public final class RequestExecutor: Service {
    public let name = "requests"
    private let limit: Int
    private let timeLimit: Duration
    private let clock: any Clock<Duration>
    private let jobs: AsyncStream<@Sendable () async -> Void>
    private let submit: AsyncStream<@Sendable () async -> Void>.Continuation
    private let running = Locked(0)
    private let runner = Locked<Task<Void, Never>?>(nil)
    private let refused: Counter
    private let overdue: Counter

    /// - Parameters:
    ///   - limit: requests at once, waiting for stores or actors included.
    ///   - timeLimit: for each.
    public init(
        limit: Int = 1024, timeLimit: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock(), metrics: Metrics
    ) {
        self.limit = limit
        self.timeLimit = timeLimit
        self.clock = clock
        (jobs, submit) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(limit))
        refused = metrics.counter("roost_http_requests_refused_total", help: "Requests refused because too many were running.")
        overdue = metrics.counter("roost_http_requests_overdue_total", help: "Requests that took longer than allowed.")
        let running = running
        metrics.gauge("roost_http_requests_running", help: "Requests that run now.") { Double(running.withLock { $0 }) }
    }

    public func start() async throws {
        let jobs = jobs
        let task = Task {
            await withDiscardingTaskGroup { group in
                for await job in jobs { group.addTask(operation: job) }
            }
        }
        runner.withLock { $0 = task }
    }

    /// Takes no more, and waits for those that run.
    public func stop() async {
        submit.finish()
        let task = runner.withLock { $0 }
        await withTaskCancellationHandler {
            await task?.value
        } onCancel: {
            task?.cancel()
        }
    }

    /// Runs `work` and gives its answer, or the reason why there is none, to `answer`, once.
    func run<Answer: Sendable>(
        _ work: @escaping @Sendable () async -> Answer, answer: @escaping @Sendable (Result<Answer, RoostError>) -> Void
    ) {
        guard enter() else {
            refused.increment()
            return answer(.failure(.unavailable))
        }
        let isAnswered = Locked(false)
        let answerOnce: @Sendable (Result<Answer, RoostError>) -> Bool = { result in
            let isFirst = isAnswered.withLock { isAnswered in
                defer { isAnswered = true }
                return !isAnswered
            }
            if isFirst { answer(result) }
            return isFirst
        }
        let yielded = submit.yield { [self] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { [self] in
                    guard (try? await clock.sleep(for: timeLimit)) != nil else { return }
                    if answerOnce(.failure(.unavailable)) { overdue.increment() }
                }
                group.addTask { _ = answerOnce(.success(await work())) }
                await group.next()
                group.cancelAll()
            }
            leave()
        }
        if case .enqueued = yielded { return }
        leave()
        _ = answerOnce(.failure(.unavailable))
    }

    private func enter() -> Bool {
        let limit = limit
        return running.withLock { running in
            guard running < limit else { return false }
            running += 1
            return true
        }
    }

    private func leave() { running.withLock { $0 -= 1 } }
}

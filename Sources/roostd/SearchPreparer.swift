import Ports
import Runtime

/// Prepares messages for searching, a little at a time, on every node. What is not prepared yet is found all the same, only slower.
final class SearchPreparer: Service {
    let name = "search"
    /// Conversations in one go.
    private static let portion = 16
    private static let pause: Duration = .seconds(2)
    /// While there is more: short, but searching later must not slow down sending now.
    private static let pauseBetweenPortions: Duration = .milliseconds(200)
    private static let pauseAfterFailure: Duration = .seconds(10)

    private let conversations: any ConversationStore
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let prepared: Counter
    private let runner = Locked<Task<Void, Never>?>(nil)

    init(
        conversations: any ConversationStore, clock: any Clock<Duration> = ContinuousClock(), metrics: Metrics, logger: Logger
    ) {
        self.conversations = conversations
        self.clock = clock
        self.logger = logger
        prepared = metrics.counter("roost_search_prepared_total", help: "Conversations whose news was prepared for searching.")
    }

    func start() async throws {
        let task = Task {
            while !Task.isCancelled {
                let pause = await prepare()
                guard (try? await clock.sleep(for: pause)) != nil else { return }
            }
        }
        runner.withLock { $0 = task }
    }

    func stop() async {
        let task = runner.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    /// - Returns: how long to wait before the next portion.
    private func prepare() async -> Duration {
        do {
            let count = try await conversations.prepareSearch(limit: Self.portion, all: false)
            prepared.increment(by: count)
            return count > 0 ? Self.pauseBetweenPortions : Self.pause
        } catch {
            logger.debug("messages were not prepared for searching", [.error: error])
            return Self.pauseAfterFailure
        }
    }
}

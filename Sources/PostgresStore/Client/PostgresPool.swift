import EventLoop
import Ports
import Runtime

/// A few connections on one loop, for whoever awaits: every request takes the least busy one.
///
/// Requests wait when all connections are busy, at most ``waitingLimit`` of them and no longer than the request's time-out; further
/// ones fail with `unavailable`. While no connection is up, every request fails at once.
public final class PostgresPool: Sendable {
    /// Requests on one connection at a time: more would wait behind one slow statement.
    static let depth = 4
    static let waitingLimit = 2048

    private let loop: EventLoop
    private let core: Core

    /// - Parameter connections: at least 1.
    public init(
        configuration: PostgresConfiguration, loop: EventLoop, connections: Int = 4, logger: Logger = .silent,
        metrics: PostgresMetrics = PostgresMetrics()
    ) {
        precondition(connections > 0)
        self.loop = loop
        var configuration = configuration
        configuration.sessionSettings += PostgresConfiguration.byKeysOnly
        core = Core(configuration: configuration, loop: loop, connections: connections, logger: logger, metrics: metrics)
    }

    /// Begins to connect; nobody has to wait for it. See ``isAvailable``.
    public func start() {
        loop.execute { [core] in core.start() }
    }

    /// Ends the connections; what is pending fails.
    public func stop() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.run { [core] in
                core.stop()
                continuation.resume()
            }
        }
    }

    /// Whether a connection is up. For readiness; a request may fail all the same.
    public var isAvailable: Bool { core.availability.withLock { $0.isAvailable } }

    /// Calls `observer` on each change of ``isAvailable``, on the pool's loop.
    public func observe(_ observer: @escaping @Sendable (_ isAvailable: Bool) -> Void) {
        core.availability.withLock { $0.observers.append(observer) }
    }

    /// Asks the database for a sign of life.
    ///
    /// - Throws: ``StoreError`` with `unavailable`.
    public func ping() async throws(StoreError) {
        _ = try await query(Self.pingStatement)
    }

    private static let pingStatement = PostgresStatement("ping", "SELECT 1::bigint")

    /// Returns once a connection is up.
    ///
    /// - Throws: ``StoreError`` with `unavailable` after `limit`.
    public func waitUntilAvailable(_ limit: Duration = .seconds(10)) async throws(StoreError) {
        let clock = ContinuousClock()
        let deadline = clock.now + limit
        while !isAvailable {
            guard clock.now < deadline, (try? await clock.sleep(for: .milliseconds(5))) != nil else {
                throw StoreError(.unavailable, detail: "no connection")
            }
        }
    }

    func query(
        _ statement: PostgresStatement, _ fill: (inout PostgresParameters) -> Void = { _ in }
    ) async throws(StoreError) -> PostgresRows {
        try await transaction([PostgresCommand(statement, fill)])[0]
    }

    /// Runs the commands as one transaction; the rows of each.
    func transaction(_ commands: [PostgresCommand]) async throws(StoreError) -> [PostgresRows] {
        do { return try await attempt(commands).get() } catch { throw error.storeError }
    }

    func attempt(_ commands: [PostgresCommand]) async -> Result<[PostgresRows], PostgresError> {
        // The rows pass through a lock and not through the continuation: the thread sanitizer does not see that one's hand-over.
        let result = Locked<Result<[PostgresRows], PostgresError>>(.failure(PostgresError(.disconnected, detail: "no answer")))
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.run { [core] in
                core.perform(commands) { answer in
                    result.withLock { $0 = answer }
                    continuation.resume()
                }
            }
        }
        return result.withLock { $0 }
    }

    /// Confined to the loop, but for ``availability``.
    private final class Core: @unchecked Sendable {
        struct Availability: Sendable {
            var isAvailable = false
            var observers: [@Sendable (Bool) -> Void] = []
        }

        private struct Waiter {
            let commands: [PostgresCommand]
            let deadline: MonotonicTime
            let completion: PostgresConnection.Completion
        }

        let availability = Locked(Availability())
        private let loop: EventLoop
        private let metrics: PostgresMetrics
        private let timeout: Duration
        private let connections: [PostgresConnection]
        private var waiters: [Waiter] = []
        private var firstWaiter = 0
        private var timer: LoopTimer?

        init(configuration: PostgresConfiguration, loop: EventLoop, connections: Int, logger: Logger, metrics: PostgresMetrics) {
            self.loop = loop
            self.metrics = metrics
            timeout = configuration.requestTimeout
            self.connections = (0..<connections).map { _ in
                PostgresConnection(configuration: configuration, loop: loop, logger: logger, metrics: metrics)
            }
        }

        func start() {
            for connection in connections {
                connection.onReadiness = { [weak self] _ in self?.readinessChanged() }
                connection.start()
            }
        }

        func stop() {
            for connection in connections { connection.stop() }
        }

        func perform(_ commands: [PostgresCommand], _ completion: @escaping PostgresConnection.Completion) {
            guard connections.contains(where: \.isReady) else {
                return completion(.failure(PostgresError(.disconnected, detail: "not connected")))
            }
            if waitingCount == 0, let connection = idlest { return send(commands, on: connection, completion) }
            guard waitingCount < PostgresPool.waitingLimit else {
                metrics.refusals.increment()
                return completion(.failure(PostgresError(.disconnected, detail: "too many requests wait")))
            }
            waiters.append(Waiter(commands: commands, deadline: MonotonicTime.now + timeout, completion: completion))
            metrics.waiting.add(1)
            armTimer()
        }

        private var waitingCount: Int { waiters.count - firstWaiter }

        private var idlest: PostgresConnection? {
            connections.filter { $0.isReady && $0.pendingCount < PostgresPool.depth }.min { $0.pendingCount < $1.pendingCount }
        }

        private func send(
            _ commands: [PostgresCommand], on connection: PostgresConnection,
            _ completion: @escaping PostgresConnection.Completion
        ) {
            connection.perform(commands) { [self] result in
                serveWaiters()
                completion(result)
            }
        }

        private func serveWaiters() {
            while waitingCount > 0, let connection = idlest {
                let waiter = removeWaiter()
                send(waiter.commands, on: connection, waiter.completion)
            }
        }

        private func removeWaiter() -> Waiter {
            let waiter = waiters[firstWaiter]
            firstWaiter += 1
            if firstWaiter == waiters.count || firstWaiter >= 512 {
                waiters.removeFirst(firstWaiter)
                firstWaiter = 0
            }
            metrics.waiting.add(-1)
            return waiter
        }

        private func armTimer() {
            guard timer == nil, waitingCount > 0 else { return }
            timer = loop.schedule(after: max(.milliseconds(1), waiters[firstWaiter].deadline - MonotonicTime.now)) {
                [weak self] in
                guard let self else { return }
                self.timer = nil
                let now = MonotonicTime.now
                self.failWaiters("no connection in time") { $0.deadline <= now }
                self.armTimer()
            }
        }

        private func failWaiters(_ reason: String, while condition: (Waiter) -> Bool) {
            while waitingCount > 0, condition(waiters[firstWaiter]) {
                removeWaiter().completion(.failure(PostgresError(.disconnected, detail: reason)))
            }
        }

        private func readinessChanged() {
            let isAvailable = connections.contains(where: \.isReady)
            let observers = availability.withLock { state -> [@Sendable (Bool) -> Void] in
                if state.isAvailable == isAvailable { return [] }
                state.isAvailable = isAvailable
                return state.observers
            }
            for observer in observers { observer(isAvailable) }
            if isAvailable { serveWaiters() } else { failWaiters("not connected") { _ in true } }
        }
    }
}

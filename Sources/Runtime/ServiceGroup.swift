import Glibc

/// Starts services in order, waits for a reason to stop, and stops them in reverse, each with bounded time.
///
/// The first SIGTERM or SIGINT stops everything within `shutdownTimeout`; the second ends the process at once.
public final class ServiceGroup: Sendable {
    private let services: [any Service]
    private let startTimeout: Duration
    private let shutdownTimeout: Duration
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let stopRequested = Gate()
    private let failure = Locked<ServiceError?>(nil)
    private let signals: any SignalSource
    private let endProcess: @Sendable (Int32) -> Void

    /// - Parameters:
    ///   - startTimeout: for each service.
    ///   - shutdownTimeout: for all services together; none can use up the share of those after it.
    ///   - endProcess: what the second signal does, with the exit status.
    public init(
        _ services: [any Service], startTimeout: Duration = .seconds(60), shutdownTimeout: Duration = .seconds(10),
        clock: any Clock<Duration> = ContinuousClock(), signals: any SignalSource = ProcessSignals(), logger: Logger,
        endProcess: @escaping @Sendable (Int32) -> Void = { _exit($0) }
    ) {
        self.services = services
        self.startTimeout = startTimeout
        self.shutdownTimeout = shutdownTimeout
        self.clock = clock
        self.signals = signals
        self.logger = logger
        self.endProcess = endProcess
    }

    /// Runs until a signal, ``requestStop()`` or ``fail(_:_:)``, and returns when everything has stopped. Call once.
    ///
    /// - Throws: ``ServiceError`` where a start failed or a service could not go on; what had started is stopped by then.
    public func run() async throws {
        listenToSignals()
        defer { signals.ignore() }
        var started: [any Service] = []
        do {
            for service in services where !stopRequested.isOpen {
                logger.debug("service starting", [.service: service.name])
                guard try await start(service) else { break }
                started.append(service)
            }
            await stopRequested.wait()
        } catch {
            await stop(started)
            throw error
        }
        await stop(started)
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    /// Asks for the stop that a signal asks for.
    public func requestStop() { stopRequested.open() }

    /// Stops the group because `service` cannot go on; ``run()`` then throws.
    public func fail(_ service: String, _ error: any Error) {
        logger.error("service failed", [.service: service, .error: error])
        failure.withLock { failure in
            if failure == nil { failure = ServiceError(code: .failed, service: service, underlying: error) }
        }
        stopRequested.open()
    }

    private func listenToSignals() {
        let received = Locked(0)
        signals.listen { [stopRequested, logger, endProcess] signal in
            let count = received.withLock { count in
                count += 1
                return count
            }
            if count == 1 {
                logger.info("signal received, stopping", [.signal: signal])
                stopRequested.open()
            } else {
                logger.warning("second signal received, ending at once", [.signal: signal])
                endProcess(128 + signal)
            }
        }
    }

    /// - Returns: false when a stop was asked for meanwhile and the service has not started.
    private func start(_ service: any Service) async throws -> Bool {
        let task = Task { try await service.start() }
        switch await firstOf(task, timeout: startTimeout, interruptedBy: stopRequested) {
        case .finished(.success): return true
        case .finished(.failure(let error)):
            logger.error("service did not start", [.service: service.name, .error: error])
            throw ServiceError(code: .startFailed, service: service.name, underlying: error)
        case .timedOut:
            task.cancel()
            await finishCancelledStart(task, of: service)
            logger.error("service did not start in time", [.service: service.name, .duration: startTimeout])
            throw ServiceError(code: .startTimedOut, service: service.name, underlying: nil)
        case .interrupted:
            task.cancel()
            return await finishCancelledStart(task, of: service, stopLater: true)
        }
    }

    /// A cancelled start may still succeed; the service is then stopped here, or by the caller when `stopLater`.
    @discardableResult
    private func finishCancelledStart(
        _ task: Task<Void, any Error>, of service: any Service, stopLater: Bool = false
    ) async -> Bool {
        let outcome = await firstOf(task, timeout: shutdownTimeout / 4, interruptedBy: nil)
        guard case .finished(.success) = outcome else { return false }
        if !stopLater { await stop([service]) }
        return true
    }

    private func stop(_ started: [any Service]) async {
        let stopwatch = Stopwatch(clock)
        let reserve = shutdownTimeout / (2 * max(1, started.count))
        for (index, service) in started.enumerated().reversed() {
            // `index` services still come after this one; each keeps at least its reserve.
            let allowed = max(reserve, shutdownTimeout - stopwatch.elapsed() - reserve * index)
            let task = Task<Void, any Error> { await service.stop() }
            switch await firstOf(task, timeout: allowed, interruptedBy: nil) {
            case .finished, .interrupted:
                logger.debug("service stopped", [.service: service.name])
            case .timedOut:
                task.cancel()
                logger.warning("service did not stop in time", [.service: service.name, .duration: allowed])
            }
        }
    }

    private enum Outcome: Sendable {
        case finished(Result<Void, any Error>)
        case timedOut
        case interrupted
    }

    /// Waits for the first of three things. A task group would wait for a task that ignores its cancellation; this does not.
    private func firstOf(_ task: Task<Void, any Error>, timeout: Duration, interruptedBy gate: Gate?) async -> Outcome {
        let clock = clock
        let timer = Locked<Task<Void, Never>?>(nil)
        let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
            let once = Locked<CheckedContinuation<Outcome, Never>?>(continuation)
            let resume: @Sendable (Outcome) -> Void = { outcome in
                let waiting = once.withLock { once in
                    let waiting = once
                    once = nil
                    return waiting
                }
                waiting?.resume(returning: outcome)
            }
            Task { resume(.finished(await task.result)) }
            let sleeping = Task {
                guard (try? await clock.sleep(for: timeout)) != nil else { return }
                resume(.timedOut)
            }
            timer.withLock { $0 = sleeping }
            gate?.whenOpen { resume(.interrupted) }
        }
        timer.withLock { $0 }?.cancel()
        return outcome
    }
}

/// Opens once, for all who wait and all who come later.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())

    var isOpen: Bool { state.withLock { $0.isOpen } }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            let waiters = state.waiters
            state.waiters = []
            return waiters
        }
        for waiter in waiters { waiter() }
    }

    func whenOpen(_ waiter: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.waiters.append(waiter) }
            return state.isOpen
        }
        if isOpen { waiter() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in whenOpen { continuation.resume() } }
    }
}

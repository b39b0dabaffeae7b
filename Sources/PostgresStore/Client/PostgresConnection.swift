import CPostgres
import EventLoop
import Runtime

/// One connection to PostgreSQL through libpq's non-blocking pipeline mode. It connects again by itself when it breaks; while it is
/// away every request fails at once.
///
/// Confined to its loop: call it there, and completions come there. They come in the order of the requests.
final class PostgresConnection: ReadinessHandler, @unchecked Sendable {
    typealias Completion = (Result<[PostgresRows], PostgresError>) -> Void

    private enum State {
        case stopped
        case connecting(OpaquePointer, descriptor: Int32)
        case ready(OpaquePointer, descriptor: Int32)
        /// Until the next attempt.
        case waiting
    }

    private let configuration: PostgresConfiguration
    private let loop: EventLoop
    private let logger: Logger
    private let metrics: PostgresMetrics
    private var state = State.stopped
    private var backoff: Duration
    private var timer: LoopTimer?
    private var requests = RequestQueue()
    private var prepared: Set<String> = []
    private var isWriting = false
    private var isDraining = false

    /// Told of each change of ``isReady``, on the loop.
    var onReadiness: ((Bool) -> Void)?

    init(configuration: PostgresConfiguration, loop: EventLoop, logger: Logger, metrics: PostgresMetrics) {
        self.configuration = configuration
        self.loop = loop
        self.logger = logger
        self.metrics = metrics
        backoff = configuration.minimumBackoff
    }

    var isReady: Bool {
        switch state {
        case .ready: true
        case .stopped, .connecting, .waiting: false
        }
    }

    /// Requests without an answer.
    var pendingCount: Int { requests.count }

    func start() {
        loop.preconditionCurrent()
        guard case .stopped = state else { return }
        connect()
    }

    /// Fails what is pending and begins anew.
    func restart(_ reason: StaticString) {
        loop.preconditionCurrent()
        lose(reason)
    }

    /// Fails what is pending and ends the connection for good.
    func stop() {
        loop.preconditionCurrent()
        lose("stopped", restart: false)
    }

    // MARK: Requests

    /// Runs `commands` as one transaction. The answer has the rows of each, once the commit is durable.
    func perform(_ commands: [PostgresCommand], _ completion: @escaping Completion) {
        guard case .ready(let connection, _) = state else {
            return completion(.failure(PostgresError(.disconnected, detail: "not connected")))
        }
        guard requests.count < configuration.pendingLimit else {
            metrics.refusals.increment()
            return completion(.failure(PostgresError(.disconnected, detail: "too many requests")))
        }
        metrics.requests.increment()
        var request = Request(deadline: MonotonicTime.now + configuration.requestTimeout, completion: completion)
        var wasTaken = true
        for command in commands {
            if prepared.insert(command.statement.name).inserted {
                request.steps.append(.prepare(command.statement.name))
                wasTaken = wasTaken && PQsendPrepare(connection, command.statement.name, command.statement.text, 0, nil) == 1
            }
            request.steps.append(.execute)
            wasTaken = wasTaken && send(command, on: connection)
        }
        wasTaken = wasTaken && PQpipelineSync(connection) == 1
        requests.append(request)
        guard wasTaken else { return lose("cannot send") }
        flush(connection)
        armDeadline()
    }

    private func send(_ command: PostgresCommand, on connection: OpaquePointer) -> Bool {
        let parameters = command.parameters
        return parameters.bytes.withUnsafeBytes { bytes in
            // A pointer of an empty value must not be nil: that is NULL.
            let base = bytes.isEmpty ? UnsafePointer(emptyValue) : bytes.baseAddress!.assumingMemoryBound(to: CChar.self)
            var values: [UnsafePointer<CChar>?] = []
            var lengths: [Int32] = []
            var start = 0
            for end in parameters.ends {
                values.append(end.map { _ in base + start })
                lengths.append(Int32((end ?? start) - start))
                start = end ?? start
            }
            let formats = [Int32](repeating: 1, count: values.count)
            return PQsendQueryPrepared(connection, command.statement.name, Int32(values.count), values, lengths, formats, 1) == 1
        }
    }

    private func flush(_ connection: OpaquePointer) {
        guard case .ready(_, let descriptor) = state else { return }
        let result = PQflush(connection)
        if result < 0 { return lose("cannot write") }
        if (result == 1) != isWriting {
            isWriting = result == 1
            loop.update(descriptor, isWriting ? [.readable, .writable] : .readable)
        }
    }

    // MARK: Answers

    func ready(_ readiness: Readiness) {
        switch state {
        case .stopped, .waiting: return
        case .connecting(let connection, let descriptor): poll(connection, descriptor)
        case .ready(let connection, _):
            if readiness.contains(.writable) { flush(connection) }
            guard isReady else { return }
            let isAlive = PQconsumeInput(connection) == 1
            // What came before the end of the connection counts.
            drain(connection)
            if isReady, !isAlive || PQstatus(connection) == CONNECTION_BAD { lose("connection lost") }
        }
    }

    private func drain(_ connection: OpaquePointer) {
        // A completion may send, and sending may fail; it must not come back here.
        guard !isDraining else { return }
        isDraining = true
        defer { isDraining = false }
        while isReady, !requests.isEmpty, PQisBusy(connection) == 0 {
            guard let result = PQgetResult(connection) else {
                if PQstatus(connection) == CONNECTION_BAD { return }
                requests.endStep()
                continue
            }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                requests.removeFirst().finish()
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                requests.take(PostgresRows(result))
            case PGRES_PIPELINE_ABORTED:
                PQclear(result)
                forgetStep()
            default:
                let error = PostgresError(result: result)
                PQclear(result)
                requests.fail(error)
                forgetStep()
                if error.code == .disconnected { return lose(error.detail) }
            }
        }
    }

    /// The step did not run; if it was to prepare a statement, that must be done again.
    private func forgetStep() {
        if case .prepare(let name) = requests.currentStep { prepared.remove(name) }
    }

    private func armDeadline() {
        guard timer == nil, let first = requests.first else { return }
        timer = loop.schedule(after: max(.milliseconds(1), first.deadline - MonotonicTime.now)) { [weak self] in
            guard let self, case .ready = self.state else { return }
            self.timer = nil
            guard let first = self.requests.first else { return }
            if first.deadline <= MonotonicTime.now { self.lose("no answer in time") } else { self.armDeadline() }
        }
    }

    // MARK: Connecting

    private func connect() {
        let pairs: [(String, String)] = [
            ("dbname", configuration.url), ("application_name", configuration.applicationName), ("client_encoding", "UTF8"),
            ("options", configuration.serverOptions), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
            ("keepalives_count", "3"), ("tcp_user_timeout", "10000"), ("gssencmode", "disable"),
        ]
        guard let connection = PostgresLibrary.start(pairs) else { return retry() }
        PQsetNoticeReceiver(connection, { @Sendable _, _ in }, nil)
        if PQstatus(connection) == CONNECTION_BAD {
            PQfinish(connection)
            metrics.disconnects.increment()
            return retry()
        }
        timer = loop.schedule(after: configuration.connectTimeout) { [weak self] in self?.lose("cannot connect in time") }
        watch(connection, .writable)
    }

    /// libpq may change the socket between two polls, so each poll is a watch of its own.
    private func watch(_ connection: OpaquePointer, _ interest: Readiness) {
        let descriptor = PQsocket(connection)
        state = .connecting(connection, descriptor: descriptor)
        do { try loop.watch(descriptor, interest, handler: self) } catch { lose("cannot watch") }
    }

    private func poll(_ connection: OpaquePointer, _ descriptor: Int32) {
        loop.unwatch(descriptor)
        switch PQconnectPoll(connection) {
        case PGRES_POLLING_READING: watch(connection, .readable)
        case PGRES_POLLING_WRITING: watch(connection, .writable)
        case PGRES_POLLING_OK:
            guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else {
                return lose("no pipeline mode")
            }
            watch(connection, .readable)
            guard case .connecting(_, let descriptor) = state else { return }
            state = .ready(connection, descriptor: descriptor)
            timer?.cancel()
            timer = nil
            backoff = configuration.minimumBackoff
            metrics.connects.increment()
            logger.debug("connected to the database")
            onReadiness?(true)
        default: lose("cannot connect")
        }
    }

    /// Ends the present connection, fails all that was sent on it, and begins anew after the backoff.
    private func lose(_ reason: StaticString, restart: Bool = true) { lose(reason.description, restart: restart) }

    private func lose(_ reason: String, restart: Bool = true) {
        let wasReady = isReady
        switch state {
        case .stopped: return
        case .waiting: break
        case .connecting(let connection, let descriptor), .ready(let connection, let descriptor):
            loop.unwatch(descriptor)
            PQfinish(connection)
            metrics.disconnects.increment()
        }
        timer?.cancel()
        timer = nil
        isWriting = false
        prepared = []
        let lost = requests.removeAll()
        if restart, wasReady {
            logger.warning("database connection lost", [.reason: reason, .count: lost.count])
        } else if restart, backoff == configuration.minimumBackoff {
            logger.warning("database connection not made", [.reason: reason])
        }
        if restart {
            retry()
        } else {
            state = .stopped
        }
        if wasReady { onReadiness?(false) }
        let error = PostgresError(.disconnected, detail: reason, wasSent: true)
        for request in lost { request.completion(.failure(error)) }
    }

    private func retry() {
        state = .waiting
        let delay = backoff * Double.random(in: 0.5...1.5)
        backoff = min(backoff * 2, configuration.maximumBackoff)
        timer = loop.schedule(after: delay) { [weak self] in
            guard let self, case .waiting = self.state else { return }
            self.timer = nil
            self.connect()
        }
    }
}

/// Outlives every call.
nonisolated(unsafe) private let emptyValue: UnsafeMutablePointer<CChar> = {
    let pointer = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
    pointer.pointee = 0
    return pointer
}()

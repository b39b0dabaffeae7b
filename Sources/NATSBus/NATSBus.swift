import Ports
import Runtime
import Synchronization

/// The bus over NATS. Start it before use; it may start without a server and connects when there is one.
public final class NATSBus: MessageBus, Service {
    public let name = "bus"
    private let options: NATSBusOptions
    private let logger: Logger
    private let metrics: BusMetrics
    private let onFailure: @Sendable (any Error) -> Void
    private let connection = Locked<NATSConnection?>(nil)
    private let isConnected = Atomic<Bool>(false)
    private let hasSeenEvent = Atomic<Bool>(false)
    private let isStopping = Atomic<Bool>(false)
    private let maximumPayload = Atomic<Int>(1 << 20)
    private let observers = Locked<[@Sendable (BusEvent) -> Void]>([])
    private let closed = Locked<(isClosed: Bool, waiter: (@Sendable () -> Void)?)>((false, nil))

    private let replies: PendingReplies
    private let inbox: String
    private let inboxSubscription = Locked<NATSSubscription?>(nil)

    /// - Parameter onFailure: called when the bus cannot go on: the server has refused the same credentials twice.
    public init(
        _ options: NATSBusOptions, metrics: Metrics = Metrics(), logger: Logger = .silent,
        onFailure: @escaping @Sendable (any Error) -> Void = { _ in }
    ) {
        self.onFailure = onFailure
        self.options = options
        replies = PendingReplies(limit: options.pendingRequests)
        self.logger = logger
        let random = String(UInt64.random(in: .min ... .max), radix: 36)
        inbox = "_INBOX.roost-\(random)"
        self.metrics = BusMetrics(metrics)
        self.metrics.observe(metrics, isConnected: { [weak self] in self?.state == .connected }) { [weak self] in
            self?.replies.count ?? 0
        }
    }

    // MARK: Service

    /// Returns when the first try to connect has succeeded or failed; after a failure it goes on trying.
    ///
    /// - Throws: ``BusError`` `refused` where the URL is no URL.
    public func start() async throws {
        let options = options
        let handle: @Sendable (NATSEvent) -> Void = { [weak self] event in self?.handle(event) }
        let opened = await onOwnThread("nats-connect") {
            Result { () throws(BusError) in try NATSConnection.open(options, onEvent: handle) }
        }
        let (connection, isUp) = try opened.get()
        if isUp {
            maximumPayload.store(connection.maximumPayloadBytes, ordering: .relaxed)
            // An event that came first knows better.
            if !hasSeenEvent.load(ordering: .sequentiallyConsistent) {
                isConnected.store(true, ordering: .sequentiallyConsistent)
            }
            logger.debug("bus connected")
        } else {
            logger.warning("bus not reachable yet, trying on")
        }
        self.connection.withLock { $0 = connection }
        let inboxSubscription = try NATSSubscription(connection, subject: inbox + ".*", options: options) { [replies] message in
            guard let id = Self.replyID(message.subject) else { return }
            replies.complete(id, with: message.saysNoResponders ? .failure(BusError(.noResponders)) : .success(message.payload))
        }
        self.inboxSubscription.withLock { $0 = inboxSubscription }
    }

    /// Sends what was published, fails what waits for an answer, and closes.
    public func stop() async {
        isStopping.store(true, ordering: .sequentiallyConsistent)
        let connection = connection.withLock { connection in
            let open = connection
            connection = nil
            return open
        }
        guard let connection else { return }
        let wasConnected = isConnected.exchange(false, ordering: .sequentiallyConsistent)
        replies.failAll(BusError(.disconnected, detail: "stopped"))
        inboxSubscription.withLock { $0 = nil }
        await onOwnThread("nats-close") { connection.close(flushFor: wasConnected ? .seconds(1) : .milliseconds(1)) }
        await withCheckedContinuation { continuation in
            let isClosed = closed.withLock { closed in
                if !closed.isClosed { closed.waiter = { continuation.resume() } }
                return closed.isClosed
            }
            if isClosed { continuation.resume() }
        }
    }

    // MARK: MessageBus

    public var maximumPayloadBytes: Int { maximumPayload.load(ordering: .relaxed) }

    public var state: BusState { isConnected.load(ordering: .relaxed) ? .connected : .disconnected }

    public func publish(_ payload: [UInt8], to subject: Subject) throws(BusError) {
        try publish(payload, to: subject.description, reply: nil)
    }

    public func subscribe(
        to subject: Subject, handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> any BusSubscription {
        guard let connection = connection.withLock({ $0 }) else { throw BusError(.disconnected, detail: "not started") }
        let metrics = metrics
        return try NATSSubscription(connection, subject: subject.description, options: options) { [weak self] message in
            let payload = message.payload
            metrics.received.increment()
            metrics.receivedBytes.increment(by: payload.count)
            let reply = message.reply.map { inbox in
                { @Sendable [weak self] (answer: [UInt8]) in
                    // An answer that cannot be sent is a time-out to whoever asked; the failure is counted.
                    try? self?.publish(answer, to: inbox, reply: nil)
                    return
                }
            }
            handler(BusMessage(subject: subject, payload: payload, reply: reply))
        }
    }

    public func request(
        _ payload: [UInt8], to subject: Subject, timeout: Duration,
        completion: @escaping @Sendable (Result<[UInt8], BusError>) -> Void
    ) {
        guard let id = replies.add(timeout: timeout, completion) else { return }
        do throws(BusError) {
            try publish(payload, to: subject.description, reply: replySubject(id))
        } catch {
            replies.fail(id, error)
        }
    }

    public func synchronize(timeout: Duration, completion: @escaping @Sendable (Result<Void, BusError>) -> Void) {
        // The server handles a connection's messages in order: what comes back to us has everything before it behind it.
        guard let id = replies.add(timeout: timeout, { completion($0.map { _ in }) }) else { return }
        do throws(BusError) {
            try publish([], to: replySubject(id), reply: nil)
        } catch {
            replies.fail(id, error)
        }
    }

    public func observe(_ observer: @escaping @Sendable (BusEvent) -> Void) {
        observers.withLock { $0.append(observer) }
    }

    // MARK: Inside

    private func publish(_ payload: [UInt8], to subject: String, reply: String?) throws(BusError) {
        do throws(BusError) {
            if payload.count > maximumPayloadBytes {
                throw BusError(.tooLarge, detail: "\(payload.count) bytes, at most \(maximumPayloadBytes)")
            }
            // While libnats reconnects, it holds its lock through the attempt: it must not be asked then.
            guard isConnected.load(ordering: .relaxed), let connection = connection.withLock({ $0 }) else {
                throw BusError(.disconnected)
            }
            try connection.publish(payload, to: subject, reply: reply)
            metrics.published.increment()
            metrics.publishedBytes.increment(by: payload.count)
        } catch {
            metrics.failures.increment()
            throw error
        }
    }

    private func replySubject(_ id: UInt64) -> String { "\(inbox).\(id)" }

    private static func replyID(_ subject: String) -> UInt64? {
        subject.lastIndex(of: ".").flatMap { UInt64(subject[subject.index(after: $0)...]) }
    }

    private func handle(_ event: NATSEvent) {
        hasSeenEvent.store(true, ordering: .sequentiallyConsistent)
        switch event {
        case .connected(let bytes), .reconnected(let bytes):
            maximumPayload.store(bytes, ordering: .relaxed)
            guard !isStopping.load(ordering: .sequentiallyConsistent) else { return }
            isConnected.store(true, ordering: .sequentiallyConsistent)
            metrics.reconnects.increment()
            logger.info("bus connected again")
            tell(.reconnected)
        case .disconnected(let reason):
            isConnected.store(false, ordering: .sequentiallyConsistent)
            replies.failAll(BusError(.disconnected))
            guard !isStopping.load(ordering: .sequentiallyConsistent) else { return }
            logger.warning("bus disconnected", [.reason: reason])
            tell(.disconnected)
        case .slowConsumer:
            metrics.slowConsumers.increment()
            logger.warning("bus messages dropped, a subscriber is too slow")
            tell(.slowConsumer)
        case .problem(let text):
            logger.warning("bus problem", [.error: text])
        case .closed(let reason):
            isConnected.store(false, ordering: .sequentiallyConsistent)
            replies.failAll(BusError(.disconnected, detail: "closed"))
            if !isStopping.load(ordering: .sequentiallyConsistent) {
                // libnats gives up for good only where the server refuses the same credentials twice.
                logger.error("bus closed for good", [.reason: reason])
                onFailure(BusError(.refused, detail: reason))
            }
            let waiter = closed.withLock { closed in
                let waiter = closed.waiter
                closed = (true, nil)
                return waiter
            }
            waiter?()
        }
    }

    private func tell(_ event: BusEvent) {
        for observer in observers.withLock({ $0 }) { observer(event) }
    }
}

import Ports
import RoostModel
import Runtime

/// Sends what waits in the outbox: at once when nudged, and every two seconds whatever another node has queued or failed to send.
///
/// What fails is tried again after a time that doubles, and given up after a day. A mail that its server refuses for good is dropped.
public final class MailDrain: Service {
    public static let pollInterval = Duration.seconds(2)
    /// Tokens are not kept for longer, sent or not.
    public static let maximumAge = Duration.seconds(24 * 3600)
    /// At a time; the others are left to other nodes.
    static let batch = 8
    /// Longer than a batch takes in which every mail times out.
    static let lease = Duration.seconds(600)
    /// How often what is too old is looked for, in polls.
    private static let pollsBetweenSweeps = 15

    public let name = "mail"
    private let outbox: any MailOutbox
    private let transport: any MailTransport
    private let templates: MailTemplates
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let sent: Counter
    private let failed: Counter
    private let givenUp: Counter
    private let waiting: Gauge
    private let runner = Locked<Task<Void, Never>?>(nil)
    /// One nudge waits at most: a round takes whatever is there.
    private let nudges: AsyncStream<Void>
    private let nudged: AsyncStream<Void>.Continuation

    public init(
        outbox: any MailOutbox, transport: any MailTransport, templates: MailTemplates, metrics: Metrics, logger: Logger,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.outbox = outbox
        self.transport = transport
        self.templates = templates
        self.clock = clock
        self.logger = logger
        sent = metrics.counter("roost_mail_sent_total", help: "Mails sent.")
        failed = metrics.counter("roost_mail_failed_total", help: "Attempts to send a mail that failed.")
        givenUp = metrics.counter("roost_mail_given_up_total", help: "Mails never sent: refused for good, or too old.")
        waiting = metrics.gauge("roost_mail_waiting", help: "Mails in the outbox of all nodes, as last counted.")
        (nudges, nudged) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Says that a mail was queued. From any thread; never waits.
    public func nudge() { nudged.yield() }

    /// How long a mail that has failed `attempts` times waits: 10 s, 20 s, … one hour.
    static func delay(afterAttempts attempts: Int) -> Duration {
        .seconds(min(3600, 10 << min(max(attempts, 1) - 1, 9)))
    }

    public func start() async throws {
        let task = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.poll() }
                group.addTask { await self.run() }
            }
        }
        runner.withLock { $0 = task }
        nudge()
    }

    /// Ends with the mail that is being sent.
    public func stop() async {
        let task = runner.withLock { $0 }
        task?.cancel()
        nudged.finish()
        await task?.value
    }

    private func poll() async {
        while !Task.isCancelled {
            guard (try? await clock.sleep(for: Self.pollInterval)) != nil else { return }
            nudge()
        }
    }

    private func run() async {
        var rounds = 0
        for await _ in nudges {
            do throws(StoreError) {
                // First what may not be sent any more.
                if rounds % Self.pollsBetweenSweeps == 0 { try await sweep() }
                rounds += 1
                var hasTaken = false
                var mayHaveMore = true
                while !Task.isCancelled, mayHaveMore {
                    let count = try await sendBatch()
                    hasTaken = hasTaken || count > 0
                    mayHaveMore = count == Self.batch
                }
                if hasTaken { try await sweep() }
            } catch {
                // The database is away: what is queued stays there until it is back.
                logger.debug("the outbox of mails cannot be read", [.error: error])
            }
        }
    }

    private func sweep() async throws(StoreError) {
        let (expired, left) = try await outbox.expire(age: Self.maximumAge)
        waiting.set(left)
        guard expired > 0 else { return }
        givenUp.increment(by: expired)
        logger.warning("mails given up: they could not be sent for a day", [.count: expired])
    }

    /// - Returns: how many were taken.
    private func sendBatch() async throws(StoreError) -> Int {
        let mails = try await outbox.take(limit: Self.batch, lease: Self.lease)
        var failure: StoreError?
        for mail in mails {
            do throws(StoreError) {
                // At the end of this node the others need not wait for the lease.
                if Task.isCancelled { try await outbox.postpone(mail.id, by: .zero) } else { try await send(mail) }
            } catch { failure = error }
        }
        if let failure { throw failure }
        return mails.count
    }

    private func send(_ queued: QueuedMail) async throws(StoreError) {
        do throws(MailError) {
            try await transport.send(templates.mail(queued.kind, to: queued.recipient, token: queued.token))
        } catch {
            failed.increment()
            switch error {
            case .permanent(let reason):
                givenUp.increment()
                logger.warning("a mail was refused for good", [.reason: reason])
                return try await outbox.remove(queued.id)
            case .temporary(let reason):
                logger.warning("a mail could not be sent and is tried again", [.attempt: queued.attempts, .reason: reason])
                return try await outbox.postpone(queued.id, by: Self.delay(afterAttempts: queued.attempts))
            }
        }
        sent.increment()
        try await outbox.remove(queued.id)
    }
}

import EventLoop
import Ports
import RoostModel
import Runtime

/// A lane's journal in PostgreSQL, on a connection of its own. Confined to its loop.
///
/// The lane's transactions come one after another, over a lost connection too: a new one first waits for the fence's row, which a
/// commit left behind by the old one still holds. So a load never misses what is about to be committed, and until then the journal
/// answers `unavailable`.
public final class PostgresJournal: Journal, @unchecked Sendable {
    private let loop: EventLoop
    private let connection: PostgresConnection
    private let metrics: PostgresMetrics
    private var lastFence: JournalFence?

    /// Whether the journal can be used now. Read it on the loop.
    public private(set) var isAvailable = false
    /// Told of each change of ``isAvailable``, on the loop.
    public var onAvailability: ((Bool) -> Void)?

    /// - Parameter incarnation: names the connection in the database, so that whoever declares this incarnation dead can end it.
    public init(
        configuration: PostgresConfiguration, loop: EventLoop, incarnation: IncarnationID, logger: Logger = .silent,
        metrics: PostgresMetrics = PostgresMetrics()
    ) {
        self.loop = loop
        self.metrics = metrics
        var configuration = configuration
        configuration.applicationName = "roost-journal-\(incarnation)"
        configuration.sessionSettings += PostgresConfiguration.byKeysOnly + ["plan_cache_mode=force_generic_plan"]
        connection = PostgresConnection(configuration: configuration, loop: loop, logger: logger, metrics: metrics)
    }

    /// Begins to connect. Call on the loop.
    public func start() {
        connection.onReadiness = { [weak self] isReady in self?.readinessChanged(isReady) }
        connection.start()
    }

    /// Fails what is pending and ends the connection. Call on the loop.
    public func stop() { connection.stop() }

    private func readinessChanged(_ isReady: Bool) {
        guard isReady, let fence = lastFence else { return setAvailable(isReady) }
        connection.perform([PostgresCommand(JournalStatements.barrier) { $0.add(fence) }]) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success: self.setAvailable(true)
            case .failure: if self.connection.isReady { self.connection.restart("earlier commit still runs") }
            }
        }
    }

    private func setAvailable(_ value: Bool) {
        guard value != isAvailable else { return }
        isAvailable = value
        onAvailability?(value)
    }

    private func perform<Value>(
        _ command: PostgresCommand, _ completion: @escaping (Result<Value, StoreError>) -> Void,
        read: @escaping (PostgresRows) -> Result<Value, StoreError>
    ) {
        guard isAvailable else { return completion(.failure(StoreError(.unavailable, detail: "not connected"))) }
        connection.perform([command]) { result in
            completion(result.mapError(\.storeError).flatMap { read($0[0]) })
        }
    }

    // MARK: Commit

    public func commit(_ batch: JournalBatch, completion: @escaping (Result<[JournalOutcome], StoreError>) -> Void) {
        loop.preconditionCurrent()
        guard isAvailable else { return completion(.failure(StoreError(.unavailable, detail: "not connected"))) }
        lastFence = batch.fence
        let began = MonotonicTime.now
        let commit = JournalCommit(batch: batch, connection: connection, metrics: metrics) { [metrics] result in
            metrics.commitSeconds.observe(MonotonicTime.now - began)
            completion(result)
        }
        commit.run()
    }

    public func settle(_ entries: [SettleEntry], fence: JournalFence, completion: @escaping (Result<Void, StoreError>) -> Void) {
        loop.preconditionCurrent()
        lastFence = fence
        let command = PostgresCommand(JournalStatements.settle) {
            $0.add(fence)
            $0.add(ids: entries.map(\.conversationID))
            $0.add(integers: entries.map(\.head.value))
        }
        perform(command, completion) { [metrics] rows in
            if rows[0].int64(0) == 1 { return .success(()) }
            metrics.fenced.increment()
            return .failure(StoreError(.fenced))
        }
    }

    // MARK: Reads

    public func load(
        _ ids: [ConversationID], completion: @escaping (Result<[ConversationID: ConversationSnapshot], StoreError>) -> Void
    ) {
        loop.preconditionCurrent()
        perform(PostgresCommand(JournalReads.load) { $0.add(ids: ids) }, completion) { rows in
            let snapshots = rows.map { ConversationSnapshot($0) }
            return .success(Dictionary(uniqueKeysWithValues: snapshots.map { ($0.id, $0) }))
        }
    }

    public func storedMessages(_ keys: [MessageKey], completion: @escaping (Result<[Message?], StoreError>) -> Void) {
        loop.preconditionCurrent()
        let command = PostgresCommand(JournalReads.stored) {
            $0.add(integers: keys.indices.map { Int64($0) })
            $0.add(ids: keys.map(\.conversationID))
            $0.add(ids: keys.map(\.senderID))
            $0.add(texts: keys.map(\.clientID))
        }
        perform(command, completion) { rows in
            var messages = [Message?](repeating: nil, count: keys.count)
            for index in 0..<rows.count { messages[Int(rows[index].int64(0))] = Message(rows[index], from: 1) }
            return .success(messages)
        }
    }

    public func targets(_ keys: [TargetKey], completion: @escaping (Result<[MessageTarget?], StoreError>) -> Void) {
        loop.preconditionCurrent()
        let command = PostgresCommand(JournalReads.targets) {
            $0.add(integers: keys.indices.map { Int64($0) })
            $0.add(ids: keys.map(\.conversationID))
            $0.add(integers: keys.map(\.seq.value))
        }
        perform(command, completion) { rows in
            var targets = [MessageTarget?](repeating: nil, count: keys.count)
            for index in 0..<rows.count {
                let row = rows[index]
                targets[Int(row.int64(0))] = MessageTarget(
                    message: Message(row, from: 3), hiddenBy: row.ids(1), quoteHiddenBy: row.ids(2))
            }
            return .success(targets)
        }
    }

    public func recentMessages(
        inShards shards: [Int], since: Timestamp, completion: @escaping (Result<[RecentMessage], StoreError>) -> Void
    ) {
        loop.preconditionCurrent()
        let command = PostgresCommand(JournalReads.recent) {
            $0.add(shorts: shards.map { Int16($0) })
            $0.add(since)
        }
        perform(command, completion) { rows in
            var members: [UserID] = []
            return .success(
                rows.map { row in
                    if !row.isNull(1) { members = row.ids(1) }
                    return RecentMessage(message: Message(row, from: 2), memberIDs: row.isNull(0) ? members : row.ids(0))
                })
        }
    }
}

extension ConversationSnapshot {
    /// The columns of ``JournalReads/load``.
    fileprivate init(_ row: PostgresRow) {
        let ids: [UserID] = row.ids(11)
        let (roles, joined, since) = (row.shorts(12), row.times(13), row.integers(14))
        let (reads, delivered, shares) = (row.integers(15), row.integers(16), row.booleans(17))
        self.init(
            id: row.id(0), kind: ConversationKind(stored: row.int16(1)), head: row.seq(4),
            members: ids.indices.map { index in
                Member(
                    userID: ids[index], role: MemberRole(stored: roles[index]), joinedAt: joined[index],
                    sinceSeq: Seq(since[index]), readSeq: Seq(reads[index]), deliveredSeq: Seq(delivered[index]),
                    sharesReadReceipts: shares[index])
            },
            isActive: row.bool(2), isReadOnly: row.bool(3), isBlocked: row.bool(10), title: row.optional(6) { $0.text },
            about: row.optional(7) { $0.text }, photo: row.record(8).map { Media($0) },
            history: HistorySetting(stored: row.int16(9)), lastMessageAt: row.optional(5) { $0.time })
    }
}

extension PostgresParameters {
    mutating func add(_ fence: JournalFence) {
        add(fence.incarnation)
        add(Int16(fence.lane))
    }
}

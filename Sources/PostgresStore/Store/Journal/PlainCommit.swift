import Ports
import RoostModel

/// New messages without mentions, and positions, on their way: plainly; where an entry conflicts, again without such entries; at last entry by entry.
final class PlainCommit {
    private let batch: JournalBatch
    private let connection: PostgresConnection
    private let metrics: PostgresMetrics
    private let completion: JournalCommit.Completion
    private var isolations = 0

    /// How often a batch is isolated before its entries go alone: more than one can only be owing to another writer.
    private static let isolationLimit = 3

    init(
        batch: JournalBatch, connection: PostgresConnection, metrics: PostgresMetrics,
        completion: @escaping JournalCommit.Completion
    ) {
        self.batch = batch
        self.connection = connection
        self.metrics = metrics
        self.completion = completion
    }

    func run() {
        connection.perform([plainCommand()]) { [self] result in
            switch result {
            case .success(let rows):
                if rows[0][0].int64(0) == 0 { return completion(.failure(StoreError(.fenced))) }
                if rows[0][0].int64(1) != 0 { return isolate() }
                completion(.success([JournalOutcome](repeating: .committed, count: batch.entries.count)))
            case .failure(let error) where error.isUniqueViolation: isolate()
            case .failure(let error) where error.isDataError: goAlone()
            case .failure(let error): completion(.failure(error.storeError))
            }
        }
    }

    private func isolate() {
        isolations += 1
        metrics.isolations.increment()
        connection.perform([isolatingCommand(batch.entries.indices)]) { [self] result in
            switch result {
            case .success(let rows):
                if rows[0][0].int64(0) == 0 { return completion(.failure(StoreError(.fenced))) }
                var outcomes = [JournalOutcome](repeating: .committed, count: batch.entries.count)
                for entry in rows[0][0].integers(1) { outcomes[Int(entry)] = .conflict }
                completion(.success(outcomes))
            case .failure(let error) where error.isUniqueViolation && isolations < Self.isolationLimit: isolate()
            case .failure(let error) where error.isDataError: goAlone()
            case .failure(let error): completion(.failure(error.storeError))
            }
        }
    }

    /// Each entry in a transaction of its own, all in one pipeline.
    private func goAlone() {
        var outcomes = [JournalOutcome](repeating: .committed, count: batch.entries.count)
        var failure: StoreError?
        var isFenced = false
        var left = batch.entries.count
        for index in batch.entries.indices {
            connection.perform([isolatingCommand(index..<index + 1)]) { [self] result in
                switch result {
                case .success(let rows):
                    if rows[0][0].int64(0) == 0 { isFenced = true }
                    if !rows[0][0].integers(1).isEmpty { outcomes[index] = .conflict }
                case .failure(let error) where error.isUniqueViolation: outcomes[index] = .conflict
                case .failure(let error) where error.isDataError: outcomes[index] = .refused
                case .failure(let error): failure = failure ?? error.storeError
                }
                left -= 1
                guard left == 0 else { return }
                // Entries before the failure may be stored.
                if let failure {
                    return completion(.failure(StoreError(failure.code, detail: failure.detail, outcomeUnknown: true)))
                }
                if isFenced { return completion(.failure(StoreError(.fenced))) }
                completion(.success(outcomes))
            }
        }
    }

    // MARK: Parameters

    private func plainCommand() -> PostgresCommand {
        var parts: JournalStatements.Parts = []
        var bytes = 256
        for entry in batch.entries {
            if !entry.messages.isEmpty { parts.insert(.messages) }
            if !entry.positions.isEmpty { parts.insert(.positions) }
            if entry.marksActive { parts.insert(.marks) }
            for message in entry.messages {
                bytes += 160 + message.text.utf8.count
                if message.hasReferences { parts.insert(.references) }
            }
        }
        var parameters = PostgresParameters(capacity: bytes)
        parameters.add(batch.fence)
        if parts.contains(.messages) {
            let first = batch.entries.lazy.filter { !$0.messages.isEmpty }
            parameters.add(ids: first.map(\.conversationID))
            parameters.add(integers: first.map { $0.messages[0].seq.value })
            addMessages(batch.entries[...], withReferences: parts.contains(.references), to: &parameters)
        }
        if parts.contains(.positions) {
            addPositions(positions(of: batch.entries.indices), to: &parameters)
        }
        if parts.contains(.marks) { parameters.add(ids: batch.entries.lazy.filter(\.marksActive).map(\.conversationID)) }
        return PostgresCommand(JournalStatements.commit(parts), parameters)
    }

    private func isolatingCommand(_ indices: Range<Int>) -> PostgresCommand {
        var parameters = PostgresParameters()
        parameters.add(batch.fence)
        let entries = batch.entries[indices]
        func number(_ index: Int, times count: Int) -> [Int64] { [Int64](repeating: Int64(index), count: count) }
        parameters.add(integers: indices.flatMap { number($0, times: batch.entries[$0].messages.count) })
        addMessages(entries, withReferences: true, to: &parameters)
        let positions = positions(of: indices)
        parameters.add(integers: positions.map { Int64($0.entry) })
        addPositions(positions, to: &parameters)
        let marked = indices.filter { batch.entries[$0].marksActive }
        parameters.add(integers: marked.map { Int64($0) })
        parameters.add(ids: marked.map { batch.entries[$0].conversationID })
        return PostgresCommand(JournalStatements.isolate, parameters)
    }

    private func addMessages(
        _ entries: ArraySlice<JournalEntry>, withReferences: Bool, to parameters: inout PostgresParameters
    ) {
        let messages = entries.flatMap(\.messages)
        parameters.add(ids: messages.lazy.map(\.conversationID))
        parameters.add(ids: messages.lazy.map(\.senderID))
        parameters.add(integers: messages.lazy.map(\.seq.value))
        parameters.add(times: messages.lazy.map(\.createdAt))
        parameters.add(shorts: messages.lazy.map(\.kind.stored))
        parameters.add(texts: messages.lazy.map(\.clientID))
        parameters.add(texts: messages.lazy.map(\.text))
        parameters.add(integers: messages.lazy.map(\.fingerprint))
        guard withReferences else { return }
        parameters.add(integers: messages.lazy.map { $0.replyTo?.seq.value ?? 0 })
        parameters.add(ids: messages.lazy.map { $0.media?.id ?? MediaID(high: 0, low: 0) })
        parameters.add(booleans: messages.lazy.map(\.isForwarded))
    }

    private struct Position {
        let entry: Int
        let conversationID: ConversationID
        let change: PositionChange
    }

    private func positions(of entries: Range<Int>) -> [Position] {
        entries.flatMap { index in
            let entry = batch.entries[index]
            return entry.mergedPositions.map {
                Position(entry: index, conversationID: entry.conversationID, change: $0)
            }
        }
    }

    private func addPositions(_ positions: [Position], to parameters: inout PostgresParameters) {
        parameters.add(ids: positions.map(\.conversationID))
        parameters.add(ids: positions.map(\.change.userID))
        parameters.add(integers: positions.map(\.change.readSeq.value))
        parameters.add(integers: positions.map(\.change.deliveredSeq.value))
        parameters.add(times: positions.map(\.change.at))
    }
}

import Ports
import RoostModel

/// One batch on its way. What is plain goes by one quick statement, the rest by a function; a batch with both goes as two transactions,
/// one after the other in the connection's pipeline.
final class JournalCommit {
    typealias Completion = (Result<[JournalOutcome], StoreError>) -> Void

    private let batch: JournalBatch
    private let connection: PostgresConnection
    private let metrics: PostgresMetrics
    private let completion: Completion
    /// Of the parts that have come back, with the numbers of their entries.
    private var results: [(entries: [Int], result: Result<[JournalOutcome], StoreError>)] = []

    init(batch: JournalBatch, connection: PostgresConnection, metrics: PostgresMetrics, completion: @escaping Completion) {
        self.batch = batch
        self.connection = connection
        self.metrics = metrics
        self.completion = completion
    }

    func run() {
        let rich = batch.entries.indices.filter { batch.entries[$0].isRich }
        if rich.isEmpty {
            PlainCommit(batch: batch, connection: connection, metrics: metrics) { self.finish($0) }.run()
        } else if rich.count == batch.entries.count {
            RichCommit(batch: batch, connection: connection, metrics: metrics) { self.finish($0) }.run()
        } else {
            let plain = batch.entries.indices.filter { !batch.entries[$0].isRich }
            PlainCommit(batch: part(plain), connection: connection, metrics: metrics) { self.take(plain, $0) }.run()
            RichCommit(batch: part(rich), connection: connection, metrics: metrics) { self.take(rich, $0) }.run()
        }
    }

    private func part(_ entries: [Int]) -> JournalBatch {
        JournalBatch(fence: batch.fence, entries: entries.map { batch.entries[$0] })
    }

    private func take(_ entries: [Int], _ result: Result<[JournalOutcome], StoreError>) {
        results.append((entries, result))
        if results.count == 2 { finish(Self.merged(results, count: batch.entries.count)) }
    }

    /// The outcomes in the batch's order. The batch fails with any of its parts, and then the other may be stored all the same.
    static func merged(
        _ parts: [(entries: [Int], result: Result<[JournalOutcome], StoreError>)], count: Int
    ) -> Result<[JournalOutcome], StoreError> {
        var outcomes = [JournalOutcome](repeating: .committed, count: count)
        var failures: [StoreError] = []
        for part in parts {
            switch part.result {
            case .success(let stored):
                for (entry, outcome) in zip(part.entries, stored) { outcomes[entry] = outcome }
            case .failure(let error): failures.append(error)
            }
        }
        guard let failure = failures.first(where: { $0.code == .fenced }) ?? failures.first else { return .success(outcomes) }
        let isUnknown = failures.count < parts.count || failures.contains(where: \.outcomeUnknown)
        return .failure(StoreError(failure.code, detail: failure.detail, outcomeUnknown: isUnknown))
    }

    private func finish(_ result: Result<[JournalOutcome], StoreError>) {
        switch result {
        case .success(let outcomes): count(outcomes)
        case .failure(let error): if error.code == .fenced { metrics.fenced.increment() }
        }
        completion(result)
    }

    private func count(_ outcomes: [JournalOutcome]) {
        var rows = 0
        for (entry, outcome) in zip(batch.entries, outcomes) {
            switch outcome {
            case .committed: rows += entry.messages.count
            case .conflict: metrics.conflicts.increment()
            case .refused: break
            }
        }
        metrics.commitRows.increment(by: rows)
        if rows > 0 { metrics.batchRows.observe(rows) }
    }
}

import Ports
import RoostModel

/// Entries of any kind on their way, by `commit_changes`; where it ends with an error, entry by entry. All in the batch's own order.
final class RichCommit {
    private let batch: JournalBatch
    private let connection: PostgresConnection
    private let metrics: PostgresMetrics
    private let completion: JournalCommit.Completion

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
        connection.perform([command(batch.entries[...])]) { [self] result in
            switch result {
            case .success(let rows):
                guard let codes = Self.codes(rows[0]) else { return completion(.failure(StoreError(.fenced))) }
                completion(.success(codes.map { JournalOutcome(code: $0) }))
            // Nothing was stored. Which entry it was is found by trying each.
            case .failure(let error) where error.isUniqueViolation || error.isDataError: goAlone()
            case .failure(let error): completion(.failure(error.storeError))
            }
        }
    }

    /// Each entry in a transaction of its own, all in one pipeline.
    private func goAlone() {
        metrics.isolations.increment()
        var outcomes = [JournalOutcome](repeating: .committed, count: batch.entries.count)
        var failure: StoreError?
        var left = batch.entries.count
        for index in batch.entries.indices {
            connection.perform([command(batch.entries[index...index])]) { [self] result in
                switch result {
                case .success(let rows):
                    if let codes = Self.codes(rows[0]) {
                        outcomes[index] = JournalOutcome(code: codes[0])
                    } else {
                        failure = StoreError(.fenced)
                    }
                case .failure(let error) where error.isUniqueViolation: outcomes[index] = .conflict
                case .failure(let error) where error.isDataError: outcomes[index] = .refused
                case .failure(let error): failure = failure ?? error.storeError
                }
                left -= 1
                guard left == 0 else { return }
                guard let failure else { return completion(.success(outcomes)) }
                // Entries before the failure may be stored.
                completion(.failure(StoreError(failure.code, detail: failure.detail, outcomeUnknown: true)))
            }
        }
    }

    private func command(_ entries: ArraySlice<JournalEntry>) -> PostgresCommand {
        PostgresCommand(JournalStatements.commitChanges) {
            $0.add(batch.fence)
            $0.add(texts: entries.map(\.json))
        }
    }

    /// Nil where the fence is closed.
    private static func codes(_ rows: PostgresRows) -> [Int16]? { rows[0].isNull(0) ? nil : rows[0].shorts(0) }
}

extension JournalOutcome {
    fileprivate init(code: Int16) { self = code == 0 ? .committed : .conflict }
}

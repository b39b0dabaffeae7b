import EventLoop
import Ports
import RoostModel
import Runtime

/// Group commit on one lane: while one batch is on its way to the disk the next gathers; there are no timers. Confined to its loop.
final class JournalWriter {
    typealias Completion = (Result<JournalOutcome, StoreError>) -> Void

    /// Rows in one statement. More wait for the next, which keeps a statement's time and memory bounded.
    static let batchRows = 512

    private let journal: any Journal
    private let loop: EventLoop
    private let metrics: JournalMetrics
    private let onFenced: () -> Void
    private let load: LaneLoad
    let fence: JournalFence

    private var waiting: [(entry: JournalEntry, completion: Completion)] = []
    private var isCommitting = false
    private var isScheduled = false

    init(
        journal: any Journal, fence: JournalFence, loop: EventLoop, metrics: JournalMetrics, onFenced: @escaping () -> Void,
        load: LaneLoad
    ) {
        self.journal = journal
        self.fence = fence
        self.loop = loop
        self.metrics = metrics
        self.onFenced = onFenced
        self.load = load
    }

    /// Adds a conversation's changes to the next batch. A conversation has at most one entry waiting or in flight: its actor
    /// waits for the answer, so the queue is bounded by the number of active conversations.
    func append(_ entry: JournalEntry, _ completion: @escaping Completion) {
        waiting.append((entry, completion))
        guard !isCommitting, !isScheduled else { return }
        isScheduled = true
        loop.atEndOfTurn { [self] in
            isScheduled = false
            commitNext()
        }
    }

    private func commitNext() {
        guard !isCommitting, !waiting.isEmpty else { return }
        let batch = takeBatch()
        isCommitting = true
        metrics.batches.increment()
        let start = MonotonicTime.now
        journal.commit(JournalBatch(fence: fence, entries: batch.map(\.entry))) { [self] result in
            isCommitting = false
            load.commitTook(MonotonicTime.now - start)
            finish(batch, result)
            commitNext()
        }
    }

    private func takeBatch() -> [(entry: JournalEntry, completion: Completion)] {
        var rows = 0
        var count = 0
        while count < waiting.count, rows < Self.batchRows {
            rows += waiting[count].entry.messages.count + waiting[count].entry.positions.count
            count += 1
        }
        if count == waiting.count {
            defer { waiting = [] }
            return waiting
        }
        let batch = Array(waiting[..<count])
        waiting.removeFirst(count)
        return batch
    }

    private func finish(
        _ batch: [(entry: JournalEntry, completion: Completion)], _ result: Result<[JournalOutcome], StoreError>
    ) {
        switch result {
        case .success(let outcomes):
            for (item, outcome) in zip(batch, outcomes) {
                if outcome == .refused { metrics.refusals.increment() }
                item.completion(.success(outcome))
            }
        case .failure(let error):
            metrics.failures.increment()
            for item in batch { item.completion(.failure(error)) }
            if error.code == .fenced { onFenced() }
        }
    }
}

/// What the group commit of a node counts; the journal itself counts rows, conflicts, refusals by the fence and times.
public struct JournalMetrics: Sendable {
    let batches: Counter
    let refusals: Counter
    let failures: Counter

    public init(_ metrics: Metrics) {
        batches = metrics.counter("roost_journal_batches_total", help: "Commits of the journal.")
        refusals = metrics.counter("roost_journal_refusals_total", help: "Entries that the database cannot store.")
        failures = metrics.counter(
            "roost_journal_failures_total", help: "Commits that were refused, failed, or whose outcome is unknown.")
    }
}

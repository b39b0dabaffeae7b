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
    let fence: JournalFence

    private var waiting: [(entry: JournalEntry, completion: Completion)] = []
    private var isCommitting = false
    private var isScheduled = false

    init(
        journal: any Journal, fence: JournalFence, loop: EventLoop, metrics: JournalMetrics, onFenced: @escaping () -> Void
    ) {
        self.journal = journal
        self.fence = fence
        self.loop = loop
        self.metrics = metrics
        self.onFenced = onFenced
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
        let began = MonotonicTime.now
        metrics.batches.increment()
        journal.commit(JournalBatch(fence: fence, entries: batch.map(\.entry))) { [self] result in
            isCommitting = false
            metrics.commitSeconds.observe(MonotonicTime.now - began)
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
                switch outcome {
                case .committed: metrics.messages.increment(by: item.entry.messages.count)
                case .conflict: metrics.conflicts.increment()
                case .refused: metrics.refusals.increment()
                }
                item.completion(.success(outcome))
            }
        case .failure(let error):
            switch error.code {
            case .fenced: metrics.fenceRefusals.increment()
            case .unavailable, .conflict, .badCursor, .failed: metrics.failures.increment()
            }
            for item in batch { item.completion(.failure(error)) }
            if error.code == .fenced { onFenced() }
        }
    }
}

/// What the journals of a node count.
public struct JournalMetrics: Sendable {
    let batches: Counter
    let messages: Counter
    let conflicts: Counter
    let refusals: Counter
    let fenceRefusals: Counter
    let failures: Counter
    let commitSeconds: Histogram

    public init(_ metrics: Metrics) {
        batches = metrics.counter("roost_journal_batches_total", help: "Commits of the journal.")
        messages = metrics.counter("roost_journal_messages_total", help: "Messages made durable.")
        conflicts = metrics.counter(
            "roost_journal_conflicts_total", help: "Entries refused because their counter value or client id existed already.")
        refusals = metrics.counter("roost_journal_refusals_total", help: "Entries that the database cannot store.")
        fenceRefusals = metrics.counter(
            "roost_journal_fence_refusals_total", help: "Commits of a stale owner that the database refused.")
        failures = metrics.counter("roost_journal_failures_total", help: "Commits that failed or whose outcome is unknown.")
        commitSeconds = metrics.histogram(
            "roost_journal_commit_seconds", help: "Time from sending a batch to its answer.",
            buckets: .latency)
    }
}

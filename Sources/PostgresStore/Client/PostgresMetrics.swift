import Runtime

/// What the connections of a process count.
public final class PostgresMetrics: Sendable {
    let requests: Counter
    let connects: Counter
    let disconnects: Counter
    let refusals: Counter
    let waiting: Gauge
    let commitRows: Counter
    let commitSeconds: Histogram
    let batchRows: Histogram
    let fenced: Counter
    let conflicts: Counter
    let isolations: Counter

    public init(_ metrics: Metrics = Metrics()) {
        requests = metrics.counter("roost_postgres_requests_total", help: "Requests sent to the database")
        connects = metrics.counter("roost_postgres_connects_total", help: "Connections established")
        disconnects = metrics.counter("roost_postgres_disconnects_total", help: "Connections lost or not made")
        refusals = metrics.counter("roost_postgres_refusals_total", help: "Requests refused because too many were waiting")
        waiting = metrics.gauge("roost_postgres_waiting", help: "Requests waiting for a connection of the pool")
        commitRows = metrics.counter("roost_journal_rows_total", help: "Messages committed")
        commitSeconds = metrics.histogram("roost_journal_commit_seconds", help: "Time of a journal commit", buckets: .latency)
        batchRows = metrics.histogram("roost_journal_batch_rows", help: "Messages in a commit", buckets: .batch)
        fenced = metrics.counter("roost_journal_fenced_total", help: "Commits refused because the incarnation was declared dead")
        conflicts = metrics.counter(
            "roost_journal_conflicts_total", help: "Entries refused because their sequence or client id existed")
        isolations = metrics.counter(
            "roost_journal_isolations_total", help: "Batches done again without their conflicting entries")
    }
}

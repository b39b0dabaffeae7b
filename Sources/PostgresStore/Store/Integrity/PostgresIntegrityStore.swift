import Ports
import RoostModel

/// Looks through the stored data for what must not be, and mends what is certain. Made for `roostctl check`.
///
/// It goes by parts of a few hundred conversations, ten thousand messages or two megabytes of a table, each a statement of its own: a
/// cluster may be at work meanwhile, and nothing is locked for long. No message is ever deleted. Every damage is found that was there
/// before the check began and stays; one that comes meanwhile may be.
public struct PostgresIntegrityStore: Sendable {
    private let pool: PostgresPool
    private let conversationsAtOnce: Int
    private let messagesAtOnce: Int
    private let pagesAtOnce: Int64

    public init(pool: PostgresPool, conversationsAtOnce: Int = 100, messagesAtOnce: Int = 10_000) {
        self.pool = pool
        self.conversationsAtOnce = conversationsAtOnce
        self.messagesAtOnce = messagesAtOnce
        pagesAtOnce = 256
    }

    private static let shardWrong = IntegrityKind(
        code: "shardWrong", meaning: "a conversation or pin is filed under another shard than its own",
        remedy: "it is filed under its own")

    /// All that is looked for beside the cluster's tables, whose codes are those of `mend_cluster` in migrations/0008_integrity.sql and are
    /// all repaired.
    public static let kinds: [IntegrityKind] =
        [shardWrong] + (WholeChecks.all + ConversationChecks.all + MessageChecks.all + RowChecks.all.map(\.1)).map(\.kind)

    /// - Parameters:
    ///   - repair: whether to mend what is certain; else nothing is written.
    ///   - progress: told now and then how far it is.
    /// - Throws: ``StoreError``; what was repaired until then stays repaired.
    public func check(
        repair: Bool, progress: @Sendable (IntegrityReport) -> Void = { _ in }
    ) async throws(StoreError) -> IntegrityReport {
        var tally = IntegrityTally(repairs: repair)
        try await checkCluster(&tally)
        for check in WholeChecks.all { try await run(check, &tally) { _ in } }
        // Orphans first: the counts of members depend on them.
        for (table, check) in RowChecks.all { try await checkRows(of: table, check, &tally) }
        try await checkConversations(&tally, progress)
        try await checkMessages(&tally, progress)
        return tally.report
    }

    private func checkCluster(_ tally: inout IntegrityTally) async throws(StoreError) {
        let isDry = !tally.repairs
        for note in try await pool.query(Statements.mend, { $0.add(isDry) })[0].texts(0) {
            let words = note.split(separator: " ").map(String.init)
            guard words.count > 1, let count = Int64(words[1]) else { continue }
            tally.add(words[0], subjects: Array(words.dropFirst(2)), count: count, repaired: isDry ? 0 : count)
        }
        let pins = try await pool.query(Statements.pins)
        let wrong = pins.map { (ActorAddress(stored: $0.int16(0), $0.id(1)), Int($0.int16(2))) }
            .filter { $0.0.shard.number != $0.1 }.map(\.0)
        if wrong.isEmpty { return }
        if tally.repairs {
            _ = try await pool.query(Statements.refilePins) {
                $0.add(shorts: wrong.map(\.kind.stored))
                $0.add(ids: wrong.map(\.conversationID))
                $0.add(shorts: wrong.map { Int16($0.shard.number) })
            }
        }
        tally.add(
            Self.shardWrong.code, subjects: wrong.map { "actor/\($0.conversationID)" }, count: Int64(wrong.count),
            repaired: tally.repairs ? Int64(wrong.count) : 0)
    }

    private func checkRows(of table: String, _ check: IntegrityCheck, _ tally: inout IntegrityTally) async throws(StoreError) {
        let pages = try await pool.query(RowChecks.pages) { $0.add(table) }[0].int64(0)
        for first in stride(from: 0, to: pages, by: Int(pagesAtOnce)) {
            try await run(check, &tally) {
                $0.add("(\(first),0)")
                $0.add("(\(first + pagesAtOnce),0)")
            }
        }
    }

    private func checkConversations(
        _ tally: inout IntegrityTally, _ progress: (IntegrityReport) -> Void
    ) async throws(StoreError) {
        var last: ConversationID?
        while true {
            let (after, limit) = (last, Int64(conversationsAtOnce))
            let rows = try await pool.query(Statements.conversations) {
                $0.add(after)
                $0.add(limit)
            }
            let ids: [ConversationID] = rows.map { $0.id(0) }
            guard let end = ids.last else { return }
            let wrong = rows.map { ($0.id(0) as ConversationID, Int($0.int16(1))) }
                .filter { ShardID(of: $0.0).number != $0.1 }.map(\.0)
            if !wrong.isEmpty {
                if tally.repairs {
                    _ = try await pool.query(Statements.refile) {
                        $0.add(ids: wrong)
                        $0.add(shorts: wrong.map { Int16(ShardID(of: $0).number) })
                    }
                }
                tally.add(
                    Self.shardWrong.code, subjects: wrong.map { "conversation/\($0)" }, count: Int64(wrong.count),
                    repaired: tally.repairs ? Int64(wrong.count) : 0)
            }
            for check in ConversationChecks.all { try await run(check, &tally) { $0.add(ids: ids) } }
            tally.report.conversations += Int64(ids.count)
            progress(tally.report)
            last = end
        }
    }

    /// Each part begins with the last row of the one before, to see what is missing between them.
    private func checkMessages(_ tally: inout IntegrityTally, _ progress: (IntegrityReport) -> Void) async throws(StoreError) {
        var (conversation, seq) = (ConversationID.none, Int64.min)
        while true {
            let (firstID, firstSeq, limit) = (conversation, seq, Int64(messagesAtOnce))
            let rows = try await pool.query(MessageChecks.end) {
                $0.add(firstID)
                $0.add(firstSeq)
                $0.add(limit)
            }
            guard let end = rows.first else { return }
            (conversation, seq) = (end.id(0), end.int64(1))
            let isFirst = firstSeq == .min
            if !isFirst, end.int64(2) == 1 { return }
            let (lastID, lastSeq) = (conversation, seq)
            for check in MessageChecks.all {
                try await run(check, &tally) {
                    $0.add(firstID)
                    $0.add(firstSeq)
                    $0.add(lastID)
                    $0.add(lastSeq)
                }
            }
            tally.report.messages += end.int64(2) - (isFirst ? 0 : 1)
            progress(tally.report)
            if end.int64(2) < limit { return }
        }
    }

    private func run(
        _ check: IntegrityCheck, _ tally: inout IntegrityTally, _ fill: (inout PostgresParameters) -> Void
    ) async throws(StoreError) {
        let found = try await pool.query(check.find, fill).map { $0.text(0) }
        if found.isEmpty { return }
        var rest = found.count
        if tally.repairs, !check.repair.isEmpty {
            _ = try await pool.transaction(check.repair.map { PostgresCommand($0, parameters(fill, of: $0)) })
            rest = min(rest, try await pool.query(check.find, fill).count)
        }
        tally.add(check.kind.code, subjects: found, count: Int64(found.count), repaired: Int64(found.count - rest))
    }

    /// A lock of the one row of the cluster takes none.
    private func parameters(
        _ fill: (inout PostgresParameters) -> Void, of statement: PostgresStatement
    ) -> PostgresParameters {
        var parameters = PostgresParameters()
        if statement.text.contains("$1") { fill(&parameters) }
        return parameters
    }

    private enum Statements {
        static let mend = PostgresStatement("check cluster", "SELECT mend_cluster($1::boolean)")
        static let conversations = PostgresStatement(
            "check conversations",
            """
            SELECT id, shard FROM conversations WHERE id > COALESCE($1::uuid, \(PostgresStatement.noID)) ORDER BY id LIMIT $2::bigint
            """)
        static let refile = PostgresStatement(
            "refile conversations",
            "UPDATE conversations c SET shard = w.shard FROM unnest($1::uuid[], $2::smallint[]) w(id, shard) WHERE c.id = w.id")
        static let pins = PostgresStatement("check pins", "SELECT kind, id, shard FROM actor_pins WHERE kind IN (0, 1)")
        /// The view's version rises, so that nodes hear of it.
        static let refilePins = PostgresStatement(
            "refile pins",
            """
            WITH state AS (UPDATE cluster_state SET version = version + 1)
            UPDATE actor_pins p SET shard = w.shard FROM unnest($1::smallint[], $2::uuid[], $3::smallint[]) w(kind, id, shard)
            WHERE p.kind = w.kind AND p.id = w.id
            """)
    }
}

/// What has been found so far.
struct IntegrityTally {
    let repairs: Bool
    var report = IntegrityReport()

    init(repairs: Bool) { self.repairs = repairs }

    mutating func add(_ code: String, subjects: [String], count: Int64, repaired: Int64) {
        if let index = report.findings.firstIndex(where: { $0.code == code }) {
            let room = max(0, IntegrityFinding.subjectLimit - report.findings[index].subjects.count)
            report.findings[index].subjects += subjects.prefix(room)
            report.findings[index].count += count
            report.findings[index].repaired += repaired
        } else {
            let first = Array(subjects.prefix(IntegrityFinding.subjectLimit))
            report.findings.append(IntegrityFinding(code: code, subjects: first, count: count, repaired: repaired))
        }
    }
}

import PostgresStore

/// Explains every hot query on a filled database, as the stores' sessions would plan it.
public struct PlanCheck {
    public struct Finding: Sendable {
        let query: HotQuery
        /// Of a usual user, then of a busy one; each planned for any parameters, then (but for the journal) for those at hand.
        public let plans: [(label: String, plan: QueryPlan)]
        /// Scans of whole tables by functions that the statement calls, which plans do not show.
        let innerScans: [String]
        let leading: [String: String]

        /// What must not be.
        public var faults: [String] {
            plans.flatMap { label, plan in
                plan.faults(growing: PlanCheck.growing, leading: leading).map { "\(query.title) (\(label)): \($0)" }
            } + innerScans.map { "\(query.title): a function reads all of \($0)" }
        }
    }

    /// Tables that grow with people and what they say.
    static let growing: Set<String> = [
        "users", "user_words", "devices", "refresh_tokens", "mail_tokens", "push_addresses", "contacts", "blocks",
        "conversations",
        "members", "positions", "messages", "channel_words", "departures", "reactions", "mentions", "hidden", "media",
        "message_words",
    ]

    private let database: PlainDatabase
    private let samples: [(label: String, sample: PlanSample)]
    /// The first column of each ordered index.
    private let leading: [String: String]

    public init(url: String) throws {
        database = try PlainDatabase(url)
        let indexes = try database.run(
            """
            SELECT i.indexrelid::regclass, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
            JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree'
            JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
            """)
        leading = Dictionary(
            uniqueKeysWithValues: indexes.compactMap { row in row[0].flatMap { name in row[1].map { (name, $0) } } })
        samples = [
            ("usual", try PlanSample.user(at: 0.5, in: database)), ("busy", try PlanSample.user(at: 0.999, in: database)),
        ]
    }

    public func run() throws -> [Finding] {
        try database.run(StatementCatalogue.pooledSettings)
        let pooled = try HotQuery.pooled.map { query in
            try finding(query, StatementCatalogue.pooled, modes: ["force_generic_plan", "force_custom_plan"])
        }
        try database.run("DEALLOCATE ALL; " + StatementCatalogue.journalSettings)
        let journal = try HotQuery.journal.map { query in
            try finding(query, StatementCatalogue.journal, modes: ["force_generic_plan"])
        }
        return pooled + journal
    }

    private func finding(_ query: HotQuery, _ catalogue: [String: String], modes: [String]) throws -> Finding {
        guard let text = catalogue[query.name] else {
            throw PlainDatabase.Fault(description: "no statement is called \(query.name)")
        }
        var plans: [(String, QueryPlan)] = []
        var inner: Set<String> = []
        for (label, sample) in samples {
            for mode in modes {
                try database.run("DEALLOCATE ALL; SET plan_cache_mode = \(mode); PREPARE hot AS \(text)")
                let kind = mode == "force_generic_plan" ? label : "\(label), custom"
                let (plan, scanned) = try explain(query.parameters(sample))
                plans.append((kind, plan))
                inner.formUnion(scanned)
            }
        }
        return Finding(query: query, plans: plans, innerScans: inner.sorted(), leading: leading)
    }

    /// Twice, for the second to find its pages in memory; whatever it writes is undone.
    private func explain(_ parameters: [String]) throws -> (QueryPlan, scanned: [String]) {
        try database.run("BEGIN")
        defer { _ = try? database.run("ROLLBACK") }
        try database.run("INSERT INTO node_fences VALUES (\(HotQuery.nobody), 0, true)")
        let before = try scans()
        let execute = "EXECUTE hot\(parameters.isEmpty ? "" : "(\(parameters.joined(separator: ", ")))")"
        try database.run("SAVEPOINT first; EXPLAIN (ANALYZE) \(execute)")
        try database.run("ROLLBACK TO first")
        let rows = try database.run("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) \(execute)")
        guard let json = rows.first?[0] else { throw PlainDatabase.Fault(description: "no plan") }
        let scanned = try scans().filter { Self.growing.contains($0.key) && $0.value > before[$0.key, default: 0] }
        return (try QueryPlan(json: json), scanned.keys.sorted())
    }

    /// How often each table was read whole, in this transaction.
    private func scans() throws -> [String: Int] {
        let rows = try database.run("SELECT relname, seq_scan FROM pg_stat_xact_user_tables WHERE seq_scan > 0")
        return Dictionary(uniqueKeysWithValues: rows.map { ($0[0] ?? "", Int($0[1] ?? "") ?? 0) })
    }
}

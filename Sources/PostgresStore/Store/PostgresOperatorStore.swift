import Ports
import RoostModel

/// Operators' view of users, and the audit, in PostgreSQL.
public struct PostgresOperatorStore: OperatorStore {
    private let pool: PostgresPool

    public init(pool: PostgresPool) { self.pool = pool }

    public func accounts(query: String?, cursor: String?, limit: Int) async throws(StoreError) -> Page<AccountRecord> {
        var before: UserID?
        if let cursor {
            var reader = try CursorReader(cursor, .operatorUsers)
            before = UserID(high: try reader.integer(), low: try reader.integer())
            try reader.end()
        }
        let statement = query == nil ? OperatorStatements.accounts : OperatorStatements.search
        let rows = try await pool.query(statement) {
            $0.add(before)
            $0.add(Int64(limit + 1))
            guard let query else { return }
            $0.add(UserID(query))
            let email = query.lowercased()
            $0.add(email)
            $0.add(email.afterAllWithPrefix)
            let name = NameFolding.fold(query)
            // Nothing but punctuation is no one's name.
            $0.add(name.isEmpty ? nil : name)
            $0.add(name.afterAllWithPrefix)
        }
        var records = rows.map { row in
            AccountRecord(
                user: User(row), suspendedAt: row.optional(User.columnCount) { $0.time },
                deletedAt: row.optional(User.columnCount + 1) { $0.time },
                lastSeenAt: row.optional(User.columnCount + 2) { $0.time })
        }
        guard records.count > limit else { return Page(items: records, nextCursor: nil) }
        records.removeLast()
        var writer = CursorWriter(.operatorUsers)
        writer.write(records[limit - 1].user.id.high)
        writer.write(records[limit - 1].user.id.low)
        return Page(items: records, nextCursor: writer.text)
    }

    public func moderate(
        _ user: UserID, _ act: Moderation, by name: String, at time: Timestamp, claim: Duration
    ) async throws(StoreError) -> [DeviceID]? {
        let rows = try await pool.query(OperatorStatements.moderate) {
            $0.add(user)
            $0.add(act.rawValue)
            $0.add(name)
            $0.add(time)
            $0.add(interval: claim)
        }
        return rows[0].isNull(0) ? nil : rows[0].ids(0)
    }

    public func note(_ action: String, subject: String, by name: String, at time: Timestamp) async throws(StoreError) {
        _ = try await pool.query(OperatorStatements.note) {
            $0.add(time)
            $0.add(name)
            $0.add(action)
            $0.add(subject)
        }
    }

    public func exists(_ actor: ActorAddress) async throws(StoreError) -> Bool {
        let statement =
            switch actor.kind {
            case .conversation: OperatorStatements.conversationExists
            case .presence: OperatorStatements.userExists
            }
        return try await pool.query(statement) { $0.add(actor.conversationID) }[0].bool(0)
    }

    public func audit(cursor: String?, limit: Int) async throws(StoreError) -> Page<AuditEntry> {
        var before = Int64.max
        if let cursor {
            var reader = try CursorReader(cursor, .audit)
            before = try reader.integer()
            try reader.end()
        }
        let rows = try await pool.query(OperatorStatements.audit) {
            $0.add(before)
            $0.add(Int64(limit + 1))
        }
        var entries = rows.map { row in
            AuditEntry(
                number: row.int64(0), at: row.time(1), name: row.text(2), action: row.text(3), subject: row.text(4))
        }
        guard entries.count > limit else { return Page(items: entries, nextCursor: nil) }
        entries.removeLast()
        var writer = CursorWriter(.audit)
        writer.write(entries[limit - 1].number)
        return Page(items: entries, nextCursor: writer.text)
    }
}

extension String {
    /// In the order of bytes every text that begins with this one lies before it.
    fileprivate var afterAllWithPrefix: String { self + "\u{10FFFF}" }
}

enum OperatorStatements {
    private static let columns = "\(User.columns("u")), u.suspended_at, u.deleted_at, u.last_seen_at"

    static let accounts = PostgresStatement(
        "operator accounts",
        """
        SELECT \(columns) FROM users u WHERE ($1::uuid IS NULL OR u.id < $1::uuid) ORDER BY u.id DESC LIMIT $2::bigint
        """)

    /// Each way of finding is a range of an index.
    static let search = PostgresStatement(
        "operator search",
        """
        WITH found AS (
            SELECT $3::uuid AS id WHERE $3::uuid IS NOT NULL
            UNION SELECT e.id FROM users e WHERE e.email >= $4::text COLLATE "C" AND e.email < $5::text COLLATE "C"
            UNION SELECT w.user_id FROM user_words w
                WHERE w.folded >= $6::text COLLATE "C" AND w.folded < $7::text COLLATE "C"
        )
        SELECT \(columns) FROM found f JOIN users u ON u.id = f.id
        WHERE $1::uuid IS NULL OR u.id < $1::uuid ORDER BY u.id DESC LIMIT $2::bigint
        """)

    static let conversationExists = PostgresStatement(
        "conversation exists", "SELECT EXISTS (SELECT FROM conversations WHERE id = $1::uuid)")
    static let userExists = PostgresStatement(
        "user exists", "SELECT EXISTS (SELECT FROM users WHERE id = $1::uuid AND deleted_at IS NULL)")

    static let moderate = PostgresStatement(
        "moderate", "SELECT moderate_user($1::uuid, $2::text, $3::text, $4::timestamptz, $5::interval)")

    static let note = PostgresStatement(
        "note",
        "INSERT INTO audit (at, operator, action, subject) VALUES ($1::timestamptz, $2::text, $3::text, $4::text)")

    static let audit = PostgresStatement(
        "audit",
        "SELECT id, at, operator, action, subject FROM audit WHERE id < $1::bigint ORDER BY id DESC LIMIT $2::bigint")
}

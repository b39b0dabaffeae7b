import Ports
import RoostModel

/// The outbox of mails in PostgreSQL, by the database's clock.
public struct PostgresMailOutbox: MailOutbox {
    private let pool: PostgresPool

    public init(pool: PostgresPool) { self.pool = pool }

    public func queue(_ kind: MailKind, to recipient: String, token: String) async throws(StoreError) {
        _ = try await pool.query(Statements.queue) {
            $0.add(recipient)
            $0.add(kind.rawValue)
            $0.add(token)
        }
    }

    public func take(limit: Int, lease: Duration) async throws(StoreError) -> [QueuedMail] {
        let rows = try await pool.query(Statements.take) {
            $0.add(Int64(limit))
            $0.add(interval: lease)
            // What a newer release has queued is left to it.
            $0.add(shorts: MailKind.allCases.map(\.rawValue))
        }
        return rows.map { row in
            guard let kind = MailKind(rawValue: row.int16(2)) else { preconditionFailure("a kind that was not asked for") }
            return QueuedMail(
                id: row.int64(0), recipient: row.text(1), kind: kind, token: row.text(3), attempts: Int(row.int64(4)))
        }
    }

    public func remove(_ id: Int64) async throws(StoreError) {
        _ = try await pool.query(Statements.remove) { $0.add(id) }
    }

    public func postpone(_ id: Int64, by delay: Duration) async throws(StoreError) {
        _ = try await pool.query(Statements.postpone) {
            $0.add(id)
            $0.add(interval: delay)
        }
    }

    public func expire(age: Duration) async throws(StoreError) -> (expired: Int, waiting: Int) {
        let expired = PostgresCommand(Statements.expire) { $0.add(interval: age) }
        let results = try await pool.transaction([expired, PostgresCommand(Statements.count)])
        return (results[0].count, Int(results[1][0].int64(0)))
    }
}

private enum Statements {
    static let queue = PostgresStatement("queue mail", "SELECT queue_mail($1::text, $2::smallint, $3::text)::text")

    static let take = PostgresStatement(
        "take mail",
        """
        WITH due AS (
            SELECT id AS due_id, next_attempt_at AS due_at FROM mail_outbox
            WHERE next_attempt_at <= clock_timestamp() AND kind = ANY($3::smallint[])
            ORDER BY next_attempt_at LIMIT $1::bigint FOR UPDATE SKIP LOCKED
        ), taken AS (
            UPDATE mail_outbox SET attempts = attempts + 1, next_attempt_at = clock_timestamp() + $2::interval
            FROM due WHERE id = due_id RETURNING id, recipient, kind, token, attempts::bigint, due_at
        )
        SELECT * FROM taken ORDER BY due_at, id
        """)

    static let remove = PostgresStatement("remove mail", "DELETE FROM mail_outbox WHERE id = $1::bigint")

    static let postpone = PostgresStatement(
        "postpone mail",
        "UPDATE mail_outbox SET next_attempt_at = clock_timestamp() + $2::interval WHERE id = $1::bigint")

    static let expire = PostgresStatement(
        "expire mail", "DELETE FROM mail_outbox WHERE created_at <= clock_timestamp() - $1::interval RETURNING id")

    static let count = PostgresStatement(
        "count mail", "SELECT count(*) FROM (SELECT 1 FROM mail_outbox ORDER BY next_attempt_at LIMIT 10000) rows")
}

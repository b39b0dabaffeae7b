import Ports
import RoostModel

/// Deletions of accounts in PostgreSQL.
public struct PostgresDeletionStore: DeletionStore {
    private let pool: PostgresPool

    public init(pool: PostgresPool) { self.pool = pool }

    public func eraseAccount(
        _ user: UserID, at time: Timestamp, claim: Duration
    ) async throws(StoreError) -> [DeviceID]? {
        let rows = try await pool.query(DeletionStatements.erase) {
            $0.add(user)
            $0.add(time)
            $0.add(interval: claim)
        }
        return rows[0].isNull(0) ? nil : rows[0].ids(0)
    }

    public func claimDeletion(for claim: Duration) async throws(StoreError) -> UserID? {
        try await pool.query(DeletionStatements.claim) { $0.add(interval: claim) }.first?.id(0)
    }

    public func extendClaim(of user: UserID, by claim: Duration) async throws(StoreError) {
        _ = try await pool.query(DeletionStatements.extend) {
            $0.add(user)
            $0.add(interval: claim)
        }
    }

    public func closeDirect(_ conversation: ConversationID) async throws(StoreError) -> Bool {
        try await pool.query(DeletionStatements.closeDirect) { $0.add(conversation) }.count > 0
    }

    public func eraseTraces(of user: UserID, in conversation: ConversationID) async throws(StoreError) {
        // One statement, and so one row or a few, a transaction: the journal changes the same tables in batches, and whoever holds
        // little can hardly stand in a circle of waiters.
        for statement in DeletionStatements.traces {
            _ = try await pool.query(statement) {
                $0.add(user)
                $0.add(conversation)
            }
        }
    }

    public func eraseLeftTraces(of user: UserID) async throws(StoreError) {
        let left = try await pool.query(DeletionStatements.departures) { $0.add(user) }
        for row in 0..<left.count { try await eraseTraces(of: user, in: left[row].id(0)) }
    }

    public func finishDeletion(of user: UserID) async throws(StoreError) {
        _ = try await pool.query(DeletionStatements.finish) { $0.add(user) }
    }

    public func purgeMailTokens(at time: Timestamp) async throws(StoreError) {
        _ = try await pool.query(DeletionStatements.purge) { $0.add(time) }
    }
}

enum DeletionStatements {
    static let erase = PostgresStatement(
        "erase account", "SELECT erase_account($1::uuid, $2::timestamptz, $3::interval)")

    static let claim = PostgresStatement(
        "claim deletion",
        """
        UPDATE user_deletions SET claimed_until = clock_timestamp() + $1::interval
        WHERE user_id = (
            SELECT user_id FROM user_deletions WHERE claimed_until <= clock_timestamp()
            ORDER BY claimed_until LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING user_id
        """)

    static let extend = PostgresStatement(
        "extend deletion",
        "UPDATE user_deletions SET claimed_until = clock_timestamp() + $2::interval WHERE user_id = $1::uuid")

    static let closeDirect = PostgresStatement(
        "close direct",
        """
        UPDATE conversations SET is_read_only = true, changed_xid = pg_current_xact_id()
        WHERE id = $1::uuid AND kind = 0 AND NOT is_read_only RETURNING id
        """)

    static let traces = [
        PostgresStatement(
            "erase positions", "DELETE FROM positions WHERE conversation_id = $2::uuid AND user_id = $1::uuid"),
        PostgresStatement(
            "erase member's positions",
            """
            UPDATE members SET read_seq = 0, delivered_seq = 0, changed_xid = pg_current_xact_id()
            WHERE conversation_id = $2::uuid AND user_id = $1::uuid
            """),
        PostgresStatement(
            "erase reactions", "DELETE FROM reactions WHERE conversation_id = $2::uuid AND user_id = $1::uuid"),
        PostgresStatement("erase hidden", "DELETE FROM hidden WHERE conversation_id = $2::uuid AND user_id = $1::uuid"),
        PostgresStatement("erase mentions", "DELETE FROM mentions WHERE conversation_id = $2::uuid AND user_id = $1::uuid"),
    ]

    /// Conversations that the user left before; those of reactions are among them, or still theirs.
    static let departures = PostgresStatement(
        "departures of deleted", "SELECT conversation_id FROM departures WHERE user_id = $1::uuid")

    static let finish = PostgresStatement("finish deletion", "DELETE FROM user_deletions WHERE user_id = $1::uuid")

    static let purge = PostgresStatement("purge mail tokens", "DELETE FROM mail_tokens WHERE expires_at <= $1::timestamptz")
}

import Ports
import RoostModel

// Passwords and the links in mails; the work is done in functions of migrations/0006_accounts.sql.

extension PostgresAccountStore {
    public func passwordHash(of user: UserID) async throws(StoreError) -> String? {
        try await pool.query(PasswordStatements.hash) { $0.add(user) }.first.map { $0.text(0) }
    }

    public func linkGuest(_ link: GuestLink) async throws(StoreError) -> User? {
        let command = PostgresCommand(PasswordStatements.link) {
            $0.add(link.user)
            $0.add(link.device)
            $0.add(link.email)
            $0.add(link.passwordHash)
            $0.add(link.refreshToken.bytes)
            $0.add(link.refreshExpiresAt)
            $0.add(link.verification)
        }
        let rows = try await pool.transaction([
            command, PostgresCommand(AccountStatements.users) { $0.add(ids: [link.user]) },
        ])
        return rows[0][0].bool(0) ? rows[1].first.map { User($0) } : nil
    }

    public func requestPasswordReset(forEmail email: String, token: MailToken) async throws(StoreError) {
        _ = try await pool.query(PasswordStatements.requestReset) {
            $0.add(email)
            $0.add(token)
        }
    }

    public func isResetToken(_ token: TokenHash, at time: Timestamp) async throws(StoreError) -> Bool {
        let rows = try await pool.query(PasswordStatements.isResetToken) {
            $0.add(token.bytes)
            $0.add(time)
        }
        return rows.count > 0
    }

    public func resetPassword(
        token: TokenHash, passwordHash: String, at time: Timestamp
    ) async throws(StoreError) -> [DeviceID]? {
        let rows = try await pool.query(PasswordStatements.reset) {
            $0.add(token.bytes)
            $0.add(passwordHash)
            $0.add(time)
        }
        return rows[0].isNull(0) ? nil : rows[0].ids(0)
    }

    public func changePassword(
        of user: UserID, expecting: String, to passwordHash: String, keeping device: DeviceID
    ) async throws(StoreError) -> [DeviceID]? {
        let rows = try await pool.query(PasswordStatements.change) {
            $0.add(user)
            $0.add(expecting)
            $0.add(passwordHash)
            $0.add(device)
        }
        return rows[0].isNull(0) ? nil : rows[0].ids(0)
    }

    public func verifyEmail(token: TokenHash, at time: Timestamp) async throws(StoreError) -> UserID? {
        let rows = try await pool.query(PasswordStatements.verify) {
            $0.add(token.bytes)
            $0.add(time)
        }
        return rows.first?.id(0)
    }

    public func requestVerification(of user: UserID, token: MailToken) async throws(StoreError) {
        _ = try await pool.query(PasswordStatements.requestVerification) {
            $0.add(user)
            $0.add(token)
        }
    }

    // MARK: Push addresses

    public func setPushAddress(
        _ address: PushAddress, of device: DeviceID, ownedBy user: UserID
    ) async throws(StoreError) -> Bool {
        let rows = try await pool.query(PasswordStatements.setPushAddress) {
            $0.add(user)
            $0.add(device)
            $0.add(address.provider.stored)
            $0.add(address.token)
            $0.add(address.topic)
            $0.add(address.isSandbox)
            $0.add(address.keys?.p256dh)
            $0.add(address.keys?.auth)
        }
        return rows[0].bool(0)
    }

    public func removePushAddress(of device: DeviceID, ownedBy user: UserID) async throws(StoreError) {
        _ = try await pool.query(PasswordStatements.removePushAddress) {
            $0.add(device)
            $0.add(user)
        }
    }

    public func pushAddresses(of user: UserID) async throws(StoreError) -> [DeviceID: PushAddress] {
        let rows = try await pool.query(PasswordStatements.pushAddresses) { $0.add(user) }
        let pairs = rows.map { row in
            var address = PushAddress(provider: PushProvider(stored: row.int16(1)), token: row.text(2))
            address.topic = row.optional(3) { $0.text }
            address.isSandbox = row.bool(4)
            if let p256dh = row.optional(5, { $0.text }), let auth = row.optional(6, { $0.text }) {
                address.keys = PushAddress.Keys(p256dh: p256dh, auth: auth)
            }
            return (row.id(0) as DeviceID, address)
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }
}

extension PostgresParameters {
    /// Hash, expiry, text.
    mutating func add(_ token: MailToken) {
        add(token.hash.bytes)
        add(token.expiresAt)
        add(token.text)
    }
}

enum PasswordStatements {
    static let sendVerification = PostgresStatement(
        "send verification", "SELECT send_mail_token($1::uuid, $2::text, 1::smallint, $3::bytea, $4::timestamptz, $5::text)")

    static let hash = PostgresStatement(
        "password hash",
        "SELECT password_hash FROM users WHERE id = $1::uuid AND password_hash IS NOT NULL AND deleted_at IS NULL")

    static let link = PostgresStatement(
        "link guest",
        """
        SELECT link_guest($1::uuid, $2::uuid, $3::text, $4::text, $5::bytea, $6::timestamptz, $7::bytea, $8::timestamptz, $9::text)
        """)

    static let requestReset = PostgresStatement(
        "request reset", "SELECT request_password_reset($1::text, $2::bytea, $3::timestamptz, $4::text)")

    static let isResetToken = PostgresStatement(
        "is reset token",
        """
        SELECT 1 FROM mail_tokens t JOIN users u ON u.id = t.user_id
        WHERE t.hash = $1::bytea AND t.kind = 2 AND t.expires_at > $2::timestamptz
            AND u.suspended_at IS NULL AND u.deleted_at IS NULL
        """)

    static let reset = PostgresStatement("reset password", "SELECT reset_password($1::bytea, $2::text, $3::timestamptz)")

    static let change = PostgresStatement(
        "change password", "SELECT change_password($1::uuid, $2::text, $3::text, $4::uuid)")

    static let verify = PostgresStatement(
        "verify email",
        """
        UPDATE users u SET email_verified = true FROM mail_tokens t
        WHERE t.hash = $1::bytea AND t.kind = 1 AND t.expires_at > $2::timestamptz AND u.id = t.user_id AND u.deleted_at IS NULL
        RETURNING u.id
        """)

    static let requestVerification = PostgresStatement(
        "request verification", "SELECT request_verification($1::uuid, $2::bytea, $3::timestamptz, $4::text)")

    static let setPushAddress = PostgresStatement(
        "set push address",
        """
        SELECT set_push_address($1::uuid, $2::uuid, $3::smallint, $4::text, $5::text, $6::boolean, $7::text, $8::text)
        """)

    static let removePushAddress = PostgresStatement(
        "remove push address",
        """
        DELETE FROM push_addresses p USING devices d
        WHERE p.device_id = $1::uuid AND d.id = p.device_id AND d.user_id = $2::uuid
        """)

    static let pushAddresses = PostgresStatement(
        "push addresses",
        """
        SELECT p.device_id, p.provider, p.token, p.topic, p.is_sandbox, p.p256dh, p.auth
        FROM devices d JOIN push_addresses p ON p.device_id = d.id WHERE d.user_id = $1::uuid AND d.revoked_at IS NULL
        """)
}

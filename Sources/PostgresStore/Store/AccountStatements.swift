import RoostModel

extension User {
    /// The columns that ``init(_:from:)`` reads, of a table alias.
    static func columns(_ alias: String) -> String {
        [
            "id", "email", "email_verified", "display_name", "first_name", "last_name", "about", "phone", "profile_completed",
            "share_last_seen", "share_read_receipts", "directory_visible", "push_preview", "created_at",
        ].map { "\(alias).\($0)" }.joined(separator: ", ")
            + ", \(alias).deleted_at IS NOT NULL, \(Media.column(of: "\(alias).photo_media_id"))"
    }

    static let columnCount = 16

    init(_ row: PostgresRow, from column: Int = 0) {
        var settings = UserSettings()
        settings.shareLastSeen = row.bool(column + 9)
        settings.shareReadReceipts = row.bool(column + 10)
        settings.directoryVisible = row.bool(column + 11)
        settings.pushPreview = row.bool(column + 12)
        self.init(
            id: row.id(column), email: row.optional(column + 1) { $0.text }, emailVerified: row.bool(column + 2),
            displayName: row.text(column + 3), firstName: row.optional(column + 4) { $0.text },
            lastName: row.optional(column + 5) { $0.text }, about: row.optional(column + 6) { $0.text },
            phone: row.optional(column + 7) { $0.text }, photo: row.record(column + 15).map { Media($0) },
            profileCompleted: row.bool(column + 8), settings: settings,
            createdAt: row.time(column + 13), isDeleted: row.bool(column + 14))
    }
}

enum AccountStatements {
    static let secret = PostgresStatement(
        "secret",
        """
        WITH made AS (
            INSERT INTO cluster_secrets (name, secret) VALUES ($1::text, $2::bytea) ON CONFLICT DO NOTHING RETURNING secret
        )
        SELECT secret FROM made UNION ALL SELECT secret FROM cluster_secrets WHERE name = $1::text LIMIT 1
        """)

    /// A device and its token, from seven parameters.
    private static func device(from first: Int) -> String {
        """
        device AS (
            INSERT INTO devices (id, user_id, name, platform, created_at, last_used_at)
            VALUES ($\(first)::uuid, $\(first + 1)::uuid, $\(first + 2)::text, $\(first + 3)::text, $\(first + 4)::timestamptz,
                $\(first + 4)::timestamptz)
        ), token AS (
            INSERT INTO refresh_tokens (hash, device_id, expires_at)
            VALUES ($\(first + 5)::bytea, $\(first)::uuid, $\(first + 6)::timestamptz)
        )
        """
    }

    static let createUser = PostgresStatement(
        "create user",
        """
        WITH account AS (
            INSERT INTO users (id, email, email_verified, password_hash, display_name, first_name, last_name, about, phone,
                profile_completed, share_last_seen, share_read_receipts, directory_visible, push_preview, created_at, folded_name)
            VALUES ($1::uuid, $2::text, $3::boolean, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::boolean,
                $11::boolean, $12::boolean, $13::boolean, $14::boolean, $15::timestamptz, $16::text)
        ), words AS (
            INSERT INTO user_words (folded, user_id, source)
            SELECT w.folded, $1::uuid, w.source FROM unnest($17::text[], $18::smallint[]) w(folded, source) ON CONFLICT DO NOTHING
        ), \(device(from: 19))
        SELECT 1
        """)

    static let logIn = PostgresStatement(
        "log in",
        "SELECT log_in($1::uuid, $2::text, $3::uuid, $4::text, $5::text, $6::timestamptz, $7::bytea, $8::timestamptz)")

    static let credentials = PostgresStatement(
        "credentials",
        """
        SELECT \(User.columns("u")), u.password_hash, u.suspended_at IS NOT NULL FROM users u
        WHERE u.email = $1::text COLLATE "C" AND u.password_hash IS NOT NULL AND u.deleted_at IS NULL
        """)

    static let users = PostgresStatement("users", "SELECT \(User.columns("u")) FROM users u WHERE u.id = ANY($1::uuid[])")

    /// A profile that was completed once stays so.
    static let update = PostgresStatement(
        "update user",
        """
        WITH changed AS (
            UPDATE users u SET
                display_name = COALESCE($2::text, display_name), folded_name = COALESCE($3::text, folded_name),
                first_name = CASE WHEN $4::boolean THEN $5::text ELSE first_name END,
                last_name = CASE WHEN $6::boolean THEN $7::text ELSE last_name END,
                phone = CASE WHEN $8::boolean THEN $9::text ELSE phone END,
                about = CASE WHEN $10::boolean THEN $11::text ELSE about END,
                share_last_seen = COALESCE($12::boolean, share_last_seen),
                share_read_receipts = COALESCE($13::boolean, share_read_receipts),
                directory_visible = COALESCE($14::boolean, directory_visible),
                push_preview = COALESCE($15::boolean, push_preview),
                profile_completed = profile_completed OR (
                    CASE WHEN $4::boolean THEN $5::text ELSE first_name END IS NOT NULL
                    AND CASE WHEN $6::boolean THEN $7::text ELSE last_name END IS NOT NULL
                    AND CASE WHEN $8::boolean THEN $9::text ELSE phone END IS NOT NULL
                    AND CASE WHEN $19::boolean THEN $20::uuid ELSE photo_media_id END IS NOT NULL),
                photo_media_id = CASE WHEN $19::boolean THEN $20::uuid ELSE photo_media_id END,
                changed_xid = pg_current_xact_id()
            WHERE id = $1::uuid AND deleted_at IS NULL
            RETURNING *
        ), cleared AS (
            DELETE FROM user_words w USING changed
            WHERE w.user_id = changed.id AND w.source = ANY($16::smallint[])
                AND NOT EXISTS (
                    SELECT FROM unnest($17::text[], $18::smallint[]) n(folded, source)
                    WHERE n.folded = w.folded AND n.source = w.source)
        ), words AS (
            INSERT INTO user_words (folded, user_id, source)
            SELECT n.folded, changed.id, n.source FROM changed, unnest($17::text[], $18::smallint[]) n(folded, source)
            ON CONFLICT DO NOTHING
        )
        SELECT \(User.columns("changed")) FROM changed
        """)

    private static let listed = """
        u.email IS NOT NULL AND u.deleted_at IS NULL AND u.directory_visible AND u.id <> $1::uuid
            AND (u.folded_name, u.id) > (COALESCE($2::text, '') COLLATE "C", COALESCE($3::uuid, \(PostgresStatement.noID)))
        """

    static let directory = PostgresStatement(
        "directory",
        "SELECT \(User.columns("u")), u.folded_name FROM users u WHERE \(listed) ORDER BY u.folded_name, u.id LIMIT $4::bigint")

    /// Where a word has more people than this, going through the directory finds a page of them sooner than sorting them all.
    private static let frequentWord = 20_000

    private static func found(_ condition: String) -> String {
        """
        (SELECT \(User.columns("u")), u.folded_name FROM users u
            WHERE \(condition) AND \(listed) ORDER BY u.folded_name, u.id LIMIT $4::bigint)
        """
    }

    static let directorySearch = PostgresStatement(
        "directory search",
        """
        WITH found AS MATERIALIZED (
            SELECT w.user_id FROM user_words w
            WHERE w.folded >= $5::text COLLATE "C" AND w.folded < $6::text COLLATE "C" LIMIT \(frequentWord)
        )
        \(found("(SELECT count(*) FROM found) < \(frequentWord) AND u.id = ANY(ARRAY(SELECT user_id FROM found))"))
        UNION ALL
        \(found("""
            (SELECT count(*) FROM found) = \(frequentWord) AND EXISTS (
                SELECT FROM user_words w
                WHERE w.user_id = u.id AND w.folded >= $5::text COLLATE "C" AND w.folded < $6::text COLLATE "C" OFFSET 0)
            """))
        """)

    static let visible = PostgresStatement(
        "visible",
        """
        SELECT u.id FROM users u
        WHERE u.id = ANY($1::uuid[]) AND (
            u.id = $2::uuid
            OR (u.email IS NOT NULL AND u.deleted_at IS NULL AND u.directory_visible)
            OR EXISTS (
                SELECT FROM members a JOIN members b ON b.conversation_id = a.conversation_id AND b.user_id = $2::uuid
                WHERE a.user_id = u.id)
            OR EXISTS (SELECT FROM contacts c WHERE c.owner_id = $2::uuid AND c.user_id = u.id))
        """)

    static let userWithEmail = PostgresStatement(
        "user with email",
        "SELECT \(User.columns("u")) FROM users u WHERE u.email = $1::text COLLATE \"C\" AND u.deleted_at IS NULL")

    static let members = PostgresStatement(
        "member ids", "SELECT user_id FROM members WHERE conversation_id = $1::uuid LIMIT $2::bigint")

    static let partners = PostgresStatement(
        "partners",
        """
        SELECT DISTINCT b.user_id FROM members a JOIN members b ON b.conversation_id = a.conversation_id
        WHERE a.user_id = $1::uuid AND b.user_id <> $1::uuid LIMIT $2::bigint
        """)

    static let lastSeen = PostgresStatement(
        "last seen", "SELECT id, last_seen_at FROM users WHERE id = ANY($1::uuid[]) AND last_seen_at IS NOT NULL")

    /// The rows are locked in the order of their ids before they are changed.
    static let recordLastSeen = PostgresStatement(
        "record last seen",
        """
        WITH locked AS (
            SELECT u.id, n.seen FROM users u JOIN unnest($1::uuid[], $2::timestamptz[]) n(id, seen) ON n.id = u.id
            WHERE u.deleted_at IS NULL ORDER BY u.id FOR NO KEY UPDATE OF u
        )
        UPDATE users u SET last_seen_at = GREATEST(u.last_seen_at, locked.seen) FROM locked WHERE u.id = locked.id
        """)

    static let rotate = PostgresStatement(
        "rotate",
        """
        SELECT r.outcome, r.device, \(User.columns("u"))
        FROM rotate_refresh_token($1::bytea, $2::bytea, $3::timestamptz, $4::timestamptz, $5::interval) r
        LEFT JOIN users u ON u.id = r.owner
        """)

    static let devices = PostgresStatement(
        "devices",
        """
        SELECT d.id, d.user_id, d.name, d.platform, d.created_at, d.last_used_at, p.provider
        FROM devices d LEFT JOIN push_addresses p ON p.device_id = d.id
        WHERE d.user_id = $1::uuid AND d.revoked_at IS NULL ORDER BY d.created_at, d.id
        """)

    static let revoke = PostgresStatement(
        "revoke",
        """
        UPDATE devices SET revoked_at = clock_timestamp()
        WHERE id = $1::uuid AND user_id = $2::uuid AND revoked_at IS NULL RETURNING id
        """)

    static let revocations = PostgresStatement(
        "revocations", "SELECT id FROM devices WHERE revoked_at >= $1::timestamptz ORDER BY revoked_at")
}

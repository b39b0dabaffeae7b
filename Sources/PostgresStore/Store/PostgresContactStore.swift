import Ports
import RoostModel

/// Contacts and blocks in PostgreSQL.
public struct PostgresContactStore: ContactStore {
    private let pool: PostgresPool

    public init(pool: PostgresPool) { self.pool = pool }

    public func contacts(of owner: UserID, cursor: String?, limit: Int) async throws(StoreError) -> Page<Contact> {
        let after = try AddedPosition(cursor, .contacts)
        let rows = try await pool.query(ContactStatements.contacts) {
            $0.add(owner)
            $0.add(after, limit: limit)
        }
        return AddedPosition.page(rows.map { Contact($0) }, limit: limit, .contacts) { ($0.createdAt, $0.user.id) }
    }

    public func addContact(_ contact: NewContact) async throws(StoreError) -> Contact? {
        let insertion = PostgresCommand(ContactStatements.add) {
            $0.add(contact.owner)
            $0.add(contact.user)
            $0.add(contact.isByEmail)
            $0.add(contact.nickname)
            $0.add(contact.photo?.id)
            $0.add(contact.createdAt)
        }
        return try await pool.transaction([insertion, one(contact.user, of: contact.owner)])[1].first.map { Contact($0) }
    }

    public func changeContact(
        _ user: UserID, of owner: UserID, _ change: ContactChange
    ) async throws(StoreError) -> Contact? {
        let update = PostgresCommand(ContactStatements.change) {
            $0.add(owner)
            $0.add(user)
            $0.add(change.nickname != nil)
            $0.add(change.nickname ?? nil)
            $0.add(change.photo != nil)
            $0.add((change.photo ?? nil)?.id)
        }
        return try await pool.transaction([update, one(user, of: owner)])[1].first.map { Contact($0) }
    }

    private func one(_ user: UserID, of owner: UserID) -> PostgresCommand {
        PostgresCommand(ContactStatements.contact) {
            $0.add(owner)
            $0.add(user)
        }
    }

    public func removeContact(_ user: UserID, of owner: UserID) async throws(StoreError) -> Bool {
        let rows = try await pool.query(ContactStatements.remove) {
            $0.add(owner)
            $0.add(user)
        }
        return rows.count > 0
    }

    // MARK: Blocks

    public func block(_ user: UserID, by blocker: UserID, at time: Timestamp) async throws(StoreError) {
        _ = try await pool.query(ContactStatements.block) {
            $0.add(blocker)
            $0.add(user)
            $0.add(time)
        }
    }

    public func unblock(_ user: UserID, by blocker: UserID) async throws(StoreError) {
        _ = try await pool.query(ContactStatements.unblock) {
            $0.add(blocker)
            $0.add(user)
        }
    }

    public func blocks(by blocker: UserID, cursor: String?, limit: Int) async throws(StoreError) -> Page<Block> {
        let after = try AddedPosition(cursor, .blocks)
        let rows = try await pool.query(ContactStatements.blocks) {
            $0.add(blocker)
            $0.add(after, limit: limit)
        }
        let blocks = rows.map { Block(user: User($0), createdAt: $0.time(User.columnCount)) }
        return AddedPosition.page(blocks, limit: limit, .blocks) { ($0.createdAt, $0.user.id) }
    }

    public func blocks(_ user: UserID, by blocker: UserID) async throws(StoreError) -> Bool {
        let rows = try await pool.query(ContactStatements.isBlocked) {
            $0.add(blocker)
            $0.add(user)
        }
        return rows.count > 0
    }

    public func blocked(_ ids: [UserID], with user: UserID) async throws(StoreError) -> Set<UserID> {
        if ids.isEmpty { return [] }
        let rows = try await pool.query(ContactStatements.blocked) {
            $0.add(user)
            $0.add(ids: ids)
        }
        return Set(rows.map { $0.id(0) })
    }
}

extension Contact {
    fileprivate init(_ row: PostgresRow) {
        let user = User(row)
        self.init(
            user: user, email: row.bool(User.columnCount) ? user.email : nil,
            nickname: row.optional(User.columnCount + 1) { $0.text },
            photo: row.record(User.columnCount + 2).map { Media($0) }, createdAt: row.time(User.columnCount + 3))
    }
}

extension PostgresParameters {
    /// Time, id and one more than the limit.
    fileprivate mutating func add(_ position: AddedPosition?, limit: Int) {
        add(position?.time)
        add(position?.id)
        add(Int64(limit + 1))
    }
}

enum ContactStatements {
    private static let selected = """
        SELECT \(User.columns("u")), c.by_email, c.nickname, \(Media.column(of: "c.photo_media_id")), c.created_at
        FROM contacts c JOIN users u ON u.id = c.user_id
        """

    static let contacts = PostgresStatement(
        "contacts",
        """
        \(selected) WHERE c.owner_id = $1::uuid
            AND (c.created_at, c.user_id) > (COALESCE($2::timestamptz, '-infinity'), COALESCE($3::uuid, \(PostgresStatement.noID)))
        ORDER BY c.created_at, c.user_id LIMIT $4::bigint
        """)

    static let contact = PostgresStatement(
        "contact", "\(selected) WHERE c.owner_id = $1::uuid AND c.user_id = $2::uuid")

    /// Both rows are held, in the order of ids: a deletion erases what it finds, and nothing may come after it.
    private static let both = """
        both_live AS (
            SELECT id FROM users WHERE id IN ($1::uuid, $2::uuid) AND deleted_at IS NULL ORDER BY id FOR SHARE
        )
        """

    static let add = PostgresStatement(
        "add contact",
        """
        WITH \(both)
        INSERT INTO contacts (owner_id, user_id, by_email, nickname, photo_media_id, created_at)
        SELECT $1::uuid, $2::uuid, $3::boolean, $4::text, $5::uuid, $6::timestamptz WHERE (SELECT count(*) FROM both_live) = 2
        """)

    static let change = PostgresStatement(
        "change contact",
        """
        UPDATE contacts SET
            nickname = CASE WHEN $3::boolean THEN $4::text ELSE nickname END,
            photo_media_id = CASE WHEN $5::boolean THEN $6::uuid ELSE photo_media_id END
        WHERE owner_id = $1::uuid AND user_id = $2::uuid
        """)

    static let remove = PostgresStatement(
        "remove contact", "DELETE FROM contacts WHERE owner_id = $1::uuid AND user_id = $2::uuid RETURNING user_id")

    static let block = PostgresStatement(
        "block",
        """
        WITH \(both)
        INSERT INTO blocks (blocker_id, blocked_id, created_at)
        SELECT $1::uuid, $2::uuid, $3::timestamptz WHERE (SELECT count(*) FROM both_live) = 2 ON CONFLICT DO NOTHING
        """)

    static let unblock = PostgresStatement(
        "unblock", "DELETE FROM blocks WHERE blocker_id = $1::uuid AND blocked_id = $2::uuid")

    static let blocks = PostgresStatement(
        "blocks",
        """
        SELECT \(User.columns("u")), b.created_at FROM blocks b JOIN users u ON u.id = b.blocked_id
        WHERE b.blocker_id = $1::uuid
            AND (b.created_at, b.blocked_id) > (COALESCE($2::timestamptz, '-infinity'), COALESCE($3::uuid, \(PostgresStatement.noID)))
        ORDER BY b.created_at, b.blocked_id LIMIT $4::bigint
        """)

    static let isBlocked = PostgresStatement(
        "is blocked", "SELECT 1 FROM blocks WHERE blocker_id = $1::uuid AND blocked_id = $2::uuid")

    static let blocked = PostgresStatement(
        "blocked",
        """
        SELECT blocked_id FROM blocks WHERE blocker_id = $1::uuid AND blocked_id = ANY($2::uuid[])
        UNION SELECT blocker_id FROM blocks WHERE blocked_id = $1::uuid AND blocker_id = ANY($2::uuid[])
        """)
}

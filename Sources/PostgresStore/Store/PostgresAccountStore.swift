import Ports
import RoostModel

/// Users, devices and tokens in PostgreSQL.
public struct PostgresAccountStore: AccountStore {
    let pool: PostgresPool

    public init(pool: PostgresPool) { self.pool = pool }

    public func clusterSecret(named name: String) async throws(StoreError) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        let candidate = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
        // A second round where another node's row was committed after this statement began.
        while true {
            let rows = try await pool.query(AccountStatements.secret) {
                $0.add(name)
                $0.add(candidate)
            }
            if let row = rows.first { return row.data(0) }
        }
    }

    // MARK: Users

    public func createUser(
        _ user: User, passwordHash: String?, device: NewDevice, verification: MailToken?
    ) async throws(StoreError) {
        let creation = PostgresCommand(AccountStatements.createUser) {
            $0.add(user.id)
            $0.add(user.email)
            $0.add(user.emailVerified)
            $0.add(passwordHash)
            $0.add(user.displayName)
            $0.add(user.firstName)
            $0.add(user.lastName)
            $0.add(user.about)
            $0.add(user.phone)
            $0.add(user.profileCompleted)
            $0.add(user.settings.shareLastSeen)
            $0.add(user.settings.shareReadReceipts)
            $0.add(user.settings.directoryVisible)
            $0.add(user.settings.pushPreview)
            $0.add(user.createdAt)
            $0.add(NameFolding.fold(user.displayName))
            let words = NameField.allCases.flatMap { field in
                NameFolding.searchKeys(field.name(of: user) ?? "").map { (field, $0) }
            }
            $0.add(texts: words.map(\.1))
            $0.add(shorts: words.map(\.0.rawValue))
            $0.add(device)
        }
        var commands = [creation]
        if let email = user.email, let verification {
            commands.append(
                PostgresCommand(PasswordStatements.sendVerification) {
                    $0.add(user.id)
                    $0.add(email)
                    $0.add(verification)
                })
        }
        _ = try await pool.transaction(commands)
    }

    public func credentials(forEmail email: String) async throws(StoreError) -> Credentials? {
        let rows = try await pool.query(AccountStatements.credentials) { $0.add(email) }
        return rows.first.map {
            Credentials(
                user: User($0), passwordHash: $0.text(User.columnCount), isSuspended: $0.bool(User.columnCount + 1))
        }
    }

    public func user(_ id: UserID) async throws(StoreError) -> User? {
        try await users([id]).first
    }

    public func users(_ ids: [UserID]) async throws(StoreError) -> [User] {
        try await pool.query(AccountStatements.users) { $0.add(ids: ids) }.map { User($0) }
    }

    public func user(withEmail email: String) async throws(StoreError) -> User? {
        try await pool.query(AccountStatements.userWithEmail) { $0.add(email) }.first.map { User($0) }
    }

    public func partners(of user: UserID, limit: Int) async throws(StoreError) -> [UserID] {
        let rows = try await pool.query(AccountStatements.partners) {
            $0.add(user)
            $0.add(Int64(limit))
        }
        return rows.map { $0.id(0) }
    }

    public func members(of conversation: ConversationID, limit: Int) async throws(StoreError) -> [UserID] {
        let rows = try await pool.query(AccountStatements.members) {
            $0.add(conversation)
            $0.add(Int64(limit))
        }
        return rows.map { $0.id(0) }
    }

    public func updateUser(_ id: UserID, _ change: ProfileChange) async throws(StoreError) -> User? {
        let rows = try await pool.query(AccountStatements.update) {
            $0.add(id)
            $0.add(change.displayName)
            $0.add(change.displayName.map(NameFolding.fold))
            for field in [change.firstName, change.lastName, change.phone, change.about] {
                $0.add(field != nil)
                $0.add(field ?? nil)
            }
            $0.add(change.shareLastSeen)
            $0.add(change.shareReadReceipts)
            $0.add(change.directoryVisible)
            $0.add(change.pushPreview)
            let changed: [(NameField, String)] = NameField.allCases.compactMap { field in
                field.name(in: change).map { (field, $0 ?? "") }
            }
            $0.add(shorts: changed.map(\.0.rawValue))
            let words = changed.flatMap { field, name in NameFolding.searchKeys(name).map { (field, $0) } }
            $0.add(texts: words.map(\.1))
            $0.add(shorts: words.map(\.0.rawValue))
            $0.add(change.photo != nil)
            $0.add((change.photo ?? nil)?.id)
        }
        return rows.first.map { User($0) }
    }

    public func directory(query: String?, caller: UserID, cursor: String?, limit: Int) async throws(StoreError) -> Page<User> {
        var after: (name: String, id: UserID)?
        if let cursor {
            var reader = try CursorReader(cursor, .directory)
            after = (try reader.text(), UserID(high: try reader.integer(), low: try reader.integer()))
            try reader.end()
        }
        let folded = query.map(NameFolding.fold)
        // Nothing but punctuation finds nobody; an empty query finds everyone.
        if let query, !query.isEmpty, folded == "" { return Page(items: [], nextCursor: nil) }
        let isFiltered = folded.map { !$0.isEmpty } ?? false
        let rows = try await pool.query(isFiltered ? AccountStatements.directorySearch : AccountStatements.directory) {
            $0.add(caller)
            $0.add(after?.name)
            $0.add(after?.id)
            $0.add(Int64(limit + 1))
            if isFiltered, let folded {
                $0.add(folded)
                // In the order of bytes every text with the prefix lies before this one.
                $0.add(folded + "\u{10FFFF}")
            }
        }
        var users = rows.map { User($0) }
        guard users.count > limit else { return Page(items: users, nextCursor: nil) }
        users.removeLast()
        var writer = CursorWriter(.directory)
        writer.write(rows[limit - 1].text(User.columnCount))
        writer.write(users[limit - 1].id.high)
        writer.write(users[limit - 1].id.low)
        return Page(items: users, nextCursor: writer.text)
    }

    public func visible(_ ids: [UserID], to caller: UserID) async throws(StoreError) -> Set<UserID> {
        let rows = try await pool.query(AccountStatements.visible) {
            $0.add(ids: ids)
            $0.add(caller)
        }
        return Set(rows.map { $0.id(0) })
    }

    public func lastSeen(_ ids: [UserID]) async throws(StoreError) -> [UserID: Timestamp] {
        let rows = try await pool.query(AccountStatements.lastSeen) { $0.add(ids: ids) }
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.id(0), $0.time(1)) })
    }

    public func recordLastSeen(_ times: [UserID: Timestamp]) async throws(StoreError) {
        // Always in the same order, so that two nodes do not lock each other out.
        let ordered = times.sorted { $0.key < $1.key }
        _ = try await pool.query(AccountStatements.recordLastSeen) {
            $0.add(ids: ordered.map(\.key))
            $0.add(times: ordered.map(\.value))
        }
    }

    // MARK: Devices

    public func createDevice(_ device: NewDevice, checkedHash: String) async throws(StoreError) -> Bool {
        let rows = try await pool.query(AccountStatements.logIn) {
            $0.add(device.userID)
            $0.add(checkedHash)
            $0.add(device.id)
            $0.add(device.name)
            $0.add(device.platform)
            $0.add(device.createdAt)
            $0.add(device.refreshToken.bytes)
            $0.add(device.expiresAt)
        }
        return rows[0].bool(0)
    }

    public func rotateRefreshToken(
        spent: TokenHash, successor: TokenHash, at time: Timestamp, expiresAt: Timestamp, grace: Duration
    ) async throws(StoreError) -> RefreshOutcome {
        let rows = try await pool.query(AccountStatements.rotate) {
            $0.add(spent.bytes)
            $0.add(successor.bytes)
            $0.add(time)
            $0.add(expiresAt)
            $0.add(interval: grace)
        }
        let row = rows[0]
        switch row.int16(0) {
        case 1: return .rotated(User(row, from: 2), row.id(1))
        case 2: return .reused(row.id(1))
        default: return .unknown
        }
    }

    public func devices(of user: UserID) async throws(StoreError) -> [Device] {
        try await pool.query(AccountStatements.devices) { $0.add(user) }.map { row in
            Device(
                id: row.id(0), userID: row.id(1), name: row.optional(2) { $0.text }, platform: row.optional(3) { $0.text },
                createdAt: row.time(4), lastUsedAt: row.time(5),
                pushProvider: row.optional(6) { $0.int16 }.map { PushProvider(stored: $0) })
        }
    }

    public func revokeDevice(_ device: DeviceID, of user: UserID, at time: Timestamp) async throws(StoreError) -> Bool {
        let rows = try await pool.query(AccountStatements.revoke) {
            $0.add(device)
            $0.add(user)
        }
        return rows.count == 1
    }

    public func revocations(since time: Timestamp) async throws(StoreError) -> [DeviceID] {
        try await pool.query(AccountStatements.revocations) { $0.add(time) }.map { $0.id(0) }
    }
}

extension PostgresParameters {
    fileprivate mutating func add(_ device: NewDevice) {
        add(device.id)
        add(device.userID)
        add(device.name)
        add(device.platform)
        add(device.createdAt)
        add(device.refreshToken.bytes)
        add(device.expiresAt)
    }
}

/// Which of a user's names a search word comes from; as stored.
private enum NameField: Int16, CaseIterable {
    case display = 0, first = 1, last = 2

    func name(of user: User) -> String? {
        switch self {
        case .display: user.displayName
        case .first: user.firstName
        case .last: user.lastName
        }
    }

    func name(in change: ProfileChange) -> String?? {
        switch self {
        case .display: change.displayName.map { .some($0) }
        case .first: change.firstName
        case .last: change.lastName
        }
    }
}

import Ports
import RoostModel

/// The memory twin of users, devices and tokens.
public struct MemoryAccountStore: AccountStore {
    let database: MemoryDatabase

    public init(_ database: MemoryDatabase) { self.database = database }

    public func clusterSecret(named name: String) async throws(StoreError) -> [UInt8] {
        try database.write { tables in
            if let secret = tables.secrets[name] { return secret }
            let secret = (0..<32).map { _ in UInt8.random(in: 0...255) }
            tables.secrets[name] = secret
            return secret
        }
    }

    public func createUser(
        _ user: User, passwordHash: String?, device: NewDevice, verification: MailToken?
    ) async throws(StoreError) {
        try database.write { (tables) throws(StoreError) in
            let isTaken = user.email.map { tables.usersByEmail[$0] != nil } ?? false
            if isTaken || tables.users[user.id] != nil { throw StoreError(.conflict, detail: "email or id") }
            try tables.add(device)
            tables.users[user.id] = UserRow(user: user, passwordHash: passwordHash, version: tables.nextVersion())
            if let email = user.email {
                tables.usersByEmail[email] = user.id
                if let verification { tables.send(verification, .verifyEmail, to: email, of: user.id) }
            }
        }
    }

    public func credentials(forEmail email: String) async throws(StoreError) -> Credentials? {
        try database.read { tables in
            guard let row = tables.usersByEmail[email].flatMap({ tables.users[$0] }), let hash = row.passwordHash,
                !row.user.isDeleted
            else { return nil }
            return Credentials(user: row.user, passwordHash: hash, isSuspended: row.isSuspended)
        }
    }

    public func createDevice(_ device: NewDevice, checkedHash: String) async throws(StoreError) -> Bool {
        try database.write { (tables) throws(StoreError) in
            guard let row = tables.users[device.userID], row.isLive, row.passwordHash == checkedHash else { return false }
            try tables.add(device)
            return true
        }
    }

    public func rotateRefreshToken(
        spent: TokenHash, successor: TokenHash, at time: Timestamp, expiresAt: Timestamp, grace: Duration
    ) async throws(StoreError) -> RefreshOutcome {
        try database.write { tables in
            guard let token = tables.tokens[spent], token.expiresAt > time, let row = tables.devices[token.device],
                row.revokedAt == nil,
                let owner = tables.users[row.device.userID], !owner.isSuspended, !owner.user.isDeleted
            else { return .unknown }
            guard let spentAt = token.spentAt else {
                tables.tokens[spent]?.spentAt = time
                tables.tokens[spent]?.successor = successor
                tables.tokens[successor] = TokenRow(device: token.device, expiresAt: expiresAt)
                let old = row.device
                tables.devices[old.id]?.device = Device(
                    id: old.id, userID: old.userID, name: old.name, platform: old.platform, createdAt: old.createdAt,
                    lastUsedAt: max(old.lastUsedAt, time))
                return .rotated(owner.user, old.id)
            }
            if time - spentAt <= grace, token.successor == successor { return .rotated(owner.user, row.device.id) }
            tables.revoke(row.device.id)
            return .reused(row.device.id)
        }
    }

    public func devices(of user: UserID) async throws(StoreError) -> [Device] {
        try database.read { tables in
            tables.devices.values.filter { $0.device.userID == user && $0.revokedAt == nil }
                .map { $0.device.pushed(by: $0.push?.provider) }
                .sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
        }
    }

    public func revokeDevice(_ device: DeviceID, of user: UserID, at time: Timestamp) async throws(StoreError) -> Bool {
        try database.write { tables in
            guard let row = tables.devices[device], row.device.userID == user, row.revokedAt == nil else { return false }
            tables.revoke(device)
            return true
        }
    }

    public func revocations(since time: Timestamp) async throws(StoreError) -> [DeviceID] {
        try database.read { tables in
            tables.devices.values.filter { $0.revokedAt.map { $0 >= time } ?? false }.map(\.device.id)
        }
    }

    public func user(_ id: UserID) async throws(StoreError) -> User? { try await users([id]).first }

    public func users(_ ids: [UserID]) async throws(StoreError) -> [User] {
        try database.read { tables in Set(ids).compactMap { tables.users[$0]?.user } }
    }

    public func user(withEmail email: String) async throws(StoreError) -> User? {
        try database.read { tables in
            tables.usersByEmail[email].flatMap { tables.users[$0]?.user }.flatMap { $0.isDeleted ? nil : $0 }
        }
    }

    public func partners(of user: UserID, limit: Int) async throws(StoreError) -> [UserID] {
        try database.read { tables in
            let all = tables.conversations(of: user).flatMap { $0.members.map(\.userID) }
            return Array(Set(all).subtracting([user]).prefix(limit))
        }
    }

    public func members(of conversation: ConversationID, limit: Int) async throws(StoreError) -> [UserID] {
        try database.read { Array(($0.conversations[conversation]?.members ?? []).map(\.userID).prefix(limit)) }
    }

    public func updateUser(_ id: UserID, _ change: ProfileChange) async throws(StoreError) -> User? {
        try database.write { tables in
            guard var user = tables.users[id]?.user, !user.isDeleted else { return nil }
            user.displayName = change.displayName ?? user.displayName
            user.firstName = change.firstName ?? user.firstName
            user.lastName = change.lastName ?? user.lastName
            user.phone = change.phone ?? user.phone
            user.about = change.about ?? user.about
            user.photo = change.photo ?? user.photo
            let isComplete = user.firstName != nil && user.lastName != nil && user.phone != nil && user.photo != nil
            user.profileCompleted = user.profileCompleted || isComplete
            user.settings.shareLastSeen = change.shareLastSeen ?? user.settings.shareLastSeen
            user.settings.shareReadReceipts = change.shareReadReceipts ?? user.settings.shareReadReceipts
            user.settings.directoryVisible = change.directoryVisible ?? user.settings.directoryVisible
            user.settings.pushPreview = change.pushPreview ?? user.settings.pushPreview
            let version = tables.nextVersion()
            tables.users[id]?.user = user
            tables.users[id]?.version = version
            return user
        }
    }

    public func directory(query: String?, caller: UserID, cursor: String?, limit: Int) async throws(StoreError) -> Page<User> {
        var after: (name: String, id: UserID)?
        if let cursor {
            var reader = try CursorReader(cursor, .directory)
            after = (try reader.text(), UserID(high: try reader.integer(), low: try reader.integer()))
            try reader.end()
        }
        let folded = NameFolding.fold(query ?? "")
        if let query, !query.isEmpty, folded.isEmpty { return Page(items: [], nextCursor: nil) }
        return try database.read { tables in
            let rows = tables.users.values
                .filter { $0.isListed && $0.user.id != caller }
                .map { (user: $0.user, name: NameFolding.fold($0.user.displayName)) }
                .filter { row in
                    folded.isEmpty
                        || [row.user.displayName, row.user.firstName ?? "", row.user.lastName ?? ""].contains { name in
                            NameFolding.searchKeys(name).contains { $0.hasPrefix(folded) }
                        }
                }
                .filter { row in after.map { Self.precedes(($0.name, $0.id), (row.name, row.user.id)) } ?? true }
                .sorted { Self.precedes(($0.name, $0.user.id), ($1.name, $1.user.id)) }
            let page = rows.prefix(limit)
            var next: String?
            if rows.count > limit, let last = page.last {
                var writer = CursorWriter(.directory)
                writer.write(last.name)
                writer.write(last.user.id.high)
                writer.write(last.user.id.low)
                next = writer.text
            }
            return Page(items: page.map(\.user), nextCursor: next)
        }
    }

    /// By the bytes of the name, as the database's "C" collation has it.
    private static func precedes(_ left: (name: String, id: UserID), _ right: (name: String, id: UserID)) -> Bool {
        if left.name.utf8.elementsEqual(right.name.utf8) { return left.id < right.id }
        return left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
    }

    public func visible(_ ids: [UserID], to caller: UserID) async throws(StoreError) -> Set<UserID> {
        try database.read { tables in
            let mine = tables.memberships[caller, default: []]
            return Set(
                ids.filter { id in
                    guard let row = tables.users[id] else { return false }
                    return id == caller || row.isListed || tables.contacts[ContactKey(owner: caller, user: id)] != nil
                        || !tables.memberships[id, default: []].isDisjoint(with: mine)
                })
        }
    }

    public func lastSeen(_ ids: [UserID]) async throws(StoreError) -> [UserID: Timestamp] {
        try database.read { tables in
            var result: [UserID: Timestamp] = [:]
            for id in ids { result[id] = tables.users[id]?.lastSeen }
            return result
        }
    }

    public func recordLastSeen(_ times: [UserID: Timestamp]) async throws(StoreError) {
        try database.write { tables in
            for (id, time) in times where tables.users[id]?.user.isDeleted == false {
                let last = tables.users[id]?.lastSeen ?? time
                tables.users[id]?.lastSeen = max(time, last)
            }
        }
    }
}

extension MemoryTables {
    fileprivate mutating func add(_ device: NewDevice) throws(StoreError) {
        guard devices[device.id] == nil, tokens[device.refreshToken] == nil else { throw StoreError(.conflict, detail: "device") }
        devices[device.id] = DeviceRow(
            device: Device(
                id: device.id, userID: device.userID, name: device.name, platform: device.platform, createdAt: device.createdAt,
                lastUsedAt: device.createdAt))
        tokens[device.refreshToken] = TokenRow(device: device.id, expiresAt: device.expiresAt)
    }

    mutating func revoke(_ device: DeviceID) {
        devices[device]?.revokedAt = .now
        devices[device]?.push = nil
        tokens = tokens.filter { $0.value.device != device }
    }

    /// All devices of a user but one; which they were.
    mutating func revokeAll(of user: UserID, keeping kept: DeviceID? = nil) -> [DeviceID] {
        let revoked = devices.values.filter { $0.device.userID == user && $0.revokedAt == nil && $0.device.id != kept }
            .map(\.device.id)
        for device in revoked { revoke(device) }
        return revoked
    }
}

extension Device {
    fileprivate func pushed(by provider: PushProvider?) -> Device {
        Device(
            id: id, userID: userID, name: name, platform: platform, createdAt: createdAt, lastUsedAt: lastUsedAt,
            pushProvider: provider)
    }
}

import Ports
import RoostModel

struct MailTokenRow: Sendable {
    let user: UserID
    let kind: MailKind
    let expiresAt: Timestamp
}

extension MemoryTables {
    mutating func send(_ token: MailToken, _ kind: MailKind, to recipient: String, of user: UserID) {
        if kind == .resetPassword { dropResetTokens(of: user) }
        mailTokens[token.hash] = MailTokenRow(user: user, kind: kind, expiresAt: token.expiresAt)
        queueMail(kind, to: recipient, token: token.text)
    }

    mutating func dropResetTokens(of user: UserID) {
        mailTokens = mailTokens.filter { $0.value.user != user || $0.value.kind != .resetPassword }
    }

    /// The live account that a token is of.
    func owner(of token: TokenHash, _ kind: MailKind, at time: Timestamp) -> UserRow? {
        guard let row = mailTokens[token], row.kind == kind, row.expiresAt > time else { return nil }
        return users[row.user].flatMap { $0.user.isDeleted ? nil : $0 }
    }
}

extension MemoryAccountStore {
    public func passwordHash(of user: UserID) async throws(StoreError) -> String? {
        try database.read { tables in tables.users[user].flatMap { $0.user.isDeleted ? nil : $0.passwordHash } }
    }

    public func linkGuest(_ link: GuestLink) async throws(StoreError) -> User? {
        try database.write { (tables) throws(StoreError) in
            guard var row = tables.users[link.user], row.isLive, row.user.email == nil,
                let device = tables.devices[link.device], device.device.userID == link.user, device.revokedAt == nil
            else { return nil }
            if tables.usersByEmail[link.email] != nil { throw StoreError(.conflict, detail: "email") }
            row.user.email = link.email
            row.user.emailVerified = false
            row.passwordHash = link.passwordHash
            row.version = tables.nextVersion()
            tables.users[link.user] = row
            tables.usersByEmail[link.email] = link.user
            tables.tokens[link.refreshToken] = TokenRow(device: link.device, expiresAt: link.refreshExpiresAt)
            tables.send(link.verification, .verifyEmail, to: link.email, of: link.user)
            return row.user
        }
    }

    public func requestPasswordReset(forEmail email: String, token: MailToken) async throws(StoreError) {
        try database.write { tables in
            guard let row = tables.usersByEmail[email].flatMap({ tables.users[$0] }), row.isLive else { return }
            tables.send(token, .resetPassword, to: email, of: row.user.id)
        }
    }

    public func isResetToken(_ token: TokenHash, at time: Timestamp) async throws(StoreError) -> Bool {
        try database.read { $0.owner(of: token, .resetPassword, at: time)?.isLive ?? false }
    }

    public func resetPassword(
        token: TokenHash, passwordHash: String, at time: Timestamp
    ) async throws(StoreError) -> [DeviceID]? {
        try database.write { tables in
            guard let owner = tables.owner(of: token, .resetPassword, at: time), owner.isLive else { return nil }
            tables.dropResetTokens(of: owner.user.id)
            tables.users[owner.user.id]?.passwordHash = passwordHash
            tables.users[owner.user.id]?.user.emailVerified = true
            return tables.revokeAll(of: owner.user.id)
        }
    }

    public func changePassword(
        of user: UserID, expecting: String, to passwordHash: String, keeping device: DeviceID
    ) async throws(StoreError) -> [DeviceID]? {
        try database.write { tables in
            guard let row = tables.users[user], row.isLive, row.passwordHash == expecting else { return nil }
            tables.users[user]?.passwordHash = passwordHash
            tables.dropResetTokens(of: user)
            return tables.revokeAll(of: user, keeping: device)
        }
    }

    public func verifyEmail(token: TokenHash, at time: Timestamp) async throws(StoreError) -> UserID? {
        try database.write { tables in
            guard let owner = tables.owner(of: token, .verifyEmail, at: time)?.user.id else { return nil }
            tables.users[owner]?.user.emailVerified = true
            return owner
        }
    }

    public func requestVerification(of user: UserID, token: MailToken) async throws(StoreError) {
        try database.write { tables in
            guard let row = tables.users[user], row.isLive, let email = row.user.email, !row.user.emailVerified else { return }
            tables.send(token, .verifyEmail, to: email, of: user)
        }
    }

    // MARK: Push addresses

    public func setPushAddress(
        _ address: PushAddress, of device: DeviceID, ownedBy user: UserID
    ) async throws(StoreError) -> Bool {
        try database.write { tables in
            guard let row = tables.devices[device], row.device.userID == user, row.revokedAt == nil else { return false }
            for (id, other) in tables.devices
            where other.push?.provider == address.provider && other.push?.token == address.token {
                tables.devices[id]?.push = nil
            }
            tables.devices[device]?.push = address
            return true
        }
    }

    public func removePushAddress(of device: DeviceID, ownedBy user: UserID) async throws(StoreError) {
        try database.write { tables in
            if tables.devices[device]?.device.userID == user { tables.devices[device]?.push = nil }
        }
    }

    public func pushAddresses(of user: UserID) async throws(StoreError) -> [DeviceID: PushAddress] {
        try database.read { tables in
            tables.devices.compactMapValues { $0.device.userID == user && $0.revokedAt == nil ? $0.push : nil }
        }
    }
}

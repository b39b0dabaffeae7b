import Locks
import Ports
import RoostModel

/// Accounts in memory, with a switch for a database that is away.
final class FakeAccounts: AccountStore {
    struct DeviceRecord {
        var device: Device
        var token: TokenHash
        var spent: [TokenHash: (successor: TokenHash, at: Timestamp)] = [:]
        var revokedAt: Timestamp?
    }

    struct State {
        var users: [UserID: User] = [:]
        var hashes: [UserID: String] = [:]
        var suspended: Set<UserID> = []
        var devices: [DeviceID: DeviceRecord] = [:]
        var secrets: [String: [UInt8]] = [:]
        var lastSeen: [UserID: Timestamp] = [:]
        var failure: StoreError.Code?
        var polls: [Timestamp] = []
    }

    let state = Locked(State())
    /// Who shares a conversation with whom.
    let shared: @Sendable (UserID, UserID) -> Bool

    init(shared: @escaping @Sendable (UserID, UserID) -> Bool = { _, _ in false }) { self.shared = shared }

    func fail(with code: StoreError.Code?) { state.withLock { $0.failure = code } }

    private func access<Value>(_ body: (inout State) throws(StoreError) -> Value) throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = withoutSending { state in
            if let failure = state.failure { return .failure(StoreError(failure)) }
            do throws(StoreError) { return .success(try body(&state)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// The lock's closure may only return what it can send; these values never leave a test's control.
    private func withoutSending<Value>(_ body: (inout State) -> Value) -> Value {
        nonisolated(unsafe) var result: Value?
        nonisolated(unsafe) let body = body
        state.withLock { result = body(&$0) }
        return result!
    }

    func clusterSecret(named name: String) async throws(StoreError) -> [UInt8] {
        try access { state in
            let secret = state.secrets[name] ?? (0..<32).map { _ in UInt8.random(in: 0...255) }
            state.secrets[name] = secret
            return secret
        }
    }

    func createUser(_ user: User, passwordHash: String?, device: NewDevice) async throws(StoreError) {
        try access { (state) throws(StoreError) in
            if let email = user.email, state.users.values.contains(where: { $0.email == email }) { throw StoreError(.conflict) }
            state.users[user.id] = user
            state.hashes[user.id] = passwordHash
            state.devices[device.id] = Self.record(device)
        }
    }

    func credentials(forEmail email: String) async throws(StoreError) -> Credentials? {
        try access { state in
            guard let user = state.users.values.first(where: { $0.email == email }), let hash = state.hashes[user.id] else {
                return nil
            }
            return Credentials(user: user, passwordHash: hash, isSuspended: state.suspended.contains(user.id))
        }
    }

    func createDevice(_ device: NewDevice) async throws(StoreError) {
        try access { $0.devices[device.id] = Self.record(device) }
    }

    private static func record(_ device: NewDevice) -> DeviceRecord {
        DeviceRecord(
            device: Device(
                id: device.id, userID: device.userID, name: device.name, platform: device.platform, createdAt: device.createdAt,
                lastUsedAt: device.createdAt),
            token: device.refreshToken)
    }

    func rotateRefreshToken(
        spent: TokenHash, successor: TokenHash, at time: Timestamp, expiresAt: Timestamp, grace: Duration
    ) async throws(StoreError) -> RefreshOutcome {
        try access { state in
            for (id, record) in state.devices where record.revokedAt == nil {
                guard let user = state.users[record.device.userID] else { continue }
                if record.token == spent {
                    state.devices[id]?.token = successor
                    state.devices[id]?.spent[spent] = (successor, time)
                    return .rotated(user, id)
                }
                if let earlier = record.spent[spent] {
                    if time - earlier.at <= grace, earlier.successor == successor { return .rotated(user, id) }
                    state.devices[id]?.revokedAt = time
                    return .reused(id)
                }
            }
            return .unknown
        }
    }

    func devices(of user: UserID) async throws(StoreError) -> [Device] {
        try access { state in
            state.devices.values.filter { $0.device.userID == user && $0.revokedAt == nil }.map(\.device).sorted { $0.id < $1.id }
        }
    }

    func revokeDevice(_ device: DeviceID, of user: UserID, at time: Timestamp) async throws(StoreError) -> Bool {
        try access { state in
            guard let record = state.devices[device], record.device.userID == user, record.revokedAt == nil else { return false }
            state.devices[device]?.revokedAt = time
            return true
        }
    }

    func revocations(since time: Timestamp) async throws(StoreError) -> [DeviceID] {
        try access { state in
            state.polls.append(time)
            return state.devices.filter { ($0.value.revokedAt ?? Timestamp(milliseconds: .min)) >= time }.map(\.key)
        }
    }

    func user(_ id: UserID) async throws(StoreError) -> User? { try access { $0.users[id] } }

    func users(_ ids: [UserID]) async throws(StoreError) -> [User] { try access { state in ids.compactMap { state.users[$0] } } }

    func updateUser(_ id: UserID, _ change: ProfileChange) async throws(StoreError) -> User? {
        try access { state in
            guard var user = state.users[id] else { return nil }
            if let name = change.displayName { user.displayName = name }
            if let name = change.firstName { user.firstName = name }
            if let name = change.lastName { user.lastName = name }
            if let phone = change.phone { user.phone = phone }
            if let about = change.about { user.about = about }
            if let flag = change.shareLastSeen { user.settings.shareLastSeen = flag }
            if let flag = change.shareReadReceipts { user.settings.shareReadReceipts = flag }
            if let flag = change.directoryVisible { user.settings.directoryVisible = flag }
            if let flag = change.pushPreview { user.settings.pushPreview = flag }
            state.users[id] = user
            return user
        }
    }

    func directory(query: String?, caller: UserID, cursor: String?, limit: Int) async throws(StoreError) -> Page<User> {
        try access { (state) throws(StoreError) in
            var after: UserID?
            if let cursor {
                guard let id = UserID(cursor) else { throw StoreError(.badCursor) }
                after = id
            }
            let found = state.users.values.filter { user in
                guard user.id != caller, Self.isListed(user) else { return false }
                guard let query else { return true }
                return user.displayName.lowercased().split(separator: " ").contains { $0.hasPrefix(query.lowercased()) }
            }.sorted { $0.id < $1.id }.filter { user in after.map { user.id > $0 } ?? true }
            let items = Array(found.prefix(limit))
            return Page(items: items, nextCursor: found.count > limit ? items.last?.id.description : nil)
        }
    }

    private static func isListed(_ user: User) -> Bool { !user.isAnonymous && !user.isDeleted && user.settings.directoryVisible }

    func visible(_ ids: [UserID], to caller: UserID) async throws(StoreError) -> Set<UserID> {
        let shared = shared
        return try access { state in
            Set(
                ids.filter { id in
                    guard let user = state.users[id] else { return false }
                    return id == caller || Self.isListed(user) || shared(id, caller)
                })
        }
    }

    func lastSeen(_ ids: [UserID]) async throws(StoreError) -> [UserID: Timestamp] {
        try access { state in state.lastSeen.filter { ids.contains($0.key) } }
    }

    func recordLastSeen(_ times: [UserID: Timestamp]) async throws(StoreError) {
        try access { state in state.lastSeen.merge(times) { max($0, $1) } }
    }
}

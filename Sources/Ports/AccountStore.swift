import RoostModel

/// Users, their devices and tokens. Secrets come in hashed: of passwords and tokens the store knows nothing else, but for those in
/// mails, which wait in the outbox until they are sent.
public protocol AccountStore: PasswordStore, PushTokenStore {
    /// A random secret of 32 bytes that all nodes share, made by the first to ask.
    func clusterSecret(named name: String) async throws(StoreError) -> [UInt8]

    /// Creates a user with a first device, and queues the mail that verifies the email. `conflict` where the email is taken.
    func createUser(
        _ user: User, passwordHash: String?, device: NewDevice, verification: MailToken?
    ) async throws(StoreError)

    /// By the normalised email.
    func credentials(forEmail email: String) async throws(StoreError) -> Credentials?

    /// A login. False where the account is gone or suspended, or its password is not the one that was checked: then a change or a
    /// reset came between, and logged out all others.
    func createDevice(_ device: NewDevice, checkedHash: String) async throws(StoreError) -> Bool

    /// Spends `spent` for `successor`, atomically. See ``RefreshOutcome``.
    func rotateRefreshToken(
        spent: TokenHash, successor: TokenHash, at time: Timestamp, expiresAt: Timestamp, grace: Duration
    ) async throws(StoreError) -> RefreshOutcome

    func devices(of user: UserID) async throws(StoreError) -> [Device]

    /// Its tokens go, and its push address. False where the user has no such live device.
    func revokeDevice(_ device: DeviceID, of user: UserID, at time: Timestamp) async throws(StoreError) -> Bool

    /// Devices revoked at or after `time` (database clock), for the nodes' caches.
    func revocations(since time: Timestamp) async throws(StoreError) -> [DeviceID]

    func user(_ id: UserID) async throws(StoreError) -> User?

    /// Those that exist, in no order.
    func users(_ ids: [UserID]) async throws(StoreError) -> [User]

    /// The full account of a normalised email.
    func user(withEmail email: String) async throws(StoreError) -> User?

    /// Applies the change and answers the new state; nil where there is no such user. Sets `profileCompleted`, never clears it.
    func updateUser(_ id: UserID, _ change: ProfileChange) async throws(StoreError) -> User?

    /// The directory as `caller` sees it: users whose name has a word that begins with `query` (case- and accent-insensitive;
    /// all without a query), without the caller, guests, deleted and hidden users. Ordered by name, then id.
    func directory(query: String?, caller: UserID, cursor: String?, limit: Int) async throws(StoreError) -> Page<User>

    /// Those of `ids` that `caller` may see: shares a conversation with, has as a contact, finds in the directory, or is.
    func visible(_ ids: [UserID], to caller: UserID) async throws(StoreError) -> Set<UserID>

    /// Those with whom the user shares a conversation, in no order; `limit` of them where there are more.
    func partners(of user: UserID, limit: Int) async throws(StoreError) -> [UserID]

    /// Of any conversation; `limit` of them where there are more.
    func members(of conversation: ConversationID, limit: Int) async throws(StoreError) -> [UserID]

    /// When each user's last session ended, for those who ever had one.
    func lastSeen(_ ids: [UserID]) async throws(StoreError) -> [UserID: Timestamp]

    /// Stored as maxima.
    func recordLastSeen(_ times: [UserID: Timestamp]) async throws(StoreError)
}

extension AccountStore {
    /// As ``createUser(_:passwordHash:device:verification:)``, without a mail.
    public func createUser(_ user: User, passwordHash: String?, device: NewDevice) async throws(StoreError) {
        try await createUser(user, passwordHash: passwordHash, device: device, verification: nil)
    }
}

/// The SHA-256 or BLAKE2b hash of a token, 32 bytes.
public struct TokenHash: Hashable, Sendable {
    public let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }
}

public struct NewDevice: Sendable {
    public let id: DeviceID
    public let userID: UserID
    public let name: String?
    public let platform: String?
    public let refreshToken: TokenHash
    public let createdAt: Timestamp
    public let expiresAt: Timestamp

    public init(
        id: DeviceID, userID: UserID, name: String?, platform: String?, refreshToken: TokenHash, createdAt: Timestamp,
        expiresAt: Timestamp
    ) {
        self.id = id
        self.userID = userID
        self.name = name
        self.platform = platform
        self.refreshToken = refreshToken
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

public struct Credentials: Sendable {
    public let user: User
    public let passwordHash: String
    public let isSuspended: Bool

    public init(user: User, passwordHash: String, isSuspended: Bool) {
        self.user = user
        self.passwordHash = passwordHash
        self.isSuspended = isSuspended
    }
}

public enum RefreshOutcome: Sendable {
    /// The successor is now the device's token; also within the grace time of an earlier, identical rotation.
    case rotated(User, DeviceID)
    /// Spent longer ago than the grace time: the device has been revoked.
    case reused(DeviceID)
    /// Unknown, expired, or of a revoked device.
    case unknown
}

/// A PATCH of a profile: nil leaves a field, `.some(nil)` clears it.
public struct ProfileChange: Sendable {
    public var displayName: String?
    public var firstName: String??
    public var lastName: String??
    public var phone: String??
    public var about: String??
    /// The user's own.
    public var photo: Media??
    public var shareLastSeen: Bool?
    public var shareReadReceipts: Bool?
    public var directoryVisible: Bool?
    public var pushPreview: Bool?

    public init() {}
}

/// What a user chose to share; everything at first.
public struct UserSettings: Hashable, Sendable {
    public var shareLastSeen = true
    public var shareReadReceipts = true
    public var directoryVisible = true
    public var pushPreview = true

    public init() {}
}

/// A user's account without secrets. What others may see of it is decided where it is encoded.
public struct User: Hashable, Sendable {
    public let id: UserID
    /// Trimmed, lower-case; nil for guests.
    public var email: String?
    public var emailVerified: Bool
    public var displayName: String
    public var firstName: String?
    public var lastName: String?
    public var about: String?
    public var phone: String?
    public var photo: Media?
    public var profileCompleted: Bool
    public var settings: UserSettings
    public let createdAt: Timestamp
    public var isDeleted: Bool

    public var isAnonymous: Bool { email == nil && !isDeleted }

    public init(
        id: UserID, email: String?, emailVerified: Bool = false, displayName: String, firstName: String? = nil,
        lastName: String? = nil, about: String? = nil, phone: String? = nil, photo: Media? = nil,
        profileCompleted: Bool = false, settings: UserSettings = UserSettings(), createdAt: Timestamp, isDeleted: Bool = false
    ) {
        self.id = id
        self.email = email
        self.emailVerified = emailVerified
        self.displayName = displayName
        self.firstName = firstName
        self.lastName = lastName
        self.about = about
        self.phone = phone
        self.photo = photo
        self.profileCompleted = profileCompleted
        self.settings = settings
        self.createdAt = createdAt
        self.isDeleted = isDeleted
    }
}

/// One logged-in installation.
public struct Device: Hashable, Sendable {
    public let id: DeviceID
    public let userID: UserID
    public let name: String?
    public let platform: String?
    public let createdAt: Timestamp
    public let lastUsedAt: Timestamp
    /// Nil where nothing is pushed to it.
    public let pushProvider: PushProvider?

    public init(
        id: DeviceID, userID: UserID, name: String?, platform: String?, createdAt: Timestamp, lastUsedAt: Timestamp,
        pushProvider: PushProvider? = nil
    ) {
        self.id = id
        self.userID = userID
        self.name = name
        self.platform = platform
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.pushProvider = pushProvider
    }
}

public enum PresenceState: String, Sendable, CaseIterable { case online, away, offline }

public struct Presence: Hashable, Sendable {
    public let userID: UserID
    public var state: PresenceState
    /// When the last session ended; nil while online and where it is not shared.
    public var lastSeenAt: Timestamp?

    public init(userID: UserID, state: PresenceState, lastSeenAt: Timestamp?) {
        self.userID = userID
        self.state = state
        self.lastSeenAt = lastSeenAt
    }
}

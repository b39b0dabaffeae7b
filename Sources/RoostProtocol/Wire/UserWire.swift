import RoostModel

extension JSONWriter {
    /// A `User` as others see it. A deleted one keeps its id only.
    public mutating func user(_ user: User, presence: Presence?) {
        object { $0.publicMembers(of: user, presence: presence) }
    }

    /// `Me`: a user as they see themselves.
    public mutating func me(_ user: User, presence: Presence?) {
        object { $0.meMembers(of: user, presence: presence) }
    }

    /// The members of `Me`, for objects that have more.
    public mutating func meMembers(of user: User, presence: Presence?) {
        publicMembers(of: user, presence: presence)
        member("email", user.email)
        member("emailVerified", user.emailVerified)
        member("phone", user.phone)
        member("profileCompleted", user.profileCompleted)
        key("settings")
        object {
            $0.member("shareLastSeen", user.settings.shareLastSeen)
            $0.member("shareReadReceipts", user.settings.shareReadReceipts)
            $0.member("directoryVisible", user.settings.directoryVisible)
            $0.member("pushPreview", user.settings.pushPreview)
        }
        member("createdAt", user.createdAt)
    }

    private mutating func publicMembers(of user: User, presence: Presence?) {
        let shown = !user.isDeleted
        member("id", user.id)
        member("displayName", shown ? user.displayName : deletedDisplayName)
        member("firstName", shown ? user.firstName : nil)
        member("lastName", shown ? user.lastName : nil)
        member("about", shown ? user.about : nil)
        member("photo", shown ? user.photo : nil)
        member("isAnonymous", user.isAnonymous)
        member("isDeleted", user.isDeleted)
        key("presence")
        if shown, let presence { self.presence(presence) } else { null() }
    }

    public mutating func presence(_ presence: Presence) {
        object {
            $0.member("userId", presence.userID)
            $0.member("state", presence.state.rawValue)
            $0.member("lastSeenAt", presence.lastSeenAt)
        }
    }

    public mutating func presenceList(_ items: [Presence], key name: StaticString) {
        object { writer in
            writer.key(name)
            writer.array(items) { $0.presence($1) }
        }
    }

    public mutating func device(_ device: Device, isCurrent: Bool) {
        object {
            $0.member("id", device.id)
            $0.member("name", device.name)
            $0.member("platform", device.platform)
            $0.member("createdAt", device.createdAt)
            $0.member("lastUsedAt", device.lastUsedAt)
            $0.member("isCurrent", isCurrent)
            $0.member("pushProvider", device.pushProvider?.rawValue)
        }
    }

    /// The answer to registering, logging in and refreshing.
    public mutating func session(_ session: AuthSession) {
        object { writer in
            writer.key("user")
            writer.me(session.user, presence: session.presence)
            writer.member("deviceId", session.deviceID)
            writer.member("accessToken", session.accessToken)
            writer.member("accessTokenExpiresAt", session.accessTokenExpiresAt)
            writer.member("refreshToken", session.refreshToken)
        }
    }
}

private let deletedDisplayName = "Deleted account"

/// The contract's `Session`. Holds secrets: never logged.
public struct AuthSession: Sendable {
    public var user: User
    public var presence: Presence?
    public var deviceID: DeviceID
    public var accessToken: String
    public var accessTokenExpiresAt: Timestamp
    public var refreshToken: String

    public init(
        user: User, presence: Presence? = nil, deviceID: DeviceID, accessToken: String, accessTokenExpiresAt: Timestamp,
        refreshToken: String
    ) {
        self.user = user
        self.presence = presence
        self.deviceID = deviceID
        self.accessToken = accessToken
        self.accessTokenExpiresAt = accessTokenExpiresAt
        self.refreshToken = refreshToken
    }
}

extension AuthSession: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let user = fields["user"].flatMap(User.init(me:)), let deviceID = fields["deviceId"]?.identifier(DeviceID.self),
            let accessToken = fields["accessToken"]?.string, let expiresAt = fields["accessTokenExpiresAt"]?.timestamp,
            let refreshToken = fields["refreshToken"]?.string
        else { return nil }
        self.init(
            user: user, presence: fields["user"].flatMap { WireFields($0)["presence"] }.flatMap(Presence.init(json:)),
            deviceID: deviceID, accessToken: accessToken, accessTokenExpiresAt: expiresAt, refreshToken: refreshToken)
    }
}

/// A user as others see them.
public struct UserProfile: Hashable, Sendable, WireDecodable {
    public var id: UserID
    public var displayName: String
    public var firstName: String?
    public var lastName: String?
    public var about: String?
    public var photo: Media?
    public var isAnonymous: Bool
    public var isDeleted: Bool
    public var presence: Presence?

    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let id = fields["id"]?.identifier(UserID.self), let displayName = fields["displayName"]?.string else { return nil }
        self.id = id
        self.displayName = displayName
        firstName = fields["firstName"]?.string
        lastName = fields["lastName"]?.string
        about = fields["about"]?.string
        photo = fields["photo"].flatMap(Media.init(json:))
        isAnonymous = fields["isAnonymous"]?.bool ?? false
        isDeleted = fields["isDeleted"]?.bool ?? false
        presence = fields["presence"].flatMap(Presence.init(json:))
    }
}

extension User {
    /// Reads `Me`.
    public init?(me slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let profile = UserProfile(json: slice), let createdAt = fields["createdAt"]?.timestamp else { return nil }
        var settings = UserSettings()
        if let slice = fields["settings"] {
            let fields = WireFields(slice)
            settings.shareLastSeen = fields["shareLastSeen"]?.bool ?? true
            settings.shareReadReceipts = fields["shareReadReceipts"]?.bool ?? true
            settings.directoryVisible = fields["directoryVisible"]?.bool ?? true
            settings.pushPreview = fields["pushPreview"]?.bool ?? true
        }
        self.init(
            id: profile.id, email: fields["email"]?.string, emailVerified: fields["emailVerified"]?.bool ?? false,
            displayName: profile.displayName, firstName: profile.firstName, lastName: profile.lastName, about: profile.about,
            phone: fields["phone"]?.string, photo: profile.photo, profileCompleted: fields["profileCompleted"]?.bool ?? false,
            settings: settings,
            createdAt: createdAt, isDeleted: profile.isDeleted)
    }
}

extension Presence: WireDecodable {
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let userID = fields["userId"]?.identifier(UserID.self),
            let state = fields["state"]?.string.flatMap(PresenceState.init)
        else { return nil }
        self.init(userID: userID, state: state, lastSeenAt: fields["lastSeenAt"]?.timestamp)
    }
}

/// An entry of the list of devices.
public struct DeviceEntry: Hashable, Sendable, WireDecodable {
    public var id: DeviceID
    public var name: String?
    public var platform: String?
    public var createdAt: Timestamp
    public var lastUsedAt: Timestamp
    public var isCurrent: Bool

    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let id = fields["id"]?.identifier(DeviceID.self), let createdAt = fields["createdAt"]?.timestamp,
            let lastUsedAt = fields["lastUsedAt"]?.timestamp, let isCurrent = fields["isCurrent"]?.bool
        else { return nil }
        self.id = id
        name = fields["name"]?.string
        platform = fields["platform"]?.string
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.isCurrent = isCurrent
    }
}

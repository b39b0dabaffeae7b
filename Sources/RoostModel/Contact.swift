/// An entry of somebody's private address book.
public struct Contact: Hashable, Sendable {
    public var user: User
    /// The contact's email, for whoever added them by it; else nil.
    public var email: String?
    /// The owner's own name for them.
    public var nickname: String?
    /// The owner's own picture of them.
    public var photo: Media?
    public let createdAt: Timestamp

    public init(user: User, email: String?, nickname: String?, photo: Media? = nil, createdAt: Timestamp) {
        self.user = user
        self.email = email
        self.nickname = nickname
        self.photo = photo
        self.createdAt = createdAt
    }
}

/// Somebody with whom no direct messages are exchanged.
public struct Block: Hashable, Sendable {
    public var user: User
    public let createdAt: Timestamp

    public init(user: User, createdAt: Timestamp) {
        self.user = user
        self.createdAt = createdAt
    }
}

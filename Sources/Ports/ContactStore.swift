import RoostModel

/// Private address books, and who blocks whom. Pages are in the order of adding.
public protocol ContactStore: Sendable {
    func contacts(of owner: UserID, cursor: String?, limit: Int) async throws(StoreError) -> Page<Contact>

    /// Nil where one of the two does not exist or was deleted; `conflict` where it is a contact already.
    func addContact(_ contact: NewContact) async throws(StoreError) -> Contact?

    /// Applies the change and answers the new state; nil where it is no contact.
    func changeContact(_ user: UserID, of owner: UserID, _ change: ContactChange) async throws(StoreError) -> Contact?

    /// False where it was none.
    func removeContact(_ user: UserID, of owner: UserID) async throws(StoreError) -> Bool

    /// Nothing happens where it is so already, or one of the two does not exist or was deleted.
    func block(_ user: UserID, by blocker: UserID, at time: Timestamp) async throws(StoreError)

    func unblock(_ user: UserID, by blocker: UserID) async throws(StoreError)

    func blocks(by blocker: UserID, cursor: String?, limit: Int) async throws(StoreError) -> Page<Block>

    /// Whether `blocker` blocks the user.
    func blocks(_ user: UserID, by blocker: UserID) async throws(StoreError) -> Bool

    /// Those of `ids` that block the user or are blocked by them.
    func blocked(_ ids: [UserID], with user: UserID) async throws(StoreError) -> Set<UserID>
}

public struct NewContact: Sendable {
    public let owner: UserID
    public let user: UserID
    /// Whether the owner knew the email.
    public let isByEmail: Bool
    public let nickname: String?
    /// The owner's.
    public let photo: Media?
    public let createdAt: Timestamp

    public init(owner: UserID, user: UserID, isByEmail: Bool, nickname: String?, photo: Media? = nil, createdAt: Timestamp) {
        self.owner = owner
        self.user = user
        self.isByEmail = isByEmail
        self.nickname = nickname
        self.photo = photo
        self.createdAt = createdAt
    }
}

/// A PATCH of a contact: nil leaves a field, `.some(nil)` clears it.
public struct ContactChange: Sendable {
    public var nickname: String??
    /// The owner's.
    public var photo: Media??

    public init() {}
}

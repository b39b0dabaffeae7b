import RoostModel

/// What operators see of users and do to them. Whatever they do is noted in the same transaction.
public protocol OperatorStore: Sendable {
    /// All accounts, newest first, deleted ones too; with a query those whose id it is, whose email it begins, or whose name has a word
    /// that it begins.
    func accounts(query: String?, cursor: String?, limit: Int) async throws(StoreError) -> Page<AccountRecord>

    /// - Returns: the devices that were logged out; nil where there is no such live account, and then nothing is noted.
    func moderate(
        _ user: UserID, _ act: Moderation, by name: String, at time: Timestamp, claim: Duration
    ) async throws(StoreError) -> [DeviceID]?

    /// Notes something that an operator did.
    func note(_ action: String, subject: String, by name: String, at time: Timestamp) async throws(StoreError)

    /// Whether there is such a conversation, or such a live account.
    func exists(_ actor: ActorAddress) async throws(StoreError) -> Bool

    /// Newest first.
    func audit(cursor: String?, limit: Int) async throws(StoreError) -> Page<AuditEntry>
}

/// What an operator does to a user.
public enum Moderation: String, Sendable, CaseIterable {
    /// No login and no refresh until `unsuspend`; all devices are logged out.
    case suspend
    case unsuspend
    /// All devices.
    case logout
    /// The first step of ``DeletionStore``; the claim is the caller's.
    case delete
    /// Reading all that is held about the person.
    case export
}

/// An account as operators see it.
public struct AccountRecord: Hashable, Sendable {
    public var user: User
    public var suspendedAt: Timestamp?
    public var deletedAt: Timestamp?
    public var lastSeenAt: Timestamp?

    public init(user: User, suspendedAt: Timestamp?, deletedAt: Timestamp?, lastSeenAt: Timestamp?) {
        self.user = user
        self.suspendedAt = suspendedAt
        self.deletedAt = deletedAt
        self.lastSeenAt = lastSeenAt
    }
}

public struct AuditEntry: Hashable, Sendable {
    /// Rises with each entry.
    public let number: Int64
    public let at: Timestamp
    /// What the operator called themselves.
    public let name: String
    /// A word such as `user.suspend`.
    public let action: String
    /// What it was done to.
    public let subject: String

    public init(number: Int64, at: Timestamp, name: String, action: String, subject: String) {
        self.number = number
        self.at = at
        self.name = name
        self.action = action
        self.subject = subject
    }
}

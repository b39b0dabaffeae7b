import RoostModel

/// What a mail is about; the numbers are stored (migrations/0005_mail.sql).
public enum MailKind: Int16, Sendable, CaseIterable {
    case verifyEmail = 1
    case resetPassword = 2
}

/// A mail that waits to be sent. Its token is a secret: for nothing but the mail.
public struct QueuedMail: Sendable, Equatable {
    public let id: Int64
    public let recipient: String
    public let kind: MailKind
    public let token: String
    /// How often it was taken, this time included.
    public let attempts: Int

    public init(id: Int64, recipient: String, kind: MailKind, token: String, attempts: Int) {
        self.id = id
        self.recipient = recipient
        self.kind = kind
        self.token = token
        self.attempts = attempts
    }
}

/// Mails to be sent, queued in the transaction that makes their tokens. Every node takes from it; each mail is sent at least once, and
/// twice only where a node dies, or the database goes away, between the sending and the removal.
///
/// All calls throw ``StoreError`` with `unavailable` while the database is away.
public protocol MailOutbox: Sendable {
    /// Queues one on its own; due at once.
    func queue(_ kind: MailKind, to recipient: String, token: String) async throws(StoreError)

    /// Takes mails that are due, those first that have been so longest. Nobody else gets them for the time of `lease`.
    func take(limit: Int, lease: Duration) async throws(StoreError) -> [QueuedMail]

    /// Removes a mail for good: it was sent, or never will be.
    func remove(_ id: Int64) async throws(StoreError)

    /// Lets a mail be taken again after `delay`.
    func postpone(_ id: Int64, by delay: Duration) async throws(StoreError)

    /// Removes what has waited for `age` or longer.
    ///
    /// - Returns: how many were removed, and how many are left (counted up to 10,000).
    func expire(age: Duration) async throws(StoreError) -> (expired: Int, waiting: Int)
}

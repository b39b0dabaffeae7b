import RoostModel

/// Passwords, proofs of an email's ownership, and what both do to devices. Everything here is one transaction, and the mails that
/// belong to it are queued in it.
public protocol PasswordStore: Sendable {
    /// The hash of a live account's password; nil for guests and where there is no such account.
    func passwordHash(of user: UserID) async throws(StoreError) -> String?

    /// Makes a guest a full account with the same id, and gives its device another refresh token; the earlier one stays good, so
    /// that a lost answer logs nobody out. Nil where the user is no guest, or the device no live one of theirs; `conflict` where
    /// the email is taken: then nothing has changed.
    func linkGuest(_ link: GuestLink) async throws(StoreError) -> User?

    /// Queues a mail with `token` to the account of that email, and makes it the only link that resets its password. Nothing happens
    /// where there is no such account, or it is suspended or deleted.
    func requestPasswordReset(forEmail email: String, token: MailToken) async throws(StoreError)

    /// Whether a reset link with this token would work now.
    func isResetToken(_ token: TokenHash, at time: Timestamp) async throws(StoreError) -> Bool

    /// Spends the token for a new password; all links that reset the password die, all devices are logged out, and the email counts
    /// as verified: the link was read there.
    ///
    /// - Returns: the devices; nil where the token is not good.
    func resetPassword(
        token: TokenHash, passwordHash: String, at time: Timestamp
    ) async throws(StoreError) -> [DeviceID]?

    /// Sets a new password where the present one is still `expecting`. Links that reset the password die; all devices but `device`
    /// are logged out.
    ///
    /// - Returns: those devices; nil where the password is another by now.
    func changePassword(
        of user: UserID, expecting: String, to passwordHash: String, keeping device: DeviceID
    ) async throws(StoreError) -> [DeviceID]?

    /// Verifies the email that the token was sent to. The token stays good until it expires, as people follow a link twice.
    ///
    /// - Returns: whose it is; nil where the token is not good.
    func verifyEmail(token: TokenHash, at time: Timestamp) async throws(StoreError) -> UserID?

    /// Queues another mail with a link that verifies the email, unless it is verified.
    func requestVerification(of user: UserID, token: MailToken) async throws(StoreError)
}

/// The secret of a link in a mail: the text goes out with the mail, only the hash stays.
public struct MailToken: Sendable {
    public let text: String
    public let hash: TokenHash
    public let expiresAt: Timestamp

    public init(text: String, hash: TokenHash, expiresAt: Timestamp) {
        self.text = text
        self.hash = hash
        self.expiresAt = expiresAt
    }
}

public struct GuestLink: Sendable {
    public let user: UserID
    public let device: DeviceID
    /// Normalised.
    public let email: String
    public let passwordHash: String
    public let refreshToken: TokenHash
    public let refreshExpiresAt: Timestamp
    /// For the mail that verifies the email.
    public let verification: MailToken

    public init(
        user: UserID, device: DeviceID, email: String, passwordHash: String, refreshToken: TokenHash,
        refreshExpiresAt: Timestamp, verification: MailToken
    ) {
        self.user = user
        self.device = device
        self.email = email
        self.passwordHash = passwordHash
        self.refreshToken = refreshToken
        self.refreshExpiresAt = refreshExpiresAt
        self.verification = verification
    }
}

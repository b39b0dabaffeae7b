import RoostModel

/// How accounts are deleted: a first step after which the person is gone, and work on their conversations that any node can take up
/// where another one left it.
public protocol DeletionStore: Sendable {
    /// Erases profile, email, password, devices, contacts and blocks, and notes that the rest is to be done. Until the end of `claim`
    /// that is the caller's.
    ///
    /// - Returns: the devices that were logged out; nil where there is no such live account.
    func eraseAccount(_ user: UserID, at time: Timestamp, claim: Duration) async throws(StoreError) -> [DeviceID]?

    /// Takes the deletion that has waited longest. Nobody else gets it for the time of `claim`.
    func claimDeletion(for claim: Duration) async throws(StoreError) -> UserID?

    /// From now on the deletion is the caller's for `claim`; zero gives it back.
    func extendClaim(of user: UserID, by claim: Duration) async throws(StoreError)

    /// Makes a direct conversation read-only. Its actor has to be told. False where it was so.
    @discardableResult
    func closeDirect(_ conversation: ConversationID) async throws(StoreError) -> Bool

    /// Erases how far the user had read, their reactions, and what they hid, in one conversation.
    func eraseTraces(of user: UserID, in conversation: ConversationID) async throws(StoreError)

    /// As ``eraseTraces(of:in:)``, in conversations that the user is no member of any more.
    func eraseLeftTraces(of user: UserID) async throws(StoreError)

    /// The deletion is done.
    func finishDeletion(of user: UserID) async throws(StoreError)

    /// Removes tokens of mails that no longer work.
    func purgeMailTokens(at time: Timestamp) async throws(StoreError)
}

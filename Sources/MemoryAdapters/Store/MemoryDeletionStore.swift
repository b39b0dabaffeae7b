import Ports
import RoostModel

/// The memory twin of deletions of accounts.
public struct MemoryDeletionStore: DeletionStore {
    private let database: MemoryDatabase

    public init(_ database: MemoryDatabase) { self.database = database }

    public func eraseAccount(
        _ user: UserID, at time: Timestamp, claim: Duration
    ) async throws(StoreError) -> [DeviceID]? {
        try database.write { $0.erase(user, at: time, claim: claim) }
    }

    public func claimDeletion(for claim: Duration) async throws(StoreError) -> UserID? {
        try database.write { tables in
            let now = ContinuousClock.now
            guard let due = tables.deletions.filter({ $0.value <= now }).min(by: { $0.value < $1.value })?.key else { return nil }
            tables.deletions[due] = now + claim
            return due
        }
    }

    public func extendClaim(of user: UserID, by claim: Duration) async throws(StoreError) {
        try database.write { tables in
            if tables.deletions[user] != nil { tables.deletions[user] = .now + claim }
        }
    }

    public func closeDirect(_ conversation: ConversationID) async throws(StoreError) -> Bool {
        try database.write { tables in
            guard let row = tables.conversations[conversation], row.kind == .direct, !row.isReadOnly else { return false }
            let version = tables.nextVersion()
            tables.conversations[conversation]?.isReadOnly = true
            tables.conversations[conversation]?.version = version
            return true
        }
    }

    public func eraseTraces(of user: UserID, in conversation: ConversationID) async throws(StoreError) {
        try database.write { $0.eraseTraces(of: user, in: conversation) }
    }

    public func eraseLeftTraces(of user: UserID) async throws(StoreError) {
        try database.write { tables in
            for conversation in tables.conversations.keys where tables.joined(conversation, by: user) == nil {
                tables.eraseTraces(of: user, in: conversation)
            }
        }
    }

    public func finishDeletion(of user: UserID) async throws(StoreError) {
        try database.write { $0.deletions[user] = nil }
    }

    public func purgeMailTokens(at time: Timestamp) async throws(StoreError) {
        try database.write { tables in tables.mailTokens = tables.mailTokens.filter { $0.value.expiresAt > time } }
    }
}

extension MemoryTables {
    mutating func erase(_ user: UserID, at time: Timestamp, claim: Duration) -> [DeviceID]? {
        guard var row = users[user], !row.user.isDeleted else { return nil }
        if let email = row.user.email {
            usersByEmail[email] = nil
            mails.removeAll { $0.recipient == email }
        }
        row.user = User(
            id: user, email: nil, displayName: "Deleted account", createdAt: row.user.createdAt, isDeleted: true)
        row.user.settings.directoryVisible = false
        row.passwordHash = nil
        row.suspendedAt = nil
        row.deletedAt = time
        row.lastSeen = nil
        row.version = nextVersion()
        users[user] = row
        mailTokens = mailTokens.filter { $0.value.user != user }
        contacts = contacts.filter { $0.key.owner != user && $0.key.user != user }
        blocks = blocks.filter { $0.key.owner != user && $0.key.user != user }
        deletions[user] = .now + claim
        return revokeAll(of: user)
    }

    fileprivate mutating func eraseTraces(of user: UserID, in conversation: ConversationID) {
        guard var row = conversations[conversation] else { return }
        row.positions.removeAll { $0.userID == user }
        for index in row.members.indices where row.members[index].userID == user {
            row.members[index].readSeq = .zero
            row.members[index].deliveredSeq = .zero
        }
        row.reactions = row.reactions.mapValues { $0.filter { $0.userID != user } }
        row.hidden[user] = nil
        conversations[conversation] = row
    }
}

import Ports
import RoostModel
import Runtime

/// What the memory stores share: tables under one lock. For tests and for trying things without a database; nothing is kept.
public final class MemoryDatabase: Sendable {
    let tables = Locked(MemoryTables())
    let faults = Locked(MemoryFaults())

    public init() {}

    // MARK: What tests do to it

    /// While false, every call fails with `unavailable`.
    public func setAvailable(_ isAvailable: Bool) { faults.withLock { $0.isAvailable = isAvailable } }

    /// Commits that come from now on hold their fence, and are stored and answered by ``releaseCommits()``.
    public func stallCommits() { faults.withLock { $0.isStalling = true } }

    /// How many commits are stalled.
    public var stalledCommits: Int { faults.withLock { $0.stalled.count } }

    /// Stores and answers the stalled commits, in order, and stalls no more.
    public func releaseCommits() {
        let stalled = faults.withLock { faults in
            let stalled = faults.stalled
            faults.stalled = []
            faults.isStalling = false
            return stalled
        }
        for commit in stalled { commit() }
    }

    /// The next commit fails as if its connection had broken: `outcomeUnknown`, whether or not it is `stored`.
    public func breakNextCommit(stored: Bool) { faults.withLock { $0.breaks.append(stored) } }

    /// A file as its upload would leave it, in place of one with the same id.
    public func addMedia(_ media: Media) { tables.withLock { $0.media[media.id] = media } }

    /// Deleting an account does this to its direct conversations.
    public func setReadOnly(_ conversation: ConversationID) {
        tables.withLock { tables in
            let version = tables.nextVersion()
            tables.conversations[conversation]?.isReadOnly = true
            tables.conversations[conversation]?.version = version
        }
    }

    /// Whether `blocker` has blocked `blocked` from now on.
    public func setBlocked(_ blocked: UserID, by blocker: UserID, _ isBlocked: Bool = true) {
        tables.withLock { $0.blocks[ContactKey(owner: blocker, user: blocked)] = isBlocked ? .now : nil }
    }

    // MARK: For the stores

    /// As if the user had given all that a complete profile has.
    public func completeProfile(of user: UserID) throws(StoreError) {
        try write { $0.users[user]?.user.profileCompleted = true }
    }

    func read<Value: Sendable>(_ body: (MemoryTables) throws(StoreError) -> Value) throws(StoreError) -> Value {
        try write { (tables) throws(StoreError) in try body(tables) }
    }

    func write<Value: Sendable>(_ body: (inout MemoryTables) throws(StoreError) -> Value) throws(StoreError) -> Value {
        guard faults.withLock({ $0.isAvailable }) else { throw StoreError(.unavailable, detail: "memory store is set away") }
        let result: Result<Value, StoreError> = tables.withLock { tables in
            do throws(StoreError) { return .success(try body(&tables)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// As ``write(_:)``, once no commit of `incarnations` is in flight.
    func writeExclusively<Value: Sendable>(
        _ incarnations: (MemoryTables) -> [IncarnationID], _ body: (inout MemoryTables) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        while true {
            let done: Value? = try write { (tables) throws(StoreError) in
                let blocked = incarnations(tables).contains { tables.inFlight[$0, default: 0] > 0 }
                return blocked ? nil : .some(try body(&tables))
            }
            if let done { return done }
            await withCheckedContinuation { continuation in
                let mustWait = tables.withLock { tables in
                    let blocked = incarnations(tables).contains { tables.inFlight[$0, default: 0] > 0 }
                    if blocked { tables.waiters.append(continuation) }
                    return blocked
                }
                if !mustWait { continuation.resume() }
            }
        }
    }
}

struct MemoryFaults: Sendable {
    var isAvailable = true
    var isStalling = false
    var stalled: [@Sendable () -> Void] = []
    var breaks: [Bool] = []
}

struct MemoryTables: Sendable {
    /// Rises by one with each change; stands where PostgreSQL has transactions.
    var version: Int64 = 1

    var users: [UserID: UserRow] = [:]
    var usersByEmail: [String: UserID] = [:]
    var devices: [DeviceID: DeviceRow] = [:]
    var tokens: [TokenHash: TokenRow] = [:]
    var secrets: [String: [UInt8]] = [:]
    var mails: [MailRow] = []
    var mailTokens: [TokenHash: MailTokenRow] = [:]
    var contacts: [ContactKey: ContactRow] = [:]
    var blocks: [ContactKey: Timestamp] = [:]
    /// Deletions to be made whole, and until when each is somebody's.
    var deletions: [UserID: ContinuousClock.Instant] = [:]
    var audit: [AuditEntry] = []

    var conversations: [ConversationID: ConversationRow] = [:]
    var directs: [DirectPair: ConversationID] = [:]
    var memberships: [UserID: Set<ConversationID>] = [:]
    /// Who was a member once and is not now, with the version in which that came about.
    var departures: [UserID: [ConversationID: Int64]] = [:]
    var media: [MediaID: Media] = [:]

    var cluster = ClusterTables()
    /// Of all lives; those of a life that is over are shut by the cluster's tables.
    var fences: Set<JournalFence> = []

    /// Commits between their fence and their end.
    var inFlight: [IncarnationID: Int] = [:]
    var waiters: [CheckedContinuation<Void, Never>] = []

    func isOpen(_ fence: JournalFence) -> Bool { fences.contains(fence) && cluster.isFenceOpen(fence.incarnation) }

    mutating func nextVersion() -> Int64 {
        version += 1
        return version
    }
}

struct UserRow: Sendable {
    var user: User
    var passwordHash: String?
    var suspendedAt: Timestamp?
    var deletedAt: Timestamp?
    var lastSeen: Timestamp?
    var version: Int64

    var isSuspended: Bool { suspendedAt != nil }
    var isLive: Bool { !isSuspended && !user.isDeleted }

    var isListed: Bool { user.email != nil && !user.isDeleted && user.settings.directoryVisible }
}

struct DeviceRow: Sendable {
    var device: Device
    var revokedAt: Timestamp?
    var push: PushAddress?
}

struct TokenRow: Sendable {
    let device: DeviceID
    let expiresAt: Timestamp
    var spentAt: Timestamp?
    var successor: TokenHash?
}

struct DirectPair: Hashable, Sendable {
    let low: UserID
    let high: UserID

    init(_ a: UserID, _ b: UserID) { (low, high) = (min(a, b), max(a, b)) }
}

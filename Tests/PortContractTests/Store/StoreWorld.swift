import EventLoop
import Foundation
import MemoryAdapters
import Ports
import PostgresStore
import RoostModel
import Runtime
import TestSupport

/// Which stores a test runs against: all, unless `ROOST_TEST_STORES` names one.
enum StoreKind: String, CaseIterable, Sendable {
    case memory, postgres

    static let allCases = wanted.map { [$0] } ?? [.memory, .postgres]
    private static let wanted = ProcessInfo.processInfo.environment["ROOST_TEST_STORES"].flatMap(StoreKind.init)
}

/// The four store ports over one database.
struct StoreWorld: Sendable {
    let accounts: any AccountStore
    let contacts: any ContactStore
    let operators: any OperatorStore
    let deletions: any DeletionStore
    let exports: any ExportStore
    let conversations: any ConversationStore
    let cluster: any ClusterStore
    let operations: any OperationStore
    let mail: any MailOutbox
    let makeJournal: @Sendable (EventLoop, IncarnationID) -> any Journal
    let fixtures: StoreFixtures

    /// One for all tests that can share a database: they use users and nodes of their own.
    static func shared(_ kind: StoreKind) async throws -> StoreWorld {
        switch kind {
        case .memory: return sharedMemory
        case .postgres: return try await sharedPostgres.value
        }
    }

    /// An empty one, for tests of what there is only one of.
    static func fresh(_ kind: StoreKind) async throws -> StoreWorld {
        switch kind {
        case .memory: return memory(MemoryDatabase())
        case .postgres: return try await postgres(connections: 2)
        }
    }

    private static let sharedMemory = memory(MemoryDatabase())
    private static let sharedPostgres = Task { try await postgres(connections: 8) }

    static func memory(_ database: MemoryDatabase) -> StoreWorld {
        StoreWorld(
            accounts: MemoryAccountStore(database), contacts: MemoryContactStore(database),
            operators: MemoryOperatorStore(database), deletions: MemoryDeletionStore(database),
            exports: MemoryExportStore(database),
            conversations: MemoryConversationStore(database),
            cluster: MemoryClusterStore(database), operations: MemoryOperationStore(database), mail: MemoryMailOutbox(database),
            makeJournal: { loop, _ in MemoryJournal(database, loop: loop) }, fixtures: .memory(database))
    }

    private static func postgres(connections: Int) async throws -> StoreWorld {
        let server = try await server()
        let configuration = PostgresConfiguration.patient(url: server.url(database: try await server.createDatabase()))
        return try await postgres(configuration: configuration, connections: connections).world
    }

    /// Of these tests alone: they hold many connections.
    static func server() async throws -> PostgresProcess { try await sharedServer.value }
    private static let sharedServer = Task {
        try await PostgresProcess.make(durable: false, settings: ["max_connections": "400"])
    }

    static let migrations = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../migrations")
        .standardized.path()

    static func postgres(
        configuration: PostgresConfiguration, connections: Int
    ) async throws -> (world: StoreWorld, pool: PostgresPool) {
        _ = try await Migrator.run(url: configuration.url, directory: migrations)
        let loop = try EventLoop(name: "postgres")
        loop.start()
        let pool = PostgresPool(configuration: configuration, loop: loop, connections: connections)
        pool.start()
        try await pool.waitUntilAvailable()
        let world = StoreWorld(
            accounts: PostgresAccountStore(pool: pool), contacts: PostgresContactStore(pool: pool),
            operators: PostgresOperatorStore(pool: pool), deletions: PostgresDeletionStore(pool: pool),
            exports: PostgresExportStore(pool: pool),
            conversations: PostgresConversationStore(pool: pool),
            cluster: PostgresClusterStore(pool: pool), operations: PostgresOperationStore(pool: pool),
            mail: PostgresMailOutbox(pool: pool),
            makeJournal: { loop, incarnation in
                let journal = PostgresJournal(configuration: configuration, loop: loop, incarnation: incarnation)
                journal.start()
                return journal
            }, fixtures: .postgres(pool))
        return (world, pool)
    }

    // MARK: What tests begin with

    func makeUser(
        _ name: String = "Somebody", email: String? = "\(UserID.make())@x.example", settings: UserSettings = UserSettings()
    ) async throws -> User {
        let user = User(id: .make(), email: email, displayName: name, settings: settings, createdAt: .now)
        try await accounts.createUser(user, passwordHash: "hash", device: newDevice(of: user.id))
        return user
    }

    func newDevice(of user: UserID, token: TokenHash = .random(), expiresIn: Duration = .seconds(3600)) -> NewDevice {
        NewDevice(
            id: .make(), userID: user, name: "phone", platform: "ios", refreshToken: token, createdAt: .now,
            expiresAt: .now + expiresIn)
    }

    func makeDirect() async throws -> (id: ConversationID, a: UserID, b: UserID) {
        let (a, b) = (try await makeUser("A").id, try await makeUser("B").id)
        return (try await openDirect(a, b), a, b)
    }

    func openDirect(_ a: UserID, _ b: UserID) async throws -> ConversationID {
        try await conversations.openDirect(between: a, and: b, newID: .make(), at: .now).id
    }

    /// A node with one open fence, and its journal.
    func makeLane(lanes: Int = 1) async throws -> JournalLane {
        let node = NodeIdentity(name: "node-\(IncarnationID.make())", incarnation: .make())
        try await cluster.register(node, lanes: lanes, url: "", adminURL: "", version: "1", leaseSeconds: 60)
        return try await JournalLane(world: self, node: node)
    }
}

extension TokenHash {
    static func random() -> TokenHash { TokenHash((0..<32).map { _ in UInt8.random(in: 0...255) }) }
}

/// A journal on a loop of its own, for callers that await.
final class JournalLane: @unchecked Sendable {
    let node: NodeIdentity
    let fence: JournalFence
    let loop: EventLoop
    let journal: any Journal

    init(world: StoreWorld, node: NodeIdentity, lane: Int = 0) async throws {
        self.node = node
        fence = JournalFence(incarnation: node.incarnation, lane: lane)
        let loop = try EventLoop(name: "lane")
        loop.start()
        self.loop = loop
        let incarnation = node.incarnation
        journal = await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: UncheckedSendable(world.makeJournal(loop, incarnation))) }
        }.value
        try await eventually("journal is available") { [self] in (try? await load([])) != nil }
    }

    deinit {
        let journal = UncheckedSendable(journal)
        let loop = loop
        loop.execute { (journal.value as? PostgresJournal)?.stop() }
        Task { await loop.stop() }
    }

    private func call<Value>(_ body: @escaping (any Journal, @escaping (Result<Value, StoreError>) -> Void) -> Void) async throws
        -> Value
    {
        let body = UncheckedSendable(body)
        return try await withCheckedContinuation {
            (continuation: CheckedContinuation<UncheckedSendable<Result<Value, StoreError>>, Never>) in
            loop.run { [self] in body.value(journal) { continuation.resume(returning: UncheckedSendable($0)) } }
        }.value.get()
    }

    func commit(_ entries: JournalEntry...) async throws -> [JournalOutcome] { try await commit(entries) }

    func commit(_ entries: [JournalEntry]) async throws -> [JournalOutcome] {
        let batch = JournalBatch(fence: fence, entries: entries)
        return try await call { $0.commit(batch, completion: $1) }
    }

    func load(_ ids: [ConversationID]) async throws -> [ConversationID: ConversationSnapshot] {
        try await call { $0.load(ids, completion: $1) }
    }

    func targets(_ keys: [TargetKey]) async throws -> [MessageTarget?] { try await call { $0.targets(keys, completion: $1) } }

    func stored(_ keys: [MessageKey]) async throws -> [Message?] { try await call { $0.storedMessages(keys, completion: $1) } }

    func settle(_ entries: SettleEntry...) async throws {
        try await call { [fence] in $0.settle(entries, fence: fence, completion: $1) }
    }

    func recent(_ shards: [Int], since: Timestamp) async throws -> [RecentMessage] {
        try await call { $0.recentMessages(inShards: shards, since: since, completion: $1) }
    }

    /// Commits messages one after another from `first` on.
    func send(
        _ texts: String..., in conversation: ConversationID, from sender: UserID, first: Int64, at time: Timestamp = .now
    ) async throws {
        let outcomes = try await commit(.messages(texts, in: conversation, from: sender, first: first, at: time))
        guard outcomes == [.committed] else { throw StoreError(.conflict, detail: "test's own") }
    }
}

struct UncheckedSendable<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}

extension JournalEntry {
    static func messages(
        _ texts: [String], in conversation: ConversationID, from sender: UserID, first: Int64, clientIDs: [String]? = nil,
        at time: Timestamp = .now, marksActive: Bool = true
    ) -> JournalEntry {
        let messages = texts.enumerated().map { index, text in
            Message(
                conversationID: conversation, seq: Seq(first + Int64(index)), changeSeq: Seq(first + Int64(index)),
                clientID: clientIDs?[index] ?? "c\(first + Int64(index))-\(UserID.make())", senderID: sender, kind: .text,
                text: text,
                createdAt: time)
        }
        return JournalEntry(conversationID: conversation, messages: messages, positions: [], marksActive: marksActive)
    }

    static func position(
        _ user: UserID, in conversation: ConversationID, read: Int64, delivered: Int64, at time: Timestamp = .now
    ) -> JournalEntry {
        JournalEntry(
            conversationID: conversation, messages: [],
            positions: [PositionChange(userID: user, readSeq: Seq(read), deliveredSeq: Seq(delivered), at: time)],
            marksActive: false)
    }
}

/// The code of the store error that `body` throws; nil where it throws none.
func storeErrorCode(_ body: () async throws -> Void) async -> StoreError.Code? {
    do {
        try await body()
        return nil
    } catch { return (error as? StoreError)?.code }
}

extension PostgresConfiguration {
    /// With time for a busy machine, where everything runs at once and perhaps under a sanitizer; tests of time-outs set theirs.
    static func patient(url: String) -> PostgresConfiguration {
        var configuration = PostgresConfiguration(url: url)
        configuration.statementTimeout = .seconds(120)
        configuration.requestTimeout = .seconds(150)
        configuration.connectTimeout = .seconds(60)
        return configuration
    }
}

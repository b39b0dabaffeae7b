import EventLoop
import Ports
import PostgresStore
import RoostModel
import Runtime
import StoreBench

// Measures the journal alone: durable messages a second by batches of one lane, or of several at once.
// The database must be migrated; users and conversations are made up, so that only messages grow.

let batchSetting = Setting<Int>.int(
    "ROOST_BATCH", default: 50, in: 1...5000, help: "messages a commit, each of another conversation")
let lanesSetting = Setting<Int>.int("ROOST_LANES", default: 1, in: 1...64, help: "lanes, each with its own loop and connection")
let rowsSetting = Setting<Int>.int("ROOST_ROWS", default: 200_000, in: 1...100_000_000, help: "messages in all")
let readsSetting = Setting<Bool>.bool("ROOST_POSITIONS", default: false, help: "whether each message comes with a read position")
let journalSettings: [any DeclaredSetting] = [batchSetting, lanesSetting, rowsSetting, readsSetting]

/// One lane that commits its next batch as soon as the last one is done. Confined to its loop.
final class Lane: @unchecked Sendable {
    let loop: EventLoop
    let journal: PostgresJournal
    let fence: JournalFence
    let conversations: [ConversationID]
    let users: [UserID]
    let withPositions: Bool
    var left: Int
    var seq: Int64 = 0
    var done: (@Sendable (StoreError?) -> Void)?

    init(
        configuration: PostgresConfiguration, fence: JournalFence, conversations: [ConversationID], users: [UserID], commits: Int,
        withPositions: Bool
    ) throws {
        loop = try EventLoop(name: "lane-\(fence.lane)")
        journal = PostgresJournal(configuration: configuration, loop: loop, incarnation: fence.incarnation)
        self.fence = fence
        self.conversations = conversations
        self.users = users
        self.withPositions = withPositions
        left = commits
        loop.start()
    }

    func connect() async {
        await journal.connect(on: loop)
    }

    func run() async -> StoreError? {
        await withCheckedContinuation { continuation in
            loop.execute { [self] in
                done = { continuation.resume(returning: $0) }
                next()
            }
        }
    }

    private func next() {
        if left == 0 {
            done?(nil)
            return
        }
        left -= 1
        seq += 1
        let now = Timestamp.now
        let text = "The quick brown fox jumps over the lazy dog, and then goes home to sleep."
        let entries = conversations.indices.map { index in
            let message = Message(
                conversationID: conversations[index], seq: Seq(seq), changeSeq: Seq(seq), clientID: DeviceID.make().description,
                senderID: users[index], kind: .text, text: text, createdAt: now)
            let positions =
                withPositions ? [PositionChange(userID: users[index], readSeq: Seq(seq), deliveredSeq: Seq(seq), at: now)] : []
            return JournalEntry(
                conversationID: conversations[index], messages: [message], positions: positions, marksActive: seq == 1)
        }
        journal.commit(JournalBatch(fence: fence, entries: entries)) { [self] result in
            switch result {
            case .success(let outcomes) where outcomes.allSatisfy({ $0 == .committed }): next()
            case .success: done?(StoreError(.conflict))
            case .failure(let error): done?(error)
            }
        }
    }
}

func measureJournal(_ configuration: Configuration) async throws {
    let (batch, lanes, rows) = (configuration[batchSetting], configuration[lanesSetting], configuration[rowsSetting])
    let postgres = PostgresConfiguration(url: configuration[PostgresConfiguration.urlSetting])
    let loop = try EventLoop(name: "postgres")
    loop.start()
    let pool = PostgresPool(configuration: postgres, loop: loop)
    pool.start()
    try await pool.waitUntilAvailable()
    let node = NodeIdentity(name: "bench", incarnation: .make())
    try await PostgresClusterStore(pool: pool).register(node, lanes: lanes, url: "", adminURL: "", version: "", leaseSeconds: 600)
    let accounts = PostgresAccountStore(pool: pool)
    let conversations = PostgresConversationStore(pool: pool)
    var all: [Lane] = []
    for lane in 0..<lanes {
        var users: [UserID] = []
        var ids: [ConversationID] = []
        for _ in 0..<batch {
            var pair: [UserID] = []
            for _ in 0..<2 {
                let user = User(id: .make(), email: nil, displayName: "Bench", createdAt: .now)
                let token = TokenHash((0..<32).map { _ in UInt8.random(in: 0...255) })
                let device = NewDevice(
                    id: .make(), userID: user.id, name: nil, platform: nil, refreshToken: token, createdAt: .now,
                    expiresAt: .now + .seconds(60))
                try await accounts.createUser(user, passwordHash: nil, device: device)
                pair.append(user.id)
            }
            users.append(pair[0])
            ids.append(try await conversations.openDirect(between: pair[0], and: pair[1], newID: .make(), at: .now).id)
        }
        all.append(
            try Lane(
                configuration: postgres, fence: JournalFence(incarnation: node.incarnation, lane: lane), conversations: ids,
                users: users,
                commits: rows / batch / lanes, withPositions: configuration[readsSetting]))
    }
    for lane in all { await lane.connect() }
    let began = MonotonicTime.now
    let fault = await withTaskGroup(of: StoreError?.self) { group in
        for lane in all { group.addTask { await lane.run() } }
        return await group.reduce(nil) { $0 ?? $1 }
    }
    if let fault { throw fault }
    let seconds = Double((MonotonicTime.now - began).nanoseconds) / 1e9
    let commits = rows / batch / lanes * lanes
    print(
        "lanes \(lanes), batch \(batch): \(Int(Double(commits * batch) / seconds)) rows/s, \(Int(Double(commits) / seconds)) commits/s"
    )
}

import EventLoop
import Foundation
import Ports
import RoostModel
import Runtime
import TestSupport
import Testing

@testable import PostgresStore

/// What only a real database can do to the stores: locks, lost connections, restarts.
@Suite struct PostgresStoreTests {
    // MARK: Commits that take long

    /// A commit takes its transaction number and is held up; others commit; somebody syncs. What the held one wrote must come with the
    /// next sync, though nothing but its number tells.
    @Test func aStalledCommitIsNotSkippedBySync() async throws {
        let base = try await Base()
        let (me, other) = (try await base.world.makeUser().id, try await base.world.makeUser().id)
        let held = try await base.world.openDirect(me, other)
        let busy = try await base.world.openDirect(me, base.world.makeUser().id)
        let (lane, second) = (try await base.world.makeLane(), try await base.world.makeLane())
        try await lane.send("one", in: held, from: other, first: 1)
        try await lane.settle(SettleEntry(conversationID: held, head: Seq(1), lastActivityAt: .now))
        let before = try await base.world.conversations.sync(for: me, since: nil, limit: 50)

        let blocker = try await base.session()
        try await blocker.run("BEGIN")
        try await blocker.run("SELECT 1 FROM members WHERE conversation_id = '\(held)' FOR UPDATE")
        async let stalled = lane.commit(.position(me, in: held, read: 1, delivered: 1))
        try await base.waitForLock(of: lane.node)
        for seq in 1...5 { try await second.send("m", in: busy, from: me, first: Int64(seq)) }
        try await second.settle(SettleEntry(conversationID: busy, head: Seq(5), lastActivityAt: .now))
        let between = try await base.world.conversations.sync(for: me, since: before.token, limit: 50)
        #expect(between.conversations.first { $0.id == busy }?.lastSeq == Seq(5))
        #expect(between.conversations.first { $0.id == held }?.readSeq != Seq(1))
        try await blocker.run("ROLLBACK")
        #expect(try await stalled == [.committed])

        let after = try await base.world.conversations.sync(for: me, since: between.token, limit: 50)
        #expect(after.conversations.first { $0.id == held }?.readSeq == Seq(1))
        // And once other tests' transactions, which hold the horizon back, have ended, there is nothing to tell.
        let token = Locked(after.token)
        try await eventually("nothing has changed") {
            let page = try await base.world.conversations.sync(for: me, since: token.withLock { $0 }, limit: 50)
            token.withLock { $0 = page.token }
            return page.conversations.isEmpty
        }
    }

    /// A message made before the first page of a list, but committed after it, moves nothing in the pages to come: whichever of the two
    /// ways it is written.
    @Test(arguments: [nil, EntryChanges()]) func aStalledCommitDoesNotDisturbAList(_ changes: EntryChanges?) async throws {
        let base = try await Base()
        let lane = try await base.world.makeLane()
        let me = try await base.world.makeUser().id
        var ids: [ConversationID] = []
        for index in 0..<6 {
            let other = try await base.world.makeUser().id
            let time = Timestamp.now + .seconds(index - 600)
            ids.append(try await base.world.conversations.openDirect(between: me, and: other, newID: .make(), at: time).id)
        }
        let blocker = try await base.session()
        try await blocker.run("BEGIN")
        try await blocker.run("SELECT 1 FROM members WHERE conversation_id = '\(ids[1])' FOR UPDATE")
        var entry = JournalEntry.messages(["late"], in: ids[1], from: me, first: 1)
        entry.positions = [PositionChange(userID: me, readSeq: Seq(1), deliveredSeq: Seq(1), at: .now)]
        entry.changes = changes
        async let stalled = lane.commit(entry)
        try await base.waitForLock(of: lane.node)
        let first = try await base.world.conversations.conversations(for: me, cursor: nil, limit: 3, at: .now)
        try await blocker.run("ROLLBACK")
        #expect(try await stalled == [.committed])
        let second = try await base.world.conversations.conversations(for: me, cursor: first.nextCursor, limit: 3, at: .now)
        #expect((first.items + second.items).map(\.id) == ids.reversed())
        #expect(second.nextCursor == nil)
        #expect(try await base.world.conversations.conversations(for: me, cursor: nil, limit: 3, at: .now).items[0].id == ids[1])
    }

    @Test func declaringDeadWaitsForCommitsInFlight() async throws {
        let base = try await Base()
        let leader = try await base.world.makeLane()
        let term = try #require(try await base.world.cluster.lead(leader.node, displacing: nil, leaseSeconds: 600))
        // The wait is bounded, and ends the commit. A busy machine may let that happen here; then nothing is stored, and it is tried again.
        var wasInTime = false
        for _ in 0..<50 where !wasInTime {
            let lane = try await base.world.makeLane()
            let (id, a, _) = try await base.world.makeDirect()
            let blocker = try await base.session()
            try await blocker.run("BEGIN")
            try await blocker.run("SELECT 1 FROM members WHERE conversation_id = '\(id)' FOR UPDATE")
            var entry = JournalEntry.messages(["in time"], in: id, from: a, first: 1)
            entry.positions = [PositionChange(userID: a, readSeq: Seq(1), deliveredSeq: Seq(1), at: .now)]
            async let commit = Result { [entry] in try await lane.commit(entry) }
            try await base.waitForLock(of: lane.node)
            async let declared = base.world.cluster.declareDead(lane.node.incarnation, placements: [], term: term)
            try await base.waitForFence(of: lane.node)
            try await blocker.run("ROLLBACK")
            #expect(try await declared)
            switch await commit {
            case .success(let outcomes):
                wasInTime = true
                #expect(outcomes == [.committed])
                #expect(await storeErrorCode { try await lane.send("too late", in: id, from: a, first: 2) } == .fenced)
                #expect(try await leader.load([id])[id]?.head == Seq(1))
            case .failure(let error):
                #expect((error as? StoreError)?.outcomeUnknown == true, "\(error)")
                #expect(try await leader.load([id])[id]?.head == .zero)
            }
        }
        #expect(wasInTime)
    }

    /// A commit that never ends, because its process was stopped, must not hold up the cluster.
    @Test func declaringDeadEndsACommitThatHangs() async throws {
        let base = try await Base()
        let leader = try await base.world.makeLane()
        let term = try #require(try await base.world.cluster.lead(leader.node, displacing: nil, leaseSeconds: 60))
        let hung = try await base.world.makeLane()
        let session = try await base.session(application: "roost-journal-\(hung.node.incarnation)")
        try await session.run("BEGIN")
        try await session.run("SELECT 1 FROM node_fences WHERE incarnation = '\(hung.node.incarnation)' FOR NO KEY UPDATE")
        #expect(try await base.world.cluster.declareDead(hung.node.incarnation, placements: [], term: term))
        #expect(try await base.world.cluster.view().nodes.first { $0.identity == hung.node }?.state == .dead)
    }

    /// A change of an older message takes a value of the counter too: an owner that missed it must not give the value to a message.
    @Test func aChangedMessageTakesItsValue() async throws {
        let base = try await Base()
        let lane = try await base.world.makeLane()
        let (id, a, b) = try await base.world.makeDirect()
        try await lane.send("one", "two", in: id, from: a, first: 1)
        let session = try await base.session()
        try await session.run("UPDATE messages SET change_seq = 3, text = 'edited' WHERE conversation_id = '\(id)' AND seq = 1")
        #expect(try await lane.load([id])[id]?.head == Seq(3))
        #expect(try await lane.commit(.messages(["fork"], in: id, from: b, first: 3)) == [.conflict])
        #expect(try await lane.commit(.messages(["gap"], in: id, from: b, first: 5)) == [.conflict])
        #expect(try await lane.commit(.messages(["four"], in: id, from: b, first: 4)) == [.committed])
        let changes = try #require(try await base.world.conversations.changes(of: id, for: b, after: Seq(1), limit: 50))
        #expect(changes.items.map(\.message.changeSeq.value) == [2, 3, 4] && changes.upToSeq == Seq(4))
        #expect(changes.items.map(\.message.seq.value) == [2, 1, 4])
        let first = try #require(try await base.world.conversations.changes(of: id, for: b, after: .zero, limit: 2))
        #expect(first.items.map(\.message.changeSeq.value) == [2, 3] && first.hasMore)
        try await lane.settle(SettleEntry(conversationID: id, head: Seq(4), lastActivityAt: .now))
        #expect(try await lane.load([id])[id]?.isActive == false)
    }

    // MARK: Lost connections

    @Test func aCommitWhoseConnectionBreaksIsUnknown() async throws {
        let base = try await Base()
        let lane = try await base.world.makeLane()
        let (id, a, _) = try await base.world.makeDirect()
        let blocker = try await base.session()
        try await blocker.run("BEGIN")
        try await blocker.run("SELECT 1 FROM members WHERE conversation_id = '\(id)' FOR UPDATE")
        async let commit = Result { try await lane.commit(.position(a, in: id, read: 1, delivered: 1)) }
        try await base.waitForLock(of: lane.node)
        try await blocker.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'roost-journal-\(lane.node.incarnation)'"
        )
        let error = await commit.storeError
        #expect(error?.code == .unavailable && error?.outcomeUnknown == true)
        try await blocker.run("ROLLBACK")
        try await eventually("the lane is back") { (try? await lane.load([id])) != nil }
        try await lane.send("one", in: id, from: a, first: 1)
    }

    /// The client gives up while the server still works on the commit. Until that is over the journal answers nothing, so that no load
    /// can miss it.
    @Test func aLaneWaitsForWhatItsLostConnectionLeftBehind() async throws {
        let base = try await Base { configuration in
            configuration.statementTimeout = .seconds(30)
            configuration.requestTimeout = .milliseconds(250)
        }
        let lane = try await base.world.makeLane()
        let (id, a, _) = try await base.world.makeDirect()
        let blocker = try await base.session()
        try await blocker.run("BEGIN")
        try await blocker.run("SELECT 1 FROM members WHERE conversation_id = '\(id)' FOR UPDATE")
        var entry = JournalEntry.messages(["one"], in: id, from: a, first: 1)
        entry.positions = [PositionChange(userID: a, readSeq: Seq(1), deliveredSeq: Seq(1), at: .now)]
        let error = await Result { try await lane.commit(entry) }.storeError
        #expect(error?.code == .unavailable && error?.outcomeUnknown == true)
        // Connected again, and behind the lost commit.
        try await eventually("the new connection waits") {
            try await base.lockWaits(application: "roost-journal-\(lane.node.incarnation)") >= 2
        }
        #expect(await storeErrorCode { _ = try await lane.load([id]) } == .unavailable)
        try await blocker.run("ROLLBACK")
        try await eventually("the lane is back") { (try? await lane.load([id])) != nil }
        #expect(try await lane.load([id])[id]?.head == Seq(1))
    }

    @Test func aSlowStatementEndsAsUnavailable() async throws {
        let base = try await Base { $0.statementTimeout = .milliseconds(200) }
        let error = await Result { try await base.pool.query(PostgresStatement("sleep", "SELECT pg_sleep(30)::text")) }.storeError
        #expect(error?.code == .unavailable && error?.outcomeUnknown == false)
    }

    @Test func aHungServerIsGivenUp() async throws {
        let base = try await Base { configuration in
            configuration.statementTimeout = .seconds(60)
            configuration.requestTimeout = .seconds(2)
        }
        let sleep = PostgresStatement("sleep", "SELECT pg_sleep(5)::text")
        // More than may wait: the rest is refused at once, and none is left unanswered.
        let results = await withTaskGroup(of: StoreError?.self) { group in
            for _ in 0..<PostgresPool.waitingLimit + 200 {
                group.addTask { await Result { _ = try await base.pool.query(sleep) }.storeError }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.count == PostgresPool.waitingLimit + 200)
        #expect(results.allSatisfy { $0?.code == .unavailable })
        #expect(results.contains { $0?.detail == "too many requests wait" })
        try await eventually("the pool is back") { (try? await base.pool.ping()) != nil }
    }

    @Test func aFailedStatementLeavesItsNeighboursAlone() async throws {
        let base = try await Base()
        let good = PostgresStatement("good", "SELECT $1::bigint * 2")
        // Nobody can prepare it; whoever came while another tried finds it missing.
        let bad = PostgresStatement("bad", "SELECT nonsense")
        let failing = PostgresStatement("failing", "SELECT 1 / $1::bigint")
        for _ in 0..<3 {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        switch number % 3 {
                        case 0:
                            let rows = await Result { try await base.pool.query(good) { $0.add(Int64(number)) } }
                            #expect((try? rows.get())?[0].int64(0) == Int64(2 * number))
                        case 1:
                            #expect(
                                [.failed, .unavailable].contains(await storeErrorCode { _ = try await base.pool.query(bad) }))
                        default:
                            #expect(
                                await storeErrorCode { _ = try await base.pool.query(failing) { $0.add(Int64(0)) } } == .failed)
                        }
                    }
                }
            }
        }
        // Two statements are one transaction: the second's failure undoes the first.
        let name = "undone \(UserID.make())"
        let insert = PostgresStatement("insert", "INSERT INTO cluster_secrets VALUES ($1::text, ''::bytea)")
        let result = await base.pool.attempt([
            PostgresCommand(insert) { $0.add(name) }, PostgresCommand(failing) { $0.add(Int64(0)) },
        ])
        #expect((try? result.get()) == nil)
        let count = PostgresStatement("count", "SELECT count(*) FROM cluster_secrets WHERE name = $1::text")
        #expect(try await base.pool.query(count) { $0.add(name) }[0].int64(0) == 0)
    }

    @Test func aStoppedDatabaseIsPromptlyUnavailableAndComesBack() async throws {
        let server = try await PostgresProcess.make()
        let base = try await Base(url: server.url())
        let lane = try await base.world.makeLane()
        let (id, a, _) = try await base.world.makeDirect()
        try await lane.send("one", in: id, from: a, first: 1)
        let changes = Locked<[Bool]>([])
        base.pool.observe { isAvailable in changes.withLock { $0.append(isAvailable) } }

        for (mode, seq) in [(PostgresProcess.StopMode.fast, Int64(2)), (.immediate, 3)] {
            await server.stop(mode)
            try await eventually("the pool notices") { !base.pool.isAvailable }
            // Each of these fails without waiting for anything; the whole would time out otherwise.
            for _ in 0..<500 {
                #expect(await storeErrorCode { try await base.pool.ping() } == .unavailable)
            }
            #expect(await storeErrorCode { try await lane.send("no", in: id, from: a, first: seq) } == .unavailable)
            try await server.start()
            try await eventually("the pool is back") { (try? await base.pool.ping()) != nil }
            try await eventually("the lane is back") { (try? await lane.load([id])) != nil }
            try await lane.send("again", in: id, from: a, first: seq)
        }
        #expect(changes.withLock { $0 } == [false, true, false, true])
        #expect(try await base.world.conversations.history(of: id, for: a, range: .newest, limit: 5)?.items.count == 3)
        await server.remove()
    }
}

/// A database of a test's own, with a pool and the stores over it.
struct Base: Sendable {
    let url: String
    let pool: PostgresPool
    let world: StoreWorld
    private let observer: Session

    init(url: String? = nil, _ adjust: (inout PostgresConfiguration) -> Void = { _ in }) async throws {
        if let url {
            self.url = url
        } else {
            let server = try await StoreWorld.server()
            self.url = try await server.url(database: server.createDatabase())
        }
        var configuration = PostgresConfiguration.patient(url: self.url)
        adjust(&configuration)
        (world, pool) = try await StoreWorld.postgres(configuration: configuration, connections: 2)
        observer = try await Session(url: self.url, application: "observer")
    }

    func session(application: String = "session") async throws -> Session {
        try await Session(url: url, application: application)
    }

    func lockWaits(application: String) async throws -> Int {
        let statement = PostgresStatement(
            "lock waits",
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE application_name = $1::text AND wait_event_type = 'Lock' AND datname = current_database()
            """)
        return try await Int(observer.pool.query(statement) { $0.add(application) }[0].int64(0))
    }

    /// Returns once a session waits for a lock.
    func waitForLock(application: String) async throws {
        try await eventually("a session waits for a lock") { try await lockWaits(application: application) > 0 }
    }

    func waitForLock(of node: NodeIdentity) async throws {
        try await waitForLock(application: "roost-journal-\(node.incarnation)")
    }

    /// Returns once whoever closes the fence of a node waits for its commits, or has waited long enough and closed it.
    func waitForFence(of node: NodeIdentity) async throws {
        let statement = PostgresStatement(
            "closed fences", "SELECT count(*) FROM node_fences WHERE incarnation = $1::uuid AND NOT is_open")
        try await eventually("the fence is waited for, or closed") {
            if try await lockWaits(application: "roost") > 0 { return true }
            return try await observer.pool.query(statement) { $0.add(node.incarnation) }[0].int64(0) > 0
        }
    }
}

/// One connection, for a test's own transactions.
final class Session: Sendable {
    let pool: PostgresPool
    private let loop: EventLoop

    init(url: String, application: String) async throws {
        var configuration = PostgresConfiguration.patient(url: url)
        configuration.applicationName = application
        loop = try EventLoop(name: "session")
        loop.start()
        pool = PostgresPool(configuration: configuration, loop: loop, connections: 1)
        pool.start()
        try await pool.waitUntilAvailable()
    }

    func run(_ text: String) async throws {
        _ = try await pool.query(PostgresStatement("test \(text)".prefix(60) + "\(text.hashValue)", text))
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }

    fileprivate var storeError: StoreError? {
        switch self {
        case .success: nil
        case .failure(let error): error as? StoreError
        }
    }
}

import MemoryAdapters
import Ports
import RoostModel
import TestSupport
import Testing

/// The faults that tests can order from the memory stores.
@Suite struct MemoryStoreTests {
    private func world(_ database: MemoryDatabase) -> StoreWorld {
        StoreWorld(
            accounts: MemoryAccountStore(database), contacts: MemoryContactStore(database),
            operators: MemoryOperatorStore(database), deletions: MemoryDeletionStore(database),
            conversations: MemoryConversationStore(database),
            cluster: MemoryClusterStore(database), mail: MemoryMailOutbox(database),
            makeJournal: { loop, _ in MemoryJournal(database, loop: loop) })
    }

    @Test func canBeAway() async throws {
        let database = MemoryDatabase()
        let world = world(database)
        let lane = try await world.makeLane()
        let (id, a, _) = try await world.makeDirect()
        database.setAvailable(false)
        #expect(await storeErrorCode { try await lane.send("one", in: id, from: a, first: 1) } == .unavailable)
        #expect(await storeErrorCode { _ = try await lane.load([id]) } == .unavailable)
        #expect(await storeErrorCode { _ = try await world.cluster.view() } == .unavailable)
        database.setAvailable(true)
        try await lane.send("one", in: id, from: a, first: 1)
    }

    @Test func aStalledCommitHoldsItsFence() async throws {
        let database = MemoryDatabase()
        let world = world(database)
        let lane = try await world.makeLane()
        let (id, a, _) = try await world.makeDirect()
        database.stallCommits()
        async let commit = lane.commit(.messages(["one"], in: id, from: a, first: 1))
        try await eventually("the commit is stalled") { database.stalledCommits == 1 }
        #expect(try await lane.load([id])[id]?.head == .zero)
        async let left: Void = world.cluster.leave(lane.node)
        database.releaseCommits()
        #expect(try await commit == [.committed])
        try await left
        #expect(await storeErrorCode { try await lane.send("two", in: id, from: a, first: 2) } == .fenced)
        #expect(try await lane.load([id])[id]?.head == Seq(1))
    }

    @Test(arguments: [true, false]) func aBrokenCommitIsUnknown(stored: Bool) async throws {
        let database = MemoryDatabase()
        let world = world(database)
        let lane = try await world.makeLane()
        let (id, a, _) = try await world.makeDirect()
        database.breakNextCommit(stored: stored)
        do {
            try await lane.send("one", in: id, from: a, first: 1)
            Issue.record("no error")
        } catch { #expect((error as? StoreError)?.outcomeUnknown == true) }
        #expect(try await lane.load([id])[id]?.head.value == (stored ? 1 : 0))
    }
}

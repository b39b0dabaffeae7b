import Ports
import RoostModel
import Testing

/// What every ``Journal`` keeps.
@Suite struct JournalContract {
    @Test(arguments: StoreKind.allCases) func commitsAndLoads(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (id, a, b) = try await world.makeDirect()
        let new = try #require(try await lane.load([id, .make()])[id])
        #expect(new.head == .zero && !new.isActive && !new.isReadOnly && new.kind == .direct)
        #expect(Set(new.members.map(\.userID)) == [a, b])

        try await lane.send("one", "two 🐓 \u{1F469}\u{200D}\u{1F680}", in: id, from: a, first: 1)
        try await lane.send("three", in: id, from: b, first: 3)
        let loaded = try #require(try await lane.load([id])[id])
        #expect(loaded.head == Seq(3) && loaded.isActive)
        #expect(new.lastMessageAt == nil)
        let history = try #require(try await world.conversations.history(of: id, for: b, range: .newest, limit: 50))
        #expect(loaded.lastMessageAt == history.items.last?.message.createdAt)
        #expect(history.items.map(\.message.text) == ["one", "two 🐓 \u{1F469}\u{200D}\u{1F680}", "three"])
        #expect(history.items.map(\.message.seq.value) == [1, 2, 3])
        #expect(try await lane.load([]).isEmpty)
        #expect(try await lane.commit([]) == [])
    }

    @Test(arguments: StoreKind.allCases) func entriesConflictAlone(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let a = try await world.makeUser().id
        var ids: [ConversationID] = []
        for _ in 0..<5 { ids.append(try await world.openDirect(a, world.makeUser().id)) }
        _ = try await lane.commit(
            .messages(["1"], in: ids[0], from: a, first: 1, clientIDs: ["x"]),
            .messages(["1", "2"], in: ids[1], from: a, first: 1))

        let outcomes = try await lane.commit(
            // The client id exists; the position must not be stored either.
            JournalEntry(
                conversationID: ids[0],
                messages: JournalEntry.messages(["2"], in: ids[0], from: a, first: 2, clientIDs: ["x"]).messages,
                positions: [PositionChange(userID: a, readSeq: Seq(2), deliveredSeq: Seq(2), at: .now)], marksActive: true),
            // Begins too low: the second value is free, and must not be stored without the first.
            .messages(["other", "3"], in: ids[1], from: a, first: 2),
            .messages(["1"], in: ids[2], from: a, first: 1),
            // Begins too high.
            .messages(["5"], in: ids[3], from: a, first: 5),
            JournalEntry.messages(["1", "2"], in: ids[4], from: a, first: 1, clientIDs: ["x", "y"]))
        #expect(outcomes == [.conflict, .conflict, .committed, .conflict, .committed])
        let heads = try await lane.load(ids)
        #expect(ids.map { heads[$0]?.head.value } == [1, 2, 1, 0, 2])
        #expect(heads[ids[0]]?.members.first { $0.userID == a }?.readSeq == .zero)
    }

    @Test(arguments: StoreKind.allCases) func oneClientIDTwiceInAnEntry(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (id, a, b) = try await world.makeDirect()
        let other = try await world.openDirect(a, world.makeUser().id)
        let outcomes = try await lane.commit(
            .messages(["1", "2"], in: id, from: a, first: 1, clientIDs: ["x", "x"]),
            .messages(["1"], in: other, from: a, first: 1))
        #expect(outcomes == [.conflict, .committed])
        // Another sender's same client id is another message.
        #expect(try await lane.commit(.messages(["1"], in: id, from: a, first: 1, clientIDs: ["x"])) == [.committed])
        #expect(try await lane.commit(.messages(["2"], in: id, from: b, first: 2, clientIDs: ["x"])) == [.committed])
    }

    @Test(arguments: StoreKind.allCases) func refusesUnstorableTextAlone(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (bad, a, _) = try await world.makeDirect()
        let good = try await world.openDirect(a, world.makeUser().id)
        let outcomes = try await lane.commit(
            .messages(["a\0b"], in: bad, from: a, first: 1), .messages(["fine"], in: good, from: a, first: 1))
        #expect(outcomes == [.refused, .committed])
        #expect(try await lane.load([bad])[bad]?.head == .zero)
    }

    @Test(arguments: StoreKind.allCases) func findsStoredMessages(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (id, a, b) = try await world.makeDirect()
        _ = try await lane.commit(.messages(["one", "two"], in: id, from: a, first: 1, clientIDs: ["x", "y"]))
        func key(_ sender: UserID, _ client: String) -> MessageKey {
            MessageKey(conversationID: id, senderID: sender, clientID: client)
        }
        let stored = try await lane.stored([key(a, "y"), key(b, "x"), key(a, "none"), key(a, "x"), key(a, "y")])
        #expect(stored.map { $0?.text } == ["two", nil, nil, "one", "two"])
        #expect(stored[3]?.seq == Seq(1))
    }

    @Test(arguments: StoreKind.allCases) func positionsOnlyRise(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (id, a, b) = try await world.makeDirect()
        for first in 1...10 { try await lane.send("m", in: id, from: a, first: Int64(first)) }
        // Two devices, the later one further back.
        _ = try await lane.commit(.position(b, in: id, read: 10, delivered: 10))
        _ = try await lane.commit(.position(b, in: id, read: 5, delivered: 7))
        let counts = try #require(try await world.conversations.counts(of: id, for: b))
        #expect(counts.readSeq == Seq(10) && counts.deliveredSeq == Seq(10))
        // Both in one entry, and read implies delivered.
        let both = [
            PositionChange(userID: a, readSeq: Seq(3), deliveredSeq: Seq(3), at: .now),
            PositionChange(userID: a, readSeq: Seq(8), deliveredSeq: Seq(2), at: .now),
        ]
        _ = try await lane.commit(JournalEntry(conversationID: id, messages: [], positions: both, marksActive: false))
        let loaded = try #require(try await lane.load([id])[id])
        let position = try #require(loaded.members.first { $0.userID == a })
        #expect(position.readSeq == Seq(8) && position.deliveredSeq == Seq(8))
    }

    @Test(arguments: StoreKind.allCases) func settlesOnlyAnUnmovedHead(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (id, a, _) = try await world.makeDirect()
        let time = Timestamp.now
        try await lane.send("one", "two", in: id, from: a, first: 1, at: time)
        try await lane.settle(SettleEntry(conversationID: id, head: Seq(1), lastActivityAt: time))
        #expect(try await lane.load([id])[id]?.isActive == true)
        try await lane.settle(SettleEntry(conversationID: id, head: Seq(2), lastActivityAt: time))
        let settled = try #require(try await lane.load([id])[id])
        #expect(!settled.isActive && settled.head == Seq(2))
        let view = try #require(try await world.conversations.conversation(id, for: a))
        #expect(view.lastSeq == Seq(2) && view.lastActivityAt == time && view.lastMessage?.text == "two")
        try await lane.send("three", in: id, from: a, first: 3)
        #expect(try await lane.load([id])[id]?.isActive == true)
    }

    @Test(arguments: StoreKind.allCases) func aClosedFenceRefuses(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (id, a, _) = try await world.makeDirect()
        try await lane.send("one", in: id, from: a, first: 1)
        try await world.cluster.leave(lane.node)
        #expect(await storeErrorCode { try await lane.send("two", in: id, from: a, first: 2) } == .fenced)
        #expect(
            await storeErrorCode { try await lane.settle(SettleEntry(conversationID: id, head: Seq(1), lastActivityAt: .now)) }
                == .fenced)
        #expect(try await lane.load([id])[id]?.head == Seq(1))

        // A fence that never was.
        let stranger = try await JournalLane(world: world, node: NodeIdentity(name: "stranger", incarnation: .make()))
        #expect(await storeErrorCode { try await stranger.send("two", in: id, from: a, first: 2) } == .fenced)
    }

    @Test(arguments: StoreKind.allCases) func staleOwnerLosesByTheKey(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (one, two) = (try await world.makeLane(), try await world.makeLane())
        let (id, a, b) = try await world.makeDirect()
        try await one.send("one", in: id, from: a, first: 1)
        async let left = one.commit(.messages(["left"], in: id, from: a, first: 2))
        async let right = two.commit(.messages(["right"], in: id, from: b, first: 2))
        let outcomes = try await [left, right].flatMap { $0 }
        #expect(Set(outcomes) == [.committed, .conflict])
        let history = try #require(try await world.conversations.history(of: id, for: a, range: .newest, limit: 50))
        #expect(history.items.map(\.message.seq.value) == [1, 2])
    }

    @Test(arguments: StoreKind.allCases) func findsRecentMessagesOfMarked(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (id, a, b) = try await world.makeDirect()
        let shard = ShardID(of: id).number
        let start = Timestamp(milliseconds: Timestamp.now.milliseconds)
        for first in 1...60 { try await lane.send("m", in: id, from: a, first: Int64(first), at: start + .milliseconds(first)) }
        let all = try await lane.recent([shard], since: start).filter { $0.message.conversationID == id }
        #expect(all.map(\.message.seq.value) == Array(11...60))
        #expect(all.allSatisfy { Set($0.memberIDs) == [a, b] })
        let last = try await lane.recent([shard], since: start + .milliseconds(58)).filter { $0.message.conversationID == id }
        #expect(last.map(\.message.seq.value) == [58, 59, 60])
        #expect(try await lane.recent([(shard + 1) % 1024], since: start).allSatisfy { $0.message.conversationID != id })
        try await lane.settle(SettleEntry(conversationID: id, head: Seq(60), lastActivityAt: start + .milliseconds(60)))
        #expect(try await lane.recent([shard], since: start).allSatisfy { $0.message.conversationID != id })
    }
}

import Ports
import RoostModel
import TestSupport
import Testing

@testable import PostgresStore

/// How changes share a batch, a fence and the database with everything else.
@Suite struct PostgresChangesTests {
    private func change(
        _ chat: Chat, first: Seq?, _ body: (inout JournalEntry, inout EntryChanges) -> Void
    ) -> JournalEntry {
        var entry = JournalEntry(conversationID: chat.id, messages: [], positions: [], marksActive: true)
        var changes = EntryChanges()
        changes.firstSeq = first
        body(&entry, &changes)
        entry.changes = changes
        return entry
    }

    /// Plain and rich entries of one batch each have their own fate, told in the batch's order.
    @Test func bothKindsInOneBatch() async throws {
        let world = try await StoreWorld.shared(.postgres)
        let (lane, me) = (try await world.makeLane(), try await world.makeUser().id)
        var chats: [Chat] = []
        for _ in 0..<7 {
            chats.append(Chat(world: world, lane: lane, id: try await world.openDirect(me, world.makeUser().id)))
        }
        for chat in chats { try await chat.send("first", from: me, clientID: "x") }
        var edited = try await chats[1].target(Seq(1)).message
        (edited.changeSeq, edited.text, edited.editedAt) = (Seq(2), "edited", .now)
        let outcomes = try await lane.commit([
            .messages(["plain"], in: chats[0].id, from: me, first: 2),
            change(chats[1], first: Seq(2)) { $1.changedMessages = [edited] },
            .messages(["its client id is taken"], in: chats[2].id, from: me, first: 2, clientIDs: ["x"]),
            change(chats[3], first: Seq(9)) { $1.hidden = [HiddenChange(seq: Seq(1), userID: me)] },
            change(chats[4], first: nil) { $1.update = ConversationUpdate(title: "a\0b") },
            change(chats[5], first: nil) { $1.hidden = [HiddenChange(seq: Seq(1), userID: me)] },
            .messages(["not the next value"], in: chats[6].id, from: me, first: 3),
        ])
        #expect(outcomes == [.committed, .committed, .conflict, .conflict, .refused, .committed, .conflict])
        var texts: [[String]] = []
        for chat in chats { texts.append(try await chat.history(me).map(\.text)) }
        #expect(texts == [["first", "plain"], ["edited"], ["first"], ["first"], ["first"], [], ["first"]])
    }

    /// A reply whose client id exists already, found by an index alone: its neighbours are stored all the same.
    @Test(arguments: [false, true]) func oneClientIDTwiceInAnEntryLeavesTheOthers(isRich: Bool) async throws {
        let world = try await StoreWorld.shared(.postgres)
        let (chat, me, _) = try await Chat.direct(world)
        let other = Chat(world: world, lane: chat.lane, id: try await world.openDirect(me, world.makeUser().id))
        for chat in [chat, other] { try await chat.send("first", from: me) }
        let mentions = isRich ? [me] : []
        func replies(_ chat: Chat, _ clientIDs: [String], mentions: [UserID]) -> JournalEntry {
            var entry = JournalEntry.messages(clientIDs, in: chat.id, from: me, first: 2, clientIDs: clientIDs)
            let quote = Quote(seq: Seq(1), senderID: me, kind: .text, text: "first", isDeleted: false)
            for index in entry.messages.indices {
                entry.messages[index].replyTo = quote
                entry.messages[index].mentions = mentions
            }
            return entry
        }
        // With mentions by the function, without by the plain statement.
        #expect(
            try await chat.lane.commit([
                replies(chat, ["x", "x"], mentions: mentions), replies(other, ["x", "y"], mentions: mentions),
            ]) == [.conflict, .committed])
        #expect(try await chat.history(me).count == 1)
        #expect(try await other.history(me).map(\.replyTo?.text) == [nil, "first", "first"])
    }

    @Test func aClosedFenceRefusesChanges() async throws {
        let world = try await StoreWorld.shared(.postgres)
        let (chat, me, _) = try await Chat.direct(world)
        try await chat.send("first", from: me)
        try await world.cluster.leave(chat.lane.node)
        let hide = change(chat, first: nil) { $1.hidden = [HiddenChange(seq: Seq(1), userID: me)] }
        #expect(await storeErrorCode { _ = try await chat.lane.commit(hide) } == .fenced)
        let message = JournalEntry.messages(["second"], in: chat.id, from: me, first: 2)
        #expect(await storeErrorCode { _ = try await chat.lane.commit([hide, message]) } == .fenced)
        #expect(try await chat.history(me).map(\.text) == ["first"])
    }

    /// The answer of one half says nothing about the other.
    @Test func anUnknownHalfMakesTheWholeUnknown() {
        func merged(
            _ plain: Result<[JournalOutcome], StoreError>, _ rich: Result<[JournalOutcome], StoreError>
        ) -> Result<[JournalOutcome], StoreError> {
            JournalCommit.merged([([0, 2], plain), ([1], rich)], count: 3)
        }
        func isUnknown(_ result: Result<[JournalOutcome], StoreError>, _ code: StoreError.Code) -> Bool? {
            guard case .failure(let error) = result, error.code == code else { return nil }
            return error.outcomeUnknown
        }
        #expect(try! merged(.success([.conflict, .committed]), .success([.refused])).get() == [.conflict, .refused, .committed])
        let away = StoreError(.unavailable)
        let lost = StoreError(.unavailable, outcomeUnknown: true)
        let fenced = StoreError(.fenced)
        #expect(isUnknown(merged(.success([.committed, .committed]), .failure(away)), .unavailable) == true)
        #expect(isUnknown(merged(.failure(away), .success([.committed])), .unavailable) == true)
        #expect(isUnknown(merged(.failure(away), .failure(away)), .unavailable) == false)
        #expect(isUnknown(merged(.failure(lost), .failure(away)), .unavailable) == true)
        #expect(isUnknown(merged(.failure(away), .failure(fenced)), .fenced) == false)
        #expect(isUnknown(merged(.success([.committed, .committed]), .failure(fenced)), .fenced) == true)
    }

    /// As of plain commits: what a change wrote is told by the number of its transaction alone.
    @Test func aStalledChangeIsNotSkippedBySync() async throws {
        let base = try await Base()
        let (chat, me, other) = try await Chat.direct(base.world)
        let busy = Chat(
            world: base.world, lane: try await base.world.makeLane(),
            id: try await base.world.openDirect(me, base.world.makeUser().id))
        let seq = try await chat.send("first", from: other)
        try await chat.settle()
        let before = try await base.world.conversations.sync(for: me, since: nil, limit: 50)

        let blocker = try await base.session()
        try await blocker.run("BEGIN")
        try await blocker.run("SELECT 1 FROM messages WHERE conversation_id = '\(chat.id)' FOR UPDATE")
        let message = try await chat.target(seq).message
        let edit = change(chat, first: Seq(2)) {
            var edited = message
            (edited.changeSeq, edited.text, edited.editedAt) = (Seq(2), "edited", .now)
            $1.changedMessages = [edited]
            $1.hidden = [HiddenChange(seq: seq, userID: me)]
        }
        async let stalled = chat.lane.commit(edit)
        try await base.waitForLock(of: chat.lane.node)
        for _ in 0..<3 { try await busy.send("m", from: me) }
        let between = try await base.world.conversations.sync(for: me, since: before.token, limit: 50)
        #expect(between.conversations.contains { $0.id == busy.id } && between.hidden.isEmpty)
        try await blocker.run("ROLLBACK")
        #expect(try await stalled == [.committed])
        let after = try await base.world.conversations.sync(for: me, since: between.token, limit: 50)
        #expect(after.conversations.first { $0.id == chat.id }?.lastSeq == Seq(2))
        #expect(after.hidden == [HiddenMessage(conversationID: chat.id, seq: seq)])
    }

    /// Nothing of a deleted conversation stays behind, once its rests have been cleared away.
    @Test func aDeletedConversationIsClearedAway() async throws {
        let base = try await Base()
        let (chat, users) = try await Chat.group(base.world, members: 3)
        let seq = try await chat.send("one", from: users[0], mentions: [users[1]])
        try await chat.react(seq, "👍", by: users[1])
        try await chat.hide(seq, by: users[2])
        try await chat.move(users[1], read: 3)
        while try await base.world.conversations.prepareSearch(limit: 10, all: true) > 0 {}
        func rows() async throws -> Int64 {
            let tables = ["messages", "message_words", "reactions", "mentions", "hidden", "positions", "members"]
            let counts = tables.map { "(SELECT count(*) FROM \($0) WHERE conversation_id = $1::uuid)" }
            let count = PostgresStatement("rows of a conversation", "SELECT \(counts.joined(separator: " + "))")
            return try await base.pool.query(count) { $0.add(chat.id) }[0].int64(0)
        }
        #expect(try await rows() > 8)
        try await chat.deleteAll()
        while try await base.world.conversations.prepareSearch(limit: 10, all: true) > 0 {}
        #expect(try await rows() == 0)
        #expect(try await chat.lane.commit(.messages(["late"], in: chat.id, from: users[0], first: 4)) == [.conflict])
    }
}

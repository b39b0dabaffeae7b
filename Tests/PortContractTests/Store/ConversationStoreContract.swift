import Ports
import RoostModel
import Testing

/// What every ``ConversationStore`` keeps.
@Suite struct ConversationStoreContract {
    @Test(arguments: StoreKind.allCases) func onePairOneConversation(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (a, b) = (try await world.makeUser().id, try await world.makeUser().id)
        let opened = try await withThrowingTaskGroup(of: (id: ConversationID, isNew: Bool).self) { group in
            for index in 0..<32 {
                let (first, second) = index % 2 == 0 ? (a, b) : (b, a)
                group.addTask { try await world.conversations.openDirect(between: first, and: second, newID: .make(), at: .now) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(opened.map(\.id)).count == 1)
        #expect(opened.filter(\.isNew).count == 1)
        let view = try #require(try await world.conversations.conversation(opened[0].id, for: b))
        #expect(view.lastSeq == .zero && view.memberCount == 2 && view.lastMessage == nil && view.unreadCount == 0)
        #expect(view.kind == .direct && view.title == nil && view.myRole == .member)
        #expect(await storeErrorCode { _ = try await world.openDirect(a, .make()) } == .conflict)
        #expect(await storeErrorCode { _ = try await world.openDirect(a, a) } == .conflict)
    }

    @Test(arguments: StoreKind.allCases) func strangersSeeNothing(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (id, a, _) = try await world.makeDirect()
        try await lane.send("secret", in: id, from: a, first: 1)
        let stranger = try await world.makeUser().id
        for conversation in [id, .make()] {
            let store = world.conversations
            #expect(try await store.conversation(conversation, for: stranger) == nil)
            #expect(try await store.history(of: conversation, for: stranger, range: .newest, limit: 50) == nil)
            #expect(try await store.changes(of: conversation, for: stranger, after: .zero, limit: 50) == nil)
            #expect(try await store.receipts(of: conversation, seq: Seq(1), for: stranger) == nil)
            #expect(try await store.counts(of: conversation, for: stranger) == nil)
            #expect(try await store.isMember(stranger, of: conversation) == false)
        }
        #expect(try await world.conversations.conversations(for: stranger, cursor: nil, limit: 50, at: .now).items.isEmpty)
        #expect(try await world.conversations.sync(for: stranger, since: nil, limit: 50).conversations.isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func historyRanges(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (id, a, b) = try await world.makeDirect()
        func page(_ range: HistoryRange, _ limit: Int) async throws -> ([Int64], Bool, Bool) {
            let page = try #require(try await world.conversations.history(of: id, for: b, range: range, limit: limit))
            return (page.items.map(\.message.seq.value), page.hasMoreBefore, page.hasMoreAfter)
        }
        #expect(try await page(.newest, 5) == ([], false, false))
        for first in 1...20 { try await lane.send("m\(first)", in: id, from: a, first: Int64(first)) }
        #expect(try await page(.newest, 5) == ([16, 17, 18, 19, 20], true, false))
        #expect(try await page(.newest, 20) == (Array(1...20), false, false))
        #expect(try await page(.before(Seq(4)), 5) == ([1, 2, 3], false, true))
        #expect(try await page(.before(Seq(10)), 2) == ([8, 9], true, true))
        #expect(try await page(.after(Seq(17)), 2) == ([18, 19], true, true))
        #expect(try await page(.after(Seq(17)), 3) == ([18, 19, 20], true, false))
        #expect(try await page(.after(.zero), 3) == ([1, 2, 3], false, true))
        #expect(try await page(.around(Seq(10)), 5) == ([8, 9, 10, 11, 12], true, true))
        #expect(try await page(.around(Seq(1)), 4) == ([1, 2, 3], false, true))
        #expect(try await page(.around(Seq(20)), 1) == ([20], true, false))
        #expect(try await page(.before(Seq(.min)), 5) == ([], false, true))
        #expect(try await page(.after(Seq(.max)), 5) == ([], true, false))
        #expect(try await page(.around(Seq(.max)), 5).0 == [19, 20])
    }

    @Test(arguments: StoreKind.allCases) func changesFromAPosition(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (id, a, b) = try await world.makeDirect()
        for first in 1...5 { try await lane.send("m\(first)", in: id, from: a, first: Int64(first)) }
        let first = try #require(try await world.conversations.changes(of: id, for: b, after: Seq(1), limit: 2))
        #expect(first.items.map(\.message.seq.value) == [2, 3] && first.upToSeq == Seq(3) && first.hasMore)
        let rest = try #require(try await world.conversations.changes(of: id, for: b, after: first.upToSeq, limit: 2))
        #expect(rest.items.map(\.message.seq.value) == [4, 5] && rest.upToSeq == Seq(5) && !rest.hasMore)
        let none = try #require(try await world.conversations.changes(of: id, for: b, after: Seq(5), limit: 2))
        #expect(none.items.isEmpty && none.upToSeq == Seq(5) && !none.hasMore)
    }

    @Test(arguments: StoreKind.allCases) func unreadCountsOthersOnly(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (id, a, b) = try await world.makeDirect()
        try await lane.send("1", "2", "3", in: id, from: a, first: 1)
        try await lane.send("4", in: id, from: b, first: 4)
        func unread(_ user: UserID) async throws -> Int? {
            try await world.conversations.conversation(id, for: user)?.unreadCount
        }
        #expect(try await unread(a) == 1)
        #expect(try await unread(b) == 3)
        _ = try await lane.commit(.position(b, in: id, read: 2, delivered: 2))
        #expect(try await unread(b) == 1)
        #expect(try await world.conversations.counts(of: id, for: b)?.unreadCount == 1)
        let many = (0..<1100).map { "\($0)" }
        #expect(try await lane.commit(.messages(many, in: id, from: a, first: 5)) == [.committed])
        #expect(try await unread(b) == 999)
    }

    @Test(arguments: StoreKind.allCases) func receiptsKeepTheFirstTime(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (id, a, b) = try await world.makeDirect()
        try await lane.send("1", "2", "3", in: id, from: a, first: 1)
        func receipts(_ seq: Int64) async throws -> MessageReceipts? {
            try await world.conversations.receipts(of: id, seq: Seq(seq), for: a)
        }
        #expect(try await receipts(1) == MessageReceipts(status: .sent, deliveredTo: [], seenBy: []))
        #expect(try await receipts(4) == nil)
        let times = (0..<3).map { Timestamp.now + .seconds($0) }
        _ = try await lane.commit(.position(b, in: id, read: 0, delivered: 2, at: times[0]))
        #expect(
            try await receipts(2)
                == MessageReceipts(status: .delivered, deliveredTo: [.init(userID: b, at: times[0])], seenBy: []))
        _ = try await lane.commit(.position(b, in: id, read: 1, delivered: 3, at: times[1]))
        _ = try await lane.commit(.position(b, in: id, read: 3, delivered: 3, at: times[2]))
        let first = MessageReceipts(
            status: .read, deliveredTo: [.init(userID: b, at: times[0])], seenBy: [.init(userID: b, at: times[1])])
        #expect(try await receipts(1) == first)
        let last = MessageReceipts(
            status: .read, deliveredTo: [.init(userID: b, at: times[1])], seenBy: [.init(userID: b, at: times[2])])
        #expect(try await receipts(3) == last)
        let page = try #require(try await world.conversations.history(of: id, for: a, range: .newest, limit: 5))
        #expect(page.items.map(\.delivery) == Array(repeating: .init(status: .read, seenByCount: 1), count: 3))
        // Only one's own messages carry it.
        let others = try #require(try await world.conversations.history(of: id, for: b, range: .newest, limit: 5))
        #expect(others.items.allSatisfy { $0.delivery == nil })
    }

    /// Either of the two may keep read receipts to themselves.
    @Test(arguments: StoreKind.allCases, [true, false]) func hiddenReadReceipts(_ kind: StoreKind, senderHides: Bool) async throws
    {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let (id, a, b) = try await world.makeDirect()
        try await lane.send("1", in: id, from: a, first: 1)
        _ = try await lane.commit(.position(b, in: id, read: 1, delivered: 1))
        var change = ProfileChange()
        change.shareReadReceipts = false
        _ = try await world.accounts.updateUser(senderHides ? a : b, change)

        let view = try #require(try await world.conversations.conversation(id, for: a))
        #expect(view.members.first { $0.userID == b }?.readSeq == .some(nil))
        #expect(view.members.first { $0.userID == a }?.readSeq == Seq(0))
        #expect(view.members.first { $0.userID == b }?.deliveredSeq == Seq(1))
        let receipts = try #require(try await world.conversations.receipts(of: id, seq: Seq(1), for: a))
        #expect(receipts.status == .delivered && receipts.seenBy.isEmpty && receipts.deliveredTo.count == 1)
        let page = try #require(try await world.conversations.history(of: id, for: a, range: .newest, limit: 5))
        #expect(page.items[0].delivery == .init(status: .delivered, seenByCount: 0))
        // One's own counts work as ever.
        #expect(try await world.conversations.counts(of: id, for: b)?.unreadCount == 0)
        #expect(try await lane.load([id])[id]?.members.first { $0.userID == (senderHides ? a : b) }?.sharesReadReceipts == false)
    }

    @Test(arguments: StoreKind.allCases) func listsAreExactWhileActivityChanges(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let me = try await world.makeUser().id
        let start = Timestamp.now + .seconds(-3600)
        var ids: [ConversationID] = []
        for index in 0..<23 {
            let other = try await world.makeUser().id
            let time = start + .seconds(index)
            let id = try await world.conversations.openDirect(between: me, and: other, newID: .make(), at: time).id
            ids.append(id)
            // Some have never had a message, some are settled, some are marked.
            if index % 3 > 0 { try await lane.send("hello", in: id, from: other, first: 1, at: time) }
            if index % 3 == 1 { try await lane.settle(SettleEntry(conversationID: id, head: Seq(1), lastActivityAt: time)) }
        }
        var seen: [ConversationID] = []
        var cursor: String?
        var pages = 0
        repeat {
            let page = try await world.conversations.conversations(for: me, cursor: cursor, limit: 5, at: .now)
            seen += page.items.map(\.id)
            cursor = page.nextCursor
            pages += 1
            // Rows still to come become the newest, rows that were shown too; one is settled in between.
            for id in [ids[2], ids[pages], ids[20]] {
                let head = try #require(try await lane.load([id])[id]).head
                try await lane.send("again", in: id, from: me, first: head.value + 1, at: start + .seconds(1000 + pages))
                if pages % 2 == 0 {
                    try await lane.settle(SettleEntry(conversationID: id, head: head.next, lastActivityAt: .now))
                }
            }
        } while cursor != nil && pages < 20
        #expect(seen == ids.reversed())
        let fresh = try await world.conversations.conversations(for: me, cursor: nil, limit: 3, at: .now)
        #expect(Set(fresh.items.map(\.id)) == [ids[2], ids[pages], ids[20]])
    }

    @Test(.timeLimit(.minutes(1)), arguments: StoreKind.allCases) func syncTellsWhatChanged(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let me = try await world.makeUser().id
        var ids: Set<ConversationID> = []
        var others: [UserID] = []
        for _ in 0..<7 {
            others.append(try await world.makeUser().id)
            ids.insert(try await world.openDirect(me, others.last!))
        }
        func sync(_ token: String?) async throws -> (ids: [ConversationID], token: String) {
            var all: [ConversationID] = []
            var token = token
            for _ in 0..<20 {
                let page = try await world.conversations.sync(for: me, since: token, limit: 3)
                #expect(page.conversations.count <= 3)
                all += page.conversations.map(\.id)
                token = page.token
                if !page.hasMore { return (all, page.token) }
            }
            Issue.record("the sync does not end")
            return (all, token ?? "")
        }
        let everything = try await sync(nil)
        #expect(everything.ids.count == 7 && Set(everything.ids) == ids)

        let id = try await world.openDirect(me, others[0])
        try await lane.send("one", in: id, from: me, first: 1)
        let after = try await sync(everything.token)
        #expect(after.ids.contains(id))
        // Marked still, and yet nothing new: it does not come again once the transactions of others that began before have ended.
        var quiet = after
        while quiet.ids.contains(id) {
            try Task.checkCancellation()
            quiet = try await sync(quiet.token)
        }
        try await lane.settle(SettleEntry(conversationID: id, head: Seq(1), lastActivityAt: .now))
        let settled = try await sync(quiet.token)
        #expect(settled.ids.contains(id))
        // A position and a name count too.
        let second = try await world.openDirect(me, others[1])
        let third = try await world.openDirect(me, others[2])
        _ = try await lane.commit(.position(others[1], in: second, read: 0, delivered: 0))
        var change = ProfileChange()
        change.displayName = "New Name"
        _ = try await world.accounts.updateUser(others[2], change)
        try await lane.send("x", in: second, from: me, first: 1)
        let changed = try await sync(settled.token)
        #expect(Set(changed.ids).isSuperset(of: [second, third]))
        // From the middle of a sync of several pages: what changes behind it comes with the next.
        let page = try await world.conversations.sync(for: me, since: nil, limit: 3)
        let passed = page.conversations[0].id
        var position = page.conversations[0].lastSeq.value
        position += 1
        try await lane.send("behind", in: passed, from: me, first: position)
        try await lane.settle(SettleEntry(conversationID: passed, head: Seq(position), lastActivityAt: .now))
        let rest = try await sync(page.token)
        #expect(try await sync(rest.token).ids.contains(passed))
    }

    @Test(arguments: StoreKind.allCases) func foreignCursorsAreRefused(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let me = try await world.makeUser().id
        for _ in 0..<3 { _ = try await world.openDirect(me, world.makeUser().id) }
        let list = try #require(try await world.conversations.conversations(for: me, cursor: nil, limit: 1, at: .now).nextCursor)
        let token = try await world.conversations.sync(for: me, since: nil, limit: 1).token
        let people = try #require(try await world.accounts.directory(query: nil, caller: me, cursor: nil, limit: 1).nextCursor)
        var garbage = [
            "", "\0", "a", "====", "AAAA", "%00", "🐓", String(repeating: "A", count: 100_000), list + "A",
            String(list.dropLast()),
        ]
        // Every change of one character.
        for index in list.indices { garbage.append(list.replacing(at: index, with: list[index] == "A" ? "B" : "A")) }
        for cursor in garbage + [token, people] {
            #expect(
                await storeErrorCode {
                    _ = try await world.conversations.conversations(for: me, cursor: cursor, limit: 1, at: .now)
                } == .badCursor)
        }
        for cursor in garbage + [list, people] {
            #expect(
                await storeErrorCode { _ = try await world.conversations.sync(for: me, since: cursor, limit: 1) } == .badCursor)
        }
        for cursor in garbage + [list, token] {
            #expect(
                await storeErrorCode { _ = try await world.accounts.directory(query: nil, caller: me, cursor: cursor, limit: 1) }
                    == .badCursor)
        }
    }
}

extension String {
    fileprivate func replacing(at index: Index, with character: Character) -> String {
        var copy = self
        copy.replaceSubrange(index...index, with: [character])
        return copy
    }
}

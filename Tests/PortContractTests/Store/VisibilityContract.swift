import Ports
import RoostModel
import Testing

/// Who sees which messages, and what is counted of them.
@Suite struct VisibilityContract {
    @Test(arguments: StoreKind.allCases) func whatIsHiddenIsNowhere(_ kind: StoreKind) async throws {
        let (chat, a, b) = try await Chat.direct(StoreWorld.shared(kind))
        for text in ["one", "two", "three", "four"] { try await chat.send(text, from: a, mentions: [b]) }
        try await chat.send("a reply", from: a, replyTo: Seq(2))
        let counts = try await chat.counts(b)
        #expect(counts.unreadCount == 5 && counts.mentionCount == 4)
        let head = try await chat.head()
        for seq in [2, 4] { try await chat.hide(Seq(Int64(seq)), by: b) }
        #expect(try await chat.head() == head)

        #expect(try await chat.history(b).map(\.seq.value) == [1, 3, 5])
        #expect(try await chat.history(a).map(\.seq.value) == [1, 2, 3, 4, 5])
        #expect(try await chat.message(Seq(2), for: b) == nil)
        #expect(try await chat.message(Seq(2), for: a)?.text == "two")
        #expect(try await chat.store.receipts(of: chat.id, seq: Seq(2), for: b) == nil)
        #expect(try await chat.message(Seq(5), for: b)?.replyTo == nil)
        #expect(try await chat.message(Seq(5), for: a)?.replyTo?.seq == Seq(2))
        #expect(try await chat.view(b).lastMessage?.replyTo == nil)
        #expect(try await chat.counts(b).unreadCount == 3)
        #expect(try await chat.view(b).mentionCount == 2)
        let changes = try #require(try await chat.store.changes(of: chat.id, for: b, after: Seq(1), limit: 1))
        #expect(changes.items.map(\.message.seq.value) == [3] && changes.hasMore && changes.upToSeq == Seq(3))
        // Its counter is passed all the same.
        try await chat.hide(Seq(5), by: b)
        let rest = try #require(try await chat.store.changes(of: chat.id, for: b, after: Seq(3), limit: 1))
        #expect(rest.items.isEmpty && !rest.hasMore && rest.upToSeq == Seq(5))
        #expect(try await chat.view(b).lastMessage?.seq == Seq(3))
        #expect(try await chat.view(b).lastSeq == Seq(5))
        #expect(try await chat.store.search("four", in: nil, for: b, cursor: nil, limit: 5)?.items.isEmpty == true)
        #expect(try await chat.store.search("four", in: nil, for: a, cursor: nil, limit: 5)?.items.count == 1)
        // Pages are of what is seen.
        let page = try #require(try await chat.store.history(of: chat.id, for: b, range: .before(Seq(5)), limit: 2))
        #expect(page.items.map(\.message.seq.value) == [1, 3] && !page.hasMoreBefore && !page.hasMoreAfter)
        let around = try #require(try await chat.store.history(of: chat.id, for: b, range: .around(Seq(2)), limit: 2))
        #expect(around.items.map(\.message.seq.value) == [3] && around.hasMoreBefore && !around.hasMoreAfter)
        // An edit does not bring it back.
        try await chat.edit(Seq(4), "again")
        #expect(try await chat.store.changes(of: chat.id, for: b, after: Seq(5), limit: 5)?.items.isEmpty == true)
    }

    @Test(arguments: StoreKind.allCases) func historyFromJoiningOn(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 1, history: .sinceJoined)
        let old = try await chat.send("old words", from: users[0])
        let late = try await world.makeUser().id
        try await chat.add([late], by: users[0])
        let reply = try await chat.send("a reply", from: users[0], replyTo: old)
        let own = try await chat.send("own", from: late, replyTo: reply)

        #expect(try await chat.history(late).map(\.seq.value) == [3, 4, 5])
        let page = try #require(try await chat.store.history(of: chat.id, for: late, range: .before(Seq(4)), limit: 50))
        #expect(page.items.map(\.message.seq.value) == [3] && !page.hasMoreBefore && page.hasMoreAfter)
        #expect(try await chat.message(old, for: late) == nil)
        #expect(try await chat.message(reply, for: late)?.replyTo == nil)
        #expect(try await chat.message(reply, for: users[0])?.replyTo?.seq == old)
        #expect(try await chat.message(own, for: late)?.replyTo?.seq == reply)
        #expect(try await chat.store.receipts(of: chat.id, seq: old, for: late) == nil)
        #expect(try await chat.store.search("old", in: nil, for: late, cursor: nil, limit: 5)?.items.isEmpty == true)
        // A change of what was before is nothing to them, but passes.
        try await chat.edit(old, "older words")
        let changes = try #require(try await chat.store.changes(of: chat.id, for: late, after: Seq(5), limit: 5))
        #expect(changes.items.isEmpty && changes.upToSeq == Seq(6))
        let all = try #require(try await chat.store.changes(of: chat.id, for: late, after: .zero, limit: 50))
        #expect(all.items.map(\.message.seq.value) == [3, 4, 5])

        // A return counts as a new joining.
        try await chat.leave(late)
        try await chat.add([late], by: users[0])
        #expect(try await chat.history(late).map(\.seq.value) == [8])
        #expect(try await chat.view(late).lastMessage?.seq == Seq(8))
        #expect(try await chat.message(own, for: late) == nil)
        // The setting can be opened, and closed again.
        try await chat.update(ConversationUpdate(history: .full), by: users[0])
        #expect(try await chat.history(late).map(\.seq.value) == [1, 2, 3, 4, 5, 7, 8, 9])
        #expect(try await chat.message(reply, for: late)?.replyTo?.text == "older words")
        try await chat.update(ConversationUpdate(history: .sinceJoined), by: users[0])
        #expect(try await chat.history(late).map(\.seq.value) == [8, 9, 10])
        #expect(try await chat.history(users[0]).map(\.seq.value) == [1, 2, 3, 4, 5, 7, 8, 9, 10])
    }

    @Test(arguments: StoreKind.allCases) func unreadAndMentions(_ kind: StoreKind) async throws {
        let (chat, users) = try await Chat.group(StoreWorld.shared(kind), members: 3)
        let me = users[0]
        func counts() async throws -> [Int] {
            let counts = try await chat.counts(me)
            let view = try await chat.view(me)
            #expect(view.unreadCount == counts.unreadCount && view.mentionCount == counts.mentionCount)
            #expect(view.readSeq == counts.readSeq && view.deliveredSeq == counts.deliveredSeq)
            let list = try await chat.store.conversations(for: me, cursor: nil, limit: 5, at: .now).items
            #expect(list.first == view)
            return [counts.unreadCount, counts.mentionCount]
        }
        #expect(try await counts() == [0, 0])
        try await chat.send("own, of oneself", from: me, mentions: [me])
        #expect(try await counts() == [0, 0])
        let first = try await chat.send("for me", from: users[1], mentions: [users[2], me])
        let second = try await chat.send("for another", from: users[1], mentions: [users[2]])
        let third = try await chat.send("for me too", from: users[2], mentions: [me])
        try await chat.setRole(.admin, of: users[1], by: users[1])
        #expect(try await counts() == [3, 2])
        try await chat.delete(third)
        #expect(try await counts() == [2, 1])
        // Three unread, two deleted: one is left.
        try await chat.delete(second)
        #expect(try await counts() == [1, 1])
        try await chat.settle()
        #expect(try await counts() == [1, 1])
        try await chat.move(me, read: 0, delivered: 9)
        #expect(try await counts() == [1, 1])
        try await chat.move(me, read: first.value)
        #expect(try await counts() == [0, 0])
        // Both are capped.
        try await chat.commit { first, entry, _ in
            entry.messages = (0..<1005).map { index in
                Message(
                    conversationID: chat.id, seq: Seq(first.value + Int64(index)), changeSeq: Seq(first.value + Int64(index)),
                    clientID: "many-\(index)", senderID: users[1], kind: .text, text: "x", mentions: [me], createdAt: .now)
            }
        }
        #expect(try await counts() == [999, 999])
    }

    /// A channel's view has no members to tell it from.
    @Test(arguments: StoreKind.allCases) func theLastMessageOfAChannelTellsHowFarItGot(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 3, kind: .channel)
        func deliveries(_ user: UserID) async throws -> [ReadMessage.Delivery?] {
            [
                try await chat.store.conversation(chat.id, for: user)?.lastMessageDelivery,
                try await chat.store.conversations(for: user, archived: false, cursor: nil, limit: 5, at: .now)
                    .items.first { $0.id == chat.id }?.lastMessageDelivery,
                try await chat.store.sync(for: user, since: nil, limit: 5).conversations.first { $0.id == chat.id }?
                    .lastMessageDelivery,
            ]
        }
        func all(_ status: ReadMessage.Delivery.Status, _ seen: Int) -> [ReadMessage.Delivery?] {
            Array(repeating: .init(status: status, seenByCount: seen), count: 3)
        }
        let seq = try await chat.send("one", from: users[0])
        #expect(try await deliveries(users[0]) == all(.sent, 0))
        #expect(try await deliveries(users[1]) == [nil, nil, nil])
        try await chat.move(users[1], read: seq.value)
        #expect(try await deliveries(users[0]) == all(.sent, 1))
        // Whoever comes later has nothing to do with it.
        try await chat.add([try await world.makeUser().id], by: users[0])
        let second = try await chat.send("two", from: users[0])
        try await chat.move(users[1], read: second.value)
        try await chat.move(users[2], read: 0, delivered: second.value)
        #expect(try await deliveries(users[0]) == all(.sent, 1))
        try await chat.leave(users[2])
        #expect(try await deliveries(users[0]) == [nil, nil, nil], "the last message is one of the system")
    }

    @Test(arguments: StoreKind.allCases) func receiptsOfThoseWhoWereThere(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 3)
        let seq = try await chat.send("one", from: users[0])
        func receipts(_ user: UserID) async throws -> MessageReceipts? {
            try await chat.store.receipts(of: chat.id, seq: seq, for: user)
        }
        func delivery() async throws -> ReadMessage.Delivery? {
            try await chat.store.message(seq, of: chat.id, for: users[0])?.delivery
        }
        #expect(try await receipts(users[0]) == MessageReceipts(status: .sent, deliveredTo: [], seenBy: []))
        let time = Timestamp.now
        try await chat.move(users[1], read: 2, at: time)
        // One of two has read it: seen by one, and not read.
        let one = try #require(try await receipts(users[0]))
        #expect(one.status == .sent && one.seenBy == [.init(userID: users[1], at: time)] && one.deliveredTo == one.seenBy)
        #expect(try await delivery() == .init(status: .sent, seenByCount: 1))
        // Somebody who comes later has nothing to do with it, whatever they read.
        let late = try await world.makeUser().id
        try await chat.add([late], by: users[0])
        try await chat.move(users[2], read: 0, delivered: 2, at: time + .seconds(1))
        try await chat.move(late, read: 3, at: time + .seconds(2))
        let delivered = try #require(try await receipts(late))
        #expect(delivered.status == .delivered && delivered.seenBy.map(\.userID) == [users[1]])
        #expect(Set(delivered.deliveredTo.map(\.userID)) == [users[1], users[2]])
        #expect(try await delivery() == .init(status: .delivered, seenByCount: 1))
        try await chat.move(users[2], read: 3, at: time + .seconds(3))
        #expect(try await receipts(users[1])?.status == .read)
        #expect(try await delivery() == .init(status: .read, seenByCount: 2))
        // Those who left are not shown any more.
        try await chat.leave(users[2])
        #expect(try await receipts(users[0])?.seenBy.map(\.userID) == [users[1]])
        #expect(try await delivery() == .init(status: .read, seenByCount: 1))
        // Nor do those who returned speak for the time before.
        try await chat.add([users[2]], by: users[0])
        try await chat.move(users[2], read: 5)
        #expect(try await receipts(users[0])?.seenBy.map(\.userID) == [users[1]])
        try await chat.leave(users[1])
        try await chat.leave(late)
        #expect(try await receipts(users[0]) == MessageReceipts(status: .sent, deliveredTo: [], seenBy: []))
        #expect(try await delivery() == .init(status: .sent, seenByCount: 0))
        #expect(try await chat.store.receipts(of: chat.id, seq: seq, for: users[1]) == nil)
    }

    /// The first message after a joining is received at once where the newcomer's position says so.
    @Test(arguments: StoreKind.allCases) func channelsHaveTheirReceipts(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 1, kind: .channel)
        let reader = try await world.makeUser().id
        try await chat.add([reader], by: users[0])
        let seq = try await chat.send("news", from: users[0])
        #expect(try await chat.view(reader).unreadCount == 1)
        let view = try await chat.view(reader)
        #expect(view.members.isEmpty && view.memberCount == 2)
        try await chat.move(reader, read: seq.value)
        let delivery = try await chat.store.message(seq, of: chat.id, for: users[0])?.delivery
        #expect(delivery == .init(status: .read, seenByCount: 1))
        #expect(try await chat.store.message(seq, of: chat.id, for: reader)?.delivery == nil)
    }
}

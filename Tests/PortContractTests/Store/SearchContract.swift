import Ports
import RoostModel
import Testing

/// Full-text search: what words find is ``SearchWords``'s; who finds what is the store's. All of it prepared and unprepared alike.
@Suite struct SearchContract {
    private struct Case: Sendable {
        let text: String
        let finds: [String]
        let misses: [String]
    }

    private static let cases = [
        Case(
            text: "Crème brûlée for Łukasz", finds: ["creme", "CRÈME lukasz", "brul", "brulee creme"],
            misses: ["creme tart", "rème", "rulee"]),
        Case(text: "Встреча в Москве завтра", finds: ["москве", "встреча ЗАВТРА"], misses: ["осква"]),
        Case(text: "明日の会議は東京です", finds: ["東京", "会議"], misses: ["大阪"]),
        Case(text: "Ship it 🚀 now", finds: ["🚀", "ship 🚀"], misses: ["🐓"]),
    ]

    @Test(arguments: StoreKind.allCases, [false, true]) func wordsAreFound(_ kind: StoreKind, isPrepared: Bool) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, a, b) = try await Chat.direct(world)
        for one in Self.cases { try await chat.send(one.text, from: a) }
        if isPrepared { while try await world.conversations.prepareSearch(limit: 1000, all: true) > 0 {} }
        func find(_ query: String) async throws -> [String] {
            let found = try await chat.store.search(query, in: chat.id, for: b, cursor: nil, limit: 50)
            let everywhere = try await chat.store.search(query, in: nil, for: b, cursor: nil, limit: 50)
            #expect(found?.items == everywhere?.items)
            return try #require(found).items.map(\.message.message.text)
        }
        for one in Self.cases {
            for query in one.finds { #expect(try await find(query) == [one.text], "\(query)") }
            for query in one.misses { #expect(try await find(query).isEmpty, "\(query)") }
        }
        for query in ["", "   ", "!?", "'", "\\", ":*", "& |"] { #expect(try await find(query).isEmpty, "\(query)") }
    }

    @Test(arguments: StoreKind.allCases) func onlyWhatTheReaderMayRead(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 2, history: .sinceJoined)
        let start = Timestamp.now
        for index in 0..<5 { try await chat.send("needle \(index)", from: users[0], at: start + .milliseconds(index)) }
        let late = try await world.makeUser().id
        try await chat.add([late], by: users[0], at: start + .milliseconds(9))
        try await chat.send("needle late", from: users[0], at: start + .milliseconds(10))
        let other = Chat(world: world, lane: chat.lane, id: try await world.openDirect(users[0], users[1]))
        try await other.send("needle direct", from: users[1], at: start + .milliseconds(20))
        try await chat.edit(Seq(2), "thread")
        try await chat.edit(Seq(3), "needle again")
        try await chat.delete(Seq(4))
        try await chat.hide(Seq(5), by: users[1])
        func check() async throws {
            func find(_ user: UserID, in id: ConversationID? = nil) async throws -> [String]? {
                try await world.conversations.search("needle", in: id, for: user, cursor: nil, limit: 50)?
                    .items.map(\.message.message.text)
            }
            #expect(try await find(users[0]) == ["needle direct", "needle late", "needle 4", "needle 3", "needle again"])
            #expect(try await find(users[1]) == ["needle direct", "needle late", "needle 4", "needle again"])
            #expect(try await find(late) == ["needle late"])
            #expect(try await find(users[1], in: other.id) == ["needle direct"])
            #expect(try await find(late, in: other.id) == nil)
            #expect(try await find(late, in: .make()) == nil)
            #expect(try await find(world.makeUser().id) == [])
        }
        try await check()
        while try await world.conversations.prepareSearch(limit: 100, all: true) > 0 {}
        try await check()
        // What is prepared is not relied on when it has changed since.
        try await chat.edit(Seq(6), "thread")
        try await chat.hide(Seq(8), by: users[1])
        let found = try await world.conversations.search("needle", in: chat.id, for: users[1], cursor: nil, limit: 50)
        #expect(found?.items.map(\.message.message.text) == ["needle again"])
        #expect(try await world.conversations.search("thread", in: nil, for: users[0], cursor: nil, limit: 5)?.items.count == 2)
        try await chat.leave(users[1])
        let left = try await world.conversations.search("needle", in: nil, for: users[1], cursor: nil, limit: 50)
        #expect(left?.items.map(\.message.message.text) == ["needle direct"])
    }

    @Test(arguments: StoreKind.allCases) func hitsAreShownAsMessagesAre(_ kind: StoreKind) async throws {
        let (chat, a, b) = try await Chat.direct(StoreWorld.shared(kind))
        let seq = try await chat.send("original", from: b)
        let words = String(repeating: "lorem ipsum ", count: 60)
        try await chat.send(words + "needle " + words, from: a, replyTo: seq)
        try await chat.move(b, read: 2)
        try await chat.hide(seq, by: b)
        for (user, delivery) in [(a, ReadMessage.Delivery(status: .read, seenByCount: 1)), (b, nil)] {
            let found = try await chat.store.search("needle", in: chat.id, for: user, cursor: nil, limit: 5)
            let hit = try #require(found?.items.first)
            #expect(hit.message.delivery == delivery)
            #expect(hit.message == (try await chat.store.message(Seq(2), of: chat.id, for: user)))
            #expect((hit.message.message.replyTo == nil) == (user == b))
            #expect(hit.snippet.contains("needle") && hit.snippet.count <= SearchWords.snippetGraphemes)
        }
    }

    @Test(arguments: StoreKind.allCases) func pagesNewestFirst(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let me = try await world.makeUser().id
        let lane = try await world.makeLane()
        var chats: [Chat] = []
        for _ in 0..<3 {
            chats.append(Chat(world: world, lane: lane, id: try await world.openDirect(me, world.makeUser().id)))
        }
        let start = Timestamp.now
        for index in 0..<20 {
            try await chats[index % 3].send("needle \(index)", from: me, at: start + .milliseconds(index))
        }
        for isPrepared in [false, true] {
            if isPrepared { while try await world.conversations.prepareSearch(limit: 100, all: true) > 0 {} }
            var seen: [String] = []
            var cursor: String?
            repeat {
                let found = try await world.conversations.search("needle", in: nil, for: me, cursor: cursor, limit: 3)
                let page = try #require(found)
                #expect(page.items.count <= 3)
                seen += page.items.map(\.message.message.text)
                cursor = page.nextCursor
                if seen.count == 6 { try await chats[0].send("needle new", from: me, at: start + .seconds(isPrepared ? 2 : 1)) }
            } while cursor != nil && seen.count < 40
            let new = isPrepared ? ["needle new"] : []
            #expect(seen == new + (0..<20).reversed().map { "needle \($0)" })
        }
        #expect(
            await storeErrorCode {
                _ = try await world.conversations.search("needle", in: nil, for: me, cursor: "AAAA", limit: 3)
            } == .badCursor)
    }

    @Test(arguments: StoreKind.allCases) func preparingEnds(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.fresh(kind)
        #expect(try await world.conversations.prepareSearch(limit: 10, all: true) == 0)
        let me = try await world.makeUser().id
        let lane = try await world.makeLane()
        for _ in 0..<3 {
            try await Chat(world: world, lane: lane, id: world.openDirect(me, world.makeUser().id)).send("word", from: me)
        }
        #expect(try await world.conversations.prepareSearch(limit: 2, all: true) == 2)
        #expect(try await world.conversations.prepareSearch(limit: 2, all: true) == 1)
        #expect(try await world.conversations.prepareSearch(limit: 2, all: true) == 0)
    }
}

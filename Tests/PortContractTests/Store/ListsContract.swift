import Ports
import RoostModel
import Testing

/// The list of conversations with what members set for themselves, the list of channels, and sync.
@Suite struct ListsContract {
    private func list(_ world: StoreWorld, _ user: UserID, archived: Bool = false) async throws -> [ConversationID] {
        let page = try await world.conversations.conversations(
            for: user, archived: archived, cursor: nil, limit: 200, at: .now)
        #expect(page.nextCursor == nil)
        return page.items.map(\.id)
    }

    @Test(arguments: StoreKind.allCases) func pinnedOnesComeFirst(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let me = try await world.makeUser().id
        let start = Timestamp.now + .seconds(-3600)
        var ids: [ConversationID] = []
        for index in 0..<9 {
            let other = try await world.makeUser().id
            ids.append(
                try await world.conversations.openDirect(
                    between: me, and: other, newID: .make(), at: start + .seconds(index)
                ).id)
        }
        func pin(_ index: Int, _ isPinned: Bool = true, at time: Timestamp = .now) async throws {
            #expect(
                try await world.conversations.changeSettings(
                    of: ids[index], for: me, MemberSettingsChange(isPinned: isPinned), at: time))
        }
        let time = Timestamp.now
        try await pin(2, at: time)
        try await pin(2, at: time + .seconds(9))
        try await pin(5)
        try await pin(7)
        try await pin(7, false)
        #expect(try await list(world, me) == [5, 2, 8, 7, 6, 4, 3, 1, 0].map { ids[$0] })
        let view = try #require(try await world.conversations.conversation(ids[2], for: me))
        #expect(view.pinnedAt == time)
        #expect(try await world.conversations.conversation(ids[7], for: me)?.pinnedAt == nil)

        // Pinning in the middle of the list moves nothing in the pages to come.
        var seen: [ConversationID] = []
        var cursor: String?
        repeat {
            let page = try await world.conversations.conversations(for: me, cursor: cursor, limit: 2, at: .now)
            seen += page.items.map(\.id)
            cursor = page.nextCursor
            if seen.count == 2 {
                try await pin(0)
                try await pin(5, false)
            }
            if seen.count == 4 { try await pin(6) }
        } while cursor != nil && seen.count < 20
        #expect(seen == [5, 2, 8, 7, 6, 4, 3, 1, 0].map { ids[$0] })
        #expect(try await list(world, me) == [6, 2, 0, 8, 7, 5, 4, 3, 1].map { ids[$0] })
    }

    @Test(arguments: StoreKind.allCases) func archivedUntilSomebodyWrites(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 2)
        let me = users[0]
        let time = Timestamp.now
        func set(_ change: MemberSettingsChange, at time: Timestamp = time) async throws {
            #expect(try await chat.store.changeSettings(of: chat.id, for: me, change, at: time))
        }
        func isArchived() async throws -> Bool {
            let (plain, archived) = (try await list(world, me), try await list(world, me, archived: true))
            #expect(plain.count + archived.count == 1)
            #expect(try await chat.view(me).archivedAt.map { _ in true } ?? false == !archived.isEmpty)
            return !archived.isEmpty
        }
        let archive = MemberSettingsChange(isArchived: true)
        try await chat.send("before", from: users[1])
        try await set(archive)
        #expect(try await isArchived())
        #expect(try await chat.view(me).archivedAt == time)
        try await set(archive, at: time + .seconds(1))
        #expect(try await chat.view(me).archivedAt == time)
        #expect(try await chat.view(users[1]).archivedAt == nil)
        // One's own messages, changes and system messages leave it where it is.
        try await chat.send("own", from: me)
        try await chat.edit(Seq(2), "edited")
        try await chat.setRole(.admin, of: users[1], by: users[1])
        #expect(try await isArchived())
        try await chat.send("wake up", from: users[1])
        #expect(try await !isArchived())
        try await chat.settle()
        #expect(try await !isArchived())
        try await set(archive)
        #expect(try await isArchived())
        try await set(MemberSettingsChange(isArchived: false))
        #expect(try await !isArchived())
        #expect(try await !chat.store.changeSettings(of: chat.id, for: world.makeUser().id, archive, at: time))
        #expect(try await !chat.store.changeSettings(of: .make(), for: me, archive, at: time))
    }

    /// What was said while it was muted does not count, whenever one looks and whatever is set afterwards.
    @Test(arguments: StoreKind.allCases) func mutedOnesStayArchived(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 2)
        let me = users[0]
        let time = Timestamp.now
        func set(_ change: MemberSettingsChange) async throws {
            #expect(try await chat.store.changeSettings(of: chat.id, for: me, change, at: time))
        }
        func isArchived() async throws -> Bool { try await !list(world, me, archived: true).isEmpty }
        let muted = MemberSettingsChange(mutedUntil: .some(time + .seconds(60)))
        try await set(muted)
        try await set(MemberSettingsChange(isArchived: true))
        #expect(try await chat.view(me).mutedUntil == time + .seconds(60))
        try await chat.send("muted", from: users[1], at: time + .seconds(59))
        #expect(try await isArchived())
        // Unmuting does not wake it by what is past.
        try await set(MemberSettingsChange(mutedUntil: .some(nil)))
        #expect(try await isArchived())
        #expect(try await chat.view(me).mutedUntil == nil)
        try await chat.send("loud", from: users[1], at: time + .seconds(59))
        #expect(try await !isArchived())
        // Nor does muting put it to sleep again.
        try await set(muted)
        #expect(try await !isArchived())
        try await set(MemberSettingsChange(isArchived: true))
        #expect(try await isArchived())
        // The muting has an end.
        try await chat.send("late", from: users[1], at: time + .seconds(60))
        #expect(try await !isArchived())
        // All at once.
        try await set(
            MemberSettingsChange(mutedUntil: .some(time + .seconds(600)), isPinned: true, isArchived: true))
        try await chat.send("muted", from: users[1], at: time + .seconds(61))
        #expect(try await isArchived())
        let view = try await chat.view(me)
        #expect(view.pinnedAt == time && view.archivedAt == time && view.mutedUntil == time + .seconds(600))
        try await set(MemberSettingsChange())
        #expect(try await chat.view(me) == view)
    }

    @Test(arguments: StoreKind.allCases) func channelsAreFound(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        // One word that no other test uses.
        let word = "q\(UserID.make().description.prefix(8))\(UInt32.random(in: 0...UInt32.max))"
        let titles = ["Zebra \(word)", "\(word) apple", "Ångström \(word)", "apple \(word)", "\(word)"]
        let user = try await world.makeUser().id
        var chats: [String: Chat] = [:]
        for title in titles {
            chats[title] = try await Chat.group(world, members: 2, kind: .channel, title: title).chat
        }
        _ = try await Chat.group(world, members: 1, title: "group \(word)")
        func find(_ query: String?, cursor: String? = nil, limit: Int = 50) async throws -> Page<ConversationView> {
            try await world.conversations.channels(query: query, for: user, cursor: cursor, limit: limit)
        }
        let found = try await find(word.uppercased()).items
        #expect(found.map(\.title) == ["Ångström \(word)", "apple \(word)", word, "\(word) apple", "Zebra \(word)"])
        let view = try #require(found.first)
        #expect(view.myRole == nil && view.lastMessage == nil && view.unreadCount == 0 && view.mentionCount == 0)
        #expect(view.members.isEmpty && view.memberCount == 2 && view.readSeq == .zero && view.deliveredSeq == .zero)
        #expect(view.lastSeq == Seq(1) && view.kind == .channel)
        #expect(try await find("angstrom \(word)").items.map(\.id) == [view.id])
        #expect(try await find("  ÁPPLE \(word)").items.map(\.title) == ["apple \(word)"])
        #expect(try await find(word.prefix(12) + "zzz").items.isEmpty)
        #expect(try await find("!!").items.isEmpty)
        #expect(try await find(nil, limit: 2).items.count == 2)
        // By pages, while titles change.
        let zebra = try #require(chats["Zebra \(word)"])
        var seen: [String?] = []
        var cursor: String?
        repeat {
            let page = try await find(word, cursor: cursor, limit: 2)
            seen += page.items.map(\.title)
            cursor = page.nextCursor
            if seen.count == 2 { try await zebra.update(ConversationUpdate(title: "Yak \(word)"), by: user) }
        } while cursor != nil && seen.count < 20
        #expect(seen == ["Ångström \(word)", "apple \(word)", word, "\(word) apple", "Yak \(word)"])
        #expect(try await find("zebra \(word)").items.isEmpty)
        #expect(try await find("yak \(word)").items.map(\.id) == [zebra.id])
        #expect(await storeErrorCode { _ = try await find(word, cursor: "AAAA") } == .badCursor)
        // An outsider sees it by its id as well, and nothing of what is in it; a member sees it as a member.
        #expect(try await world.conversations.conversation(view.id, for: user) == view)
        #expect(try await world.conversations.history(of: view.id, for: user, range: .newest, limit: 5) == nil)
        #expect(try await world.conversations.counts(of: view.id, for: user) == nil)
        #expect(try await world.conversations.search("x", in: view.id, for: user, cursor: nil, limit: 5) == nil)
        try await zebra.add([user], by: user)
        #expect(try await find("yak \(word)").items.first?.myRole == .member)
        try await zebra.deleteAll()
        #expect(try await find("yak \(word)").items.isEmpty)
    }

    @Test(.timeLimit(.minutes(1)), arguments: StoreKind.allCases) func syncOfMembersAndSettings(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 3)
        let me = users[1]
        try await chat.send("one", from: users[0])
        var known: [ConversationID: ConversationView] = [:]
        var hidden: Set<HiddenMessage> = []
        var removed: Set<ConversationID> = []
        var token: String?
        func sync() async throws {
            for _ in 0..<50 {
                let page = try await world.conversations.sync(for: me, since: token, limit: 2)
                for view in page.conversations {
                    known[view.id] = view
                    removed.remove(view.id)
                }
                for id in page.removed {
                    known[id] = nil
                    removed.insert(id)
                }
                hidden.formUnion(page.hidden)
                token = page.token
                if !page.hasMore { return }
            }
            Issue.record("the sync does not end")
        }
        try await sync()
        #expect(known.keys.map { $0 } == [chat.id] && hidden.isEmpty && removed.isEmpty)
        // Everything that the member would see differently.
        try await chat.edit(Seq(2), "edited")
        try await sync()
        #expect(known[chat.id]?.lastMessage?.text == "edited" && known[chat.id]?.lastSeq == Seq(3))
        try await chat.settle()
        try await sync()
        try await chat.hide(Seq(2), by: me)
        try await sync()
        #expect(hidden == [HiddenMessage(conversationID: chat.id, seq: Seq(2))])
        #expect(known[chat.id]?.lastMessage?.seq == Seq(1) && known[chat.id]?.unreadCount == 0)
        _ = try await chat.store.changeSettings(of: chat.id, for: me, MemberSettingsChange(isPinned: true), at: .now)
        try await sync()
        #expect(known[chat.id]?.pinnedAt != nil)
        try await chat.update(ConversationUpdate(title: "Other"), by: users[0])
        try await chat.leave(users[2])
        try await sync()
        #expect(known[chat.id]?.title == "Other" && known[chat.id]?.memberCount == 2)
        // Another's hiding is nobody's business.
        try await chat.hide(Seq(1), by: users[0])
        try await sync()
        #expect(hidden.count == 1)

        try await chat.leave(me)
        try await sync()
        #expect(known.isEmpty && removed == [chat.id])
        // Without a token there is nothing to take away.
        #expect(try await world.conversations.sync(for: me, since: nil, limit: 5).removed.isEmpty)
        try await chat.add([me], by: users[0])
        try await sync()
        #expect(known[chat.id]?.readSeq == Seq(6) && removed.isEmpty)
        // A device that knows nothing yet gets what was hidden, too.
        let all = try await world.conversations.sync(for: me, since: nil, limit: 5)
        #expect(all.hidden == [HiddenMessage(conversationID: chat.id, seq: Seq(2))] && all.removed.isEmpty)
        try await chat.deleteAll()
        try await sync()
        #expect(known.isEmpty && removed == [chat.id])
        #expect(try await chat.store.sync(for: users[0], since: nil, limit: 5).conversations.isEmpty)
    }
}

import Foundation
import Ports
import RoostModel
import TestSupport
import Testing

/// Hundreds of random entries, settings and stops in between, against a plain model: whatever a member may ask, the answer is the
/// model's. A failing run is named by its seed; `ROOST_TEST_SEED` runs that one alone.
@Suite struct RandomStoreTests {
    static let seeds: [UInt64] =
        ProcessInfo.processInfo.environment["ROOST_TEST_SEED"].flatMap(UInt64.init).map { [$0] } ?? [1, 2, 3]

    @Test(.timeLimit(.minutes(5)), arguments: StoreKind.allCases, seeds)
    func everyAnswerIsTheModels(_ kind: StoreKind, seed: UInt64) async throws {
        var run = try await RandomStoreRun(StoreWorld.shared(kind), seed: seed)
        for step in 1...240 {
            try await run.step()
            if step % 40 == 0 { try await run.check() }
        }
    }
}

private struct RandomStoreRun {
    /// What a client that only syncs knows.
    struct Client {
        var token: String?
        var views: [ConversationID: ConversationView] = [:]
        var hidden: Set<HiddenMessage> = []
    }

    let seed: UInt64
    let world: StoreWorld
    let lane: JournalLane
    let users: [UserID]
    var model = StoreModel()
    var entries: RandomEntries
    var clients: [UserID: Client] = [:]
    /// In the order of creation; those that were deleted too.
    var ids: [ConversationID] = []

    var store: any ConversationStore { world.conversations }
    var label: Comment { "seed \(seed)" }

    init(_ world: StoreWorld, seed: UInt64) async throws {
        self.seed = seed
        self.world = world
        lane = try await world.makeLane()
        var users: [UserID] = []
        for name in ["Ann", "Ben", "Cleo", "Dov", "Eva", "Finn"] {
            let user = try await world.makeUser(name).id
            users.append(user)
            model.names[user] = name
            clients[user] = Client()
        }
        self.users = users
        var media: [Media] = []
        for _ in 0..<2 { media.append(try await world.makeMedia(of: users[0])) }
        entries = RandomEntries(
            random: SeededRandom(seed: seed), clock: .now + .seconds(-600), users: users, media: media)
        for pair in [(0, 1), (1, 2)] {
            let (low, high) = (min(users[pair.0], users[pair.1]), max(users[pair.0], users[pair.1]))
            let time = entries.tick()
            let id = try await store.openDirect(between: high, and: low, newID: .make(), at: time).id
            var chat = StoreModel.Chat(id: id, kind: .direct, createdAt: time, history: .full)
            for user in [low, high] {
                chat.members[user] = .init(role: .member, joinedAt: time, since: .zero, read: .zero, delivered: .zero)
            }
            add(chat)
        }
        for (kind, history) in [(ConversationKind.group, HistorySetting.full), (.group, .sinceJoined), (.channel, .full)] {
            try await create(kind, history)
        }
    }

    private mutating func add(_ chat: StoreModel.Chat) {
        model.chats[chat.id] = chat
        ids.append(chat.id)
    }

    private mutating func create(_ kind: ConversationKind, _ history: HistorySetting) async throws {
        let time = entries.tick()
        let creator = users.randomElement(using: &entries.random)!
        let others = users.filter { $0 != creator }.shuffled(using: &entries.random).prefix(2)
        let new = NewConversation(
            id: .make(), kind: kind, creatorID: creator, title: "Title", history: history, memberIDs: Array(others),
            createdAt: time)
        try await store.create(new)
        var chat = StoreModel.Chat(id: new.id, kind: kind, createdAt: time, title: "Title", history: history)
        for user in [creator] + others {
            chat.members[user] = .init(
                role: user == creator ? .admin : .member, joinedAt: time, since: .zero, read: .zero, delivered: .zero)
        }
        chat.messages = [.system(.created, by: creator, in: new.id, Seq(1), at: time)]
        chat.head = Seq(1)
        add(chat)
    }

    private mutating func anyChat() -> StoreModel.Chat {
        model.chats[ids.filter { model.chats[$0] != nil }.randomElement(using: &entries.random)!]!
    }

    // MARK: What happens

    mutating func step() async throws {
        switch Int.random(in: 0..<100, using: &entries.random) {
        case 0..<70: try await commit()
        case 70..<85: try await set()
        case 85..<92:
            let chat = anyChat()
            try await lane.settle(
                SettleEntry(conversationID: chat.id, head: chat.head, lastActivityAt: model.activity(of: chat)))
            model.chats[chat.id]!.isMarked = false
        case 92..<95: try await sync(users.randomElement(using: &entries.random)!)
        case 95..<97: _ = try await store.prepareSearch(limit: 3, all: true)
        case 97:
            let user = users.randomElement(using: &entries.random)!
            let shares = model.unsharing.contains(user)
            if shares { model.unsharing.remove(user) } else { model.unsharing.insert(user) }
            var change = ProfileChange()
            change.shareReadReceipts = shares
            _ = try await world.accounts.updateUser(user, change)
        case 98:
            let (a, b) = (users[0], users[1])
            try await world.fixtures.block(a, b)
            for chat in model.chats.values where chat.kind == .direct && chat.members[a] != nil && chat.members[b] != nil {
                model.blocked.insert(chat.id)
            }
        default:
            let chat = anyChat()
            guard chat.kind != .direct else { return }
            var changes = EntryChanges()
            changes.isDeleted = true
            let entry = JournalEntry(
                conversationID: chat.id, messages: [], positions: [], changes: changes, marksActive: false)
            #expect(try await lane.commit(entry) == [.committed], label)
            model.chats[chat.id] = nil
            try await create(chat.kind, .full)
        }
    }

    /// One to three entries in a batch, sometimes one among them that comes too late.
    private mutating func commit() async throws {
        var batch: [JournalEntry] = []
        var expected: [JournalOutcome] = []
        for _ in 0..<Int.random(in: 1...3, using: &entries.random) {
            let chat = anyChat()
            guard !batch.contains(where: { $0.conversationID == chat.id }) else { continue }
            if chat.head > .zero, entries.random.chance(10) {
                // As an owner would write it that has not seen the last change, or the deletion.
                var old = chat
                old.head = Seq(chat.head.value - 1)
                var entry = entries.entry(for: old)
                guard entry.changes?.firstSeq != nil || !entry.messages.isEmpty else { continue }
                if entry.changes == nil { entry.positions = [] }
                batch.append(entry)
                expected.append(.conflict)
            } else {
                let entry = entries.entry(for: chat)
                batch.append(entry)
                expected.append(.committed)
                model.chats[chat.id]!.apply(entry)
            }
        }
        #expect(try await lane.commit(batch) == expected, label)
    }

    private mutating func set() async throws {
        let chat = anyChat()
        let user = users.randomElement(using: &entries.random)!
        let time = entries.tick()
        var change = MemberSettingsChange()
        if entries.random.chance(40) { change.isPinned = entries.random.chance(60) }
        if entries.random.chance(40) { change.isArchived = entries.random.chance(80) }
        if entries.random.chance(40) {
            change.mutedUntil = entries.random.chance(40) ? .some(nil) : .some(time + .milliseconds(300))
        }
        let isMember = try await store.changeSettings(of: chat.id, for: user, change, at: time)
        #expect(isMember == (chat.members[user] != nil), label)
        guard var member = chat.members[user] else { return }
        if let isPinned = change.isPinned { member.pinnedAt = isPinned ? member.pinnedAt ?? time : nil }
        if let isArchived = change.isArchived { member.archivedAt = isArchived ? member.archivedAt ?? time : nil }
        if let mutedUntil = change.mutedUntil { member.mutedUntil = mutedUntil }
        model.chats[chat.id]!.members[user] = member
    }

    mutating func sync(_ user: UserID) async throws {
        var client = clients[user]!
        for _ in 0..<100 {
            let page = try await store.sync(for: user, since: client.token, limit: 2)
            for view in page.conversations { client.views[view.id] = view }
            for id in page.removed { client.views[id] = nil }
            client.hidden.formUnion(page.hidden)
            client.token = page.token
            guard page.hasMore else {
                clients[user] = client
                return
            }
        }
        Issue.record("the sync does not end")
    }

    // MARK: What must hold

    /// Without how far a channel's last message got: what its thousands read makes no sync of the others.
    private static func synced(_ view: ConversationView) -> ConversationView {
        var view = view
        view.lastMessageDelivery = nil
        return view
    }

    mutating func check() async throws {
        for user in users {
            let mine = model.chats(of: user)
            let expected = Dictionary(uniqueKeysWithValues: mine.map { ($0.id, model.view(of: $0, for: user)!) })
            try await sync(user)
            #expect(clients[user]!.views.mapValues(Self.synced) == expected.mapValues(Self.synced), label)
            let hidden = mine.flatMap { chat in
                (chat.hidden[user] ?? []).map { HiddenMessage(conversationID: chat.id, seq: $0) }
            }
            #expect(clients[user]!.hidden.isSuperset(of: hidden), label)
            for archived in [false, true] {
                var listed: [ConversationView] = []
                var cursor: String?
                repeat {
                    let page = try await store.conversations(
                        for: user, archived: archived, cursor: cursor, limit: 2, at: .now)
                    listed += page.items
                    cursor = page.nextCursor
                } while cursor != nil && listed.count < 50
                #expect(listed.map(\.id) == model.list(of: user, archived: archived), label)
                #expect(listed.allSatisfy { $0 == expected[$0.id] }, label)
            }
            let memberships = mine.map { Membership(conversationID: $0.id, kind: $0.kind) }
                .sorted { $0.conversationID < $1.conversationID }
            #expect(try await store.memberships(of: user) == memberships, label)
            for word in RandomEntries.words.prefix(2) { try await checkSearch(word, user) }
            for id in ids { try await check(id, user) }
        }
        try await checkSnapshots()
    }

    private func checkSearch(_ word: String, _ user: UserID) async throws {
        var hits: [ReadMessage] = []
        var cursor: String?
        repeat {
            let found = try await store.search(word, in: nil, for: user, cursor: cursor, limit: 100)
            let page = try #require(found)
            hits += page.items.map(\.message)
            cursor = page.nextCursor
        } while cursor != nil && hits.count < 5000
        #expect(hits == model.search(word, for: user), label)
    }

    private mutating func check(_ id: ConversationID, _ user: UserID) async throws {
        let view = try await store.conversation(id, for: user)
        let counts = try await store.counts(of: id, for: user)
        let newest = try await store.history(of: id, for: user, range: .newest, limit: 5)
        let standing = try await store.standing(of: user, in: id)
        guard let chat = model.chats[id] else {
            #expect(view == nil && counts == nil && newest == nil && standing == nil, label)
            return
        }
        #expect(view == model.view(of: chat, for: user), label)
        #expect(counts == model.counts(in: chat, of: user), label)
        #expect(standing == Standing(kind: chat.kind, role: chat.members[user]?.role), label)
        guard chat.members[user] != nil else {
            #expect(newest == nil, label)
            return
        }
        let visible = model.visible(in: chat, to: user)
        #expect(newest?.items == visible.suffix(5), label)
        let pivot = Seq(Int64.random(in: 0...chat.head.value + 1, using: &entries.random))
        let before = visible.filter { $0.message.seq < pivot }
        let after = visible.filter { $0.message.seq > pivot }
        let pages = [
            (
                HistoryRange.before(pivot),
                HistoryPage(
                    items: before.suffix(7), hasMoreBefore: before.count > 7, hasMoreAfter: before.count < visible.count,
                    lastSeq: chat.head)
            ),
            (
                .after(pivot),
                HistoryPage(
                    items: Array(after.prefix(7)), hasMoreBefore: after.count < visible.count, hasMoreAfter: after.count > 7,
                    lastSeq: chat.head)
            ),
        ]
        for (range, page) in pages {
            #expect(try await store.history(of: id, for: user, range: range, limit: 7) == page, label)
        }
        try await checkChanges(chat, user, visible, after: pivot)
        for seq in [pivot] + chat.messages.shuffled(using: &entries.random).prefix(4).map(\.seq) {
            let expected = visible.first { $0.message.seq == seq }
            #expect(try await store.message(seq, of: id, for: user) == expected, label)
            let receipts = try await store.receipts(of: id, seq: seq, for: user)
            let modelled = chat.messages.first { $0.seq == seq }.flatMap { model.receipts($0, in: chat, to: user) }
            #expect(receipts?.status == modelled?.status, label)
            #expect(receipts.map { Set($0.deliveredTo) } == modelled.map { Set($0.deliveredTo) }, label)
            #expect(receipts.map { Set($0.seenBy) } == modelled.map { Set($0.seenBy) }, label)
        }
        #expect(
            try await store.members(of: id, for: user, cursor: nil, limit: 50)?.items == model.members(of: chat, for: user),
            label)
    }

    private func checkChanges(
        _ chat: StoreModel.Chat, _ user: UserID, _ visible: [ReadMessage], after: Seq
    ) async throws {
        let expected = visible.filter { $0.message.changeSeq > after }.sorted { $0.message.changeSeq < $1.message.changeSeq }
        var items: [ReadMessage] = []
        var upTo = after
        for _ in 0..<1000 {
            let found = try await store.changes(of: chat.id, for: user, after: upTo, limit: 9)
            let page = try #require(found)
            #expect(page.hasMore == (items.count + page.items.count < expected.count), label)
            items += page.items
            upTo = page.upToSeq
            if !page.hasMore { break }
        }
        #expect(items == expected, label)
        // Not beyond the counter, whatever the client believed.
        #expect(upTo == chat.head, label)
    }

    /// What an actor would wake with.
    private mutating func checkSnapshots() async throws {
        let loaded = try await lane.load(ids)
        #expect(Set(loaded.keys) == Set(model.chats.keys), label)
        for chat in model.chats.values {
            let snapshot = try #require(loaded[chat.id])
            #expect(snapshot.head == chat.head && snapshot.title == chat.title && snapshot.about == chat.about, label)
            #expect(snapshot.photo == chat.photo && snapshot.history == chat.history && snapshot.kind == chat.kind, label)
            #expect(snapshot.isBlocked == model.blocked.contains(chat.id), label)
            #expect(snapshot.isActive || !chat.isMarked, label)
            let members = chat.members.map { id, member in
                ConversationSnapshot.Member(
                    userID: id, role: member.role, joinedAt: member.joinedAt, sinceSeq: member.since, readSeq: member.read,
                    deliveredSeq: member.delivered, sharesReadReceipts: !model.unsharing.contains(id))
            }
            #expect(Set(snapshot.members) == Set(members), label)
            let wanted = chat.messages.shuffled(using: &entries.random).prefix(5)
            let targets = try await lane.targets(wanted.map { TargetKey(conversationID: chat.id, seq: $0.seq) })
            for (message, target) in zip(wanted, targets) {
                #expect(target?.message == model.whole(message, in: chat), label)
                func hiders(_ seq: Seq) -> Set<UserID> { Set(chat.hidden.filter { $0.value.contains(seq) }.keys) }
                #expect(target.map { Set($0.hiddenBy) } == hiders(message.seq), label)
                let quote = chat.replies[message.seq]
                #expect(target.map { Set($0.quoteHiddenBy) } == quote.map(hiders) ?? [], label)
            }
        }
    }
}

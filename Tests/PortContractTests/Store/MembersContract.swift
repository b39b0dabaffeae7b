import Ports
import RoostModel
import Testing

/// Groups and channels, and who belongs to them.
@Suite struct MembersContract {
    @Test(arguments: StoreKind.allCases) func aNewGroup(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let users = try await world.makeUsers(3)
        let photo = try await world.makeMedia(of: users[0])
        let time = Timestamp.now
        let id = ConversationID.make()
        try await world.conversations.create(
            NewConversation(
                id: id, kind: .group, creatorID: users[0], title: "Crew", about: "Who we are", photo: photo,
                history: .sinceJoined, memberIDs: [users[1], users[2]], createdAt: time))
        for user in users {
            let view = try #require(try await world.conversations.conversation(id, for: user))
            #expect(view.kind == .group && view.title == "Crew" && view.about == "Who we are" && view.photo == photo)
            #expect(view.history == .sinceJoined && view.memberCount == 3 && Set(view.members.map(\.userID)) == Set(users))
            #expect(view.lastSeq == Seq(1) && view.unreadCount == 0 && view.mentionCount == 0 && view.readSeq == .zero)
            #expect(view.myRole == (user == users[0] ? .admin : .member) && view.createdAt == time)
            #expect(view.lastActivityAt == time && !view.isReadOnly)
            #expect(view.members.allSatisfy { $0.joinedAt == time && $0.deliveredSeq == .zero })
            let message = try #require(view.lastMessage)
            #expect(message.kind == .system && message.seq == Seq(1) && message.senderID == users[0] && message.text.isEmpty)
            #expect(message.system == SystemEvent(actorID: users[0], change: .created) && message.createdAt == time)
            #expect(try await world.conversations.memberships(of: user) == [Membership(conversationID: id, kind: .group)])
        }
        let lane = try await world.makeLane()
        let snapshot = try #require(try await lane.load([id])[id])
        #expect(snapshot.kind == .group && snapshot.title == "Crew" && snapshot.about == "Who we are")
        #expect(snapshot.photo == photo && snapshot.history == .sinceJoined && snapshot.head == Seq(1) && !snapshot.isBlocked)
        #expect(snapshot.members.allSatisfy { $0.sinceSeq == .zero && $0.readSeq == .zero && $0.joinedAt == time })
        #expect(snapshot.lastMessageAt == time)
        try await lane.send("hello", in: id, from: users[1], first: 2)
    }

    @Test(arguments: StoreKind.allCases) func anUnknownMemberMakesNoGroup(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let users = try await world.makeUsers(2)
        let id = ConversationID.make()
        for (creator, members) in [(users[0], [users[1], UserID.make()]), (UserID.make(), [users[0]])] {
            let new = NewConversation(
                id: id, kind: .group, creatorID: creator, title: "T", memberIDs: members, createdAt: .now)
            #expect(await storeErrorCode { try await world.conversations.create(new) } == .conflict)
        }
        #expect(try await world.conversations.standing(of: users[0], in: id) == nil)
        #expect(try await world.conversations.memberships(of: users[0]).isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func standings(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (group, users) = try await Chat.group(world, members: 2)
        let (channel, admins) = try await Chat.group(world, members: 1, kind: .channel)
        let direct = try await world.openDirect(users[0], users[1])
        let store = world.conversations
        #expect(try await store.standing(of: users[0], in: group.id) == Standing(kind: .group, role: .admin))
        #expect(try await store.standing(of: users[1], in: group.id) == Standing(kind: .group, role: .member))
        #expect(try await store.standing(of: admins[0], in: group.id) == Standing(kind: .group, role: nil))
        #expect(try await store.standing(of: users[0], in: channel.id) == Standing(kind: .channel, role: nil))
        #expect(try await store.standing(of: users[0], in: direct) == Standing(kind: .direct, role: .member))
        #expect(try await store.standing(of: users[0], in: .make()) == nil)
        #expect(try await store.directConversation(of: users[1], and: users[0]) == direct)
        #expect(try await store.directConversation(of: users[1], and: admins[0]) == nil)
        #expect(try await store.directConversation(of: users[1], and: users[1]) == nil)
        #expect(
            try await store.memberships(of: users[0])
                == [Membership(conversationID: group.id, kind: .group), Membership(conversationID: direct, kind: .direct)]
                .sorted { $0.conversationID < $1.conversationID })
    }

    @Test(arguments: StoreKind.allCases) func joiningLeavingAndReturning(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 2)
        try await chat.send("one", from: users[0])
        let late = try await world.makeUser().id
        let time = Timestamp.now
        try await chat.add([late], by: users[0], at: time)
        // What was before is not unread.
        #expect(
            try await chat.counts(late)
                == ConversationCounts(readSeq: Seq(2), deliveredSeq: Seq(2), unreadCount: 0, mentionCount: 0))
        #expect(try await chat.history(late).map(\.seq.value) == [1, 2, 3])
        let entry = try #require(try await chat.lane.load([chat.id])[chat.id]?.members.first { $0.userID == late })
        #expect(entry.sinceSeq == Seq(3) && entry.joinedAt == time && entry.role == .member && entry.readSeq == Seq(2))
        try await chat.send("two", from: users[0])
        #expect(try await chat.counts(late).unreadCount == 1)
        try await chat.move(late, read: 4)
        try await chat.hide(Seq(2), by: late)
        _ = try await chat.store.changeSettings(
            of: chat.id, for: late, MemberSettingsChange(mutedUntil: .some(time + .seconds(60)), isPinned: true), at: time)

        try await chat.leave(late)
        #expect(try await chat.store.conversation(chat.id, for: late) == nil)
        #expect(try await chat.store.history(of: chat.id, for: late, range: .newest, limit: 5) == nil)
        #expect(try await chat.message(Seq(2), for: late) == nil)
        #expect(try await chat.store.search("one", in: chat.id, for: late, cursor: nil, limit: 5) == nil)
        #expect(try await chat.store.members(of: chat.id, for: late, cursor: nil, limit: 5) == nil)
        #expect(try await !chat.store.changeSettings(of: chat.id, for: late, MemberSettingsChange(isPinned: true), at: .now))
        #expect(try await chat.store.memberships(of: late).isEmpty)
        #expect(try await chat.view(users[0]).memberCount == 2)

        try await chat.send("three", from: users[0])
        try await chat.add([late], by: users[0])
        // A return is a new joining, with nothing left of the old one; what was hidden stays hidden.
        let view = try await chat.view(late)
        #expect(view.readSeq == Seq(6) && view.unreadCount == 0 && view.mutedUntil == nil && view.pinnedAt == nil)
        #expect(try await chat.history(late).map(\.seq.value) == [1, 3, 4, 5, 6, 7])
        #expect(try await chat.lane.load([chat.id])[chat.id]?.members.first { $0.userID == late }?.sinceSeq == Seq(7))
    }

    @Test(arguments: StoreKind.allCases) func rolesAndUpdates(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 2)
        let photo = try await world.makeMedia(of: users[0])
        try await chat.setRole(.admin, of: users[1], by: users[0])
        #expect(try await chat.view(users[1]).myRole == .admin)
        try await chat.update(ConversationUpdate(title: "New", photo: .some(photo)), by: users[1])
        try await chat.update(ConversationUpdate(about: .some("About")), by: users[1])
        let view = try await chat.view(users[0])
        #expect(view.title == "New" && view.photo == photo && view.about == "About" && view.history == .full)
        try await chat.update(ConversationUpdate(about: .some(nil), photo: .some(nil), history: .sinceJoined), by: users[1])
        let cleared = try await chat.view(users[0])
        #expect(cleared.title == "New" && cleared.photo == nil && cleared.about == nil && cleared.history == .sinceJoined)
        let snapshot = try #require(try await chat.lane.load([chat.id])[chat.id])
        #expect(snapshot.title == "New" && snapshot.history == .sinceJoined && snapshot.photo == nil)
        #expect(snapshot.members.allSatisfy { $0.role == .admin })
    }

    @Test(arguments: StoreKind.allCases) func theListOfMembers(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        for conversationKind in [ConversationKind.group, .channel] {
            let (chat, users) = try await Chat.group(world, members: 1, kind: conversationKind)
            var expected = users
            let start = Timestamp.now
            for index in 0..<7 {
                let user = try await world.makeUser("Member \(index)").id
                try await chat.add([user], by: users[0], at: start + .seconds(index + 1))
                expected.append(user)
            }
            var seen: [Member] = []
            var cursor: String?
            repeat {
                let found = try await chat.store.members(of: chat.id, for: expected[2], cursor: cursor, limit: 3)
                let page = try #require(found)
                #expect(page.items.count <= 3)
                seen += page.items
                cursor = page.nextCursor
                // Those who come and go meanwhile disturb nobody else.
                if seen.count == 3 {
                    try await chat.leave(expected[1])
                    try await chat.add(
                        [world.makeUser("Late").id], by: users[0], at: start + .seconds(1000))
                }
            } while cursor != nil && seen.count < 20
            #expect(seen.map(\.userID).prefix(8) == expected[...] && seen.count == 9)
            #expect(seen[1].displayName == "Member 0" && seen[1].role == .member && seen[0].role == .admin)
            #expect(seen[3].joinedAt == start + .seconds(3))
            #expect(try await chat.store.members(of: chat.id, for: world.makeUser().id, cursor: nil, limit: 5) == nil)
            #expect(try await chat.store.members(of: .make(), for: expected[2], cursor: nil, limit: 5) == nil)
            #expect(try await chat.store.member(expected[3], of: chat.id, for: expected[2]) == seen[3])
            #expect(try await chat.store.member(expected[1], of: chat.id, for: expected[2]) == nil)
            #expect(try await chat.store.member(expected[3], of: chat.id, for: expected[1]) == nil)
            #expect(try await chat.store.member(expected[3], of: .make(), for: expected[2]) == nil)
            #expect(
                await storeErrorCode {
                    _ = try await chat.store.members(of: chat.id, for: expected[2], cursor: "AAAA", limit: 5)
                } == .badCursor)
        }
    }

    @Test(arguments: StoreKind.allCases) func whatIsDeletedIsGone(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 2)
        let seq = try await chat.send("needle", from: users[0], clientID: "x")
        let before = try await world.conversations.sync(for: users[1], since: nil, limit: 50)
        try await chat.deleteAll()
        #expect(try await chat.lane.load([chat.id]).isEmpty)
        #expect(try await chat.store.standing(of: users[0], in: chat.id) == nil)
        #expect(try await chat.store.conversation(chat.id, for: users[0]) == nil)
        #expect(try await chat.message(seq, for: users[0]) == nil)
        #expect(try await chat.store.memberships(of: users[0]).isEmpty)
        #expect(try await chat.store.search("needle", in: nil, for: users[0], cursor: nil, limit: 5)?.items.isEmpty == true)
        #expect(try await chat.lane.stored([MessageKey(conversationID: chat.id, senderID: users[0], clientID: "x")]) == [nil])
        #expect(try await chat.lane.targets([TargetKey(conversationID: chat.id, seq: seq)]) == [nil])
        let after = try await world.conversations.sync(for: users[1], since: before.token, limit: 50)
        #expect(after.removed == [chat.id] && after.conversations.isEmpty)
        #expect(try await chat.lane.commit(.messages(["late"], in: chat.id, from: users[0], first: 3)) == [.conflict])
    }

    /// Two owners, or two requests, that both believe in the same next value: one of them adds.
    @Test(arguments: StoreKind.allCases) func addsThatCollide(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 1)
        let other = try await world.makeLane()
        let new = try await world.makeUsers(2)
        func entry(_ user: UserID) -> JournalEntry {
            var changes = EntryChanges()
            changes.firstSeq = Seq(2)
            changes.members = [.joined(user, role: .member, at: .now, sinceSeq: Seq(2), readSeq: Seq(1))]
            return JournalEntry(
                conversationID: chat.id, messages: [.system(.membersAdded([user]), by: users[0], in: chat.id, Seq(2))],
                positions: [], changes: changes, marksActive: true)
        }
        async let left = chat.lane.commit(entry(new[0]))
        async let right = other.commit(entry(new[1]))
        #expect(try await Set(left + right) == [.committed, .conflict])
        #expect(try await chat.view(users[0]).memberCount == 2)
        #expect(try await chat.view(users[0]).members.count == 2)
    }

    @Test(arguments: StoreKind.allCases) func blocksShowInTheSnapshot(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, a, b) = try await Chat.direct(world)
        let other = try await world.openDirect(a, world.makeUser().id)
        #expect(try await chat.lane.load([chat.id])[chat.id]?.isBlocked == false)
        try await world.fixtures.block(a, b)
        #expect(try await chat.lane.load([chat.id])[chat.id]?.isBlocked == true)
        #expect(try await chat.lane.load([other])[other]?.isBlocked == false)
        try await world.fixtures.block(b, a)
        #expect(try await chat.lane.load([chat.id])[chat.id]?.isBlocked == true)
        // In a group it means nothing.
        let group = ConversationID.make()
        try await world.conversations.create(
            NewConversation(id: group, kind: .group, creatorID: a, title: "T", memberIDs: [b], createdAt: .now))
        #expect(try await chat.lane.load([group])[group]?.isBlocked == false)
    }
}

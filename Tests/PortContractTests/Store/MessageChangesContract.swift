import Ports
import RoostModel
import Testing

/// What becomes of messages after they were sent.
@Suite struct MessageChangesContract {
    @Test(arguments: StoreKind.allCases) func allOfAMessageIsKept(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, a, b) = try await Chat.direct(world)
        let media = try await world.makeMedia(.video, of: a)
        try await chat.send("first", from: b)
        let seq = try await chat.send("look", from: a, replyTo: Seq(1), mentions: [b, a], media: media, clientID: "mine")
        let message = try #require(try await chat.message(seq, for: b))
        #expect(message.kind == .video && message.media == media && message.mentions == [b, a] && message.clientID == "mine")
        #expect(message.replyTo == Quote(seq: Seq(1), senderID: b, kind: .text, text: "first", isDeleted: false))
        #expect(message.fingerprint == 7 && message.changeSeq == seq && !message.isForwarded)
        #expect(message.editedAt == nil && message.deletedAt == nil && message.system == nil && message.reactions.isEmpty)
        #expect(try await chat.history(a).last == message)
        #expect(try await chat.target(seq).message == message)
        let key = MessageKey(conversationID: chat.id, senderID: a, clientID: "mine")
        #expect(try await chat.lane.stored([key]) == [message])
        #expect(try await chat.store.media(media.id) == media)
        #expect(try await chat.store.media(.make()) == nil)
        #expect(try await chat.message(Seq(3), for: b) == nil)
        #expect(try await chat.message(seq, for: world.makeUser().id) == nil)
        try await chat.commit { first, entry, _ in
            var forwarded = message.changed(at: first)
            forwarded = Message(
                conversationID: chat.id, seq: first, changeSeq: first, clientID: "copy", senderID: b, kind: .video, text: "look",
                fingerprint: -7, media: media, isForwarded: true, createdAt: forwarded.createdAt)
            entry.messages = [forwarded]
        }
        let copy = try #require(try await chat.message(Seq(3), for: a))
        #expect(copy.isForwarded && copy.fingerprint == -7 && copy.media == media)
    }

    @Test(arguments: StoreKind.allCases) func anEditIsTheMessageAsItIsNow(_ kind: StoreKind) async throws {
        let (chat, a, b) = try await Chat.direct(StoreWorld.shared(kind))
        let seq = try await chat.send("helo", from: a, mentions: [b], clientID: "x")
        try await chat.send("a reply", from: b, replyTo: seq)
        let time = Timestamp.now
        try await chat.edit(seq, "hello", at: time)
        let message = try #require(try await chat.message(seq, for: b))
        #expect(message.text == "hello" && message.editedAt == time && message.changeSeq == Seq(3) && message.seq == seq)
        #expect(message.mentions == [b] && message.fingerprint == 7)
        #expect(try await chat.message(Seq(2), for: a)?.replyTo?.text == "hello")
        #expect(try await chat.head() == Seq(3))
        #expect(try await chat.view(b).lastSeq == Seq(3))
        let changes = try #require(try await chat.store.changes(of: chat.id, for: b, after: Seq(1), limit: 50))
        #expect(changes.items.map(\.message.seq.value) == [2, 1] && changes.upToSeq == Seq(3))
        // The client id is still taken.
        #expect(
            try await chat.lane.commit(.messages(["again"], in: chat.id, from: a, first: 4, clientIDs: ["x"])) == [.conflict])
        // Twice in an entry: the last counts, with its value.
        var first = message
        first.text = "one"
        try await chat.commit { value, _, changes in
            changes.changedMessages = [first.changed(at: value.next)]
        }
        #expect(try await chat.message(seq, for: b)?.text == "one")
        #expect(try await chat.head() == Seq(5))
    }

    @Test(arguments: StoreKind.allCases) func aDeletionErasesEverywhere(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, a, b) = try await Chat.direct(world)
        let media = try await world.makeMedia(of: a)
        let original = try await chat.send("the original", from: b)
        let seq = try await chat.send("secret", from: a, replyTo: original, mentions: [b], media: media)
        try await chat.react(seq, "👍", by: b)
        try await chat.send("before", from: b, replyTo: seq)
        #expect(
            try await chat.counts(b) == ConversationCounts(readSeq: .zero, deliveredSeq: .zero, unreadCount: 1, mentionCount: 1))
        let time = Timestamp.now
        try await chat.delete(seq, at: time)
        try await chat.send("after", from: b, replyTo: seq)
        for user in [a, b] {
            let tombstone = try #require(try await chat.message(seq, for: user))
            #expect(tombstone.isDeleted && tombstone.deletedAt == time && tombstone.text.isEmpty && tombstone.media == nil)
            #expect(tombstone.mentions.isEmpty && tombstone.reactions.isEmpty && tombstone.replyTo == nil)
            #expect(tombstone.kind == .image && tombstone.senderID == a)
            let replies = try await chat.history(user).filter { $0.replyTo?.seq == seq }
            #expect(replies.map(\.text) == ["before", "after"])
            #expect(
                replies.allSatisfy {
                    $0.replyTo == Quote(seq: seq, senderID: a, kind: .image, text: "", isDeleted: true)
                })
        }
        // A deleted message is neither unread nor a mention.
        #expect(
            try await chat.counts(b) == ConversationCounts(readSeq: .zero, deliveredSeq: .zero, unreadCount: 0, mentionCount: 0))
        #expect(try await chat.view(b).mentionCount == 0)
        #expect(try await chat.store.search("secret", in: nil, for: a, cursor: nil, limit: 5)?.items.isEmpty == true)
        #expect(try await chat.view(a).lastMessage?.replyTo?.text == "")
    }

    @Test(arguments: StoreKind.allCases) func reactionsComeAndGo(_ kind: StoreKind) async throws {
        let (chat, users) = try await Chat.group(StoreWorld.shared(kind), members: 4)
        let seq = try await chat.send(from: users[0])
        let start = Timestamp.now
        func reactions() async throws -> [Reaction] { try #require(try await chat.message(seq, for: users[3])).reactions }
        try await chat.react(seq, "👍", by: users[1], at: start)
        try await chat.react(seq, "❤️", by: users[2], at: start + .milliseconds(1))
        try await chat.react(seq, "👍", by: users[0], at: start + .milliseconds(2))
        try await chat.react(seq, "❤️", by: users[1], at: start + .milliseconds(3))
        #expect(
            try await reactions() == [
                Reaction(emoji: "👍", userIDs: [users[1], users[0]]), Reaction(emoji: "❤️", userIDs: [users[2], users[1]]),
            ])
        // Put again: nothing changes, not even the order.
        try await chat.react(seq, "👍", by: users[1], at: start + .milliseconds(9))
        #expect(try await reactions()[0].userIDs == [users[1], users[0]])
        try await chat.react(seq, "👍", by: users[1], isPut: false)
        #expect(
            try await reactions() == [
                Reaction(emoji: "❤️", userIDs: [users[2], users[1]]), Reaction(emoji: "👍", userIDs: [users[0]]),
            ])
        try await chat.react(seq, "👍", by: users[0], isPut: false)
        try await chat.react(seq, "👍", by: users[0], isPut: false)
        #expect(try await reactions().map(\.emoji) == ["❤️"])
        #expect(try await chat.message(seq, for: users[3])?.changeSeq == chat.head())
        #expect(try await chat.target(seq).message.reactions == reactions())
    }

    /// Emoji are compared by their bytes: a skin tone is another reaction.
    @Test(arguments: StoreKind.allCases) func emojiAreKeptExactly(_ kind: StoreKind) async throws {
        let (chat, a, b) = try await Chat.direct(StoreWorld.shared(kind))
        let seq = try await chat.send(from: a)
        let emoji = ["👍", "👍🏽", "❤️", "👩‍👩‍👧‍👦", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣"]
        let start = Timestamp.now
        for (index, one) in emoji.enumerated() { try await chat.react(seq, one, by: b, at: start + .milliseconds(index)) }
        let shown = try #require(try await chat.message(seq, for: a)).reactions.map(\.emoji)
        #expect(shown.map { Array($0.utf8) } == emoji.map { Array($0.utf8) })
    }

    @Test(arguments: StoreKind.allCases) func targetsTellWhoHidWhat(_ kind: StoreKind) async throws {
        let (chat, users) = try await Chat.group(StoreWorld.shared(kind), members: 3)
        let seq = try await chat.send("original", from: users[0])
        let reply = try await chat.send("reply", from: users[1], replyTo: seq)
        try await chat.hide(seq, by: users[2])
        try await chat.hide(seq, by: users[2])
        try await chat.hide(reply, by: users[0])
        let keys = [reply, Seq(99), seq, .zero, reply].map { TargetKey(conversationID: chat.id, seq: $0) }
        let found = try await chat.lane.targets(keys + [TargetKey(conversationID: .make(), seq: seq)])
        #expect(found.map { $0?.message.seq.value } == [3, nil, 2, nil, 3, nil])
        #expect(found[0]?.hiddenBy == [users[0]] && found[0]?.quoteHiddenBy == [users[2]])
        #expect(found[2]?.hiddenBy == [users[2]] && found[2]?.quoteHiddenBy == [])
        // The target is whole, whoever hid what.
        #expect(found[0]?.message.replyTo?.text == "original")
        #expect(found[0]?.message.isDeleted == false)
        #expect(try await chat.lane.targets([]).isEmpty)
    }

    /// A system message has no client id: many of one sender stand side by side.
    @Test(arguments: StoreKind.allCases) func systemEventsAreKept(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 2)
        let photo = try await world.makeMedia(of: users[0]).asReference
        let events: [SystemEvent.Change] = [
            .updated(ConversationUpdate(title: "T", about: .some("A"), photo: .some(photo), history: .sinceJoined)),
            .updated(ConversationUpdate(about: .some(nil), photo: .some(nil))), .membersAdded([users[1], users[0]]),
            .memberRemoved(users[1]), .memberJoined, .memberLeft, .roleChanged(users[1], .admin),
        ]
        try await chat.commit { first, entry, _ in
            entry.messages = events.enumerated().map { index, change in
                .system(change, by: users[0], in: chat.id, Seq(first.value + Int64(index)))
            }
            entry.messages.append(
                Message(
                    conversationID: chat.id, seq: Seq(first.value + 7), changeSeq: Seq(first.value + 7), clientID: "",
                    senderID: users[1], kind: .system, text: "",
                    system: SystemEvent(actorID: nil, change: .roleChanged(users[1], .admin)), createdAt: .now))
        }
        let stored = try await chat.history(users[1]).map(\.system)
        #expect(stored.map { $0?.actorID } == Array(repeating: users[0], count: 8) + [nil])
        #expect(stored.dropFirst().dropLast().map { $0?.change } == events)
        #expect(try await chat.counts(users[1]).unreadCount == 0)
    }

    @Test(arguments: StoreKind.allCases) func recentMessagesAreForThoseWhoSeeThemWhole(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 3, history: .sinceJoined)
        let old = try await chat.send("old", from: users[0])
        let late = try await world.makeUser().id
        try await chat.add([late], by: users[0])
        let reply = try await chat.send("reply", from: users[0], replyTo: old)
        let plain = try await chat.send("plain", from: users[1])
        try await chat.hide(plain, by: users[0])
        try await chat.hide(old, by: users[1])
        let recent = try await chat.lane.recent([ShardID(of: chat.id).number], since: Timestamp(milliseconds: 0))
            .filter { $0.message.conversationID == chat.id }
        func receivers(_ seq: Seq) -> Set<UserID>? { recent.first { $0.message.seq == seq }.map { Set($0.memberIDs) } }
        #expect(recent.map(\.message.seq.value) == [1, 2, 3, 4, 5])
        #expect(receivers(old) == [users[0], users[2]])
        #expect(receivers(reply) == [users[0], users[2]])
        #expect(receivers(plain) == [users[1], users[2], late])
        #expect(receivers(Seq(3)) == Set(users + [late]))
        #expect(recent.first { $0.message.seq == reply }?.message.replyTo?.text == "old")
    }
}

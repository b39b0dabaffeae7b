import Ports
import RoostModel
import Testing

/// What every ``ExportStore`` keeps, and what a deletion leaves of it.
@Suite struct ExportStoreContract {
    @Test(arguments: StoreKind.allCases) func onesOwnIsFoundPageByPage(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 3)
        let (me, other) = (users[1], users[2])
        let others = try await chat.send("theirs", from: other)
        var own: [Seq] = []
        for index in 0..<5 { own.append(try await chat.send("mine \(index)", from: me, replyTo: others)) }
        for emoji in ["👍", "❤️"] { try await chat.react(others, emoji, by: me) }
        try await chat.react(own[0], "👍", by: me)
        try await chat.react(own[0], "👍", by: other)
        for seq in [own[1], own[2], others] { try await chat.hide(seq, by: me) }
        func messages(after: Seq = .zero, limit: Int = 10) async throws -> [ReadMessage] {
            try await world.exports.ownMessages(of: me, in: chat.id, after: after, limit: limit)
        }
        let first = try await messages(limit: 2)
        #expect(first.map(\.message.seq) == Array(own.prefix(2)))
        #expect(try await messages(after: own[1]).map(\.message.seq) == Array(own.suffix(3)))
        // The quote is of a message that they hid; what they wrote themselves is theirs, hidden or not.
        #expect(first[0].message.replyTo == nil && first[0].delivery != nil)
        #expect(first[0].message.reactions.first?.userIDs.count == 2)
        let reactions = try await world.exports.ownReactions(of: me, in: chat.id, after: nil, limit: 10)
        #expect(reactions.count == 3 && reactions.map(\.seq) == [others, others, own[0]])
        let rest = try await world.exports.ownReactions(of: me, in: chat.id, after: reactions[0], limit: 1)
        #expect(rest == [reactions[1]])
        #expect(
            try await world.exports.hiddenMessages(of: me, in: chat.id, after: others, limit: 1) == [own[1]])
        #expect(try await world.exports.hiddenMessages(of: me, in: chat.id, after: .zero, limit: 10).count == 3)
        #expect(try await world.exports.leftConversations(of: me).isEmpty)
        #expect(try await world.exports.ownMessages(of: .make(), in: chat.id, after: .zero, limit: 10).isEmpty)

        try await chat.leave(me)
        #expect(try await world.exports.leftConversations(of: me) == [chat.id])
        let left = try await messages()
        #expect(left.map(\.message.text) == (0..<5).map { "mine \($0)" })
        #expect(left.allSatisfy { $0.delivery == nil && $0.message.replyTo == nil && $0.message.reactions.isEmpty })

        var media: [Media] = []
        for _ in 0..<3 { media.append(try await world.makeMedia(of: me)) }
        media.sort { $0.id < $1.id }
        #expect(try await world.exports.ownMedia(of: me, after: nil, limit: 2) == Array(media.prefix(2)))
        #expect(try await world.exports.ownMedia(of: me, after: media[1].id, limit: 2) == [media[2]])
    }

    @Test(arguments: StoreKind.allCases) func aDeletionErasesReactionsReceiptsAndWhatWasHidden(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (left, users) = try await Chat.group(world, members: 3)
        let me = users[1]
        let chats = [left, Chat(world: world, lane: left.lane, id: try await world.openDirect(me, users[2]))]
        for chat in chats {
            let seq = try await chat.send("theirs", from: users[2])
            try await chat.react(seq, "👍", by: me)
            try await chat.react(seq, "👍", by: users[2])
            try await chat.hide(seq, by: me)
            try await chat.move(me, read: seq.value)
        }
        try await left.leave(me)
        _ = try await world.deletions.eraseAccount(me, at: .now, claim: .seconds(60))
        try await world.deletions.eraseTraces(of: me, in: chats[1].id)
        try await world.deletions.eraseLeftTraces(of: me)
        try await world.deletions.finishDeletion(of: me)
        for chat in chats {
            #expect(try await world.exports.ownReactions(of: me, in: chat.id, after: nil, limit: 9).isEmpty)
            #expect(try await world.exports.hiddenMessages(of: me, in: chat.id, after: .zero, limit: 9).isEmpty)
            #expect(try await chat.history(users[2]).flatMap(\.reactions).flatMap(\.userIDs) == [users[2]])
        }
        let view = try await chats[1].view(users[2])
        #expect(view.members.first { $0.userID == me }?.readSeq == .zero)
        let receipts = try await chats[1].store.receipts(of: chats[1].id, seq: Seq(1), for: users[2])
        #expect(receipts?.seenBy.isEmpty == true && receipts?.deliveredTo.isEmpty == true)
    }

    @Test(arguments: StoreKind.allCases) func photosAreKept(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (user, owner) = (try await world.makeUser(), try await world.makeUser())
        let (photo, other) = (try await world.makeMedia(of: user.id), try await world.makeMedia(of: owner.id))
        var change = ProfileChange()
        (change.firstName, change.lastName, change.phone) = (.some("A"), .some("B"), .some("123"))
        #expect(try await world.accounts.updateUser(user.id, change)?.profileCompleted == false)
        change = ProfileChange()
        change.photo = photo
        let complete = try #require(try await world.accounts.updateUser(user.id, change))
        #expect(complete.profileCompleted && complete.photo == photo)
        #expect(try await world.accounts.user(user.id) == complete)
        let new = NewContact(
            owner: owner.id, user: user.id, isByEmail: false, nickname: nil, photo: other, createdAt: .now)
        let contact = try #require(try await world.contacts.addContact(new))
        #expect(contact.photo == other && contact.user.photo == photo)
        change.photo = .some(nil)
        let cleared = try #require(try await world.accounts.updateUser(user.id, change))
        #expect(cleared.profileCompleted && cleared.photo == nil)
        var contactChange = ContactChange()
        #expect(try await world.contacts.changeContact(user.id, of: owner.id, contactChange)?.photo == other)
        contactChange.photo = .some(nil)
        #expect(try await world.contacts.changeContact(user.id, of: owner.id, contactChange)?.photo == nil)
    }
}

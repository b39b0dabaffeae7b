import RoostModel
import Testing

@testable import ConversationCore

/// Edits, deletions, reactions, replies and mentions.
@Suite struct MessageActionTests {
    // MARK: Editing

    @Test func anEditTakesAValueAndIsToldAsItIsNow() {
        var machine = Machine.group(bob)
        let seq = machine.say("helo")
        machine.now = noon + .seconds(5)
        let outcome = machine.run(act(1, .edit(seq, text: "hello")))
        #expect(outcome.replies == [done(1)] && outcome.values == [2])
        #expect(outcome.messages[0].text == "hello" && outcome.messages[0].editedAt == noon + .seconds(5))
        #expect(outcome.messages[0].seq == seq && outcome.audiences == [audience(whole: [alice, bob])])
        #expect(outcome.requests[0].changes?.firstSeq == Seq(2) && outcome.requests[0].marksActive == false)
        // The same text again changes nothing, and takes nothing.
        let again = machine.run(act(2, .edit(seq, text: "hello")))
        #expect(again.replies == [done(2)] && again.requests.isEmpty && again.events.isEmpty)
    }

    @Test func whatCannotBeEdited() {
        var machine = Machine.group(bob)
        let seq = machine.say()
        #expect(machine.code(.edit(seq, text: " \n "), by: alice) == .emptyMessage)
        #expect(machine.code(.edit(seq, text: "x"), by: bob) == .forbidden)
        #expect(machine.code(.edit(seq, text: "x"), by: stranger) == .notFound)
        #expect(machine.code(.edit(Seq(99), text: "x")) == .notFound)
        #expect(machine.code(.edit(.zero, text: "x")) == .notFound)
        #expect(machine.code(.update(ConversationUpdate(title: "T"))) == nil)
        // An admin's own system message is no message of theirs to edit.
        #expect(machine.code(.edit(Seq(2), text: "x")) == .forbidden)
        #expect(machine.code(.deleteForEveryone(Seq(2))) == .forbidden)
        #expect(machine.code(.react(Seq(2), emoji: "👍")) == .forbidden)
        #expect(machine.code(.deleteForEveryone(seq)) == nil)
        #expect(machine.code(.edit(seq, text: "x")) == .messageDeleted)
        #expect(machine.code(.edit(seq, text: "x"), by: bob) == .forbidden)
    }

    @Test func aPictureMayGoWithoutWords() {
        var machine = Machine.direct()
        let media = Media(id: .make(), ownerID: alice, state: .ready, kind: .image, contentType: "image/png", bytes: 1)
        machine.run(send(1, "a", MessageContent(kind: .image, text: "look", media: media)))
        #expect(machine.code(.edit(Seq(1), text: "")) == nil)
        #expect(machine.store.message(Seq(1))?.text == "")
    }

    /// Several edits of one message in a batch: each is told, the last is written.
    @Test func editsInABatchFollowOneAnother() {
        var machine = Machine.direct()
        let seq = machine.say("one")
        let outcome = machine.run(
            act(1, .edit(seq, text: "two")), act(2, .edit(seq, text: "two")), act(3, .edit(seq, text: "three")),
            send(4, "x"))
        #expect(outcome.values == [2, 3, 4] && outcome.messages.prefix(2).map(\.text) == ["two", "three"])
        #expect(outcome.requests[0].changes?.changedMessages.map(\.changeSeq) == [Seq(3)])
        #expect(outcome.requests[0].changes?.firstSeq == Seq(2) && machine.store.head == Seq(4))
        #expect(outcome.replies.map(\.token.value) == [1, 2, 3, 4])
    }

    // MARK: Deleting for everyone

    @Test func aDeletionLeavesATombstone() {
        var machine = Machine.group(bob, carol)
        let original = machine.say("original", by: bob)
        machine.run(send(1, "a", MessageContent(text: "secret", replyTo: original, mentions: [bob])))
        let seq = Seq(2)
        machine.run(act(2, .react(seq, emoji: "👍"), by: bob))
        machine.now = noon + .seconds(9)
        let outcome = machine.run(act(3, .deleteForEveryone(seq)))
        #expect(outcome.replies == [done(3)] && outcome.values == [4])
        let tombstone = outcome.messages[0]
        #expect(tombstone.deletedAt == noon + .seconds(9) && tombstone.text == "" && tombstone.replyTo == nil)
        #expect(tombstone.mentions == [] && tombstone.reactions == [] && tombstone.media == nil)
        #expect(tombstone.clientID == "a" && tombstone.fingerprint == fingerprint("secret", replyTo: original))
        // Again: as it is.
        let again = machine.run(act(4, .deleteForEveryone(seq)))
        #expect(again.replies == [done(4)] && again.events.isEmpty)
        // The same send again is answered with the tombstone.
        let repeated = machine.run(send(5, "a", MessageContent(text: "secret", replyTo: original, mentions: [bob])))
        #expect(repeated.replies == [stored(5, tombstone, isNew: false)])
    }

    @Test func theWindowIsTheSendersAndNotTheAdmins() {
        let rules = ConversationRules(deleteWindow: .seconds(60))
        var machine = Machine.group(bob, rules: rules)
        let (own, bobs, late) = (machine.say(), machine.say(by: bob), machine.say(by: bob))
        machine.now = noon + .seconds(60)
        #expect(machine.code(.deleteForEveryone(bobs), by: bob) == nil)
        machine.now = noon + .milliseconds(60_001)
        #expect(machine.code(.deleteForEveryone(late), by: bob) == .deleteWindowClosed)
        // What is deleted already is so for its sender at any time.
        #expect(machine.code(.deleteForEveryone(bobs), by: bob) == nil)
        #expect(machine.code(.deleteForEveryone(own), by: bob) == .forbidden)
        #expect(machine.code(.deleteForEveryone(own)) == nil)
        #expect(machine.code(.deleteForEveryone(late)) == nil)
        #expect(machine.code(.deleteForEveryone(late), by: stranger) == .notFound)
        // Nobody is above the other in a direct conversation.
        var direct = Machine.direct()
        let seq = direct.say()
        #expect(direct.code(.deleteForEveryone(seq), by: bob) == .forbidden)
    }

    /// A reply is made before, during and after the deletion of what it answers: its quote is blank from the deletion on.
    @Test func quotesOfADeletedMessage() {
        var machine = Machine.direct()
        let seq = machine.say("original")
        machine.say("before", by: bob, replyTo: seq)
        func reply(_ token: UInt64, _ name: String) -> ConversationCommand {
            send(token, name, MessageContent(text: name, replyTo: seq), from: bob)
        }
        let during = machine.run(reply(1, "first"), act(2, .deleteForEveryone(seq)), reply(3, "second"))
        #expect(during.messages.map(\.replyTo?.text) == ["original", nil, ""])
        #expect(during.messages[2].replyTo == Quote(seq: seq, senderID: alice, kind: .text, text: "", isDeleted: true))
        let after = machine.run(reply(4, "after"))
        #expect(after.messages[0].replyTo?.isDeleted == true && after.messages[0].replyTo?.text == "")
        for reply in [2, 3, 5, 6] as [Int64] { #expect(machine.store.message(Seq(reply))?.replyTo?.text == "") }
        // An edited reply shows the quote as it is now.
        let edit = machine.run(act(5, .edit(Seq(2), text: "edited"), by: bob))
        #expect(edit.messages[0].replyTo?.isDeleted == true)
    }

    // MARK: Hiding

    @Test func hidingIsOnesOwnAffair() {
        var machine = Machine.group(bob)
        let seq = machine.say()
        let outcome = machine.run(act(1, .hide(seq), by: bob))
        #expect(outcome.replies == [done(1)] && outcome.events == [.hidden(bob, seq)] && machine.store.head == seq)
        #expect(outcome.requests[0].changes?.hidden == [HiddenChange(seq: seq, userID: bob)])
        #expect(outcome.requests[0].changes?.firstSeq == nil && !outcome.requests[0].marksActive)
        let again = machine.run(act(2, .hide(seq), by: bob))
        #expect(again.replies == [done(2)] && again.events.isEmpty && again.requests.isEmpty)
        // For them it is not there any more.
        #expect(machine.code(.edit(seq, text: "x"), by: bob) == .notFound)
        #expect(machine.code(.react(seq, emoji: "👍"), by: bob) == .notFound)
        #expect(machine.code(.deleteForEveryone(seq), by: bob) == .notFound)
        #expect(machine.code(.hide(Seq(9)), by: bob) == .notFound)
        #expect(machine.code(.hide(seq), by: stranger) == .notFound)
        let reply = machine.run(send(3, "r", MessageContent(text: "r", replyTo: seq), from: bob))
        #expect(reply.replies == [refusal(3, .invalid("replyTo", .unknown))])
        // A later change is told to the others; for them the counter goes on.
        let edit = machine.run(act(4, .edit(seq, text: "edited")))
        #expect(edit.audiences == [audience(whole: [alice], blank: [bob])])
    }

    @Test func tombstonesAndSystemMessagesCanBeHidden() {
        var machine = Machine.group(bob)
        let seq = machine.say()
        machine.run(act(1, .update(ConversationUpdate(title: "T"))), act(2, .deleteForEveryone(seq)))
        #expect(machine.code(.hide(Seq(2)), by: bob) == nil)
        #expect(machine.code(.hide(seq), by: bob) == nil)
    }

    // MARK: Reactions

    @Test func reactionsComeAndGo() {
        var machine = Machine.group(bob)
        let seq = machine.say()
        let put = machine.run(act(1, .react(seq, emoji: "👍"), by: bob), act(2, .react(seq, emoji: "👍")))
        #expect(put.values == [2, 3])
        #expect(
            put.messages.map(\.reactions) == [
                [Reaction(emoji: "👍", userIDs: [bob])], [Reaction(emoji: "👍", userIDs: [bob, alice])],
            ])
        #expect(machine.run(act(3, .react(seq, emoji: "👍"), by: bob)).requests.isEmpty)
        #expect(machine.run(act(4, .unreact(seq, emoji: "❤️"), by: bob)).requests.isEmpty)
        let taken = machine.run(act(5, .unreact(seq, emoji: "👍"), by: bob), act(6, .unreact(seq, emoji: "👍")))
        #expect(taken.messages.map(\.reactions) == [[Reaction(emoji: "👍", userIDs: [alice])], []])
        #expect(taken.messages[1].editedAt == nil && machine.store.message(seq)?.reactions == [])
        #expect(machine.code(.react(Seq(50), emoji: "👍")) == .notFound)
        #expect(machine.code(.react(seq, emoji: "👍"), by: stranger) == .notFound)
        #expect(machine.code(.deleteForEveryone(seq)) == nil)
        #expect(machine.code(.react(seq, emoji: "👍")) == .messageDeleted)
        #expect(machine.code(.unreact(seq, emoji: "👍")) == nil)
    }

    /// One user toggles twenty times at once, twenty put it once each: one entry per user, every change told, and the last written.
    @Test func toggledTwentyTimesInABatch() {
        let people = (0..<20).map { UserID(high: 2, low: $0) }
        var machine = Machine(
            StoredConversation(kind: .group, members: [member(alice, role: .admin)] + people.map { member($0) }))
        let seq = machine.say()
        let toggles = (0..<20).map { index in
            act(UInt64(index), index % 2 == 0 ? .react(seq, emoji: "👍") : .unreact(seq, emoji: "👍"))
        }
        let once = people.enumerated().map { act(UInt64(100 + $0), .react(seq, emoji: "👍"), by: $1) }
        let outcome = machine.run(zip(toggles, once).flatMap { [$0, $1] })
        #expect(outcome.values == Array(2...41) && outcome.replies.count == 40)
        #expect(outcome.messages.last?.reactions == [Reaction(emoji: "👍", userIDs: people)])
        #expect(machine.store.message(seq)?.reactions.map { Set($0.userIDs) } == [Set(people)])
        let changes = outcome.requests[0].changes
        #expect(changes?.reactions.count == 21 && changes?.changedMessages.count == 1)
        #expect(changes?.firstSeq == Seq(2) && machine.store.head == Seq(41))
    }

    @Test func differentEmojiAreLimited() {
        var machine = Machine.group(bob, rules: ConversationRules(reactions: 3))
        let seq = machine.say()
        let emoji = (0..<5_000).map { String(UnicodeScalar(0x1F300 + UInt32($0))!) }
        let outcome = machine.run(emoji.enumerated().map { act(UInt64($0), .react(seq, emoji: $1)) })
        let refused = outcome.replies.filter { $0.outcome == .failed(RoostError(.reactionLimit)) }
        #expect(refused.count == 4_997 && machine.store.message(seq)?.reactions.map(\.emoji) == Array(emoji.prefix(3)))
        // One that is there may be put by others; one that goes makes room.
        #expect(machine.code(.react(seq, emoji: emoji[0]), by: bob) == nil)
        #expect(machine.code(.unreact(seq, emoji: emoji[1])) == nil)
        #expect(machine.code(.react(seq, emoji: emoji[9])) == nil)
        #expect(machine.code(.react(seq, emoji: emoji[1])) == .reactionLimit)
    }

    // MARK: What a new message names

    @Test func mentionsAndRepliesMustBeThere() {
        var machine = Machine.group(bob)
        func outcome(of content: MessageContent) -> ConversationReply.Outcome? {
            machine.run(send(1, "x", content)).replies.first?.outcome
        }
        #expect(outcome(of: MessageContent(text: "x", mentions: [bob, stranger])) == .failed(.invalid("mentions", .unknown)))
        #expect(outcome(of: MessageContent(text: "x", replyTo: Seq(1))) == .failed(.invalid("replyTo", .unknown)))
        #expect(machine.store.head == .zero)
        let seq = machine.say()
        let outcome = machine.run(send(2, "y", MessageContent(text: "x", replyTo: seq, mentions: [bob, alice])))
        #expect(outcome.messages[0].mentions == [bob, alice] && outcome.messages[0].replyTo?.seq == seq)
        // Who has been removed in the same batch is not there any more; who has been added is.
        let batch = machine.run(
            act(3, .removeMember(bob)), send(4, "a", MessageContent(text: "x", mentions: [bob])), act(5, .addMembers([carol])),
            send(6, "b", MessageContent(text: "x", mentions: [carol])))
        #expect(batch.replies[1] == refusal(4, .invalid("mentions", .unknown)))
        #expect(machine.store.messages.last?.mentions == [carol])
    }

    /// Content that could not be looked up: only a repetition is answered.
    @Test func aSendWhoseContentIsGone() {
        var machine = Machine.group(bob)
        func lost(_ token: UInt64, _ clientID: String, by user: UserID = alice) -> ConversationCommand {
            .send(
                SendCommand(
                    token: ReplyToken(token), senderID: user, clientID: clientID, fingerprint: fingerprint("x"),
                    content: .failure(RoostError(.mediaNotReady))))
        }
        machine.run(send(1, "a", "x"))
        let outcome = machine.run(lost(2, "a"), lost(3, "b"), lost(4, "c", by: stranger))
        #expect(
            outcome.replies == [
                stored(2, machine.store.message(Seq(1))!, isNew: false), failure(3, .mediaNotReady), failure(4, .notFound),
            ])
    }
}

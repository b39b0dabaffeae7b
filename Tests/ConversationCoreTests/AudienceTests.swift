import RoostModel
import Testing

@testable import ConversationCore

/// Who is told how much.
@Suite struct AudienceTests {
    @Test func aPlainMessageIsForEveryMember() {
        var machine = Machine.group(bob, history: .sinceJoined)
        #expect(machine.run(send(1, "a"), send(2, "b", from: bob)).audiences == [nil, nil])
    }

    @Test func whoCameLaterSeesNothingOfBefore() {
        var machine = Machine.group(bob, history: .sinceJoined)
        let seq = machine.say("old")
        let reply = machine.say("reply", replyTo: seq)
        machine.run(act(1, .addMembers([carol])))
        let outcome = machine.run(
            act(2, .edit(seq, text: "edited")), send(3, "x", MessageContent(text: "x", replyTo: seq)),
            act(4, .react(reply, emoji: "👍"), by: bob), send(5, "y", MessageContent(text: "y", replyTo: Seq(3)), from: carol),
            send(6, "z"))
        let late = audience(whole: [alice, bob], blank: [carol])
        let all = audience(whole: [alice, bob, carol])
        #expect(outcome.audiences == [late, audience(whole: [alice, bob], withoutQuote: [carol]), late, all, all])
        // They may neither touch nor quote what they do not see.
        #expect(machine.code(.react(seq, emoji: "👍"), by: carol) == .notFound)
        #expect(machine.code(.hide(seq), by: carol) == .notFound)
        #expect(
            machine.run(send(7, "q", MessageContent(text: "q", replyTo: seq), from: carol)).replies == [
                refusal(7, .invalid("replyTo", .unknown))
            ])
        // An admin deletes it, and they learn that the counter went on.
        #expect(machine.run(act(8, .deleteForEveryone(seq))).audiences == [late])
        // With the history open all is theirs.
        machine.run(act(9, .update(ConversationUpdate(history: .full))))
        #expect(machine.run(act(10, .react(reply, emoji: "❤️"), by: carol)).audiences == [all])
    }

    /// The joining itself is the first that they see.
    @Test func theirOwnJoiningIsTold() {
        var machine = Machine.group(bob, history: .sinceJoined)
        machine.say()
        #expect(machine.run(act(1, .addMembers([carol]))).audiences == [audience(whole: [alice, bob, carol])])
    }

    /// What was sent before the joining in the same batch is none of theirs.
    @Test func messagesBeforeAJoiningInTheSameBatch() {
        var machine = Machine.group(bob, history: .sinceJoined)
        let outcome = machine.run(send(1, "a"), act(2, .addMembers([carol])), send(3, "b"))
        #expect(
            outcome.audiences == [
                audience(whole: [alice, bob]), audience(whole: [alice, bob, carol]), audience(whole: [alice, bob, carol]),
            ])
        // Nor of those who leave and return.
        let back = machine.run(
            send(4, "c"), act(5, .removeMember(bob), by: bob), send(6, "d"), act(7, .addMembers([bob])), send(8, "e"))
        #expect(
            back.audiences == [
                audience(whole: [alice, bob, carol]), audience(whole: [alice, carol]), audience(whole: [alice, carol]),
                audience(whole: [alice, bob, carol]), audience(whole: [alice, bob, carol]),
            ])
    }

    @Test func aHiddenQuoteIsLeftOut() {
        var machine = Machine.group(bob, carol)
        let seq = machine.say("original")
        let reply = machine.say("reply", replyTo: seq)
        machine.run(act(1, .hide(seq), by: bob))
        let without = audience(whole: [alice, carol], withoutQuote: [bob])
        #expect(machine.run(send(2, "x", MessageContent(text: "x", replyTo: seq))).audiences == [without])
        #expect(machine.run(act(3, .edit(reply, text: "y"))).audiences == [without])
        // Hidden in the same batch.
        let batch = machine.run(
            act(4, .hide(seq), by: carol), act(5, .edit(reply, text: "z")), act(6, .hide(reply), by: bob),
            act(7, .react(reply, emoji: "👍")))
        #expect(
            batch.audiences == [
                audience(whole: [alice], withoutQuote: [bob, carol]),
                audience(whole: [alice], withoutQuote: [carol], blank: [bob]),
            ])
    }

    // MARK: After a lost answer

    /// The reply is found stored: whoever hid what it answers is not shown that now.
    @Test func aFoundReplyKeepsItsQuoteFromThoseWhoHidIt() {
        var machine = Machine.group(bob)
        let seq = machine.say("original")
        machine.run(act(1, .hide(seq), by: bob))
        let outcome = machine.runWithLostAnswer(send(2, "x", MessageContent(text: "x", replyTo: seq)))
        #expect(outcome.replies.map(\.token.value) == [2])
        #expect(outcome.audiences == [audience(whole: [alice], withoutQuote: [bob])])
    }

    /// Those who were removed hear of it, and so do those who came.
    @Test func membersWhoCameOrWentByALostWrite() {
        var machine = Machine.group(bob, carol)
        let outcome = machine.runWithLostAnswer(act(1, .removeMember(bob)), act(2, .addMembers([dave])))
        #expect(outcome.replies == [done(1), done(2)] && outcome.requests.isEmpty)
        #expect(outcome.others == [.removed([bob]), .conversation([alice, carol, dave])])
        let renamed = machine.runWithLostAnswer(act(3, .update(ConversationUpdate(title: "T"))))
        #expect(renamed.replies == [done(3)] && renamed.others == [.conversation([alice, carol, dave])])
        let role = machine.runWithLostAnswer(act(4, .setRole(carol, .admin)))
        #expect(role.replies == [done(4)] && role.others == [.conversation([alice, carol, dave])])
        // Nothing of the kind: nobody is told.
        #expect(machine.runWithLostAnswer(send(5, "x")).others.isEmpty)
        #expect(machine.run(act(6, .refresh)).events.isEmpty)
    }

    @Test func aChannelsNewsAfterALostWrite() {
        var machine = Machine.channel(member(alice, role: .admin), member(bob), member(carol))
        let outcome = machine.runWithLostAnswer(
            act(1, .join, by: dave), act(2, .removeMember(bob), by: bob), act(3, .setRole(carol, .admin)))
        #expect(outcome.replies == [done(1), done(2), done(3)])
        #expect(outcome.others == [.removed([bob]), .conversation([carol, dave])])
        let renamed = machine.runWithLostAnswer(act(4, .update(ConversationUpdate(title: "T"))))
        #expect(renamed.others == [.conversation([alice, carol, dave])])
    }

    @Test func aHidingWhoseAnswerWasLostIsToldAgain() {
        var machine = Machine.group(bob)
        let seq = machine.say()
        let outcome = machine.runWithLostAnswer(act(1, .hide(seq), by: bob))
        #expect(outcome.replies == [done(1)] && outcome.events == [.hidden(bob, seq)])
    }

    @Test func aDeletionWhoseAnswerWasLost() {
        var machine = Machine.group(bob)
        let outcome = machine.runWithLostAnswer(act(1, .delete), send(2, "x"))
        #expect(outcome.replies == [done(1), failure(2, .notFound)])
        #expect(outcome.events == [.removed([alice, bob])] && machine.state.isDeleted)
    }
}

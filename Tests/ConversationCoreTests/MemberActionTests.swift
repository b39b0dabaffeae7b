import RoostModel
import Testing

@testable import ConversationCore

/// Joining, leaving, roles and what a group is called.
@Suite struct MemberActionTests {
    private static func isSystem(_ message: Message, _ change: SystemEvent.Change, by actor: UserID?) -> Bool {
        message.kind == .system && message.clientID.isEmpty && message.system == SystemEvent(actorID: actor, change: change)
    }

    // MARK: Coming

    @Test func addingTakesOneValueHoweverManyItNames() {
        var machine = Machine.group(bob)
        machine.say()
        let outcome = machine.run(act(1, .addMembers([carol, bob, carol, dave, alice])))
        #expect(outcome.replies == [done(1)] && outcome.values == [2])
        #expect(Self.isSystem(outcome.messages[0], .membersAdded([carol, dave]), by: alice))
        #expect(outcome.audiences == [audience(whole: [alice, bob, carol, dave])])
        #expect(outcome.others == [.conversation([alice, bob, carol, dave])])
        #expect(
            outcome.requests[0].changes?.members
                == [carol, dave].map {
                    .joined($0, role: .member, at: noon, sinceSeq: Seq(2), readSeq: Seq(1))
                })
        // Those who are there already change nothing.
        let again = machine.run(act(2, .addMembers([carol, dave])), act(3, .addMembers([])))
        #expect(again.replies == [done(2), done(3)] && again.requests.isEmpty && again.events.isEmpty)
        #expect(machine.code(.addMembers([stranger]), by: bob) == .forbidden)
        #expect(machine.code(.addMembers([stranger]), by: stranger) == .notFound)
    }

    /// 99 members and 20 adds at once: exactly 100.
    @Test func theLimitHoldsWithinABatch() {
        let people = (0..<98).map { UserID(high: 2, low: $0) }
        var machine = Machine(
            StoredConversation(kind: .group, members: [member(alice, role: .admin)] + people.map { member($0) }))
        let adds = (0..<20).map { act(UInt64($0), .addMembers([UserID(high: 3, low: UInt64($0))])) }
        // Two at once do not fit any more: all or none.
        let outcome = machine.run([act(98, .addMembers([carol, dave]))] + adds + [act(99, .addMembers([people[0]]))])
        #expect(outcome.replies.filter { $0.outcome == .done }.map(\.token.value) == [0, 99])
        #expect(outcome.replies.filter { $0.outcome == .failed(RoostError(.memberLimit)) }.count == 20)
        #expect(machine.store.members.count == 100 && outcome.values == [1])
        // One who goes makes room, in the same batch.
        let swap = machine.run(act(1, .removeMember(people[0])), act(2, .addMembers([carol])), act(3, .addMembers([dave])))
        #expect(swap.replies == [done(1), done(2), failure(3, .memberLimit)])
    }

    @Test func aChannelIsJoined() {
        var machine = Machine.channel(member(alice, role: .admin), rules: ConversationRules(channelMembers: 3))
        machine.say()
        let outcome = machine.run(act(1, .join, by: bob), act(2, .join, by: bob), send(3, "x", from: bob))
        #expect(outcome.replies.prefix(2) == [done(1), done(2)] && outcome.values == [2, 3])
        #expect(Self.isSystem(outcome.messages[0], .memberJoined, by: bob))
        #expect(outcome.others == [.conversation([bob])])
        #expect(machine.state.position(of: bob) == ReadPosition(readSeq: Seq(1), deliveredSeq: Seq(1)))
        #expect(machine.code(.join, by: carol) == nil)
        #expect(machine.code(.join, by: dave) == .memberLimit)
        // Others of a channel are not shown it anew, nor is it listed who they are.
        #expect(machine.run(act(4, .removeMember(carol), by: carol)).others == [.removed([carol])])
        var group = Machine.group(bob)
        #expect(group.code(.join, by: stranger) == .notFound)
        #expect(group.code(.join, by: bob) == nil)
        var direct = Machine.direct()
        #expect(direct.code(.join) == .notAGroup)
        #expect(direct.code(.join, by: stranger) == .notFound)
    }

    /// Who has just come reads in the same batch.
    @Test func aNewcomersPositions() {
        var machine = Machine.channel(member(alice, role: .admin))
        for _ in 0..<3 { machine.say() }
        let outcome = machine.run(act(1, .join, by: bob), read(2, 2), delivered(3, 99))
        #expect(outcome.replies == [done(1), position(2, read: 3, delivered: 3), position(3, read: 3, delivered: 3)])
        #expect(machine.run(read(4, 99)).replies == [position(4, read: 4, delivered: 4)])
    }

    // MARK: Going

    @Test func leavingAndBeingRemoved() {
        var machine = Machine.group(bob, carol)
        let left = machine.run(act(1, .removeMember(bob), by: bob))
        #expect(left.replies == [done(1)] && Self.isSystem(left.messages[0], .memberLeft, by: bob))
        #expect(left.audiences == [audience(whole: [alice, carol])])
        #expect(left.others == [.removed([bob]), .conversation([alice, carol])])
        let removed = machine.run(act(2, .removeMember(carol)))
        #expect(Self.isSystem(removed.messages[0], .memberRemoved(carol), by: alice))
        #expect(removed.requests[0].changes?.members == [.left(carol)])
        #expect(machine.code(.removeMember(carol)) == .notFound)
        #expect(machine.code(.removeMember(bob), by: bob) == .notFound)
        machine.run(act(3, .addMembers([bob])))
        #expect(machine.code(.removeMember(alice), by: bob) == .forbidden)
        #expect(machine.code(.removeMember(carol), by: bob) == .forbidden)
        // After the removal nothing is allowed, in the same batch either.
        let batch = machine.run(
            act(4, .removeMember(bob)), send(5, "x", from: bob), read(6, 1), act(7, .removeMember(bob), by: bob),
            act(8, .addMembers([bob])), send(9, "y", from: bob))
        #expect(
            batch.replies.prefix(5) == [
                done(4), failure(5, .notFound), failure(6, .notFound), failure(7, .notFound), done(8),
            ])
        #expect(batch.values == [4, 5, 6] && machine.store.joining(of: bob) == Seq(5))
    }

    @Test func thereIsAlwaysAnAdmin() {
        var machine = Machine(
            StoredConversation(
                kind: .group,
                members: [
                    member(alice, role: .admin), member(bob, joinedAt: noon + .seconds(2)),
                    member(carol, joinedAt: noon + .seconds(1), since: 7), member(dave, joinedAt: noon + .seconds(1), since: 5),
                ]))
        // The promotion has a value of its own, and nobody did it.
        let outcome = machine.run(act(1, .removeMember(alice), by: alice))
        #expect(outcome.values == [1, 2] && Self.isSystem(outcome.messages[1], .roleChanged(dave, .admin), by: nil))
        #expect(outcome.messages[1].senderID == dave)
        #expect(outcome.requests[0].changes?.members == [.left(alice), .role(dave, .admin)])
        #expect(outcome.others == [.removed([alice]), .conversation([bob, carol, dave])])
        // Two last admins leave at once, and the one who comes after them too.
        machine.run(act(2, .setRole(carol, .admin), by: dave))
        let both = machine.run(act(3, .removeMember(dave), by: dave), act(4, .removeMember(carol), by: carol))
        #expect(both.values == [4, 5, 6] && machine.state.facts.members.role(of: bob) == .admin)
    }

    @Test func theLastOneOutTakesAllWithThem() {
        var machine = Machine.group(bob)
        machine.say()
        let outcome = machine.run(
            act(1, .removeMember(bob), by: bob), act(2, .removeMember(alice)), send(3, "x"), act(4, .join, by: bob))
        #expect(outcome.replies == [done(1), done(2), failure(3, .notFound), failure(4, .notFound)])
        #expect(outcome.events.last == .removed([alice]) && machine.store.isDeleted && machine.state.isDeleted)
        #expect(
            machine.run(send(5, "y"), act(6, .removeMember(alice))).replies == [
                failure(5, .notFound), failure(6, .notFound),
            ])
    }

    @Test func anAdminDeletesItForAll() {
        var machine = Machine.channel(member(alice, role: .admin), member(bob))
        #expect(machine.code(.delete, by: bob) == .forbidden)
        #expect(machine.code(.delete, by: stranger) == .notMember)
        let outcome = machine.run(act(1, .delete), act(2, .delete), send(3, "x", from: bob), act(4, .join, by: stranger))
        #expect(outcome.replies == [done(1), failure(2, .notFound), failure(3, .notFound), failure(4, .notFound)])
        #expect(outcome.events == [.removed([alice, bob])])
        #expect(outcome.requests[0].changes?.isDeleted == true && outcome.requests[0].changes?.firstSeq == nil)
        var direct = Machine.direct()
        #expect(direct.code(.delete) == .notAGroup)
    }

    // MARK: Roles

    @Test func rolesChange() {
        var machine = Machine.group(bob, carol)
        let outcome = machine.run(act(1, .setRole(bob, .admin)))
        #expect(outcome.values == [1] && Self.isSystem(outcome.messages[0], .roleChanged(bob, .admin), by: alice))
        #expect(outcome.others == [.conversation([alice, bob, carol])])
        #expect(machine.run(act(2, .setRole(bob, .admin))).requests.isEmpty)
        #expect(machine.code(.setRole(stranger, .admin)) == .notFound)
        #expect(machine.code(.setRole(bob, .member), by: carol) == .forbidden)
        #expect(machine.code(.setRole(alice, .member), by: bob) == nil)
        // The last admin lays it down: the longest-standing other takes it.
        let last = machine.run(act(3, .setRole(bob, .member), by: bob))
        #expect(last.values == [3, 4] && Self.isSystem(last.messages[1], .roleChanged(alice, .admin), by: nil))
        // Not back to the one who has just laid it down, though they are the longest-standing.
        let first = machine.run(act(4, .setRole(alice, .member)))
        #expect(first.values == [5, 6] && Self.isSystem(first.messages[1], .roleChanged(bob, .admin), by: nil))
        // Alone, one cannot.
        var alone = Machine.group()
        #expect(alone.code(.setRole(alice, .member)) == .conflict)
        #expect(alone.code(.setRole(alice, .admin)) == nil)
        // In a channel only they and nobody else are shown it.
        var channel = Machine.channel(member(alice, role: .admin), member(bob))
        #expect(channel.run(act(5, .setRole(bob, .admin))).others == [.conversation([bob])])
    }

    // MARK: Title, about, photo, history

    @Test func anUpdateTellsWhatChangedAlone() {
        var machine = Machine.group(bob)
        let photo = Media(id: .make(), ownerID: alice, state: .ready, kind: .image, contentType: "image/png", bytes: 1)
        let all = ConversationUpdate(title: "T", about: .some("A"), photo: .some(photo), history: .full)
        let outcome = machine.run(act(1, .update(all)))
        let changed = ConversationUpdate(title: "T", about: .some("A"), photo: .some(photo))
        #expect(outcome.values == [1] && Self.isSystem(outcome.messages[0], .updated(changed), by: alice))
        #expect(outcome.requests[0].changes?.update == changed && outcome.others == [.conversation([alice, bob])])
        // Nothing new: nothing written, nothing told, no value.
        let same = machine.run(act(2, .update(all)), act(3, .update(ConversationUpdate())))
        #expect(same.replies == [done(2), done(3)] && same.requests.isEmpty && same.events.isEmpty)
        let cleared = machine.run(
            act(4, .update(ConversationUpdate(title: "U", about: .some(nil)))),
            act(5, .update(ConversationUpdate(photo: .some(nil)))), act(6, .update(ConversationUpdate(title: "V"))))
        #expect(cleared.values == [2, 3, 4])
        #expect(
            cleared.requests[0].changes?.update
                == ConversationUpdate(title: "V", about: .some(nil), photo: .some(nil)))
        #expect(machine.run(act(7, .update(ConversationUpdate(about: .some(nil))))).requests.isEmpty)
        // A change and its opposite are two changes.
        let there = machine.run(
            act(8, .update(ConversationUpdate(title: "W"))), act(9, .update(ConversationUpdate(title: "V"))))
        #expect(there.values == [5, 6] && machine.store.title == "V")
        #expect(machine.code(.update(ConversationUpdate(title: "X")), by: bob) == .forbidden)
        var direct = Machine.direct()
        #expect(direct.code(.update(ConversationUpdate(title: "X"))) == .notAGroup)
        #expect(direct.code(.update(ConversationUpdate())) == .notAGroup)
    }
}

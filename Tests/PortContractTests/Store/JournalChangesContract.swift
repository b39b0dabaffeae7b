import Ports
import RoostModel
import Testing

/// Entries of a ``Journal`` with more than new messages: what they take of the counter, and that each is written whole or not at all.
@Suite struct JournalChangesContract {
    /// Every value of the counter is given once, whatever it is given to.
    @Test(arguments: StoreKind.allCases) func changesTakeTheirValue(_ kind: StoreKind) async throws {
        let (chat, a, b) = try await Chat.direct(StoreWorld.shared(kind))
        let seq = try await chat.send("one", from: a)
        let message = try await chat.target(seq).message
        func commit(edit value: Int64, first: Int64, new: Int64? = nil) async throws -> JournalOutcome {
            var changes = EntryChanges()
            changes.changedMessages = [message.changed(at: Seq(value))]
            changes.changedMessages[0].text = "at \(value)"
            changes.firstSeq = Seq(first)
            let messages = new.map { JournalEntry.messages(["new"], in: chat.id, from: b, first: $0).messages } ?? []
            return try await chat.lane.commit(
                JournalEntry(conversationID: chat.id, messages: messages, positions: [], changes: changes, marksActive: true))[0]
        }
        // Too low, too high.
        #expect(try await commit(edit: 1, first: 1) == .conflict)
        #expect(try await commit(edit: 3, first: 3) == .conflict)
        #expect(try await chat.message(seq, for: b)?.text == "one")
        #expect(try await commit(edit: 2, first: 2) == .committed)
        // An owner that missed the edit gives its value away again: to a message, to a change, to both.
        #expect(try await chat.lane.commit(.messages(["fork"], in: chat.id, from: b, first: 2)) == [.conflict])
        #expect(try await commit(edit: 2, first: 2) == .conflict)
        #expect(try await commit(edit: 3, first: 2, new: 2) == .conflict)
        // A change first, then a message; and the other way round.
        #expect(try await commit(edit: 3, first: 3, new: 4) == .committed)
        #expect(try await commit(edit: 6, first: 5, new: 5) == .committed)
        #expect(try await chat.head() == Seq(6))
        #expect(try await chat.history(a).map(\.seq.value) == [1, 4, 5])
        #expect(try await chat.history(a)[0].text == "at 6")
        // A value that was taken on the way leaves no trace: the next is the one after the last.
        #expect(try await commit(edit: 9, first: 7) == .committed)
        #expect(try await chat.head() == Seq(9))
        #expect(try await chat.lane.commit(.messages(["ten"], in: chat.id, from: b, first: 10)) == [.committed])
    }

    /// Nothing of an entry that conflicts is stored.
    @Test(arguments: StoreKind.allCases) func aConflictLeavesNothing(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 2)
        let seq = try await chat.send("one", from: users[0], clientID: "x")
        let newcomer = try await world.makeUser().id
        let before = try await chat.view(users[1])
        var changes = EntryChanges()
        changes.firstSeq = Seq(3)
        changes.changedMessages = [try await chat.target(seq).message.asTombstone(at: .now).changed(at: Seq(4))]
        changes.reactions = [ReactionChange(seq: seq, userID: users[1], emoji: "👍", isPut: true, at: .now)]
        changes.hidden = [HiddenChange(seq: seq, userID: users[1])]
        changes.members = [
            .joined(newcomer, role: .member, at: .now, sinceSeq: Seq(3), readSeq: Seq(2)), .role(users[1], .admin),
            .left(users[0]),
        ]
        changes.update = ConversationUpdate(title: "Other")
        // The client id is taken.
        let message = JournalEntry.messages(["two"], in: chat.id, from: users[0], first: 3, clientIDs: ["x"]).messages
        let entry = JournalEntry(
            conversationID: chat.id, messages: message,
            positions: [PositionChange(userID: users[1], readSeq: Seq(2), deliveredSeq: Seq(2), at: .now)], changes: changes,
            marksActive: true)
        #expect(try await chat.lane.commit(entry) == [.conflict])
        #expect(try await chat.view(users[1]) == before)
        #expect(try await chat.message(seq, for: users[1])?.text == "one")
        #expect(try await chat.store.isMember(newcomer, of: chat.id) == false)
        #expect(try await chat.head() == Seq(2))
    }

    @Test(arguments: StoreKind.allCases) func changesOfWhatIsNotThere(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let lane = try await world.makeLane()
        let user = try await world.makeUser().id
        func entry(firstSeq: Seq?, isDeleted: Bool = false) -> JournalEntry {
            var changes = EntryChanges()
            changes.firstSeq = firstSeq
            changes.isDeleted = isDeleted
            if !isDeleted { changes.members = [.role(user, .admin)] }
            return JournalEntry(conversationID: .make(), messages: [], positions: [], changes: changes, marksActive: false)
        }
        #expect(try await lane.commit(entry(firstSeq: Seq(1))) == [.conflict])
        // To delete what is gone is done.
        #expect(try await lane.commit(entry(firstSeq: nil, isDeleted: true)) == [.committed])
    }

    @Test(arguments: StoreKind.allCases) func unstorableChangesAreRefusedAlone(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 2)
        let seq = try await chat.send("one", from: users[0])
        var edit = EntryChanges()
        edit.firstSeq = Seq(3)
        edit.changedMessages = [try await chat.target(seq).message.changed(at: Seq(3))]
        edit.changedMessages[0].text = "a\0b"
        var title = EntryChanges()
        title.update = ConversationUpdate(title: "a\0b")
        let good = try await world.openDirect(users[0], users[1])
        for changes in [edit, title] {
            let head = try #require(try await chat.lane.load([good])[good]).head
            let outcomes = try await chat.lane.commit(
                JournalEntry(conversationID: chat.id, messages: [], positions: [], changes: changes, marksActive: true),
                .messages(["fine"], in: good, from: users[0], first: head.value + 1))
            #expect(outcomes == [.refused, .committed])
        }
        #expect(try await chat.message(seq, for: users[1])?.text == "one")
        #expect(try await chat.view(users[1]).title == "Group")
    }

    /// New messages, changes of them, reactions and members in one entry.
    @Test(arguments: StoreKind.allCases) func anEntryIsWrittenInOrder(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (chat, users) = try await Chat.group(world, members: 2)
        let newcomer = try await world.makeUser().id
        let time = Timestamp.now
        try await chat.commit { first, entry, changes in
            let new = JournalEntry.messages(["one", "two"], in: chat.id, from: users[0], first: first.value).messages
            entry.messages = new + [.system(.membersAdded([newcomer]), by: users[0], in: chat.id, Seq(first.value + 2))]
            var edited = new[0].changed(at: Seq(first.value + 3))
            edited.text = "edited"
            edited.editedAt = time
            changes.changedMessages = [edited, new[1].changed(at: Seq(first.value + 4))]
            changes.reactions = [
                ReactionChange(seq: new[1].seq, userID: users[1], emoji: "👍", isPut: true, at: time),
                ReactionChange(seq: new[1].seq, userID: users[0], emoji: "👍", isPut: true, at: time + .milliseconds(1)),
                ReactionChange(seq: new[1].seq, userID: users[1], emoji: "👍", isPut: false, at: time + .milliseconds(2)),
            ]
            changes.hidden = [HiddenChange(seq: new[0].seq, userID: users[1])]
            changes.members = [
                .joined(newcomer, role: .member, at: time, sinceSeq: Seq(first.value + 2), readSeq: Seq(first.value + 1)),
                .role(newcomer, .admin), .left(users[0]),
            ]
            changes.update = ConversationUpdate(title: "Renamed", about: .some("About"), history: .sinceJoined)
            entry.positions = [
                PositionChange(userID: newcomer, readSeq: Seq(first.value + 2), deliveredSeq: Seq(first.value + 2), at: time)
            ]
        }
        let view = try await chat.view(newcomer)
        #expect(view.title == "Renamed" && view.about == "About" && view.history == .sinceJoined && view.memberCount == 2)
        #expect(Set(view.members.map(\.userID)) == [users[1], newcomer] && view.myRole == .admin)
        #expect(view.lastSeq == Seq(6) && view.readSeq == Seq(4))
        #expect(try await chat.history(newcomer).map(\.seq.value) == [4])
        #expect(try await chat.history(users[1]).map(\.seq.value) == [1, 3, 4])
        #expect(
            try await chat.message(Seq(3), for: users[1])?.reactions == [Reaction(emoji: "👍", userIDs: [users[0]])])
        let stored = try await chat.target(Seq(2))
        #expect(stored.message.text == "edited" && stored.message.editedAt == time && stored.hiddenBy == [users[1]])
    }
}

import Ports
import RoostModel
import Testing

/// A conversation and a lane that writes to it, as its actor would: each call is an entry of its own, with the value of the counter
/// that it takes.
struct Chat {
    let world: StoreWorld
    let lane: JournalLane
    let id: ConversationID

    var store: any ConversationStore { world.conversations }

    /// A group of new users; the first made it.
    static func group(
        _ world: StoreWorld, members: Int, history: HistorySetting = .full, kind: ConversationKind = .group,
        title: String = "Group", at time: Timestamp = .now
    ) async throws -> (chat: Chat, users: [UserID]) {
        let users = try await world.makeUsers(members)
        let chat = Chat(world: world, lane: try await world.makeLane(), id: .make())
        try await world.conversations.create(
            NewConversation(
                id: chat.id, kind: kind, creatorID: users[0], title: title, history: history,
                memberIDs: Array(users.dropFirst()), createdAt: time))
        return (chat, users)
    }

    static func direct(_ world: StoreWorld) async throws -> (chat: Chat, a: UserID, b: UserID) {
        let (id, a, b) = try await world.makeDirect()
        return (Chat(world: world, lane: try await world.makeLane(), id: id), a, b)
    }

    // MARK: Writing

    func head() async throws -> Seq { try #require(try await lane.load([id])[id]).head }

    /// Commits an entry that takes the values from the head on: `body` is given the first.
    func commit(_ body: (Seq, inout JournalEntry, inout EntryChanges) -> Void) async throws {
        let first = try await head().next
        var entry = JournalEntry(conversationID: id, messages: [], positions: [], marksActive: true)
        var changes = EntryChanges()
        body(first, &entry, &changes)
        if !entry.messages.isEmpty || !changes.changedMessages.isEmpty { changes.firstSeq = first }
        if changes != EntryChanges() { entry.changes = changes }
        let outcomes = try await lane.commit(entry)
        #expect(outcomes == [.committed])
    }

    @discardableResult
    func send(
        _ text: String = "hi", from sender: UserID, replyTo: Seq? = nil, mentions: [UserID] = [], media: Media? = nil,
        clientID: String = "\(UserID.make())", at time: Timestamp = .now
    ) async throws -> Seq {
        var quote: Quote?
        if let replyTo { quote = Quote(try await target(replyTo).message) }
        var seq = Seq.zero
        try await commit { first, entry, _ in
            seq = first
            entry.messages = [
                Message(
                    conversationID: id, seq: first, changeSeq: first, clientID: clientID, senderID: sender,
                    kind: media?.kind.messageKind ?? .text, text: text, fingerprint: 7, media: media, replyTo: quote,
                    mentions: mentions, createdAt: time)
            ]
        }
        return seq
    }

    func target(_ seq: Seq) async throws -> MessageTarget {
        let found = try await lane.targets([TargetKey(conversationID: id, seq: seq)])
        return try #require(found[0])
    }

    func edit(_ seq: Seq, _ text: String, at time: Timestamp = .now) async throws {
        var message = try await target(seq).message
        message.text = text
        message.editedAt = time
        try await change(message)
    }

    func delete(_ seq: Seq, at time: Timestamp = .now) async throws {
        try await change(try await target(seq).message.asTombstone(at: time))
    }

    func react(_ seq: Seq, _ emoji: String, by user: UserID, isPut: Bool = true, at time: Timestamp = .now) async throws {
        let message = try await target(seq).message
        try await commit { first, _, changes in
            changes.changedMessages = [message.changed(at: first)]
            changes.reactions = [ReactionChange(seq: seq, userID: user, emoji: emoji, isPut: isPut, at: time)]
        }
    }

    private func change(_ message: Message) async throws {
        try await commit { first, _, changes in changes.changedMessages = [message.changed(at: first)] }
    }

    func hide(_ seq: Seq, by user: UserID) async throws {
        try await commit { _, entry, changes in
            changes.hidden = [HiddenChange(seq: seq, userID: user)]
            entry.marksActive = false
        }
    }

    func move(_ user: UserID, read: Int64, delivered: Int64? = nil, at time: Timestamp = .now) async throws {
        let outcomes = try await lane.commit(.position(user, in: id, read: read, delivered: delivered ?? read, at: time))
        #expect(outcomes == [.committed])
    }

    func add(_ users: [UserID], by actor: UserID, at time: Timestamp = .now) async throws {
        try await commit { first, entry, changes in
            entry.messages = [.system(.membersAdded(users), by: actor, in: id, first, at: time)]
            changes.members = users.map {
                .joined($0, role: .member, at: time, sinceSeq: first, readSeq: Seq(first.value - 1))
            }
        }
    }

    func leave(_ user: UserID) async throws {
        try await commit { first, entry, changes in
            entry.messages = [.system(.memberLeft, by: user, in: id, first)]
            changes.members = [.left(user)]
        }
    }

    func setRole(_ role: MemberRole, of user: UserID, by actor: UserID) async throws {
        try await commit { first, entry, changes in
            entry.messages = [.system(.roleChanged(user, role), by: actor, in: id, first)]
            changes.members = [.role(user, role)]
        }
    }

    func update(_ update: ConversationUpdate, by actor: UserID) async throws {
        try await commit { first, entry, changes in
            entry.messages = [.system(.updated(update), by: actor, in: id, first)]
            changes.update = update
        }
    }

    func deleteAll() async throws { try await commit { _, _, changes in changes.isDeleted = true } }

    func settle() async throws {
        try await lane.settle(SettleEntry(conversationID: id, head: try await head(), lastActivityAt: .now))
    }

    // MARK: Reading

    func view(_ user: UserID) async throws -> ConversationView { try #require(try await store.conversation(id, for: user)) }

    /// The newest 200.
    func history(_ user: UserID) async throws -> [Message] {
        try #require(try await store.history(of: id, for: user, range: .newest, limit: 200)).items.map(\.message)
    }

    func message(_ seq: Seq, for user: UserID) async throws -> Message? {
        try await store.message(seq, of: id, for: user)?.message
    }

    func counts(_ user: UserID) async throws -> ConversationCounts { try #require(try await store.counts(of: id, for: user)) }
}

extension Message {
    static func system(
        _ change: SystemEvent.Change, by actor: UserID, in conversation: ConversationID, _ seq: Seq, at time: Timestamp = .now
    ) -> Message {
        Message(
            conversationID: conversation, seq: seq, changeSeq: seq, clientID: "", senderID: actor, kind: .system, text: "",
            system: SystemEvent(actorID: actor, change: change), createdAt: time)
    }

    func changed(at value: Seq) -> Message {
        var copy = self
        copy.changeSeq = value
        return copy
    }

    func asTombstone(at time: Timestamp) -> Message {
        var copy = self
        copy.text = ""
        copy.media = nil
        copy.replyTo = nil
        copy.mentions = []
        copy.reactions = []
        copy.deletedAt = time
        return copy
    }
}

extension Media {
    /// What a stored system message knows of a photo that was set: its id.
    var asReference: Media {
        Media(id: id, ownerID: UserID(high: 0, low: 0), state: .ready, kind: .image, contentType: "", bytes: 0)
    }
}

import EventLoop
import Locks
import MemoryAdapters
import Ports
import RoostModel
import RoostProtocol

/// Commands straight into a journal, one after the other: what an actor does, without the actor.
final class JournalCommands: ChatCommands {
    private let loop: EventLoop
    private let journal: MemoryJournal
    private let fence: JournalFence

    init(_ database: MemoryDatabase, loop: EventLoop, fence: JournalFence) {
        self.loop = loop
        self.fence = fence
        journal = MemoryJournal(database, loop: loop)
    }

    func send(_ outgoing: OutgoingMessage) async throws(RoostError) -> SentMessage {
        let snapshot = try await snapshot(outgoing.conversationID, outgoing.senderID)
        let key = MessageKey(
            conversationID: outgoing.conversationID, senderID: outgoing.senderID, clientID: outgoing.clientID)
        if let earlier = try await ask({ $0.storedMessages([key], completion: $1) }).first ?? nil {
            if earlier.text != outgoing.text { throw RoostError(.clientIdReused) }
            return SentMessage(seq: earlier.seq, json: earlier.json(), isNew: false)
        }
        let message = Message(
            conversationID: snapshot.id, seq: snapshot.head.next, changeSeq: snapshot.head.next, clientID: outgoing.clientID,
            senderID: outgoing.senderID, kind: .text, text: outgoing.text, createdAt: .now)
        try await commit(snapshot.id, messages: [message])
        return SentMessage(seq: message.seq, json: message.json(), isNew: true)
    }

    func read(_ conversation: ConversationID, upTo seq: Seq, by user: UserID) async throws(RoostError) -> ReadPosition {
        try await move(conversation, user, seq, alsoRead: true)
    }

    func delivered(_ conversation: ConversationID, upTo seq: Seq, by user: UserID) async throws(RoostError) -> ReadPosition {
        try await move(conversation, user, seq, alsoRead: false)
    }

    private func move(
        _ id: ConversationID, _ user: UserID, _ seq: Seq, alsoRead: Bool
    ) async throws(RoostError) -> ReadPosition {
        let snapshot = try await snapshot(id, user)
        let target = min(seq, snapshot.head)
        guard var member = snapshot.members.first(where: { $0.userID == user }) else { throw .notFound }
        if alsoRead { member.readSeq = max(member.readSeq, target) }
        member.deliveredSeq = max(member.deliveredSeq, target)
        try await commit(
            id, positions: [.init(userID: user, readSeq: member.readSeq, deliveredSeq: member.deliveredSeq, at: .now)])
        return ReadPosition(readSeq: member.readSeq, deliveredSeq: member.deliveredSeq)
    }

    private func snapshot(_ id: ConversationID, _ user: UserID) async throws(RoostError) -> ConversationSnapshot {
        let found = try await ask { $0.load([id], completion: $1) }[id]
        guard let found, found.members.contains(where: { $0.userID == user }) else { throw .notFound }
        return found
    }

    private func commit(
        _ id: ConversationID, messages: [Message] = [], positions: [PositionChange] = []
    ) async throws(RoostError) {
        let entry = JournalEntry(conversationID: id, messages: messages, positions: positions, marksActive: !messages.isEmpty)
        let batch = JournalBatch(fence: fence, entries: [entry])
        guard try await ask({ $0.commit(batch, completion: $1) }) == [.committed] else { throw .unavailable }
    }

    private func ask<Value: Sendable>(
        _ question: @escaping @Sendable (MemoryJournal, @escaping (Result<Value, StoreError>) -> Void) -> Void
    ) async throws(RoostError) -> Value {
        let journal = journal
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            loop.execute { question(journal) { continuation.resume(returning: $0) } }
        }
        guard case .success(let value) = result else { throw .unavailable }
        return value
    }
}

/// Presence that a test sets.
final class FakePresence: PresenceQueries {
    let states = Locked<[UserID: PresenceState]>([:])
    let isAway = Locked(false)

    func states(of users: [UserID]) async throws(RoostError) -> [PresenceState] {
        if isAway.withLock({ $0 }) { throw .unavailable }
        return states.withLock { states in users.map { states[$0] ?? .offline } }
    }
}

/// Remembers what was announced.
final class FakeSignals: ClusterSignals {
    struct Heard {
        var revoked: [DeviceID] = []
        var changed: [UserID] = []
        var opened: [ConversationID] = []
        var blocks: [Set<UserID>] = []
        var deleted: [UserID] = []
    }

    let heard = Locked(Heard())

    func deviceRevoked(_ device: DeviceID) { heard.withLock { $0.revoked.append(device) } }
    func userChanged(_ user: UserID) { heard.withLock { $0.changed.append(user) } }
    func blockChanged(between one: UserID, and other: UserID) { heard.withLock { $0.blocks.append([one, other]) } }
    func userDeleted(_ user: UserID, from conversation: ConversationID) { heard.withLock { $0.deleted.append(user) } }
    func conversationOpened(_ conversation: ConversationID, members: [UserID]) {
        heard.withLock { $0.opened.append(conversation) }
    }
}

import ConversationCore
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

    func send(_ message: OutgoingMessage) async throws(RoostError) -> SentMessage {
        let command = SendCommand(
            token: Self.token, senderID: message.senderID, clientID: message.clientID, fingerprint: message.fingerprint,
            content: message.content)
        guard case .message(let stored, let isNew) = try await run(.send(command), in: message.conversationID) else {
            throw .unavailable
        }
        return SentMessage(seq: stored.seq, json: stored.json(), isNew: isNew)
    }

    func read(_ conversation: ConversationID, upTo seq: Seq, by user: UserID) async throws(RoostError) -> ReadPosition {
        try await move(.read(PositionCommand(token: Self.token, userID: user, seq: seq)), in: conversation)
    }

    func delivered(_ conversation: ConversationID, upTo seq: Seq, by user: UserID) async throws(RoostError) -> ReadPosition {
        try await move(.delivered(PositionCommand(token: Self.token, userID: user, seq: seq)), in: conversation)
    }

    func perform(_ action: ConversationAction, in conversation: ConversationID, by user: UserID) async throws(RoostError) {
        _ = try await run(.act(ActionCommand(token: Self.token, userID: user, action: action)), in: conversation)
    }

    private static let token = ReplyToken(1)

    private func move(_ command: ConversationCommand, in id: ConversationID) async throws(RoostError) -> ReadPosition {
        guard case .position(let position) = try await run(command, in: id) else { throw .unavailable }
        return position
    }

    /// One round of the state machine.
    private func run(
        _ command: ConversationCommand, in id: ConversationID
    ) async throws(RoostError) -> ConversationReply.Outcome {
        guard let snapshot = try await snapshot(id) else { throw .notFound }
        var state = ConversationState(snapshot)
        var step = state.decide([command], now: .now)
        var replies = step.replies
        while step.next != .nothing {
            switch step.next {
            case .nothing: break
            case .lookUp(let lookup): step = state.lookedUp(try await find(lookup, in: id), now: .now)
            case .recover(let lookup):
                let snapshot = try await self.snapshot(id)
                step = state.recovered(snapshot, try await find(lookup, in: id), now: .now)
            case .commit(let request):
                step = try await commit(request, in: id) == .committed ? state.committed() : state.conflicted()
            }
            replies += step.replies
        }
        guard let outcome = replies.first?.outcome else { throw .unavailable }
        if case .failed(let error) = outcome { throw error }
        return outcome
    }

    private func snapshot(_ id: ConversationID) async throws(RoostError) -> ConversationSnapshot? {
        try await ask { $0.load([id], completion: $1) }[id]
    }

    private func find(_ lookup: Lookup, in id: ConversationID) async throws(RoostError) -> Findings {
        let messages = try await ask { $0.storedMessages(lookup.keys, completion: $1) }
        let targets = try await ask { journal, completion in
            journal.targets(lookup.seqs.map { TargetKey(conversationID: id, seq: $0) }, completion: completion)
        }
        var findings = Findings()
        for (key, message) in zip(lookup.keys, messages) { findings.messages[key] = message }
        for (seq, target) in zip(lookup.seqs, targets) { findings.targets[seq] = target }
        return findings
    }

    private func commit(_ request: CommitRequest, in id: ConversationID) async throws(RoostError) -> JournalOutcome {
        let entry = JournalEntry(
            conversationID: id, messages: request.messages, positions: request.positions, changes: request.changes,
            marksActive: request.marksActive)
        let batch = JournalBatch(fence: fence, entries: [entry])
        guard let outcome = try await ask({ $0.commit(batch, completion: $1) }).first else { throw .unavailable }
        return outcome
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
    func conversationChanged(_ conversation: ConversationID, for members: [UserID]) {
        heard.withLock { $0.opened.append(conversation) }
    }
}

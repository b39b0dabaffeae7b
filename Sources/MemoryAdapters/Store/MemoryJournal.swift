import EventLoop
import Ports
import RoostModel
import Runtime

/// A lane's journal over a ``MemoryDatabase``. Confined to its loop; completions come in a later turn of it.
public final class MemoryJournal: Journal, @unchecked Sendable {
    private let database: MemoryDatabase
    private let loop: EventLoop

    public init(_ database: MemoryDatabase, loop: EventLoop) {
        self.database = database
        self.loop = loop
    }

    public func commit(_ batch: JournalBatch, completion: @escaping (Result<[JournalOutcome], StoreError>) -> Void) {
        loop.preconditionCurrent()
        let answer = Answer(loop: loop, completion: completion)
        do throws(StoreError) {
            try database.write { (tables) throws(StoreError) in
                guard tables.isOpen(batch.fence) else { throw StoreError(.fenced) }
                tables.inFlight[batch.fence.incarnation, default: 0] += 1
            }
        } catch { return answer(.failure(error)) }
        let database = database
        let finish: @Sendable () -> Void = { Self.finish(batch, in: database, answer) }
        let isStalled = database.faults.withLock { faults in
            if faults.isStalling { faults.stalled.append(finish) }
            return faults.isStalling
        }
        if !isStalled { finish() }
    }

    private static func finish(_ batch: JournalBatch, in database: MemoryDatabase, _ answer: Answer<[JournalOutcome]>) {
        let broken = database.faults.withLock { $0.breaks.isEmpty ? nil : $0.breaks.removeFirst() }
        let (outcomes, waiters) = database.tables.withLock { tables in
            let outcomes = broken == false ? [] : batch.entries.map { tables.store($0) }
            tables.inFlight[batch.fence.incarnation, default: 0] -= 1
            let waiters = tables.waiters
            tables.waiters = []
            return (outcomes, waiters)
        }
        for waiter in waiters { waiter.resume() }
        answer(
            broken == nil
                ? .success(outcomes) : .failure(StoreError(.unavailable, detail: "broken by a test", outcomeUnknown: true)))
    }

    public func load(
        _ ids: [ConversationID], completion: @escaping (Result<[ConversationID: ConversationSnapshot], StoreError>) -> Void
    ) {
        perform(completion) { tables in
            var result: [ConversationID: ConversationSnapshot] = [:]
            for id in ids { result[id] = tables.conversations[id].map { tables.snapshot($0) } }
            return result
        }
    }

    public func storedMessages(_ keys: [MessageKey], completion: @escaping (Result<[Message?], StoreError>) -> Void) {
        perform(completion) { tables in
            keys.map { key in
                guard let row = tables.conversations[key.conversationID] else { return nil }
                return row.messages.first {
                    $0.message.senderID == key.senderID && $0.message.clientID.utf8.elementsEqual(key.clientID.utf8)
                }.map { tables.message($0, in: row) }
            }
        }
    }

    public func targets(_ keys: [TargetKey], completion: @escaping (Result<[MessageTarget?], StoreError>) -> Void) {
        perform(completion) { tables in
            keys.map { key in
                guard let row = tables.conversations[key.conversationID], let index = row.index(of: key.seq) else { return nil }
                let message = tables.message(row.messages[index], in: row)
                return MessageTarget(
                    message: message, hiddenBy: row.hiders(of: key.seq),
                    quoteHiddenBy: message.replyTo.map { row.hiders(of: $0.seq) } ?? [])
            }
        }
    }

    public func settle(_ entries: [SettleEntry], fence: JournalFence, completion: @escaping (Result<Void, StoreError>) -> Void) {
        perform(completion) { (tables) throws(StoreError) in
            guard tables.isOpen(fence) else { throw StoreError(.fenced) }
            for entry in entries {
                guard let row = tables.conversations[entry.conversationID], row.isActive, row.head == entry.head else { continue }
                let version = tables.nextVersion()
                tables.conversations[row.id]?.isActive = false
                tables.conversations[row.id]?.version = version
            }
        }
    }

    public func recentMessages(
        inShards shards: [Int], since: Timestamp, completion: @escaping (Result<[RecentMessage], StoreError>) -> Void
    ) {
        let shards = Set(shards)
        perform(completion) { tables in
            tables.conversations.values
                .filter { $0.isActive && shards.contains(ShardID(of: $0.id).number) }
                .flatMap { row in
                    row.messages.suffix(50).filter { $0.message.createdAt >= since }.map {
                        RecentMessage(message: tables.message($0, in: row), memberIDs: row.membersWhoSeeWhole($0))
                    }
                }
        }
    }

    private func perform<Value: Sendable>(
        _ completion: @escaping (Result<Value, StoreError>) -> Void,
        _ body: (inout MemoryTables) throws(StoreError) -> Value
    ) {
        loop.preconditionCurrent()
        let answer = Answer(loop: loop, completion: completion)
        do throws(StoreError) { answer(.success(try database.write(body))) } catch { answer(.failure(error)) }
    }
}

/// Brings an answer to the loop, from wherever.
private struct Answer<Value: Sendable>: @unchecked Sendable {
    let loop: EventLoop
    /// Made and called on the loop.
    let completion: (Result<Value, StoreError>) -> Void

    func callAsFunction(_ result: Result<Value, StoreError>) {
        loop.execute { completion(result) }
    }
}

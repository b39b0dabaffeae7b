import EventLoop
import Ports
import RoostModel

/// Gathers the reads of waking conversations, so that a thousand cold ones cost a few statements. Confined to its loop.
final class ConversationLoader {
    typealias Completion = (Result<ConversationSnapshot?, StoreError>) -> Void

    private static let batchSize = 256
    private static let parallelReads = 2

    private let journal: any Journal
    private let loop: EventLoop
    private var waiting: [(id: ConversationID, completion: Completion)] = []
    private var reading = 0
    private var isScheduled = false

    init(journal: any Journal, loop: EventLoop) {
        self.journal = journal
        self.loop = loop
    }

    /// The conversation's state; nil where there is no such conversation.
    func load(_ id: ConversationID, _ completion: @escaping Completion) {
        waiting.append((id, completion))
        guard !isScheduled else { return }
        isScheduled = true
        loop.atEndOfTurn { [self] in
            isScheduled = false
            readNext()
        }
    }

    private func readNext() {
        while reading < Self.parallelReads, !waiting.isEmpty {
            let batch = Array(waiting.prefix(Self.batchSize))
            waiting.removeFirst(batch.count)
            reading += 1
            journal.load(batch.map(\.id)) { [self] result in
                reading -= 1
                for item in batch { item.completion(result.map { $0[item.id] }) }
                readNext()
            }
        }
    }
}

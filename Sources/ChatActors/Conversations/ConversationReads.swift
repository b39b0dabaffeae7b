import ConversationCore
import Ports
import RoostModel

/// What a batch has to know from the database before it is decided.
extension ConversationActor {
    /// Reads both parts, or lets the batch fail.
    func find(_ lookup: Lookup, _ body: @escaping (Findings) -> Void) {
        readStored(lookup.keys) { [self] messages in
            readTargets(lookup.seqs) { body(Findings(messages: messages, targets: $0)) }
        }
    }

    private func readStored(_ keys: [MessageKey], _ body: @escaping ([MessageKey: Message]) -> Void) {
        guard !keys.isEmpty else { return body([:]) }
        context.journal.storedMessages(keys) { [self] result in
            switch result {
            case .failure(let error): fail(error)
            case .success(let messages):
                var stored: [MessageKey: Message] = [:]
                for (key, message) in zip(keys, messages) { stored[key] = message }
                body(stored)
            }
        }
    }

    private func readTargets(_ seqs: [Seq], _ body: @escaping ([Seq: MessageTarget]) -> Void) {
        guard !seqs.isEmpty else { return body([:]) }
        context.journal.targets(seqs.map { TargetKey(conversationID: conversationID, seq: $0) }) { [self] result in
            switch result {
            case .failure(let error): fail(error)
            case .success(let found):
                var targets: [Seq: MessageTarget] = [:]
                for (seq, target) in zip(seqs, found) { targets[seq] = target }
                body(targets)
            }
        }
    }
}

import EventLoop
import LoadCore
import RoostModel

/// Reads every conversation back from a node that neither of its clients was with at first, and compares.
extension PairsRun {
    private static let atOnce = 8

    func compareWithServer() async {
        await withTaskGroup(of: Void.self) { group in
            for pair in chats.indices {
                if pair >= Self.atOnce { await group.next() }
                group.addTask { [self] in await compare(pair) }
            }
        }
    }

    private func compare(_ pair: Int) async {
        // The newest token: those of the beginning may have ended.
        let token = await onLoop { self.clients[pair * 2].session.accessToken }
        let node = (pair + 2) % api.targets.count
        do {
            let history = try await readAll(pair, token: token, node: node, fromChanges: false)
            let changes = options.check == .full ? try await readAll(pair, token: token, node: node, fromChanges: true) : nil
            await onLoop {
                self.ledgers[pair].compare(with: history, &self.tally)
                // Nothing is edited here: both ways of reading must show the same.
                if let changes, changes != history { self.tally.notDense += 1 }
            }
        } catch {
            Output.complain("conversation \(pair): \(error)\n")
            await onLoop { self.tally.unchecked += 1 }
        }
    }

    private func readAll(_ pair: Int, token: String, node: Int, fromChanges: Bool) async throws -> [StoredMessage] {
        var messages: [StoredMessage] = []
        var after: Int64 = 0
        while true {
            let conversation = chats[pair].conversation
            let page =
                fromChanges
                ? try await api.changes(of: conversation, after: after, run: text, token: token, node: node)
                : try await api.history(of: conversation, after: after, run: text, token: token, node: node)
            messages += page.items
            guard page.hasMore, let last = page.items.last else { return messages }
            after = fromChanges ? last.changeSeq : last.seq
        }
    }

    /// Runs `body` on the loop and gives its result.
    func onLoop<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: body()) }
        }
    }
}

import EventLoop
import LoadCore
import RoostModel

/// Reads every conversation back from a node that neither of its clients was with at first, and compares.
extension PairsRun {
    private static let atOnce = 8
    /// How long an unreachable conversation is tried, and how long once others have been given up.
    private static let patience = (first: Duration.seconds(20), later: Duration.seconds(1))

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
        let (token, patience) = await onLoop {
            (
                self.clients[pair * 2].session.accessToken,
                self.tally.unchecked == 0 ? Self.patience.first : Self.patience.later
            )
        }
        let node = (pair + 2) % api.targets.count
        do {
            let history = try await readAll(pair, token: token, node: node, patience: patience, fromChanges: false)
            let changes =
                options.check == .full
                ? try await readAll(pair, token: token, node: node, patience: patience, fromChanges: true) : nil
            await onLoop {
                self.ledgers[pair].compare(with: history, &self.tally)
                // Nothing is edited here: both ways of reading must show the same.
                if let changes, changes != history { self.tally.notDense += 1 }
            }
        } catch {
            await onLoop {
                self.tally.unchecked += 1
                // One line is enough where no node is left.
                if self.tally.unchecked <= 3 { Output.complain("conversation \(pair) cannot be read back: \(error)\n") }
            }
        }
    }

    private func readAll(
        _ pair: Int, token: String, node: Int, patience: Duration, fromChanges: Bool
    ) async throws -> [StoredMessage] {
        var messages: [StoredMessage] = []
        var after: Int64 = 0
        while true {
            let conversation = chats[pair].conversation
            let page =
                fromChanges
                ? try await api.changes(of: conversation, after: after, run: text, token: token, node: node, patience: patience)
                : try await api.history(of: conversation, after: after, run: text, token: token, node: node, patience: patience)
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

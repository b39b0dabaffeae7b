import EventLoop
import LoadCore
import RoostModel

/// What a client fetches because it missed something: at most one fetch at a time.
struct CatchUp {
    var isRunning = false
    /// Something came up meanwhile that the running fetch may not have seen.
    var again = false
    var againWithSync = false
    var syncToken: String?
}

extension PairsRun {
    /// Fetches what the client of this index has missed, from its last complete number on.
    func catchUp(_ index: Int, withSync: Bool) {
        guard phase == .running || phase == .settling else { return }
        if catchUps[index].isRunning {
            // A hole is looked for again at the end anyway.
            if withSync {
                catchUps[index].again = true
                catchUps[index].againWithSync = true
            }
            return
        }
        catchUps[index].isRunning = true
        let (pair, side) = (index / 2, index % 2)
        let client = clients[index]
        let request = FetchRequest(
            conversation: chats[pair].conversation, after: ledgers[pair].receivers[side].complete,
            token: client.session.accessToken, node: client.node, since: catchUps[index].syncToken, withSync: withSync)
        Task { [self] in
            let result: Result<String?, any Error>
            do {
                result = .success(try await fetch(request, index))
            } catch {
                result = .failure(error)
            }
            loop.execute { self.caughtUp(index, result) }
        }
    }

    struct FetchRequest: Sendable {
        let conversation: ConversationID
        let after: Int64
        let token: String
        let node: Int
        let since: String?
        let withSync: Bool
    }

    /// Gives the sync token, where one was fetched.
    private func fetch(_ request: FetchRequest, _ index: Int) async throws -> String? {
        var syncToken: String?
        if request.withSync { syncToken = try await api.sync(since: request.since, token: request.token, node: request.node) }
        var after = request.after
        while true {
            let page = try await api.changes(
                of: request.conversation, after: after, run: text, token: request.token, node: request.node)
            loop.execute { self.apply(page, index) }
            guard page.hasMore, page.end > after else { return syncToken }
            after = page.end
        }
    }

    private func apply(_ page: MessagePage, _ index: Int) {
        let time = now()
        for message in page.items { ledgers[index / 2].repaired(receiver: index % 2, message, at: time, &tally) }
    }

    private func caughtUp(_ index: Int, _ result: Result<String?, any Error>) {
        catchUps[index].isRunning = false
        let receiver = ledgers[index / 2].receivers[index % 2]
        let hasHole = receiver.greatest > receiver.complete
        var withSync = catchUps[index].againWithSync
        var again = catchUps[index].again || hasHole
        switch result {
        case .success(let token): if let token { catchUps[index].syncToken = token }
        case .failure:
            again = true
            withSync = true
        }
        catchUps[index].again = false
        catchUps[index].againWithSync = false
        guard again else { return }
        loop.schedule(after: .milliseconds(200)) { [weak self] in self?.catchUp(index, withSync: withSync) }
    }

    /// Twice a second: dead lines and tokens that end soon.
    func sweepLater() {
        loop.schedule(after: .milliseconds(500)) { [weak self] in
            guard let self, self.phase != .ended else { return }
            self.sweep()
            self.sweepLater()
        }
    }

    private func sweep() {
        let time = MonotonicTime.now
        let patience = Duration.seconds(options.answerTimeoutSeconds)
        for client in clients {
            client.sweep(time, answerTimeout: patience)
            guard client.isReady, let since = ledgers[client.index / 2].senders[client.index % 2].waitingSince,
                time - MonotonicTime(nanoseconds: since) > patience
            else { continue }
            tally.answerTimeouts += 1
            client.moveOn()
        }
    }
}

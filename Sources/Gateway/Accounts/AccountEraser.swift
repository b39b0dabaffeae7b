import Ports
import RoostModel
import Runtime

/// Deletes accounts. The first step is one transaction, after which nothing of the person can be seen or used; then their
/// conversations follow, one after another, through the actors. Whatever stops that, some node's service makes it whole.
public final class AccountEraser: Service {
    public let name = "deletions"

    /// For how long a deletion is one node's. Extended while it is worked at, so this is how long a dead node's waits.
    private static let claim: Duration = .seconds(30)
    /// Between looks for deletions that others left.
    private static let interval: Duration = .seconds(2)
    /// Until another node may serve the revoked devices' tokens, and join or open something in the name of the one who is gone: before
    /// a deletion counts as whole it is looked at again.
    private static let settling: Duration = .seconds(5)
    /// Before a deletion that could not go on is taken up again.
    private static let retryDelay: Duration = .seconds(5)
    /// Between removals of tokens that no longer work.
    private static let purgeInterval: Duration = .seconds(600)
    /// How much of it a request waits for: less than requests may take.
    private static let requestPatience: Duration = .seconds(6)

    private let backend: Backend
    private let deletions: any DeletionStore
    private let authenticator: Authenticator
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let finished: Counter
    private let interrupted: Counter
    private let runner = Locked<Task<Void, Never>?>(nil)

    public init(
        backend: Backend, deletions: any DeletionStore, authenticator: Authenticator,
        clock: any Clock<Duration> = ContinuousClock(), metrics: Metrics, logger: Logger
    ) {
        self.backend = backend
        self.deletions = deletions
        self.authenticator = authenticator
        self.clock = clock
        self.logger = logger
        finished = metrics.counter("roost_deletions_finished_total", help: "Deletions of accounts made whole by this node.")
        interrupted = metrics.counter(
            "roost_deletions_interrupted_total", help: "Times a deletion could not go on and was left for later.")
    }

    private var desk: SessionDesk { SessionDesk(backend: backend, authenticator: authenticator) }

    /// Deletes an account. On return the person is gone and, unless actors are away, has left all conversations.
    ///
    /// - Parameter erase: takes the first step with that claim, and answers the devices that were logged out; nil where there is no
    ///   such live account.
    /// - Returns: false in that case.
    func delete(
        _ user: UserID, erase: (_ claim: Duration) async throws(StoreError) -> [DeviceID]?
    ) async throws(RoostError) -> Bool {
        let revoked: [DeviceID]?
        do { revoked = try await erase(Self.claim) } catch { throw backend.clientError(error) }
        guard let revoked else { return false }
        desk.announceRevocation(of: revoked)
        await finish(user, until: .now + Self.requestPatience)
        return true
    }

    func delete(_ user: UserID) async throws(RoostError) -> Bool {
        let now = authenticator.currentTime
        return try await delete(user) { (claim) async throws(StoreError) in
            try await deletions.eraseAccount(user, at: now, claim: claim)
        }
    }

    // MARK: What others left

    public func start() async throws {
        let task = Task { [weak self] in
            var sincePurge = Self.purgeInterval
            while !Task.isCancelled {
                guard let self else { return }
                await takeOver()
                if sincePurge >= Self.purgeInterval {
                    sincePurge = .zero
                    try? await deletions.purgeMailTokens(at: authenticator.currentTime)
                }
                sincePurge += Self.interval
                guard (try? await clock.sleep(for: Self.interval)) != nil else { return }
            }
        }
        runner.withLock { $0 = task }
    }

    public func stop() async {
        let task = runner.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    /// Works at deletions that nobody works at, until there are none or one cannot go on.
    func takeOver() async {
        while !Task.isCancelled, let user = (try? await deletions.claimDeletion(for: Self.claim)) ?? nil {
            guard await finish(user, until: nil) else { return }
        }
    }

    // MARK: The work

    /// - Parameter end: for the first look, when to leave the rest to the service; nil for the service itself.
    /// - Returns: whether nothing is left that can be seen now.
    @discardableResult
    private func finish(_ user: UserID, until end: ContinuousClock.Instant?) async -> Bool {
        do {
            guard try await leaveAll(user, until: end) else {
                // Given back at once: there is more to do, and nothing is wrong.
                try await deletions.extendClaim(of: user, by: .zero)
                return false
            }
            try await deletions.eraseLeftTraces(of: user)
            guard end == nil else {
                try await deletions.extendClaim(of: user, by: Self.settling)
                return true
            }
            try await deletions.finishDeletion(of: user)
            finished.increment()
            return true
        } catch {
            interrupted.increment()
            // Where not even this can be written, it is taken up again when the claim ends.
            try? await deletions.extendClaim(of: user, by: Self.retryDelay)
            logger.debug("a deletion is left for later", [.error: error])
            return false
        }
    }

    /// - Returns: false where the time was up, or there are conversations left that were made or joined meanwhile.
    private func leaveAll(_ user: UserID, until end: ContinuousClock.Instant?) async throws -> Bool {
        var claimedAt = ContinuousClock.now
        var failure: RoostError?
        let memberships = try await backend.conversations.memberships(of: user)
        for membership in memberships {
            if Task.isCancelled { return false }
            if let end, ContinuousClock.now >= end { return false }
            if ContinuousClock.now - claimedAt > Self.claim / 3 {
                try await deletions.extendClaim(of: user, by: Self.claim)
                claimedAt = .now
            }
            do throws(RoostError) {
                try await leave(membership.conversationID, membership.kind, user)
            } catch {
                // One conversation whose owner is away does not hold up the others.
                failure = error
            }
        }
        if let failure { throw failure }
        let known = Set(memberships)
        return try await backend.conversations.memberships(of: user).allSatisfy { $0.kind == .direct && known.contains($0) }
    }

    private func leave(
        _ conversation: ConversationID, _ kind: ConversationKind, _ user: UserID
    ) async throws(RoostError) {
        switch kind {
        case .group, .channel:
            // Before the user has left.
            backend.signals.userDeleted(user, from: conversation)
            do throws(RoostError) {
                try await backend.commands.perform(.removeMember(user), in: conversation, by: user)
            } catch {
                // It has been done before.
                guard error.code == .notFound || error.code == .notMember else { throw error }
            }
        case .direct:
            if try await backend.ask({ try await deletions.closeDirect(conversation) }) {
                backend.signals.userDeleted(user, from: conversation)
                let members = try await backend.ask { try await backend.accounts.members(of: conversation, limit: 2) }
                backend.signals.conversationChanged(conversation, for: members.filter { $0 != user })
            }
            try await backend.commands.refresh(conversation, for: user)
        }
        try await backend.ask { try await deletions.eraseTraces(of: user, in: conversation) }
    }
}

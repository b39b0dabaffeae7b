import Ports
import RoostModel
import Runtime

/// Writes when users were last seen, a second's worth in one statement. Any thread.
public final class LastSeenRecorder: Service {
    public let name = "last-seen"
    private static let limit = 200_000

    private let accounts: any AccountStore
    private let clock: any Clock<Duration>
    private let pending = Locked<[UserID: Timestamp]>([:])
    private let runner = Locked<Task<Void, Never>?>(nil)

    public init(accounts: any AccountStore, clock: any Clock<Duration> = ContinuousClock()) {
        self.accounts = accounts
        self.clock = clock
    }

    func record(_ user: UserID, at time: Timestamp) {
        pending.withLock { pending in
            guard pending.count < Self.limit || pending[user] != nil else { return }
            pending[user] = max(pending[user] ?? time, time)
        }
    }

    public func start() async throws {
        let clock = clock
        let task = Task { [weak self] in
            while !Task.isCancelled {
                guard (try? await clock.sleep(for: .seconds(1))) != nil else { return }
                await self?.flush()
            }
        }
        runner.withLock { $0 = task }
    }

    public func stop() async {
        let task = runner.withLock { $0 }
        task?.cancel()
        await task?.value
        await flush()
    }

    private func flush() async {
        let times = pending.withLock { $0 }
        guard !times.isEmpty else { return }
        do throws(StoreError) {
            try await accounts.recordLastSeen(times)
        } catch {
            // Kept for the next second.
            return
        }
        pending.withLock { pending in
            for (user, time) in times where pending[user] == time { pending[user] = nil }
        }
    }
}

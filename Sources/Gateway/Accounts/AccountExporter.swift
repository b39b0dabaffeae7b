import EdgeServer
import Ports
import RoostModel
import Runtime

/// Begins exports of accounts; a bounded number is sent at once.
public final class AccountExporter: Sendable {
    private let backend: Backend
    private let store: any ExportStore
    private let authenticator: Authenticator
    private let slots: ExportSlots

    public init(backend: Backend, store: any ExportStore, authenticator: Authenticator, metrics: Metrics) {
        self.backend = backend
        self.store = store
        self.authenticator = authenticator
        slots = ExportSlots(metrics: metrics)
    }

    /// Nil where there is no such live account.
    func export(_ id: UserID) async throws(RoostError) -> HTTPResponse? {
        let user = try await backend.ask { try await backend.accounts.user(id) }
        guard let user, !user.isDeleted else { return nil }
        let export = AccountExport(
            of: user, backend: backend, store: store, at: authenticator.currentTime, slot: try slots.take())
        return export.response()
    }
}

/// How many exports are sent at once: each reads on for as long as its client takes it.
final class ExportSlots: Sendable {
    private let limit: Int
    private let taken = Locked(0)

    init(limit: Int = 8, metrics: Metrics) {
        self.limit = limit
        let taken = taken
        metrics.gauge("roost_exports_running", help: "Exports of accounts that are being sent.") {
            Double(taken.withLock { $0 })
        }
    }

    /// Held until it is released.
    final class Slot: Sendable {
        private let taken: Locked<Int>
        fileprivate init(_ taken: Locked<Int>) { self.taken = taken }
        deinit { taken.withLock { $0 -= 1 } }
    }

    /// `unavailable` where all are taken.
    func take() throws(RoostError) -> Slot {
        let isFree = taken.withLock { taken in
            if taken >= limit { return false }
            taken += 1
            return true
        }
        guard isFree else { throw RoostError(.unavailable, retryAfter: 10) }
        return Slot(taken)
    }
}

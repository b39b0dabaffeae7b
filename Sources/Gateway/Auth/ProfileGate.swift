import Ports
import RoostModel
import Runtime

/// Keeps those out whose profile is incomplete, where `ROOST_REQUIRE_PROFILE` is on. Any thread.
///
/// A profile becomes complete once and for all, so what was seen complete is remembered; of the others the store is asked each time.
public final class ProfileGate: Sendable {
    private static let stripeCount = 16

    private let backend: Backend
    private let capacity: Int
    private let complete: [Locked<Set<UserID>>] = (0..<stripeCount).map { _ in Locked([]) }

    /// - Parameter capacity: users that are remembered; beyond it some are forgotten, and the store is asked again.
    public init(backend: Backend, capacity: Int = 1 << 20) {
        self.backend = backend
        self.capacity = max(1, capacity / Self.stripeCount)
    }

    private func stripe(_ user: UserID) -> Locked<Set<UserID>> {
        complete[Int(truncatingIfNeeded: user.low) & (Self.stripeCount - 1)]
    }

    /// False where it is not complete, or not known.
    func isKnownComplete(_ user: UserID) -> Bool { stripe(user).withLock { $0.contains(user) } }

    /// Throws `profileIncomplete`, or `unauthenticated` for an account that is gone.
    func require(_ id: UserID) async throws(RoostError) {
        if isKnownComplete(id) { return }
        let user = try await backend.ask { try await backend.accounts.user(id) }
        guard let user, !user.isDeleted else { throw RoostError(.unauthenticated) }
        guard user.profileCompleted else { throw RoostError(.profileIncomplete) }
        let capacity = capacity
        stripe(id).withLock { users in
            if users.count >= capacity { users.removeAll(keepingCapacity: true) }
            users.insert(id)
        }
    }
}

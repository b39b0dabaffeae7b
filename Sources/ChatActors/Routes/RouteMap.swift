import RoostModel
import Runtime

/// Which nodes have sessions of which users: a bit per peer and user. Read by every lane for every message.
final class RouteMap: Sendable {
    /// Peers beyond this many get everything; a cluster of that size wants a different directory.
    static let trackedPeers = 64

    struct Peers {
        var nodes: [NodeIdentity?] = Array(repeating: nil, count: RouteMap.trackedPeers)
        /// Peers whose list is not known whole: everything goes to them.
        var incomplete: UInt64 = 0
        var untracked: [NodeIdentity] = []
    }

    private static let stripeCount = 64
    private let stripes: [Locked<[UserID: UInt64]>] = (0..<stripeCount).map { _ in Locked([:]) }
    private let peersState = Locked(Peers())

    var peers: Peers { peersState.withLock { $0 } }

    func updatePeers(_ body: (inout Peers) -> Void) { peersState.withLock { body(&$0) } }

    /// The bits of peers that are known to have sessions of `user`.
    func mask(of user: UserID) -> UInt64 {
        stripe(user).withLock { $0[user] ?? 0 }
    }

    func add(_ users: [UserID], bit: UInt64) {
        for user in users { stripe(user).withLock { $0[user, default: 0] |= bit } }
    }

    func remove(_ users: [UserID], bit: UInt64) {
        for user in users {
            stripe(user).withLock { map in
                guard let mask = map[user] else { return }
                map[user] = mask & ~bit == 0 ? nil : mask & ~bit
            }
        }
    }

    func clear(bit: UInt64) {
        for stripe in stripes {
            stripe.withLock { map in
                for (user, mask) in map where mask & bit != 0 { map[user] = mask & ~bit == 0 ? nil : mask & ~bit }
            }
        }
    }

    /// Users that are online at some peer.
    var count: Int { stripes.reduce(0) { $0 + $1.withLock { $0.count } } }

    private func stripe(_ user: UserID) -> Locked<[UserID: UInt64]> {
        stripes[Int(truncatingIfNeeded: user.low) & (Self.stripeCount - 1)]
    }
}

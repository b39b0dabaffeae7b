import Ports
import RoostModel

/// Presence as one user may see it of others: who is visible, whose last-seen time is shared, and who is blocked.
struct PresenceReader: Sendable {
    let backend: Backend

    /// Presence of those of `ids` that `caller` may see; the others are left out.
    func visible(_ ids: [UserID], to caller: UserID) async throws(RoostError) -> [Presence] {
        let visible = try await backend.ask { try await backend.accounts.visible(ids, to: caller) }
        let shown = ids.filter(visible.contains)
        if shown.isEmpty { return [] }
        let users = try await backend.ask { try await backend.accounts.users(shown) }
        let byID = Dictionary(users.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        return try await presence(of: shown.compactMap { byID[$0] }, for: caller)
    }

    /// Presence of users already known to be visible, in order.
    ///
    /// `lastSeenAt` is null while online or away, and unless both share it. Whoever blocks the other, both see each other as
    /// offline, without it.
    func presence(of users: [User], for caller: UserID) async throws(RoostError) -> [Presence] {
        if users.isEmpty { return [] }
        let ids = users.map(\.id)
        let blocked = try await backend.ask { try await backend.contacts.blocked(ids, with: caller) }
        let states = try await backend.presence.states(of: ids)
        let sharers = users.filter { $0.settings.shareLastSeen && !blocked.contains($0.id) }.map(\.id)
        let callerShares = try await backend.ask { try await backend.accounts.user(caller) }?.settings.shareLastSeen ?? false
        let lastSeen =
            callerShares && !sharers.isEmpty ? try await backend.ask { try await backend.accounts.lastSeen(sharers) } : [:]
        return zip(ids, states).map { id, state in
            switch blocked.contains(id) ? .offline : state {
            case .online, .away: Presence(userID: id, state: state, lastSeenAt: nil)
            case .offline: Presence(userID: id, state: .offline, lastSeenAt: lastSeen[id])
            }
        }
    }

    /// As ``presence(of:for:)``, for where it is a part of something else: nothing where it cannot be had.
    ///
    /// - Parameter areVisible: false for users of whom the caller may not see it just because they are shown.
    func presenceIfKnown(
        of users: [User], for caller: UserID, areVisible: Bool = true
    ) async -> [UserID: Presence] {
        let all = areVisible ? try? await presence(of: users, for: caller) : try? await visible(users.map(\.id), to: caller)
        guard let all else { return [:] }
        return Dictionary(all.map { ($0.userID, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

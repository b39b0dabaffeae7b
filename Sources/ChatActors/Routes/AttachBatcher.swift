import RoostModel

/// Announces this node's online users in numbered batches, one at a time: while one waits for its acknowledgements the next
/// gathers, so that the cost of a login falls as logins come faster. Pure.
struct AttachBatcher<Waiter> {
    struct Batch {
        let number: UInt64
        let online: [UserID]
        let offline: [UserID]
    }

    private var sessions: [UserID: Int] = [:]
    /// The latest change of each user since the last batch.
    private var pending: [UserID: Bool] = [:]
    private var pendingWaiters: [Waiter] = []
    private var outstanding: Set<IncarnationID> = []
    private var outstandingWaiters: [Waiter] = []
    private(set) var lastNumber: UInt64 = 0

    var isWaiting: Bool { !outstanding.isEmpty }

    /// All that are online here.
    var users: [UserID] { Array(sessions.keys) }

    /// A session began. The waiter comes back once every peer knows of the user.
    mutating func attach(_ user: UserID, _ waiter: Waiter) {
        sessions[user, default: 0] += 1
        if sessions[user] == 1 { pending[user] = true }
        // An earlier session of the user may still be waiting itself, so all take the same way.
        pendingWaiters.append(waiter)
    }

    mutating func detach(_ user: UserID) {
        guard let count = sessions[user] else { return }
        if count > 1 {
            sessions[user] = count - 1
        } else {
            sessions[user] = nil
            pending[user] = false
        }
    }

    /// The next batch for `peers`, where there is one and none is on its way. `ready` are waiters that need not wait.
    mutating func next(peers: Set<IncarnationID>) -> (batch: Batch?, ready: [Waiter]) {
        guard outstanding.isEmpty else { return (nil, []) }
        guard !pending.isEmpty, !peers.isEmpty else {
            let ready = pendingWaiters
            pendingWaiters = []
            if peers.isEmpty { pending = [:] }
            return (nil, ready)
        }
        lastNumber += 1
        let batch = Batch(
            number: lastNumber, online: pending.filter { $0.value }.map(\.key), offline: pending.filter { !$0.value }.map(\.key))
        pending.removeAll(keepingCapacity: true)
        outstanding = peers
        outstandingWaiters = pendingWaiters
        pendingWaiters = []
        return (batch, [])
    }

    /// Waiters whose batch every peer has now.
    mutating func acknowledged(_ number: UInt64, by peer: IncarnationID) -> [Waiter] {
        guard number == lastNumber, outstanding.remove(peer) != nil else { return [] }
        return outstanding.isEmpty ? takeOutstanding() : []
    }

    /// Peers that are gone need not answer.
    mutating func retain(peers: Set<IncarnationID>) -> [Waiter] {
        guard !outstanding.isEmpty else { return [] }
        outstanding.formIntersection(peers)
        return outstanding.isEmpty ? takeOutstanding() : []
    }

    /// Gives up waiting: a peer is slow or missed the batch, which it will notice by the number of the next.
    mutating func timedOut(_ number: UInt64) -> [Waiter] {
        guard number == lastNumber, !outstanding.isEmpty else { return [] }
        outstanding = []
        return takeOutstanding()
    }

    private mutating func takeOutstanding() -> [Waiter] {
        defer { outstandingWaiters = [] }
        return outstandingWaiters
    }
}

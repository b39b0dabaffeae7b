import RoostModel

/// How well one peer's list of online users is known here. Pure; see ``RouteMessage`` for what travels.
///
/// A peer numbers its batches. A missing number means that something was lost: until a snapshot has come, everything is sent to
/// that peer, which costs bandwidth but loses nothing.
struct PeerRoutes {
    enum State: Equatable {
        /// Nothing certain is known; a snapshot has been asked for.
        case unknown
        /// Parts of a snapshot are coming in.
        case loading
        /// Every batch before this number is applied.
        case complete(next: UInt64)
    }

    enum Action: Equatable {
        case add([UserID])
        case remove([UserID])
        /// Forget all that is held of this peer.
        case clear
        /// `afterGap` tells the peer that its sessions may have missed events.
        case requestSnapshot(afterGap: Bool)
        case acknowledge(UInt64)
    }

    private(set) var state: State = .unknown

    var isComplete: Bool {
        switch state {
        case .complete: true
        case .unknown, .loading: false
        }
    }

    mutating func batch(number: UInt64, online: [UserID], offline: [UserID]) -> [Action] {
        switch state {
        case .complete(let next) where number == next:
            state = .complete(next: next + 1)
            return [.add(online), .remove(offline), .acknowledge(number)]
        case .complete(let next) where number < next:
            // A late copy of what is known.
            return [.acknowledge(number)]
        case .complete:
            state = .unknown
            return [.clear, .requestSnapshot(afterGap: true), .acknowledge(number)]
        case .unknown, .loading:
            // Everything is sent to this peer anyway.
            return [.acknowledge(number)]
        }
    }

    /// The peer says which batch was its last.
    mutating func tip(number: UInt64) -> [Action] {
        switch state {
        case .complete(let next) where next == number + 1:
            return []
        case .complete:
            state = .unknown
            return [.clear, .requestSnapshot(afterGap: true)]
        case .unknown, .loading:
            // The snapshot, or the question for it, was lost.
            state = .unknown
            return [.requestSnapshot(afterGap: false)]
        }
    }

    /// A part of a snapshot that holds everything up to batch `number`.
    mutating func snapshotPart(number: UInt64, online: [UserID], isFirst: Bool, isLast: Bool) -> [Action] {
        // A snapshot that somebody else asked for tells nothing new.
        if case .complete(let next) = state, next == number + 1 { return [] }
        var actions: [Action] = []
        if isFirst {
            actions.append(.clear)
            state = .loading
        }
        switch state {
        case .loading:
            actions.append(.add(online))
            if isLast { state = .complete(next: number + 1) }
            return actions
        case .unknown, .complete:
            // A snapshot whose beginning was missed; the next tip asks again.
            return actions
        }
    }

    /// The connection to the bus broke here: anything may be missing.
    mutating func lostTrack() -> [Action] {
        state = .unknown
        return [.clear, .requestSnapshot(afterGap: true)]
    }
}

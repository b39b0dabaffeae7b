import RoostModel

/// The same moment on two clocks.
public struct Moment: Hashable, Sendable {
    /// Since any fixed origin of a monotonic clock.
    public let monotonic: Duration
    public let wall: Timestamp

    public init(monotonic: Duration, wall: Timestamp) {
        self.monotonic = monotonic
        self.wall = wall
    }
}

/// Orders the news of one user's presence, over changes of owner too.
public struct PresenceVersion: Hashable, Comparable, Sendable {
    public let epoch: Epoch
    public let counter: Int64

    public init(epoch: Epoch, counter: Int64) {
        self.epoch = epoch
        self.counter = counter
    }

    public static func < (left: PresenceVersion, right: PresenceVersion) -> Bool {
        left.epoch == right.epoch ? left.counter < right.counter : left.epoch < right.epoch
    }
}

/// One user's presence, from the sessions that are attached for them.
///
/// Online while any session is foreground, away while all are background, offline when the last is gone: at once where it ended or
/// fell silent (for longer than any grace already), after ``brokenLinger`` where its line broke, after ``nodeDeathLinger`` where
/// its node died. A session that lingers counts as what it was, until the same device is back.
public struct PresenceMachine: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        case publish(News)
        /// Call ``woke(at:)`` then. One too many does no harm.
        case scheduleWake(at: Duration)
        case recordLastSeen(Timestamp)
    }

    public struct News: Hashable, Sendable {
        public let state: PresenceState
        /// When the last session ended; nil unless offline.
        public let lastSeenAt: Timestamp?
        public let version: PresenceVersion

        public init(state: PresenceState, lastSeenAt: Timestamp?, version: PresenceVersion) {
            self.state = state
            self.lastSeenAt = lastSeenAt
            self.version = version
        }
    }

    /// A return within this time shows no change.
    public static let brokenLinger: Duration = .seconds(10)
    /// From when the death is known.
    public static let nodeDeathLinger: Duration = .seconds(8)
    /// How long a fresh owner waits for sessions to attach again after a planned move.
    public static let recoveryTime: Duration = .seconds(3)

    private struct Session: Hashable, Sendable {
        let id: SessionID
        let device: DeviceID
        let incarnation: IncarnationID
        var isForeground: Bool
        /// Set once the line broke: gone then.
        var lingersUntil: Duration?
    }

    /// What an owner knows of what was before it.
    private enum Past: Hashable, Sendable {
        case known
        /// Sessions may still attach again. Until then nothing less than `guess` is shown; nil where there is no guess.
        case recovering(guess: PresenceState?, until: Duration)
    }

    private var sessions: [Session] = []
    private var past: Past
    private var published: PresenceState?
    private var version: PresenceVersion
    private var lastSeenAt: Timestamp?
    private var nextWake: Duration?

    /// An owner that knows the user to have no sessions and nobody to believe otherwise.
    public init(epoch: Epoch, lastSeenAt: Timestamp? = nil) {
        past = .known
        published = .offline
        version = PresenceVersion(epoch: epoch, counter: 0)
        self.lastSeenAt = lastSeenAt
    }

    /// A fresh owner after another. Its first act is to schedule the end of the recovery: call ``woke(at:)`` at once for that.
    ///
    /// - Parameters:
    ///   - guess: what watchers were told last; nil where that is unknown, and then the outcome is published in any case.
    ///   - duration: ``recoveryTime`` after a planned move, ``nodeDeathLinger`` where the owner died, perhaps with sessions.
    public init(
        epoch: Epoch, recoveringFrom guess: PresenceState?, for duration: Duration = recoveryTime, lastSeenAt: Timestamp? = nil,
        at now: Moment
    ) {
        past = .recovering(guess: guess, until: now.monotonic + duration)
        published = guess
        version = PresenceVersion(epoch: epoch, counter: 0)
        self.lastSeenAt = lastSeenAt
    }

    /// What to answer to those who ask now.
    public var news: News {
        let state = shown ?? published ?? actual
        return News(state: state, lastSeenAt: state == .offline ? lastSeenAt : nil, version: version)
    }

    /// Whether there is nothing to keep in memory.
    public var isQuiet: Bool { sessions.isEmpty && past == .known }

    public var sessionCount: Int { sessions.count }

    // MARK: Inputs

    /// A session is there: new, or told again after a change of owner.
    public mutating func attached(
        _ id: SessionID, device: DeviceID, incarnation: IncarnationID, isForeground: Bool, at now: Moment
    ) -> [Action] {
        sessions.removeAll { $0.id == id || ($0.device == device && $0.lingersUntil != nil) }
        sessions.append(Session(id: id, device: device, incarnation: incarnation, isForeground: isForeground))
        return settle(at: now)
    }

    /// Does nothing for sessions that are not known.
    public mutating func changed(_ id: SessionID, isForeground: Bool, at now: Moment) -> [Action] {
        guard let index = sessions.firstIndex(where: { $0.id == id }) else { return [] }
        sessions[index].isForeground = isForeground
        return settle(at: now)
    }

    /// A close frame, a logout, or a hang-up after a silence longer than any grace.
    public mutating func ended(_ id: SessionID, at now: Moment) -> [Action] {
        guard let index = sessions.firstIndex(where: { $0.id == id }) else { return [] }
        sessions.remove(at: index)
        lastSeenAt = now.wall
        return settle(at: now)
    }

    /// The line broke without a close frame.
    public mutating func broken(_ id: SessionID, at now: Moment) -> [Action] {
        guard let index = sessions.firstIndex(where: { $0.id == id }), sessions[index].lingersUntil == nil else { return [] }
        lastSeenAt = now.wall
        let device = sessions[index].device
        if sessions.contains(where: { $0.device == device && $0.id != id && $0.lingersUntil == nil }) {
            // The device came back before its old line was found broken.
            sessions.remove(at: index)
        } else {
            sessions[index].lingersUntil = now.monotonic + Self.brokenLinger
        }
        return settle(at: now)
    }

    /// A node's life ended, and with it all its sessions.
    public mutating func nodeDied(_ incarnation: IncarnationID, at now: Moment) -> [Action] {
        let end = now.monotonic + Self.nodeDeathLinger
        let live = Set(sessions.filter { $0.lingersUntil == nil && $0.incarnation != incarnation }.map(\.device))
        for index in sessions.indices.reversed() where sessions[index].incarnation == incarnation {
            if sessions[index].lingersUntil == nil { lastSeenAt = now.wall }
            if live.contains(sessions[index].device) {
                sessions.remove(at: index)
            } else {
                sessions[index].lingersUntil = min(sessions[index].lingersUntil ?? end, end)
            }
        }
        return settle(at: now)
    }

    public mutating func woke(at now: Moment) -> [Action] {
        // Whatever is still to come is asked for again: a timer may fire a little early.
        nextWake = nil
        return settle(at: now)
    }

    // MARK: What follows

    private var actual: PresenceState {
        if sessions.contains(where: \.isForeground) { return .online }
        return sessions.isEmpty ? .offline : .away
    }

    /// What watchers should be told; nil where that is not known yet.
    private var shown: PresenceState? {
        switch past {
        case .known: actual
        case .recovering(let guess?, _): actual.rank > guess.rank ? actual : guess
        case .recovering(nil, _): actual == .online ? .online : nil
        }
    }

    /// Drops what is over, tells what changed, and asks to be woken for what comes next.
    private mutating func settle(at now: Moment) -> [Action] {
        sessions.removeAll { session in session.lingersUntil.map { $0 <= now.monotonic } ?? false }
        switch past {
        case .known: break
        case .recovering(let guess, let until):
            // As good as it was before: there is nothing left to wait for.
            let isExplained = actual == .online || guess.map { actual.rank >= $0.rank } ?? false
            if until <= now.monotonic || isExplained { past = .known }
        }
        var actions: [Action] = []
        if let state = shown, state != published {
            published = state
            version = PresenceVersion(epoch: version.epoch, counter: version.counter + 1)
            if state == .offline {
                let seen = lastSeenAt ?? now.wall
                lastSeenAt = seen
                actions.append(.recordLastSeen(seen))
            }
            actions.append(.publish(news))
        }
        var wake = sessions.compactMap(\.lingersUntil).min()
        if case .recovering(_, let until) = past { wake = min(wake ?? until, until) }
        if let wake, wake != nextWake {
            nextWake = wake
            actions.append(.scheduleWake(at: wake))
        }
        return actions
    }
}

extension PresenceState {
    /// The more, the more present.
    fileprivate var rank: Int {
        switch self {
        case .offline: 0
        case .away: 1
        case .online: 2
        }
    }
}

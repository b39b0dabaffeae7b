/// Whether one user types in one conversation, as others are told: at most one `active` passed on in 3 s, however often it is said;
/// over after 6 s without a word, or when told.
///
/// Times are durations since any fixed origin of a monotonic clock.
public struct TypingIndicator: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        case announce(isActive: Bool)
        /// Call ``woke(at:)`` then. Only the latest one counts; one too many does no harm.
        case scheduleWake(at: Duration)
    }

    enum State: Hashable, Sendable {
        case idle(lastAnnounced: Duration?)
        /// Others were told.
        case typing(until: Duration, lastAnnounced: Duration)
        /// Others are told at `notBefore`, because the last time is too near.
        case heldBack(until: Duration, notBefore: Duration)
    }

    public static let announceInterval: Duration = .seconds(3)
    public static let lifetime: Duration = .seconds(6)

    private(set) var state: State = .idle(lastAnnounced: nil)

    public init() {}

    /// Whether nothing would be lost with this value at `now`.
    public func isForgettable(at now: Duration) -> Bool {
        switch state {
        case .idle(let lastAnnounced): lastAnnounced.map { now - $0 >= Self.announceInterval } ?? true
        case .typing, .heldBack: false
        }
    }

    public mutating func keystroke(at now: Duration) -> [Action] {
        let until = now + Self.lifetime
        switch state {
        case .idle(let lastAnnounced?) where now - lastAnnounced < Self.announceInterval:
            let notBefore = lastAnnounced + Self.announceInterval
            state = .heldBack(until: until, notBefore: notBefore)
            return [.scheduleWake(at: notBefore)]
        case .idle:
            state = .typing(until: until, lastAnnounced: now)
            return [.announce(isActive: true), .scheduleWake(at: until)]
        case .typing(_, let lastAnnounced) where now - lastAnnounced < Self.announceInterval:
            // The wake that is scheduled already finds the later end.
            state = .typing(until: until, lastAnnounced: lastAnnounced)
            return []
        case .typing:
            state = .typing(until: until, lastAnnounced: now)
            return [.announce(isActive: true)]
        case .heldBack(_, let notBefore) where now < notBefore:
            state = .heldBack(until: until, notBefore: notBefore)
            return []
        case .heldBack:
            state = .typing(until: until, lastAnnounced: now)
            return [.announce(isActive: true), .scheduleWake(at: until)]
        }
    }

    /// The user said so, sent the message, left, or is gone.
    public mutating func stopped() -> [Action] {
        switch state {
        case .idle: return []
        case .typing(_, let lastAnnounced):
            state = .idle(lastAnnounced: lastAnnounced)
            return [.announce(isActive: false)]
        case .heldBack(_, let notBefore):
            state = .idle(lastAnnounced: notBefore - Self.announceInterval)
            return []
        }
    }

    public mutating func woke(at now: Duration) -> [Action] {
        switch state {
        case .idle: return []
        case .typing(let until, let lastAnnounced):
            guard now >= until else { return [.scheduleWake(at: until)] }
            state = .idle(lastAnnounced: lastAnnounced)
            return [.announce(isActive: false)]
        case .heldBack(let until, let notBefore):
            guard now >= notBefore else { return [.scheduleWake(at: notBefore)] }
            guard now < until else {
                state = .idle(lastAnnounced: notBefore - Self.announceInterval)
                return []
            }
            state = .typing(until: until, lastAnnounced: now)
            return [.announce(isActive: true), .scheduleWake(at: until)]
        }
    }
}

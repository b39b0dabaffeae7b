/// What is known of one send. Times are nanoseconds of a monotonic clock.
public struct SendRecord: Sendable, Equatable {
    public enum State: UInt8, Sendable {
        /// Scheduled, not on any wire now; to be sent as soon as the sender can.
        case queued
        /// On the wire of the present session, unanswered.
        case inFlight
        /// Answered with a retryable error; becomes queued after a pause.
        case pausing
        case acknowledged
        /// Answered with an error that a retry would not change.
        case failed
    }

    public let scheduledAt: Int64
    public var state: State = .queued
    public var attempts: UInt16 = 0
    /// The sequence number it was acknowledged with or first seen under; 0 while unknown.
    public var seq: Int64 = 0
    /// When the latest attempt was written, or the pause ends.
    public var since: Int64 = 0
    /// Bit *n* is set once side *n* has the message.
    public var receivedBy: UInt8 = 0
    /// Set once it was found under two sequence numbers, so that it counts once.
    public var isDoubled = false

    public init(scheduledAt: Int64) { self.scheduledAt = scheduledAt }

    public var isUnresolved: Bool {
        switch state {
        case .queued, .inFlight, .pausing: true
        case .acknowledged, .failed: false
        }
    }
}

/// The sends of one client in one conversation, in order: its retry queue as well, since every record knows its state.
public struct SenderLog: Sendable {
    public private(set) var sends: [SendRecord] = []
    /// All before this are resolved.
    private var firstUnresolved = 0
    public private(set) var inFlight = 0
    /// Acknowledged on their first attempt within the present session: number and seq of the newest.
    private var newestFirstTry: (number: Int, seq: Int64)?

    public init() {}

    public var count: Int { sends.count }
    public var unresolved: Int { sends[firstUnresolved...].reduce(0) { $0 + ($1.isUnresolved ? 1 : 0) } }
    public var hasUnresolved: Bool { sends[firstUnresolved...].contains { $0.isUnresolved } }

    public subscript(number: Int) -> SendRecord {
        get { sends[number] }
        set { sends[number] = newValue }
    }

    /// How often a send was written; 0 for a number that is none.
    public func attempts(of number: Int) -> Int { sends.indices.contains(number) ? Int(sends[number].attempts) : 0 }

    /// Adds a send and gives its number.
    public mutating func schedule(at time: Int64) -> Int {
        sends.append(SendRecord(scheduledAt: time))
        return sends.count - 1
    }

    public mutating func wrote(_ number: Int, at time: Int64) {
        sends[number].state = .inFlight
        sends[number].attempts &+= 1
        sends[number].since = time
        inFlight += 1
    }

    public enum Answer: Equatable, Sendable {
        /// The first answer; `reordered` when a later send of the same session, neither of them retried, has a smaller seq.
        case acknowledged(scheduledAt: Int64, reordered: Bool)
        /// Answered before.
        case repeated
        /// Known under another seq: stored twice.
        case doubled
        case unknownRequest
    }

    public mutating func acknowledge(_ number: Int, seq: Int64) -> Answer {
        guard sends.indices.contains(number) else { return .unknownRequest }
        if sends[number].state == .inFlight { inFlight -= 1 }
        let isFirst = sends[number].state != .acknowledged
        sends[number].state = .acknowledged
        advance()
        if see(number, seq: seq) { return .doubled }
        guard isFirst else { return .repeated }
        var reordered = false
        if sends[number].attempts == 1 {
            if let newest = newestFirstTry, newest.number < number, newest.seq > seq { reordered = true }
            if let newest = newestFirstTry, newest.number > number, newest.seq < seq { reordered = true }
            if newestFirstTry.map({ $0.number < number }) ?? true { newestFirstTry = (number, seq) }
        }
        return .acknowledged(scheduledAt: sends[number].scheduledAt, reordered: reordered)
    }

    /// The server refused; a retryable send is queued again at `retryAt`.
    public mutating func refuse(_ number: Int, retryAt: Int64?) {
        guard sends.indices.contains(number), sends[number].isUnresolved else { return }
        if sends[number].state == .inFlight { inFlight -= 1 }
        if let retryAt {
            sends[number].state = .pausing
            sends[number].since = retryAt
        } else {
            sends[number].state = .failed
            advance()
        }
    }

    /// The session is gone: what was on its wire goes back to the queue, with the same client id.
    public mutating func disconnect() {
        guard inFlight > 0 || newestFirstTry != nil else { return }
        for number in firstUnresolved..<sends.count where sends[number].state == .inFlight { sends[number].state = .queued }
        inFlight = 0
        newestFirstTry = nil
    }

    /// The numbers to write now, oldest first, at most `limit`.
    public func due(at time: Int64, limit: Int) -> [Int] {
        guard limit > 0, firstUnresolved < sends.count else { return [] }
        var result: [Int] = []
        for number in firstUnresolved..<sends.count {
            let send = sends[number]
            switch send.state {
            case .queued: result.append(number)
            case .pausing: if send.since <= time { result.append(number) }
            case .inFlight, .acknowledged, .failed: break
            }
            if result.count == limit { break }
        }
        return result
    }

    /// Since when the oldest unanswered attempt waits.
    public var waitingSince: Int64? {
        guard inFlight > 0 else { return nil }
        return sends[firstUnresolved...].lazy.filter { $0.state == .inFlight }.map(\.since).min()
    }

    /// Notes the seq under which a send was seen. True if it was known under another one, the first time this is found.
    mutating func see(_ number: Int, seq: Int64) -> Bool {
        if sends[number].seq == 0 { sends[number].seq = seq }
        guard sends[number].seq != seq, !sends[number].isDoubled else { return false }
        sends[number].isDoubled = true
        return true
    }

    private mutating func advance() {
        while firstUnresolved < sends.count, !sends[firstUnresolved].isUnresolved { firstUnresolved += 1 }
    }
}

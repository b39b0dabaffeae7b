/// What one client has received of one conversation, and whether its session kept the promise: within one conversation the `seq` of a
/// session's message events rises by one each time, from its first on.
public struct ReceiverTrack: Sendable {
    /// Index `seq - 1`: whether the message is here.
    private var known: [Bool] = []
    /// All from 1 to this are here.
    public private(set) var complete: Int64 = 0
    /// The greatest here.
    public private(set) var greatest: Int64 = 0

    private var session: Session?

    private struct Session {
        let first: Int64
        var last: Int64
        /// Numbers the session jumped over.
        var skipped: [ClosedRange<Int64>] = []
    }

    /// A sequence number beyond this is taken for nonsense, not for a reason to use gigabytes.
    private static let bound: Int64 = 1 << 30

    public init() {}

    public struct Outcome: Equatable, Sendable {
        /// It was not here before.
        public var isNew = false
        /// This session had sent it before.
        public var isDuplicate = false
        /// Smaller than one before it in this session.
        public var isOutOfOrder = false
        /// The session jumped: a hole.
        public var isAfterHole = false
        /// Something below is missing: fetch the changes after ``ReceiverTrack/complete``.
        public var needsRepair = false
    }

    public mutating func beginSession() { session = nil }

    /// A message event came in.
    public mutating func event(_ seq: Int64) -> Outcome {
        var outcome = Outcome()
        guard seq > 0, seq < Self.bound else {
            outcome.isOutOfOrder = true
            return outcome
        }
        if var now = session {
            if seq > now.last + 1 {
                outcome.isAfterHole = true
                now.skipped.append(now.last + 1...seq - 1)
            } else if seq <= now.last {
                let wasSkipped = now.skipped.contains { $0.contains(seq) }
                if seq >= now.first && !wasSkipped { outcome.isDuplicate = true } else { outcome.isOutOfOrder = true }
            }
            now.last = Swift.max(now.last, seq)
            session = now
        } else {
            session = Session(first: seq, last: seq)
        }
        outcome.isNew = add(seq)
        outcome.needsRepair = seq > complete
        return outcome
    }

    /// A message came with a page of history or changes. True if it was not here before.
    public mutating func repair(_ seq: Int64) -> Bool {
        guard seq > 0, seq < Self.bound else { return false }
        return add(seq)
    }

    /// The numbers up to `last` that are not here.
    public func missing(upTo last: Int64) -> [Int64] {
        guard last > complete else { return [] }
        return (complete + 1...last).filter { $0 > Int64(known.count) || !known[Int($0) - 1] }
    }

    private mutating func add(_ seq: Int64) -> Bool {
        let index = Int(seq) - 1
        if index >= known.count { known.append(contentsOf: repeatElement(false, count: index + 1 - known.count)) }
        if known[index] { return false }
        known[index] = true
        greatest = Swift.max(greatest, seq)
        while complete < known.count, known[Int(complete)] { complete += 1 }
        return true
    }
}

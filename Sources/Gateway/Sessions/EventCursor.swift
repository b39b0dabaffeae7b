import RoostModel

/// What one session was sent of each conversation, so that its `message` events rise by one from its first on. Pure.
struct EventCursor {
    enum Verdict: Equatable {
        case send
        /// Sent before, or older than what the session began with.
        case skip
        /// Something between is missing: fill it first. The event waits.
        case hold
        /// Too many events wait; the session has to sync.
        case overflow
    }

    private struct Hole {
        /// Events that came while the hole is filled, with their sequences.
        var held: [(seq: Seq, event: Delivery)] = []
        /// It reaches at least to here, whatever waits.
        var reach = Seq.zero
    }

    private var lastSent: [ConversationID: Seq] = [:]
    private var holes: [ConversationID: Hole] = [:]

    func last(of conversation: ConversationID) -> Seq? { lastSent[conversation] }

    mutating func judge(_ event: Delivery, heldLimit: Int) -> Verdict {
        let conversation = event.conversationID
        if holes[conversation] != nil { return hold(event, heldLimit) }
        guard let last = lastSent[conversation] else {
            lastSent[conversation] = event.seq
            return .send
        }
        if event.seq <= last { return .skip }
        if event.seq == last.next {
            lastSent[conversation] = event.seq
            return .send
        }
        holes[conversation] = Hole()
        return hold(event, heldLimit)
    }

    /// Values from `first` to `last` were taken without an event.
    /// - Returns: whether a hole is to be filled now.
    mutating func advanced(_ conversation: ConversationID, from first: Seq, to last: Seq) -> Bool {
        if holes[conversation] != nil {
            holes[conversation]!.reach = max(holes[conversation]!.reach, last)
            return false
        }
        let known = lastSent[conversation] ?? Seq(first.value - 1)
        guard known < last else { return false }
        lastSent[conversation] = known
        holes[conversation] = Hole(reach: last)
        return true
    }

    /// The user is a member no longer: if they come back, counting starts anew.
    mutating func forget(_ conversation: ConversationID) {
        lastSent[conversation] = nil
        holes[conversation] = nil
    }

    private mutating func hold(_ event: Delivery, _ limit: Int) -> Verdict {
        guard holes[event.conversationID]!.held.count < limit else { return .overflow }
        holes[event.conversationID]!.held.append((event.seq, event))
        return .hold
    }

    /// The hole is filled up to `seq`: what waited and still comes next, in order. `isWhole` is false where another hole follows.
    mutating func filled(_ conversation: ConversationID, upTo seq: Seq) -> (events: [Delivery], isWhole: Bool) {
        guard var hole = holes[conversation] else { return ([], true) }
        var last = max(lastSent[conversation] ?? .zero, seq)
        var events: [Delivery] = []
        hole.held.sort { $0.seq < $1.seq }
        var index = 0
        while index < hole.held.count {
            let (next, event) = hole.held[index]
            if next > last.next { break }
            if next == last.next {
                events.append(event)
                last = next
            }
            index += 1
        }
        lastSent[conversation] = last
        hole.held.removeFirst(index)
        if hole.held.isEmpty, hole.reach <= last {
            holes[conversation] = nil
            return (events, true)
        }
        holes[conversation] = hole
        return (events, false)
    }

    /// The session was told to sync: its counting starts anew with the next event.
    mutating func reset() {
        lastSent = [:]
        holes = [:]
    }
}

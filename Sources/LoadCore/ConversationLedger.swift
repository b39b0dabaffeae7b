/// Both ends' books of one direct conversation: what each side sent and what each received. Nothing here knows sockets or clocks.
public struct ConversationLedger: Sendable {
    public let pair: Int
    /// Side 0 and side 1.
    public var senders = [SenderLog(), SenderLog()]
    public private(set) var receivers = [ReceiverTrack(), ReceiverTrack()]
    public var gaps = AckGaps()

    public init(pair: Int) { self.pair = pair }

    public mutating func beginSession(side: Int) { receivers[side].beginSession() }

    public mutating func sessionLost(side: Int) {
        senders[side].disconnect()
        receivers[side].beginSession()
    }

    public mutating func acknowledge(side: Int, number: Int, seq: Int64, at time: Int64, _ tally: inout Tally) {
        switch senders[side].acknowledge(number, seq: seq) {
        case .acknowledged(let scheduledAt, let reordered):
            tally.acknowledged += 1
            tally.ackLatency.record((time - scheduledAt) / 1000)
            if reordered { tally.reordered += 1 }
            gaps.acknowledged(at: time)
        case .repeated: tally.repeatedAnswers += 1
        case .doubled:
            tally.duplicated += 1
            gaps.acknowledged(at: time)
        case .unknownRequest: tally.unexpected += 1
        }
    }

    public mutating func refuse(side: Int, number: Int, code: String, retryAt: Int64?, _ tally: inout Tally) {
        senders[side].refuse(number, retryAt: retryAt)
        if retryAt != nil {
            tally.retryableErrors[code, default: 0] += 1
        } else {
            tally.failures[code, default: 0] += 1
        }
    }

    /// A message event at `receiver`. True if its client must fetch the changes after `receivers[receiver].complete`.
    public mutating func event(
        receiver: Int, seq: Int64, key: SendKey?, isIntact: Bool, at time: Int64, _ tally: inout Tally
    ) -> Bool {
        tally.events += 1
        let outcome = receivers[receiver].event(seq)
        if outcome.isDuplicate { tally.duplicated += 1 }
        if outcome.isOutOfOrder { tally.outOfOrder += 1 }
        if outcome.isAfterHole { tally.holes += 1 }
        if !outcome.isNew && !outcome.isDuplicate { tally.redelivered += 1 }
        note(receiver: receiver, seq: seq, key: key, isIntact: isIntact, isNew: outcome.isNew, at: time, &tally)
        return outcome.needsRepair
    }

    /// A message out of a page of changes, fetched to fill a hole or to catch up.
    public mutating func repaired(receiver: Int, _ message: StoredMessage, at time: Int64, _ tally: inout Tally) {
        let isNew = receivers[receiver].repair(message.seq)
        if isNew { tally.repaired += 1 }
        note(
            receiver: receiver, seq: message.seq, key: message.key, isIntact: message.isIntact, isNew: isNew, at: time, &tally)
    }

    private mutating func note(
        receiver: Int, seq: Int64, key: SendKey?, isIntact: Bool, isNew: Bool, at time: Int64, _ tally: inout Tally
    ) {
        guard let key, key.pair == pair, key.number < senders[key.side].count else {
            tally.unexpected += 1
            return
        }
        if !isIntact { tally.corrupted += 1 }
        if senders[key.side].see(key.number, seq: seq) { tally.duplicated += 1 }
        guard isNew else { return }
        senders[key.side][key.number].receivedBy |= 1 << UInt8(receiver)
        tally.deliveries += 1
        guard key.side != receiver else { return }
        tally.delivered += 1
        tally.deliveryLatency.record((time - senders[key.side][key.number].scheduledAt) / 1000)
    }

    /// Whether every acknowledged message is at both ends and every send is resolved.
    public var isSettled: Bool {
        senders.allSatisfy { log in
            log.sends.allSatisfy { !$0.isUnresolved && ($0.state != .acknowledged || $0.receivedBy == 3) }
        }
    }

    /// The greatest sequence number that either end knows of.
    public var greatestSeq: Int64 {
        let received = receivers.map(\.greatest).max() ?? 0
        return senders.reduce(received) { max($0, $1.sends.reduce(0) { max($0, $1.seq) }) }
    }

    /// Compares the books with what the server has stored: all pages of the conversation, ascending by `seq`.
    public mutating func compare(with stored: [StoredMessage], _ tally: inout Tally) {
        var found = [Set<Int>(), Set<Int>()]
        var expected: Int64 = 1
        for message in stored {
            if message.seq != expected { tally.notDense += 1 }
            expected = message.seq + 1
            guard let key = message.key, key.pair == pair, key.number < senders[key.side].count else {
                tally.unexpected += 1
                continue
            }
            if !message.isIntact { tally.corrupted += 1 }
            let isSecond = !found[key.side].insert(key.number).inserted
            let isElsewhere = senders[key.side].see(key.number, seq: message.seq)
            if isElsewhere || (isSecond && !senders[key.side][key.number].isDoubled) { tally.duplicated += 1 }
        }
        tally.stored += stored.count
        for side in 0..<2 { settle(side: side, found: found[side], &tally) }
    }

    private func settle(side: Int, found: Set<Int>, _ tally: inout Tally) {
        for (number, send) in senders[side].sends.enumerated() {
            let isStored = found.contains(number)
            if !isStored, send.state != .acknowledged, send.receivedBy != 0 { tally.phantoms += 1 }
            switch send.state {
            case .acknowledged:
                if !isStored { tally.lostFromHistory += 1 }
                if send.receivedBy != 3 { tally.neverDelivered += 1 }
            case .failed: if isStored { tally.failedButStored += 1 }
            case .queued, .inFlight, .pausing:
                if isStored {
                    tally.unknownStored += 1
                } else if send.attempts > 0 {
                    tally.unknownNotStored += 1
                } else {
                    tally.neverSent += 1
                }
            }
        }
    }
}

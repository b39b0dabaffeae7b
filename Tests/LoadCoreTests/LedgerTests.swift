import Testing

@testable import LoadCore

@Suite struct LedgerTests {
    private var ledger = ConversationLedger(pair: 4)
    private var tally = Tally()

    private static func key(_ side: Int, _ number: Int) -> SendKey { SendKey(pair: 4, side: side, number: number) }

    private static func stored(_ seq: Int64, _ side: Int, _ number: Int, isIntact: Bool = true) -> StoredMessage {
        StoredMessage(seq: seq, changeSeq: seq, key: key(side, number), isIntact: isIntact)
    }

    /// Sends and acknowledges, as number `seq`.
    private mutating func send(_ side: Int, seq: Int64, at time: Int64 = 0) -> Int {
        let number = ledger.senders[side].schedule(at: time)
        ledger.senders[side].wrote(number, at: time)
        ledger.acknowledge(side: side, number: number, seq: seq, at: time + 2_000_000, &tally)
        return number
    }

    private mutating func deliver(_ receiver: Int, seq: Int64, _ side: Int, _ number: Int, at time: Int64 = 5_000_000) -> Bool {
        ledger.event(
            receiver: receiver, seq: seq, key: Self.key(side, number), isIntact: true, at: time, &tally)
    }

    private mutating func deliverToBoth(seq: Int64, _ side: Int, _ number: Int) {
        _ = deliver(0, seq: seq, side, number)
        _ = deliver(1, seq: seq, side, number)
    }

    @Test mutating func aPerfectRunIsClean() {
        let first = send(0, seq: 1)
        let second = send(1, seq: 2)
        deliverToBoth(seq: 1, 0, first)
        deliverToBoth(seq: 2, 1, second)
        #expect(ledger.isSettled)
        ledger.compare(with: [Self.stored(1, 0, first), Self.stored(2, 1, second)], &tally)
        #expect(tally.isClean)
        #expect(tally.acknowledged == 2)
        #expect(tally.deliveries == 4)
        #expect(tally.delivered == 2)
        #expect(tally.stored == 2)
        #expect(tally.ackLatency.max == 2000)
        #expect(tally.deliveryLatency.max == 5000)
    }

    @Test mutating func anAcknowledgedMessageMissingFromHistoryIsLost() {
        let number = send(0, seq: 1)
        deliverToBoth(seq: 1, 0, number)
        ledger.compare(with: [], &tally)
        #expect(tally.lostFromHistory == 1)
        #expect(!tally.isClean)
    }

    @Test mutating func anAcknowledgedMessageThatAReceiverNeverGotIsLost() {
        let number = send(0, seq: 1)
        _ = deliver(0, seq: 1, 0, number)
        #expect(!ledger.isSettled)
        ledger.compare(with: [Self.stored(1, 0, number)], &tally)
        #expect(tally.neverDelivered == 1)
        #expect(tally.lost == 1)
        #expect(!tally.isClean)
    }

    @Test mutating func storedTwiceIsDoubledHoweverItIsFound() {
        let number = send(0, seq: 1)
        deliverToBoth(seq: 1, 0, number)
        deliverToBoth(seq: 2, 0, number)
        ledger.compare(with: [Self.stored(1, 0, number), Self.stored(2, 0, number)], &tally)
        #expect(tally.duplicated == 1)
        #expect(!tally.isClean)
    }

    @Test mutating func twiceInHistoryAloneIsDoubled() {
        let number = send(0, seq: 1)
        deliverToBoth(seq: 1, 0, number)
        ledger.compare(with: [Self.stored(1, 0, number), Self.stored(2, 0, number)], &tally)
        #expect(tally.duplicated == 1)
    }

    @Test mutating func twoAnswersWithDifferentNumbersAreDoubled() {
        let number = send(0, seq: 1)
        ledger.acknowledge(side: 0, number: number, seq: 9, at: 1, &tally)
        #expect(tally.duplicated == 1)
        ledger.acknowledge(side: 0, number: number, seq: 1, at: 1, &tally)
        #expect(tally.repeatedAnswers == 1)
        #expect(tally.acknowledged == 1)
    }

    @Test mutating func theSameEventTwiceInASessionIsDoubledInTwoSessionsIsNot() {
        let number = send(0, seq: 1)
        _ = deliver(1, seq: 1, 0, number)
        ledger.sessionLost(side: 1)
        _ = deliver(1, seq: 1, 0, number)
        #expect(tally.duplicated == 0)
        #expect(tally.redelivered == 1)
        _ = deliver(1, seq: 1, 0, number)
        #expect(tally.duplicated == 1)
        #expect(tally.delivered == 1)
    }

    @Test mutating func aHoleIsRepairedAndALateEventIsOutOfOrder() {
        let numbers = [send(0, seq: 1), send(0, seq: 2), send(0, seq: 3)]
        #expect(!deliver(1, seq: 1, 0, numbers[0]))
        #expect(deliver(1, seq: 3, 0, numbers[2]))
        #expect(tally.holes == 1)
        #expect(ledger.receivers[1].complete == 1)
        ledger.repaired(receiver: 1, Self.stored(2, 0, numbers[1]), at: 9, &tally)
        #expect(ledger.receivers[1].complete == 3)
        #expect(tally.repaired == 1)
        #expect(tally.isClean)
        _ = deliver(1, seq: 2, 0, numbers[1])
        #expect(tally.outOfOrder == 1)
        #expect(tally.duplicated == 0)
    }

    @Test mutating func anUnansweredSendIsNoLossButAnUnstoredDeliveredOneIsAPhantom() {
        let number = ledger.senders[0].schedule(at: 0)
        ledger.senders[0].wrote(number, at: 0)
        let never = ledger.senders[0].schedule(at: 0)
        #expect(never == 1)
        ledger.compare(with: [], &tally)
        #expect(tally.unknownNotStored == 1)
        #expect(tally.neverSent == 1)
        #expect(tally.isClean)
        _ = deliver(1, seq: 1, 0, number)
        var again = Tally()
        ledger.compare(with: [], &again)
        #expect(again.phantoms == 1)
        #expect(!again.isClean)
    }

    @Test mutating func anUnansweredSendFoundInHistoryIsKnownAsStored() {
        let number = ledger.senders[0].schedule(at: 0)
        ledger.senders[0].wrote(number, at: 0)
        ledger.compare(with: [Self.stored(1, 0, number)], &tally)
        #expect(tally.unknownStored == 1)
        #expect(tally.isClean)
    }

    @Test mutating func holesInHistoryAndGarbledTextsAreFound() {
        let first = send(0, seq: 1)
        let second = send(0, seq: 3)
        deliverToBoth(seq: 1, 0, first)
        _ = deliver(0, seq: 3, 0, second)
        _ = deliver(1, seq: 3, 0, second)
        ledger.compare(with: [Self.stored(1, 0, first, isIntact: false), Self.stored(3, 0, second)], &tally)
        #expect(tally.notDense == 1)
        #expect(tally.corrupted == 1)
        #expect(!tally.isClean)
    }

    @Test mutating func refusalsAreCountedByCode() {
        let number = ledger.senders[0].schedule(at: 0)
        ledger.senders[0].wrote(number, at: 0)
        ledger.refuse(side: 0, number: number, code: "unavailable", retryAt: 50, &tally)
        #expect(ledger.senders[0].due(at: 49, limit: 9) == [])
        #expect(ledger.senders[0].due(at: 50, limit: 9) == [number])
        ledger.senders[0].wrote(number, at: 50)
        ledger.refuse(side: 0, number: number, code: "blocked", retryAt: nil, &tally)
        #expect(tally.retryableErrors == ["unavailable": 1])
        #expect(tally.failures == ["blocked": 1])
        #expect(!ledger.senders[0].hasUnresolved)
    }

    @Test mutating func foreignMessagesAreNoted() {
        _ = ledger.event(receiver: 0, seq: 1, key: nil, isIntact: false, at: 0, &tally)
        _ = ledger.event(receiver: 0, seq: 2, key: Self.key(0, 7), isIntact: true, at: 0, &tally)
        #expect(tally.unexpected == 2)
    }
}

@Suite struct SenderLogTests {
    @Test func aBrokenSessionPutsUnansweredSendsBackInOrder() {
        var log = SenderLog()
        for time in 0..<4 { _ = log.schedule(at: Int64(time)) }
        for number in 0..<3 { log.wrote(number, at: 10) }
        #expect(log.acknowledge(1, seq: 1) == .acknowledged(scheduledAt: 1, reordered: false))
        #expect(log.inFlight == 2)
        log.disconnect()
        #expect(log.inFlight == 0)
        #expect(log.due(at: 0, limit: 10) == [0, 2, 3])
        #expect(log.due(at: 0, limit: 2) == [0, 2])
        log.wrote(0, at: 20)
        #expect(log[0].attempts == 2)
        #expect(log.waitingSince == 20)
    }

    @Test func twoFirstTriesOfASessionStoredTheOtherWayRoundAreNoticed() {
        var log = SenderLog()
        for _ in 0..<3 { _ = log.schedule(at: 0) }
        for number in 0..<3 { log.wrote(number, at: 0) }
        #expect(log.acknowledge(0, seq: 5) == .acknowledged(scheduledAt: 0, reordered: false))
        #expect(log.acknowledge(2, seq: 6) == .acknowledged(scheduledAt: 0, reordered: false))
        #expect(log.acknowledge(1, seq: 7) == .acknowledged(scheduledAt: 0, reordered: true))
    }

    @Test func answersThatPassEachOtherAreNotReordered() {
        var log = SenderLog()
        for _ in 0..<2 { _ = log.schedule(at: 0) }
        for number in 0..<2 { log.wrote(number, at: 0) }
        #expect(log.acknowledge(1, seq: 6) == .acknowledged(scheduledAt: 0, reordered: false))
        #expect(log.acknowledge(0, seq: 5) == .acknowledged(scheduledAt: 0, reordered: false))
    }

    @Test func aRetriedSendMayBeOvertaken() {
        var log = SenderLog()
        for _ in 0..<2 { _ = log.schedule(at: 0) }
        log.wrote(0, at: 0)
        log.refuse(0, retryAt: 5)
        log.wrote(1, at: 1)
        #expect(log.acknowledge(1, seq: 1) == .acknowledged(scheduledAt: 0, reordered: false))
        log.wrote(0, at: 5)
        #expect(log.acknowledge(0, seq: 2) == .acknowledged(scheduledAt: 0, reordered: false))
    }

    @Test func anAnswerToNothingIsUnknown() {
        var log = SenderLog()
        #expect(log.acknowledge(0, seq: 1) == .unknownRequest)
    }
}

@Suite struct ReceiverTrackTests {
    @Test func aSessionMayBeginAnywhere() {
        var track = ReceiverTrack()
        let outcome = track.event(7)
        #expect(outcome.isNew)
        #expect(outcome.needsRepair)
        #expect(!outcome.isAfterHole)
        #expect(track.missing(upTo: 8) == [1, 2, 3, 4, 5, 6, 8])
        for seq in 1...6 {
            let isNew = track.repair(Int64(seq))
            #expect(isNew)
        }
        #expect(track.complete == 7)
        #expect(track.greatest == 7)
        #expect(track.missing(upTo: 7) == [])
    }

    @Test func nonsenseIsRefused() {
        var track = ReceiverTrack()
        for seq in [Int64(0), -1, 1 << 40, .max] {
            let outcome = track.event(seq)
            #expect(outcome.isOutOfOrder)
        }
        let repaired = track.repair(0)
        #expect(!repaired)
        #expect(track.greatest == 0)
    }

    @Test func beforeTheFirstOfTheSessionIsOutOfOrderNotDouble() {
        var track = ReceiverTrack()
        _ = track.event(5)
        let outcome = track.event(4)
        #expect(outcome.isOutOfOrder)
        #expect(!outcome.isDuplicate)
    }
}

@Suite struct AckGapTests {
    @Test func theLongestCountsFromBeginToEnd() {
        var gaps = AckGaps()
        gaps.acknowledged(at: 5)
        #expect(gaps.longest == 0)
        gaps.begin(at: 100)
        gaps.acknowledged(at: 140)
        gaps.acknowledged(at: 150)
        gaps.acknowledged(at: 149)
        #expect(gaps.longest == 40)
        gaps.end(at: 300)
        #expect(gaps.longest == 150)
        #expect(gaps.longestFrom == 150)
        gaps.acknowledged(at: 9999)
        #expect(gaps.longest == 150)
    }

    @Test func spread() {
        let spread = GapSpread((1...10).map { Int64($0) * 1_000_000_000 })
        #expect(spread.median == 5)
        #expect(spread.p90 == 9)
        #expect(spread.worst == 10)
        #expect(GapSpread([]).worst == 0)
    }
}

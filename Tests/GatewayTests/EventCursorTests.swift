import ActorRuntime
import EventLoop
import RoostModel
import Testing

@testable import Gateway

@Suite struct EventCursorTests {
    private let conversation = ConversationID.make()

    private func event(_ seq: Int64) -> Delivery {
        Delivery(FanoutEvent(kind: .message, conversationID: conversation, seq: Seq(seq), recipients: [], payload: []))
    }

    @Test func theFirstEventBeginsTheCountAndTheNextFollow() {
        var cursor = EventCursor()
        #expect(cursor.judge(event(7), heldLimit: 4) == .send)
        #expect(cursor.judge(event(8), heldLimit: 4) == .send)
        #expect(cursor.judge(event(8), heldLimit: 4) == .skip)
        #expect(cursor.judge(event(3), heldLimit: 4) == .skip)
    }

    @Test func aHoleHoldsBackWhatComesAfterItUntilItIsFilled() {
        var cursor = EventCursor()
        _ = cursor.judge(event(1), heldLimit: 8)
        #expect(cursor.judge(event(4), heldLimit: 8) == .hold)
        #expect(cursor.judge(event(5), heldLimit: 8) == .hold)
        let (events, isWhole) = cursor.filled(conversation, upTo: Seq(4))
        #expect(events.map(\.seq) == [Seq(5)] && isWhole)
        #expect(cursor.judge(event(6), heldLimit: 8) == .send)
    }

    @Test func lateEventsInAHoleAreNotSentTwice() {
        var cursor = EventCursor()
        _ = cursor.judge(event(1), heldLimit: 8)
        _ = cursor.judge(event(4), heldLimit: 8)
        // The missing ones arrive late, by the other way.
        _ = cursor.judge(event(2), heldLimit: 8)
        _ = cursor.judge(event(3), heldLimit: 8)
        let (events, isWhole) = cursor.filled(conversation, upTo: Seq(4))
        #expect(events.isEmpty && isWhole)
        #expect(cursor.judge(event(5), heldLimit: 8) == .send)
    }

    @Test func aSecondHoleBehindTheFirstIsNoticed() {
        var cursor = EventCursor()
        _ = cursor.judge(event(1), heldLimit: 8)
        _ = cursor.judge(event(3), heldLimit: 8)
        _ = cursor.judge(event(9), heldLimit: 8)
        let (events, isWhole) = cursor.filled(conversation, upTo: Seq(4))
        #expect(events.isEmpty && !isWhole)
        #expect(cursor.last(of: conversation) == Seq(4))
        let (rest, isWholeNow) = cursor.filled(conversation, upTo: Seq(8))
        #expect(rest.map(\.seq) == [Seq(9)] && isWholeNow)
    }

    @Test func tooManyHeldEventsAskForASync() {
        var cursor = EventCursor()
        _ = cursor.judge(event(1), heldLimit: 2)
        #expect(cursor.judge(event(3), heldLimit: 2) == .hold)
        #expect(cursor.judge(event(4), heldLimit: 2) == .hold)
        #expect(cursor.judge(event(5), heldLimit: 2) == .overflow)
        cursor.reset()
        #expect(cursor.judge(event(6), heldLimit: 2) == .send)
    }
}

@Suite struct TokenBucketTests {
    @Test func aBurstIsTakenAndThenTheRateHolds() {
        let rate = TokenBucket.Rate(perSecond: 10, burst: 3)
        let start = MonotonicTime(nanoseconds: 0)
        var bucket = TokenBucket(rate, at: start)
        #expect((0..<4).map { _ in bucket.take(rate, at: start) } == [true, true, true, false])
        let refilled = bucket.take(rate, at: start + .milliseconds(100))
        let tooSoon = bucket.take(rate, at: start + .milliseconds(150))
        #expect(refilled && !tooSoon)
        #expect((0..<4).map { _ in bucket.take(rate, at: start + .seconds(60)) } == [true, true, true, false])
    }
}

@Suite struct CatchUpTests {
    private func page(_ changeSeqs: [Int64], upTo: Int64) -> ChangesPage {
        let items = changeSeqs.map { seq in
            ReadMessage(
                message: Message(
                    conversationID: ConversationID(high: 1, low: 1), seq: Seq(seq), changeSeq: Seq(seq), clientID: "c",
                    senderID: UserID(high: 1, low: 1), kind: .text, text: "x", createdAt: Timestamp(milliseconds: 0)),
                delivery: nil)
        }
        return ChangesPage(items: items, upToSeq: Seq(upTo), hasMore: false)
    }

    @Test(arguments: [([6, 7, 8], 8), ([7], 9), ([], 8), ([8], 8), ([6], 12)] as [([Int64], Int64)])
    func everyValueIsToldOnce(_ changeSeqs: [Int64], _ upTo: Int64) {
        let values = page(changeSeqs, upTo: upTo).values(after: Seq(5))
        #expect(values.map(\.seq.value) == Array(6...upTo))
        #expect(values.filter { $0.message != nil }.map(\.seq.value) == changeSeqs)
        #expect(values.allSatisfy { $0.message.map { $0.message.changeSeq } ?? $0.seq == $0.seq })
    }
}

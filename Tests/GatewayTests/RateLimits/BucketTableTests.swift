import EventLoop
import Testing

@testable import Gateway

@Suite struct BucketTableTests {
    private let rate = TokenBucket.Rate(perSecond: 0.25, burst: 2)
    private let noon = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private func key(_ number: UInt64) -> BucketTable.Key { BucketTable.Key(high: 0, low: number) }

    @Test func whatIsRefusedIsAllowedAfterTheTimeThatWasTold() {
        var table = BucketTable(rate, capacity: 10)
        #expect(table.take(key(1), at: noon) == .allowed)
        #expect(table.take(key(1), at: noon) == .allowed)
        #expect(table.take(key(1), at: noon) == .refused(retryAfterSeconds: 4))
        #expect(table.take(key(1), at: noon + .milliseconds(1_500)) == .refused(retryAfterSeconds: 3))
        #expect(table.take(key(2), at: noon + .milliseconds(1_500)) == .allowed)
        #expect(table.take(key(1), at: noon + .milliseconds(3_999)) == .refused(retryAfterSeconds: 1))
        #expect(table.take(key(1), at: noon + .seconds(4)) == .allowed)
        #expect(table.take(key(1), at: noon + .seconds(4)) == .refused(retryAfterSeconds: 4))
        // Never more than the burst.
        for _ in 0..<2 { #expect(table.take(key(1), at: noon + .seconds(4_000)) == .allowed) }
        #expect(table.take(key(1), at: noon + .seconds(4_000)) == .refused(retryAfterSeconds: 4))
    }

    @Test func aClockOfAnotherThreadMayBeBehind() {
        var table = BucketTable(rate, capacity: 10)
        for _ in 0..<2 { _ = table.take(key(1), at: noon) }
        #expect(table.take(key(1), at: noon + .seconds(-8)) == .refused(retryAfterSeconds: 4))
        #expect(table.take(key(1), at: noon) == .refused(retryAfterSeconds: 4))
    }

    @Test func noneComesBackWithoutARate() {
        var table = BucketTable(TokenBucket.Rate(perSecond: 0, burst: 1), capacity: 1)
        #expect(table.take(key(1), at: noon) == .allowed)
        #expect(table.take(key(1), at: noon + .seconds(1_000_000)) == .refused(retryAfterSeconds: TokenBucket.longestWait))
    }

    @Test func theIdlestMakesRoom() {
        var table = BucketTable(rate, capacity: 3)
        for number in 1...3 { for _ in 0..<2 { _ = table.take(key(UInt64(number)), at: noon) } }
        // A refusal is use too: whoever knocks is not forgotten.
        #expect(table.take(key(1), at: noon) == .refused(retryAfterSeconds: 4))
        #expect(table.take(key(4), at: noon) == .allowed)
        #expect(table.count == 3 && table.dropped == 1)
        #expect(table.take(key(1), at: noon) == .refused(retryAfterSeconds: 4))
        #expect(table.take(key(3), at: noon) == .refused(retryAfterSeconds: 4))
        #expect(table.take(key(2), at: noon) == .allowed, "the idlest was to be forgotten")
        #expect(table.take(key(4), at: noon) == .allowed, "forgotten in its turn: new again")
    }

    /// Against the plain way: a list in the order of use.
    @Test(arguments: 1...8) func orderOfUse(_ seed: UInt64) {
        var random = Generator(state: seed)
        var table = BucketTable(TokenBucket.Rate(perSecond: 0, burst: 1), capacity: 8)
        var list: [UInt64] = []
        for step in 0..<5_000 {
            let number = random.next() % 12
            let verdict = table.take(key(number), at: noon)
            let isKnown = list.contains(number)
            #expect((verdict == .allowed) == !isKnown, "seed \(seed), step \(step)")
            list.removeAll { $0 == number }
            list.append(number)
            if list.count > 8 { list.removeFirst() }
            #expect(table.count == list.count)
        }
    }

    /// SplitMix64.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}

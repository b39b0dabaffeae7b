import Testing

@testable import LoadCore

@Suite struct HistogramTests {
    @Test func everyValueIsWithinAThousandthOfItsBucket() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<20_000 {
            let value = Int64(random.next() % UInt64(1 << (1 + random.next() % 36)))
            let last = LatencyHistogram.last(of: LatencyHistogram.index(of: value))
            #expect(last >= value)
            #expect(Double(last - value) <= Double(value) / 1000)
        }
    }

    @Test func bucketsFollowEachOtherWithoutGap() {
        for index in 0..<6000 {
            #expect(LatencyHistogram.index(of: LatencyHistogram.last(of: index)) == index)
            #expect(LatencyHistogram.index(of: LatencyHistogram.last(of: index) + 1) == index + 1)
        }
        #expect(LatencyHistogram.last(of: LatencyHistogram.index(of: LatencyHistogram.highest)) == LatencyHistogram.highest)
    }

    @Test func percentilesOfAKnownSpread() {
        var histogram = LatencyHistogram()
        for value in 1...1000 { histogram.record(Int64(value)) }
        #expect(histogram.value(at: 0.5) == 500)
        #expect(histogram.value(at: 0.99) == 990)
        #expect(histogram.value(at: 1) == 1000)
        #expect(histogram.value(at: 0) == 1)
        #expect(histogram.min == 1)
        #expect(histogram.max == 1000)
        #expect(histogram.mean == 500.5)
        #expect(histogram.count(upTo: 250) == 250)
    }

    @Test func anEmptyOneSaysZero() {
        let histogram = LatencyHistogram()
        #expect(histogram.value(at: 0.5) == 0)
        #expect(histogram.max == 0)
        #expect(histogram.min == 0)
        #expect(histogram.mean == 0)
    }

    @Test func theMaximumIsExactAndExtremesAreKept() {
        var histogram = LatencyHistogram()
        histogram.record(1_234_567)
        #expect(histogram.value(at: 0.99) == 1_234_567)
        histogram.record(-5)
        #expect(histogram.min == 0)
        histogram.record(.max)
        #expect(histogram.max == LatencyHistogram.highest)
    }

    @Test func mergingIsRecordingAllInOne() {
        var random = SeededRandom(seed: 3)
        var (one, two, both) = (LatencyHistogram(), LatencyHistogram(), LatencyHistogram())
        for index in 0..<5000 {
            let value = Int64(random.next() % 5_000_000)
            if index % 3 == 0 { one.record(value) } else { two.record(value) }
            both.record(value)
        }
        one.merge(two)
        #expect(one == both)
        one.merge(LatencyHistogram())
        #expect(one == both)
        var empty = LatencyHistogram()
        empty.merge(both)
        #expect(empty == both)
    }

    @Test func durationsCountInMicroseconds() {
        var histogram = LatencyHistogram()
        histogram.record(Duration.milliseconds(1500))
        #expect(histogram.max == 1_500_000)
    }
}

import Testing

@testable import LoadCore

@Suite struct BenchTableTests {
    private func report(acknowledged: Int, pacing: LoadOptions.Pacing) -> RunReport {
        var report = RunReport()
        report.nodes = ["node1", "node2"]
        report.pacing = pacing
        report.measuredSeconds = 10
        report.acknowledgedThen = acknowledged
        report.deliveriesThen = acknowledged * 2
        report.cpu = [.init(name: "node1", seconds: 1), .init(name: "node2", seconds: 2), .init(name: "postgres", seconds: 0.5)]
        return report
    }

    @Test func halfLoadIsHalfOfWhatWasMeasured() {
        var table = BenchTable(machine: "m", seconds: 10, repetitions: 2)
        #expect(table.halfRate == 10)
        table.add(.many, report(acknowledged: 40_000, pacing: .inFlight(256)))
        #expect(table.halfRate == 2000)
        table.add(.many, report(acknowledged: 20_000, pacing: .inFlight(256)))
        #expect(table.halfRate == 1500)
        #expect(BenchTable.Kind.half.pacing(half: table.halfRate, isShort: false) == .rate(1500))
        #expect(BenchTable.Kind.thousand.pacing(half: 5, isShort: false) == .rate(1000))
    }

    @Test func theTableHasEveryFigureOnceWithItsSpread() {
        var table = BenchTable(machine: "m", seconds: 10, repetitions: 2)
        table.floors = [Figure(name: "plain", unit: "rows/s", values: [5])]
        for count in [40_000, 20_000] { table.add(.many, report(acknowledged: count, pacing: .inFlight(256))) }
        let lines = table.markdown.split(separator: "\n").map(String.init)
        #expect(lines.contains("| durable sends, many conversations, 256 in flight | 3,000 | 2,000…4,000 | /s |"))
        #expect(lines.contains("| deliveries, many conversations, 256 in flight | 6,000 | 4,000…8,000 | /s |"))
        // 3 s of both nodes over 40,000 and over 20,000 messages.
        #expect(lines.contains("| CPU per message, roostd × 2, many conversations, 256 in flight | 113 | 75.0…150 | µs |"))
        #expect(lines.contains("| plain | 5.00 |  | rows/s |"))
        #expect(lines.last == "Nothing lost, doubled or out of order in any run.")
    }

    @Test func aRunThatIsNotCleanIsNamed() {
        var table = BenchTable(machine: "m", seconds: 10, repetitions: 1)
        var bad = report(acknowledged: 1, pacing: .rate(1000))
        bad.tally.duplicated = 1
        bad.run = "r7"
        table.add(.thousand, bad)
        #expect(table.markdown.contains("NOT CLEAN: many conversations at 1,000 sends/s (run r7)."))
    }
}

import Testing

@testable import LoadCore

@Suite struct OptionTests {
    private func options(_ line: String) -> LoadOptions? {
        if case .run(let options) = LoadOptions.parse(line.split(separator: " ").map(String.init)) { return options }
        return nil
    }

    private func faults(_ line: String) -> [String] {
        if case .wrong(let faults) = LoadOptions.parse(line.split(separator: " ").map(String.init)) { return faults }
        return []
    }

    @Test func aFullLine() {
        let parsed = options(
            "pairs --clients 201 --rate 1000 --seconds 20 --nodes http://a,http://b --json out --text-bytes 100 --seed 9 "
                + "--check history")
        #expect(parsed?.clients == 202)
        #expect(parsed?.pacing == .rate(1000))
        #expect(parsed?.seconds == 20)
        #expect(parsed?.nodes == ["http://a", "http://b"])
        #expect(parsed?.jsonFile == "out")
        #expect(parsed?.textBytes == 100)
        #expect(parsed?.seed == 9)
        #expect(parsed?.check == .history)
    }

    @Test func theClosedLoop() {
        #expect(options("pairs --cluster f --closed")?.pacing == .inFlight(200))
        #expect(options("pairs --cluster f --in-flight 64")?.pacing == .inFlight(64))
        #expect(options("single --cluster f")?.pacing == .inFlight(1))
        #expect(options("single --cluster f --rate 10")?.pacing == .rate(10))
        #expect(!faults("pairs --cluster f --closed --rate 5").isEmpty)
    }

    @Test func everyFaultIsNamedAtOnce() {
        let faults = faults("pairs --clients x --rate -1 --bogus --check some --seconds")
        #expect(faults.count == 6)
        for word in ["--clients", "--rate", "--bogus", "--check", "--seconds", "--nodes"] {
            #expect(faults.contains { $0.contains(word) }, "\(word)")
        }
    }

    @Test func helpAndNonsense() {
        #expect(LoadOptions.parse([]) == .help)
        #expect(LoadOptions.parse(["pairs", "--help"]) == .help)
        #expect(!faults("dance --nodes http://a").isEmpty)
        #expect(!faults("pairs --nodes https://a").isEmpty)
        #expect(!faults("bench --nodes http://a").isEmpty)
        #expect(!faults("single --clients 4 --nodes http://a").isEmpty)
    }
}

@Suite struct ScheduleTests {
    @Test func theScheduleDoesNotSlipWhenTheClientIsLate() {
        var schedule = SendSchedule(start: 1000, rate: 1000, end: 1000 + 10_000_000)
        #expect(schedule.take(at: 999) == nil)
        #expect(schedule.take(at: 1000) == .init(index: 0, time: 1000))
        #expect(schedule.take(at: 1000) == nil)
        var times: [Int64] = []
        while let due = schedule.take(at: .max) { times.append(due.time) }
        #expect(times == (1...9).map { 1000 + Int64($0) * 1_000_000 })
        #expect(schedule.next == nil)
    }

    @Test func stoppingEndsIt() {
        var schedule = SendSchedule(start: 0, rate: 10, end: .max)
        _ = schedule.take(at: 0)
        schedule.stop(at: 50)
        #expect(schedule.next == nil)
    }

    @Test func theRotationVisitsAllBeforeAnyAgain() {
        var rotation = Rotation(count: 10, seed: 4)
        let first = (0..<10).map { _ in rotation.next() }
        let second = (0..<10).map { _ in rotation.next() }
        #expect(first.sorted() == Array(0..<10))
        #expect(first == second)
        #expect(first != Array(0..<10))
    }

    @Test func theBackoffGrowsWithinItsBounds() {
        var backoff = Backoff(first: .milliseconds(100), longest: .seconds(2))
        var random = SeededRandom(seed: 1)
        for attempt in 0..<20 {
            let full = min(Duration.seconds(2), .milliseconds(100) * (1 << min(attempt, 10)))
            let pause = backoff.next(using: &random)
            #expect(pause <= full && pause >= full * 0.25)
        }
        backoff.reset()
        #expect(backoff.next(using: &random) <= .milliseconds(100))
    }
}

@Suite struct ReportTests {
    @Test func jsonIsEscapedAndRounded() {
        let json = JSONText.object([
            ("a\"b", .string("x\n\u{1}\\")), ("n", .double(1.23456)), ("w", .double(3)),
            ("e", .array([.null, .bool(true), .int(-2)])),
            ("i", .double(.infinity)),
        ])
        #expect(json.text == #"{"a\"b":"x\n\u0001\\","n":1.235,"w":3,"e":[null,true,-2],"i":null}"#)
    }

    @Test func figures() {
        #expect(Figures.short(12345.6) == "12,346")
        #expect(Figures.short(12.34) == "12.3")
        #expect(Figures.short(1.005) == "1.00" || Figures.short(1.005) == "1.01")
        #expect(Figures.short(0.05) == "0.05")
        #expect(Figures.grouped(1_234_567) == "1,234,567")
        #expect(Figures.grouped(-1234) == "-1,234")
        #expect(Figures.grouped(999) == "999")
    }

    @Test func aReportSaysWhetherItIsClean() {
        var report = RunReport()
        report.measuredSeconds = 10
        report.acknowledgedThen = 1000
        report.cpu = [.init(name: "node1", seconds: 0.5)]
        #expect(report.json.text.contains("\"clean\":true"))
        #expect(report.json.text.contains("\"microsecondsPerMessage\":500"))
        #expect(report.json.text.contains("\"acknowledgedPerSecond\":100"))
        #expect(report.summary.hasSuffix("  clean\n"))
        report.tally.corrupted = 1
        #expect(report.json.text.contains("\"clean\":false"))
        #expect(report.summary.hasSuffix("NOT CLEAN\n"))
    }

    @Test func onlyGapsOfOverASecondCountAsAffected() {
        var report = RunReport()
        report.gaps = [Int64(200), 2_000, 5_000].map { milliseconds in
            var gaps = AckGaps()
            gaps.begin(at: 0)
            gaps.end(at: milliseconds * 1_000_000)
            return gaps
        }
        #expect(report.allGaps.count == 3)
        #expect(report.affectedGaps.count == 2)
        #expect(report.affectedGaps.worst == 5)
    }
}

@Suite struct ProcessTableTests {
    @Test func aNameWithBlanksAndParentheses() {
        let stat = ProcessStat("42 (a (b) c) S 7 1 1 0 -1 4194560 1 2 3 4 50 25 10 5 20 0 9 0 12345 1000000 777 1844674407")
        #expect(stat == ProcessStat(pid: 42, parent: 7, ticks: 75, endedChildrenTicks: 15, residentPages: 777))
        #expect(ProcessStat("nonsense") == nil)
        #expect(ProcessStat("1 (x) S 1 2") == nil)
    }

    @Test func aTreeCountsAllBelowIt() {
        let table = ProcessTable([
            ProcessStat(pid: 1, parent: 0, ticks: 1, endedChildrenTicks: 1000, residentPages: 1),
            ProcessStat(pid: 10, parent: 1, ticks: 5, endedChildrenTicks: 2, residentPages: 3),
            ProcessStat(pid: 11, parent: 10, ticks: 7, endedChildrenTicks: 0, residentPages: 1),
            ProcessStat(pid: 12, parent: 11, ticks: 9, endedChildrenTicks: 0, residentPages: 1),
        ])
        #expect(table.ticks(ofTree: 10) == 23)
        #expect(table.residentPages(of: 10) == 3)
        #expect(table.ticks(ofTree: 99) == nil)
    }
}

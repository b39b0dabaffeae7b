import Runtime
import TestSupport
import Testing

@Suite struct LoggerTests {
    private let lines = Locked<[String]>([])

    private func logger(_ format: LogFormat, level: LogLevel = .debug) -> Logger {
        Logger(
            label: "bus", level: level, format: format, output: LogOutput { [lines] line in lines.withLock { $0.append(line) } }
        ) {
            1_709_164_799_999
        }
    }

    private var written: [String] { lines.withLock { $0 } }

    @Test func textIsForPeople() {
        logger(.text).info("lease renewed", [.node: "n1", .epoch: 7, .error: String?.none as Any, .reason: "a \"b\" c"])
        #expect(
            written == [
                "2024-02-28T23:59:59.999Z info    bus: lease renewed node=n1 epoch=7 error=nil reason=\"a \\\"b\\\" c\"\n"
            ])
    }

    @Test func jsonIsForMachines() {
        let negative: Int64 = -5
        logger(.json).with([.node: "n1"]).labelled("edge").warning(
            "slow",
            [.count: 3, .bytes: negative, .duration: 0.5, .status: true, .reason: "\"\\\u{1}", .error: Int?.some(4) as Any])
        let expected =
            #"{"time":"2024-02-28T23:59:59.999Z","level":"warning","label":"edge","message":"slow","node":"n1","count":3,"#
            + #""bytes":-5,"duration":0.5,"status":true,"reason":"\"\\\u0001","error":4}"# + "\n"
        #expect(written == [expected])
    }

    @Test(arguments: LogFormat.allCases) func oneEntryIsAlwaysOneLine(_ format: LogFormat) {
        let evil = "a\nb\rc\u{1B}[2Jd\u{2028}e\u{85}f\u{202E}g\u{0}"
        logger(format).with([.user: evil]).error("refused", [.reason: evil])
        let line = written[0].dropLast()
        #expect(written[0].hasSuffix("\n"))
        #expect(!line.unicodeScalars.contains { $0.value < 0x20 || ["\u{2028}", "\u{85}", "\u{202E}"].contains($0) })
        #expect(line.contains("a") && line.contains("g"))
    }

    @Test(arguments: LogFormat.allCases) func longValuesAreClipped(_ format: LogFormat) {
        logger(format).info("long", [.reason: String(repeating: "é", count: 100_000)])
        #expect(written[0].utf8.count < 1_300)
        #expect(written[0].contains("…"))
    }

    @Test func whatIsOffIsNotEvaluated() {
        let logger = logger(.text, level: .warning)
        var evaluated = 0
        func field() -> Int {
            evaluated += 1
            return evaluated
        }
        logger.debug("a", [.count: field()])
        logger.info("b", [.count: field()])
        #expect(evaluated == 0)
        logger.error("c", [.count: field()])
        #expect(evaluated == 1)
        #expect(written.count == 1)
    }

    @Test func linesOfManyThreadsDoNotMix() async {
        let logger = logger(.text)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 { group.addTask { for _ in 0..<200 { logger.info("line", [.count: number]) } } }
        }
        #expect(written.count == 1_600)
        #expect(written.allSatisfy { $0.hasPrefix("2024-") && $0.contains("bus: line count=") && $0.hasSuffix("\n") })
    }

    @Test func datesAreRight() {
        for (milliseconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"), (4_107_542_400_001, "2100-03-01T00:00:00.001Z"),
        ] as [(Int64, String)] {
            let lines = Locked<[String]>([])
            Logger(label: "x", output: LogOutput { line in lines.withLock { $0.append(line) } }, now: { milliseconds }).info("m")
            #expect(lines.withLock { $0[0] }.hasPrefix(text))
        }
    }
}

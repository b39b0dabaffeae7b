/// What one run showed: everything the JSON report and the summary say.
public struct RunReport: Sendable {
    /// Processor time of one process and all below it, over the measured time.
    public struct CPU: Sendable, Equatable {
        public let name: String
        public let seconds: Double

        public init(name: String, seconds: Double) {
            self.name = name
            self.seconds = seconds
        }
    }

    public var command = ""
    public var run = ""
    public var clients = 0
    public var conversations = 0
    public var nodes: [String] = []
    public var pacing = LoadOptions.Pacing.rate(0)
    public var textBytes = 0
    /// The time in which rates, latencies and CPU were measured.
    public var measuredSeconds: Double = 0
    /// In the measured time.
    public var acknowledgedThen = 0
    public var deliveriesThen = 0
    public var tally = Tally()
    /// Nanoseconds: the longest time of each conversation without an acknowledged send.
    public var gaps: [AckGaps] = []
    /// When the load began, on the clock of the gaps.
    public var startedAt: Int64 = 0
    public var cpu: [CPU] = []
    /// Busy processors of the whole machine, less the processes named in ``cpu``, on average.
    public var foreignCPU: Double?

    public init() {}

    /// Gaps shorter than this are the schedule's own.
    public static let affectedNanoseconds: Int64 = 1_000_000_000

    public var ackRate: Double { measuredSeconds > 0 ? Double(acknowledgedThen) / measuredSeconds : 0 }
    /// Sends a second that an open loop asks for; 0 for a closed one.
    public var asked: Double {
        switch pacing {
        case .rate(let rate): rate
        case .inFlight: 0
        }
    }
    public var deliveryRate: Double { measuredSeconds > 0 ? Double(deliveriesThen) / measuredSeconds : 0 }
    public var allGaps: GapSpread { GapSpread(gaps.map(\.longest)) }
    public var affectedGaps: GapSpread { GapSpread(gaps.map(\.longest).filter { $0 >= Self.affectedNanoseconds }) }

    /// Microseconds of processor time a message acknowledged in the measured time.
    public func microsecondsPerMessage(_ cpu: CPU) -> Double {
        acknowledgedThen > 0 ? cpu.seconds * 1e6 / Double(acknowledgedThen) : 0
    }
}

extension RunReport {
    public var json: JSONText {
        .object([
            ("command", .string(command)), ("run", .string(run)), ("clients", .int(clients)),
            ("conversations", .int(conversations)), ("nodes", .array(nodes.map { .string($0) })),
            ("pacing", pacingJSON), ("textBytes", .int(textBytes)), ("clean", .bool(tally.isClean)),
            ("measuredSeconds", .double(measuredSeconds)), ("acknowledgedPerSecond", .double(ackRate)),
            ("deliveriesPerSecond", .double(deliveryRate)), ("counts", countsJSON),
            ("retryableErrors", .counts(tally.retryableErrors)), ("failures", .counts(tally.failures)),
            ("ackLatencyMicroseconds", tally.ackLatency.json), ("deliveryLatencyMicroseconds", tally.deliveryLatency.json),
            ("sendLagMicroseconds", tally.sendLag.json), ("recovery", recoveryJSON),
            ("cpu", .array(cpu.map(cpuJSON))), ("foreignBusyProcessors", foreignCPU.map { .double($0) } ?? .null),
        ])
    }

    private var pacingJSON: JSONText {
        switch pacing {
        case .rate(let rate): .object([("loop", .string("open")), ("ratePerSecond", .double(rate))])
        case .inFlight(let count): .object([("loop", .string("closed")), ("inFlight", .int(count))])
        }
    }

    private var countsJSON: JSONText {
        .object([
            ("scheduled", .int(tally.scheduled)), ("attempts", .int(tally.attempts)),
            ("acknowledged", .int(tally.acknowledged)),
            ("delivered", .int(tally.delivered)), ("deliveries", .int(tally.deliveries)), ("events", .int(tally.events)),
            ("stored", .int(tally.stored)), ("lost", .int(tally.lost)), ("lostFromHistory", .int(tally.lostFromHistory)),
            ("neverDelivered", .int(tally.neverDelivered)), ("duplicated", .int(tally.duplicated)),
            ("outOfOrder", .int(tally.outOfOrder)), ("reordered", .int(tally.reordered)),
            ("phantoms", .int(tally.phantoms)),
            ("notDense", .int(tally.notDense)), ("corrupted", .int(tally.corrupted)), ("unchecked", .int(tally.unchecked)),
            ("deadClients", .int(tally.deadClients)), ("failed", .int(tally.failed)), ("retryable", .int(tally.retryable)),
            ("failedButStored", .int(tally.failedButStored)), ("unknownStored", .int(tally.unknownStored)),
            ("unknownNotStored", .int(tally.unknownNotStored)), ("neverSent", .int(tally.neverSent)),
            ("holes", .int(tally.holes)),
            ("repaired", .int(tally.repaired)), ("redelivered", .int(tally.redelivered)),
            ("repeatedAnswers", .int(tally.repeatedAnswers)), ("unexpected", .int(tally.unexpected)),
            ("resyncs", .int(tally.resyncs)), ("goaways", .int(tally.goaways)), ("reconnects", .int(tally.reconnects)),
            ("answerTimeouts", .int(tally.answerTimeouts)), ("tokenRefreshes", .int(tally.tokenRefreshes)),
        ])
    }

    private var recoveryJSON: JSONText {
        let longest = gaps.enumerated().sorted { $0.element.longest > $1.element.longest }.prefix(10)
        return .object([
            ("all", allGaps.json), ("overOneSecond", affectedGaps.json),
            (
                "longest",
                .array(
                    longest.map {
                        .object([
                            ("conversation", .int($0.offset)), ("seconds", .double(Double($0.element.longest) / 1e9)),
                            ("fromSecond", .double(Double($0.element.longestFrom - startedAt) / 1e9)),
                        ])
                    })
            ),
        ])
    }

    private func cpuJSON(_ cpu: CPU) -> JSONText {
        .object([
            ("process", .string(cpu.name)), ("seconds", .double(cpu.seconds)),
            ("microsecondsPerMessage", .double(microsecondsPerMessage(cpu))),
        ])
    }

    /// For people: about ten lines.
    public var summary: String {
        let pace =
            switch pacing {
            case .rate(let rate): "open loop at \(Figures.short(rate))/s"
            case .inFlight(let count): "closed loop, \(count) in flight"
            }
        var lines = [
            "\(command): \(clients) clients on \(nodes.count) nodes, \(conversations) conversations, \(pace), "
                + "\(Figures.short(measuredSeconds)) s",
            "  acknowledged \(tally.acknowledged) of \(tally.scheduled) (\(Figures.short(ackRate))/s), delivered \(tally.delivered), "
                + "deliveries \(Figures.short(deliveryRate))/s, stored \(tally.stored)",
            "  ack      \(tally.ackLatency.summary)",
            "  delivery \(tally.deliveryLatency.summary)",
            "  lost \(tally.lost) (history \(tally.lostFromHistory), receivers \(tally.neverDelivered)), "
                + "duplicated \(tally.duplicated), out of order \(tally.outOfOrder + tally.reordered), "
                + "phantoms \(tally.phantoms), not dense \(tally.notDense), corrupted \(tally.corrupted), "
                + "unchecked \(tally.unchecked)",
            "  retryable errors \(Figures.list(tally.retryableErrors)), failed \(Figures.list(tally.failures)), unknown "
                + "\(tally.unknownStored) stored and \(tally.unknownNotStored) not, never sent \(tally.neverSent)",
            "  holes \(tally.holes), repaired \(tally.repaired), resyncs \(tally.resyncs), reconnects \(tally.reconnects), "
                + "answer time-outs \(tally.answerTimeouts), dead clients \(tally.deadClients)",
            "  longest time without an acknowledgement, per conversation: \(allGaps.summary); over 1 s: \(affectedGaps.summary)",
        ]
        if !cpu.isEmpty {
            let each = cpu.map {
                "\($0.name) \(Figures.short($0.seconds)) s (\(Figures.short(microsecondsPerMessage($0))) µs/message)"
            }
            let others = foreignCPU.map { "; other processes \(Figures.short($0)) cores busy" } ?? ""
            lines.append("  CPU: " + each.joined(separator: ", ") + others)
        }
        lines.append(tally.isClean ? "  clean" : "  NOT CLEAN")
        return lines.joined(separator: "\n") + "\n"
    }
}

extension LatencyHistogram {
    public var json: JSONText {
        .object([
            ("count", .int(Int(count))), ("min", .int(Int(min))), ("mean", .double(mean)), ("p50", .int(Int(value(at: 0.5)))),
            ("p90", .int(Int(value(at: 0.9)))), ("p99", .int(Int(value(at: 0.99)))), ("p999", .int(Int(value(at: 0.999)))),
            ("max", .int(Int(max))),
        ])
    }

    public var summary: String {
        func ms(_ value: Int64) -> String { Figures.short(Double(value) / 1000) }
        return "p50 \(ms(value(at: 0.5))), p90 \(ms(value(at: 0.9))), p99 \(ms(value(at: 0.99))), p99.9 \(ms(value(at: 0.999))), "
            + "max \(ms(max)) ms"
    }
}

extension GapSpread {
    public var json: JSONText {
        .object([
            ("conversations", .int(count)), ("medianSeconds", .double(median)), ("p90Seconds", .double(p90)),
            ("worstSeconds", .double(worst)),
        ])
    }

    public var summary: String {
        count == 0 ? "none" : "\(count), median \(Figures.short(median)), worst \(Figures.short(worst)) s"
    }
}

/// Numbers for people.
public enum Figures {
    /// Three significant digits or so.
    public static func short(_ value: Double) -> String {
        switch abs(value) {
        case 100...: return grouped(Int(value.rounded()))
        case 10..<100: return decimals(value, 1)
        default: return decimals(value, 2)
        }
    }

    /// `12,345`.
    public static func grouped(_ value: Int) -> String {
        var digits = String(value.magnitude)
        var position = digits.count - 3
        while position > 0 {
            digits.insert(",", at: digits.index(digits.startIndex, offsetBy: position))
            position -= 3
        }
        return value < 0 ? "-" + digits : digits
    }

    public static func list(_ counts: [String: Int]) -> String {
        counts.isEmpty ? "0" : counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: " ")
    }

    private static func decimals(_ value: Double, _ places: Int) -> String {
        let scale = places == 1 ? 10.0 : 100.0
        let scaled = Int((abs(value) * scale).rounded())
        let fraction = String(scaled % Int(scale))
        let padded = String(repeating: "0", count: places - fraction.count) + fraction
        return (value < 0 && scaled > 0 ? "-" : "") + "\(scaled / Int(scale)).\(padded)"
    }
}

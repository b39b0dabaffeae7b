/// The figures of one sitting, and their table in Markdown.
public struct BenchTable: Sendable {
    /// The runs of each repetition, in order.
    public enum Kind: String, Sendable, CaseIterable {
        case singleSerial, singleBusy, many, half, thousand

        public var isSingle: Bool {
            switch self {
            case .singleSerial, .singleBusy: true
            case .many, .half, .thousand: false
            }
        }

        /// - Parameter half: the rate of half load, sends a second.
        public func pacing(half: Double, isShort: Bool) -> LoadOptions.Pacing {
            switch self {
            case .singleSerial: .inFlight(1)
            case .singleBusy: .inFlight(64)
            case .many: .inFlight(256)
            case .half: .rate(half)
            case .thousand: .rate(isShort ? 100 : 1000)
            }
        }

        fileprivate var title: String {
            switch self {
            case .singleSerial: "one conversation, 1 in flight"
            case .singleBusy: "one conversation, 64 in flight"
            case .many: "many conversations, 256 in flight"
            case .half: "many conversations at half load"
            case .thousand: "many conversations at 1,000 sends/s"
            }
        }
    }

    public let machine: String
    public let seconds: Double
    public let repetitions: Int
    public var floors: [Figure] = []
    private var figures: [Figure] = []
    private var foreign = Figure(name: "other processes", unit: "busy cores")
    private var clients = 0
    private var wrong: [String] = []

    public init(machine: String, seconds: Double, repetitions: Int) {
        self.machine = machine
        self.seconds = seconds
        self.repetitions = repetitions
    }

    /// Half of what the closed loop over many conversations showed so far.
    public var halfRate: Double {
        let many = figures.first { $0.name == Self.sends(.many) }?.median ?? 0
        return max(10, many / 2)
    }

    private static func sends(_ kind: Kind) -> String { "durable sends, \(kind.title)" }

    public mutating func add(_ kind: Kind, _ report: RunReport) {
        switch kind {
        case .singleSerial, .singleBusy: note(Self.sends(kind), "/s", report.ackRate)
        case .many:
            clients = report.clients
            note(Self.sends(kind), "/s", report.ackRate)
            note("deliveries, \(kind.title)", "/s", report.deliveryRate)
            noteCPU(kind, report)
        case .half, .thousand:
            note("sends asked for, \(kind.title)", "/s", report.asked)
            note("durable sends, \(kind.title)", "/s", report.ackRate)
            note("deliveries, \(kind.title)", "/s", report.deliveryRate)
            for (name, histogram) in [("ack", report.tally.ackLatency), ("delivery", report.tally.deliveryLatency)] {
                note("\(name) p50, \(kind.title)", "ms", Double(histogram.value(at: 0.5)) / 1000)
                note("\(name) p99, \(kind.title)", "ms", Double(histogram.value(at: 0.99)) / 1000)
            }
            noteCPU(kind, report)
        }
        if let busy = report.foreignCPU { foreign.add(busy) }
        if !report.tally.isClean { wrong.append("\(kind.title) (run \(report.run))") }
    }

    public mutating func add(_ report: IdleReport) {
        if let bytes = report.bytesPerSocket {
            note("memory per idle authenticated socket, of \(report.clients)", "bytes", bytes)
        }
        note("sockets opened and greeted", "/s", report.greetingsPerSecond)
        if !report.isClean { wrong.append("idle sockets") }
    }

    private mutating func noteCPU(_ kind: Kind, _ report: RunReport) {
        let nodes = report.cpu.filter { report.nodes.contains($0.name) }
        if !nodes.isEmpty {
            let all = nodes.reduce(0) { $0 + report.microsecondsPerMessage($1) }
            note("CPU per message, roostd × \(nodes.count), \(kind.title)", "µs", all)
        }
        for cpu in report.cpu where !report.nodes.contains(cpu.name) {
            note("CPU per message, \(cpu.name), \(kind.title)", "µs", report.microsecondsPerMessage(cpu))
        }
    }

    private mutating func note(_ name: String, _ unit: String, _ value: Double) {
        if let index = figures.firstIndex(where: { $0.name == name }) {
            figures[index].add(value)
        } else {
            figures.append(Figure(name: name, unit: unit, values: [value]))
        }
    }

    public var json: JSONText {
        .object([
            ("machine", .string(machine)), ("secondsOfARun", .double(seconds)), ("repetitions", .int(repetitions)),
            ("clean", .bool(wrong.isEmpty)), ("figures", .array((figures + [foreign]).map(\.json))),
            ("floors", .array(floors.map(\.json))),
        ])
    }

    public var markdown: String {
        var lines = [
            "Machine: \(machine). \(repetitions) repetitions, \(Figures.short(seconds)) s each after a warm-up; \(clients) clients in pairs.",
            "", "| what | median | least…greatest | unit |", "| --- | ---: | ---: | --- |",
        ]
        lines += figures.map(\.row)
        if !foreign.values.isEmpty { lines.append(foreign.row) }
        if !floors.isEmpty {
            lines += ["", "Floors of the machine, same sitting:", ""]
            lines += ["| what | median | least…greatest | unit |", "| --- | ---: | ---: | --- |"]
            lines += floors.map(\.row)
        }
        lines += [
            "",
            wrong.isEmpty ? "Nothing lost, doubled or out of order in any run." : "NOT CLEAN: \(wrong.joined(separator: ", ")).",
        ]
        return lines.joined(separator: "\n") + "\n"
    }
}

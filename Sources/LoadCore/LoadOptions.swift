/// What the command line asks for.
public struct LoadOptions: Equatable, Sendable {
    public enum Command: String, Sendable, CaseIterable { case pairs, single, idle, bench }
    /// How a pair's sends are paced.
    public enum Pacing: Equatable, Sendable {
        /// Open loop: a fixed schedule of sends a second in all.
        case rate(Double)
        /// Closed loop: so many unanswered sends in all, a new one for each answer.
        case inFlight(Int)
    }
    /// What is read back at the end.
    public enum Check: String, Sendable, CaseIterable { case full, history }

    public var command: Command
    public var nodes: [String] = []
    public var clusterFile: String?
    public var clients = 200
    public var pacing = Pacing.rate(300)
    public var seconds: Double = 30
    public var warmUpSeconds: Double = 0
    public var settleSeconds: Double = 20
    public var answerTimeoutSeconds: Double = 10
    public var untilStopped = false
    public var textBytes = 64
    public var seed: UInt64 = 1
    public var check = Check.full
    public var accountConcurrency = 32
    public var jsonFile: String?
    public var isQuiet = false
    // bench
    public var floorsFile: String?
    public var outputFile: String?
    public var isShort = false
    public var repetitions = 3
    public var idleClients = 10_000

    public init(command: Command) { self.command = command }

    /// The outcome of reading a command line.
    public enum Parsed: Equatable, Sendable {
        case run(LoadOptions)
        case help
        /// Everything that is wrong with it, at once.
        case wrong([String])
    }

    public static func parse(_ arguments: [String]) -> Parsed {
        if arguments.isEmpty || arguments.contains("--help") || arguments.contains("-h") { return .help }
        guard let command = Command(rawValue: arguments[0]) else {
            return .wrong(["unknown command \"\(arguments[0])\": pairs, single, idle or bench"])
        }
        var parser = OptionParser(options: LoadOptions(command: command), rest: arguments[1...])
        parser.run()
        return parser.faults.isEmpty ? .run(parser.options) : .wrong(parser.faults)
    }
}

private struct OptionParser {
    var options: LoadOptions
    var rest: ArraySlice<String>
    var faults: [String] = []
    private var rate: Double?
    private var inFlight: Int?
    private var isClosed = false

    init(options: LoadOptions, rest: ArraySlice<String>) {
        self.options = options
        self.rest = rest
        switch options.command {
        case .pairs, .bench: break
        case .single: self.options.clients = 2
        case .idle: self.options.clients = 10_000
        }
    }

    mutating func run() {
        while let flag = rest.popFirst() { take(flag) }
        conclude()
    }

    private mutating func take(_ flag: String) {
        switch flag {
        case "--nodes": if let text = value(flag) { options.nodes = text.split(separator: ",").map(String.init) }
        case "--cluster": options.clusterFile = value(flag)
        case "--clients": if let count = integer(flag, 1...200_000) { options.clients = count }
        case "--rate": rate = number(flag, 0.001...1_000_000)
        case "--seconds": if let seconds = number(flag, 0.1...1_000_000) { options.seconds = seconds }
        case "--warm-up": if let seconds = number(flag, 0...3600) { options.warmUpSeconds = seconds }
        case "--settle": if let seconds = number(flag, 0...3600) { options.settleSeconds = seconds }
        case "--answer-timeout": if let seconds = number(flag, 0.1...3600) { options.answerTimeoutSeconds = seconds }
        case "--closed": isClosed = true
        case "--in-flight": inFlight = integer(flag, 1...100_000)
        case "--until-stopped": options.untilStopped = true
        case "--text-bytes": if let bytes = integer(flag, 1...32_000) { options.textBytes = bytes }
        case "--seed": if let seed = integer(flag, 0...Int.max) { options.seed = UInt64(seed) }
        case "--check":
            guard let text = value(flag) else { return }
            if let check = LoadOptions.Check(rawValue: text) {
                options.check = check
            } else {
                faults.append("--check must be full or history, not \"\(text)\"")
            }
        case "--accounts-at-once": if let count = integer(flag, 1...1000) { options.accountConcurrency = count }
        case "--json": options.jsonFile = value(flag)
        case "--quiet": options.isQuiet = true
        case "--floors": options.floorsFile = value(flag)
        case "--output": options.outputFile = value(flag)
        case "--short": options.isShort = true
        case "--repetitions": if let count = integer(flag, 1...100) { options.repetitions = count }
        case "--idle-clients": if let count = integer(flag, 1...200_000) { options.idleClients = count }
        default: faults.append("unknown option \(flag)")
        }
    }

    private mutating func conclude() {
        if options.nodes.isEmpty && options.clusterFile == nil { faults.append("--nodes URL,URL… or --cluster FILE is needed") }
        for node in options.nodes where !node.hasPrefix("http://") {
            faults.append("--nodes takes http:// URLs, not \"\(node)\"")
        }
        switch options.command {
        case .pairs where options.clients < 2: faults.append("--clients must be 2 or more")
        case .single where options.clients != 2: faults.append("single has two clients")
        case .bench where options.clusterFile == nil: faults.append("bench needs --cluster FILE")
        case .pairs, .single, .idle, .bench: break
        }
        if options.clients % 2 == 1 && options.command == .pairs { options.clients += 1 }
        let closed = isClosed || inFlight != nil || (options.command == .single && rate == nil)
        if closed && rate != nil { faults.append("--rate is for the open loop, --closed and --in-flight for the closed one") }
        let standard = options.command == .single ? 1 : options.clients
        options.pacing = closed ? .inFlight(inFlight ?? standard) : .rate(rate ?? 300)
    }

    private mutating func value(_ flag: String) -> String? {
        guard let value = rest.popFirst() else {
            faults.append("\(flag) needs a value")
            return nil
        }
        return value
    }

    private mutating func integer(_ flag: String, _ range: ClosedRange<Int>) -> Int? {
        guard let text = value(flag) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            faults.append("\(flag) must be a whole number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
            return nil
        }
        return number
    }

    private mutating func number(_ flag: String, _ range: ClosedRange<Double>) -> Double? {
        guard let text = value(flag) else { return nil }
        guard let number = Double(text), range.contains(number) else {
            faults.append("\(flag) must be a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
            return nil
        }
        return number
    }
}

extension LoadOptions {
    public static let help = """
        roost-load puts real load on a Roost cluster and checks that nothing is lost.

        Usage:
          roost-load pairs  (--cluster FILE | --nodes URL,URL…) [options]   clients in pairs, one direct chat a pair
          roost-load single (--cluster FILE | --nodes URL,URL…) [options]   one chat, closed loop
          roost-load idle   (--cluster FILE | --nodes URL,URL…) [options]   open sockets that only stay open
          roost-load bench  --cluster FILE [options]                        the table of docs/performance.md

        Where:
          --cluster FILE        cluster.json of the launcher: its nodes, and their processes for CPU and memory
          --nodes URL,…         base URLs such as http://127.0.0.1:8080
        Load:
          --clients N           sockets, each an anonymous account of its own (200; idle: 10000)
          --rate R              open loop: sends a second in all, latency counted from the scheduled time (300)
          --closed, --in-flight K   closed loop: K unanswered sends in all (pairs: one a client; single: 1)
          --seconds S           how long (30); idle: how long the sockets are held
          --warm-up S           at the start, not in the latencies, rates and CPU figures (0)
          --until-stopped       go on until SIGTERM or SIGINT, then end as after --seconds
          --text-bytes B        length of a text (64)
          --seed N              texts and order of sending (1)
        Ending:
          --settle S            how long to wait for outstanding answers and deliveries (20)
          --check full|history  read back history and changes, or history only (full)
        Behaviour:
          --answer-timeout S    an answer later than this is a dead line: reconnect elsewhere (10)
          --accounts-at-once N  HTTP requests at once while accounts are made (32)
        Output:
          --json FILE           the whole report
          --quiet               no progress line
        bench:
          --floors FILE         report of bench-floor, for the table
          --output FILE         write the table there too
          --repetitions N       runs of each kind (3)
          --idle-clients N      sockets for the memory figure (10000)
          --short               a smoke test: a few seconds, figures of no value

        When the load runs, one line {"event":"started",…} appears on standard output.
        Exit code: 0 clean; 1 something was lost, doubled, garbled or out of order; 2 wrong usage; 3 the load could not be run.

        """
}

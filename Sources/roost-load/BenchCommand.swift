import EventLoop
import Glibc
import LoadCore
import RoostClient

/// The runs of docs/performance.md, one after the other on one cluster, and their table.
struct BenchCommand: Sendable {
    let options: LoadOptions
    let surroundings: Surroundings
    let context: ClientLoop
    let stop: StopSignal

    func run() async throws -> Int32 {
        var bench = BenchTable(machine: Machine.describe(), seconds: seconds, repetitions: options.repetitions)
        if let path = options.floorsFile {
            guard let text = Output.read(path) else { throw LoadFault("cannot read \(path)") }
            bench.floors = Figure.read(json: text)
        }
        var isClean = true

        let idle = try await IdleCommand(
            options: changed { $0.clients = options.isShort ? min(200, options.idleClients) : options.idleClients },
            surroundings: surroundings, context: context, stop: stop, announces: false
        ).run()
        Output.complain(idle.summary)
        isClean = isClean && idle.isClean
        bench.add(idle)

        for repetition in 1...options.repetitions where !stop.isSet {
            Output.complain("repetition \(repetition) of \(options.repetitions)\n")
            for kind in BenchTable.Kind.allCases {
                let report = try await pairs(kind, half: bench.halfRate)
                Output.complain(report.summary)
                isClean = isClean && report.tally.isClean
                bench.add(kind, report)
                // What a busy run leaves to do is not the next one's load.
                await stop.wait(seconds: options.isShort ? 0.2 : 3)
            }
        }
        let text = bench.markdown
        Output.print(text)
        if let path = options.outputFile { try Output.write(text, to: path) }
        if let path = options.jsonFile { try Output.write(bench.json.pretty, to: path) }
        if !isClean { Output.complain("NOT CLEAN: see above\n") }
        return isClean ? 0 : 1
    }

    private var seconds: Double { options.isShort ? 1 : min(options.seconds, 10) }

    private func changed(_ change: (inout LoadOptions) -> Void) -> LoadOptions {
        var changed = options
        changed.jsonFile = nil
        changed.seconds = seconds
        changed.warmUpSeconds = options.isShort ? 0.2 : 2
        changed.check = .history
        change(&changed)
        return changed
    }

    private func pairs(_ kind: BenchTable.Kind, half: Double) async throws -> RunReport {
        let wanted = changed {
            $0.command = kind.isSingle ? .single : .pairs
            $0.clients = kind.isSingle ? 2 : options.clients
            $0.pacing = kind.pacing(half: half, isShort: options.isShort)
        }
        return try await PairsCommand(
            options: wanted, surroundings: surroundings, context: context, stop: stop, announces: false
        ).run()
    }
}

/// The machine, for the table's heading.
enum Machine {
    static func describe() -> String {
        let model =
            (Output.read("/proc/cpuinfo") ?? "").split(separator: "\n").first { $0.hasPrefix("model name") }
            .map { $0.drop { $0 != ":" }.dropFirst(2) } ?? "unknown processor"
        let memory =
            (Output.read("/proc/meminfo") ?? "").split(separator: "\n").first { $0.hasPrefix("MemTotal") }
            .flatMap { $0.split(separator: " ").dropFirst().first }.flatMap { Int($0) } ?? 0
        let kernel = (Output.read("/proc/sys/kernel/osrelease") ?? "").split(separator: "\n").first ?? ""
        let load = (Output.read("/proc/loadavg") ?? "").split(separator: " ").prefix(3).joined(separator: " ")
        let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        return "\(model), \(cores) cores, \(memory >> 20) GiB, Linux \(kernel), load average before \(load)"
    }
}

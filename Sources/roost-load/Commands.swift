import EventLoop
import Glibc
import LoadCore
import RoostClient

/// Runs the command asked for and gives the exit code.
struct Commands: Sendable {
    let options: LoadOptions

    init(_ options: LoadOptions) { self.options = options }

    func run() async throws -> Int32 {
        raiseFileLimit()
        signal(SIGPIPE, SIG_IGN)
        let surroundings = try Surroundings.read(options)
        let loop = try EventLoop(name: "load")
        loop.start()
        let context = ClientLoop(loop)
        let stop = StopSignal()
        switch options.command {
        case .pairs, .single:
            let report = try await PairsCommand(
                options: options, surroundings: surroundings, context: context, stop: stop
            ).run()
            try save(report.json)
            Output.print(report.summary)
            return report.tally.isClean ? 0 : 1
        case .idle:
            let report = try await IdleCommand(
                options: options, surroundings: surroundings, context: context, stop: stop
            ).run()
            try save(report.json)
            Output.print(report.summary)
            return report.isClean ? 0 : 1
        case .bench:
            return try await BenchCommand(options: options, surroundings: surroundings, context: context, stop: stop).run()
        }
    }

    private func save(_ json: JSONText) throws {
        if let path = options.jsonFile { try Output.write(json.pretty, to: path) }
    }

    /// Thousands of sockets need more descriptors than the usual soft limit allows.
    private func raiseFileLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

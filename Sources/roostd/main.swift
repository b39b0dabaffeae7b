import Glibc
import Runtime

// The lines below run as the module's top level, which the main actor owns; the node itself lives elsewhere.

private let usage = """
    roostd: one node of a Roost cluster.

    Usage: roostd [--config FILE] [--SETTING VALUE]…
    """

private func run() async -> Int32 {
    do throws(ConfigurationFaults) {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch try Configuration.load(
            NodeSettings.all, environment: Configuration.processEnvironment(), arguments: arguments)
        {
        case .help:
            print(Configuration.help(usage: usage, NodeSettings.all))
            return 0
        case .run(let configuration):
            return await serve(configuration)
        }
    } catch {
        reportFaults(error)
        return 2
    }
}

private func reportFaults(_ faults: ConfigurationFaults) {
    let text = "roostd: \(faults)"
    _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
}

private func serve(_ configuration: Configuration) async -> Int32 {
    let logger = Logger(label: "roostd", configuration: configuration)
    do {
        let node = try Node(configuration, logger: logger)
        try await node.run()
        return 0
    } catch {
        logger.error("The node could not go on", [.error: "\(error)"])
        return 1
    }
}

exit(await run())

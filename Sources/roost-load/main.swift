import EventLoop
import Glibc
import LoadCore
import RoostClient

// Puts load on a cluster and keeps the books of both ends. docs/performance.md has what it showed.

let options: LoadOptions
switch LoadOptions.parse(Array(CommandLine.arguments.dropFirst())) {
case .run(let parsed): options = parsed
case .help:
    Output.print(LoadOptions.help)
    Output.exit(0)
case .wrong(let faults):
    for fault in faults { Output.complain("roost-load: \(fault)\n") }
    Output.complain("roost-load --help tells more\n")
    Output.exit(2)
}

do {
    Output.exit(try await Commands(options).run())
} catch {
    Output.complain("roost-load: \(error)\n")
    Output.exit(3)
}

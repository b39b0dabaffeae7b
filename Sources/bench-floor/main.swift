import LoadCore
import Runtime

// What the machine can do with PostgreSQL and NATS alone: the floor beside which the cluster's own figures stand.

let usage = """
    bench-floor measures plain libpq inserts and plain NATS messages on this machine.

    Usage: bench-floor --postgres URL --nats URL [--seconds S] [--repetitions N] [--json FILE]

      --postgres URL     a database with Roost's tables; a schema bench_floor is made in it and dropped again
      --nats URL         a nats-server
      --seconds S        of each measurement (3)
      --repetitions N    of each measurement (3)
      --json FILE        writes the figures there; otherwise to standard output

    """

var options = FloorOptions()
switch FloorOptions.parse(Array(CommandLine.arguments.dropFirst())) {
case .success(let parsed?): options = parsed
case .success(nil):
    Output.print(usage)
    Output.exit(0)
case .failure(let fault):
    Output.complain("bench-floor: \(fault.description)\n\n\(usage)")
    Output.exit(2)
}

do {
    let text = JSONText.object([("figures", .array(try Floor(options).measure().map(\.json)))]).pretty
    if let file = options.jsonFile { try Output.write(text, to: file) } else { Output.print(text) }
} catch {
    Output.complain("bench-floor: \(error)\n")
    Output.exit(3)
}

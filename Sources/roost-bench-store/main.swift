import EventLoop
import Foundation
import PostgresStore
import RoostModel
import Runtime
import StoreBench

// Fills a database and measures the stores on it: docs/performance.md.

let usage = """
    roost-bench-store COMMAND [settings]

      journal   commits a second of the journal alone
      seed      fills a migrated, empty database
      reads     how long what people ask takes on a filled one
      explain   the plans of every hot query on a filled one; fails where one reads a whole table
    """
let scaleSetting = Setting<Int>.int(
    "ROOST_SCALE", default: 1_000, in: 1...10_000, help: "seed: thousandths of a million messages")
let seedSetting = Setting<Int>.int("ROOST_SEED", default: 1, in: 1...1_000_000, help: "seed: other numbers give other rows")
let textsSetting = Setting<String>.string(
    "ROOST_TEXTS", default: "/usr/share/games/fortunes", help: "seed: a folder of fortune files; else made-up texts")
let callsSetting = Setting<Int>.int("ROOST_CALLS", default: 1_000, in: 1...1_000_000, help: "reads: calls of each kind")
let concurrencySetting = Setting<Int>.int("ROOST_CONCURRENCY", default: 1, in: 1...64, help: "reads: calls in flight")
let outputSetting = Setting<String>.string(
    "ROOST_OUTPUT", default: "", help: "explain: where the table is written; else it is printed")

func tell(_ fault: String) { FileHandle.standardError.write(Data((fault + "\n").utf8)) }

func run(_ command: String, _ configuration: Configuration) async throws {
    let url = configuration[PostgresConfiguration.urlSetting]
    switch command {
    case "journal": try await measureJournal(configuration)
    case "seed":
        let scale = SeedScale(
            fraction: Double(configuration[scaleSetting]) / 1_000, seed: UInt64(configuration[seedSetting]), now: .now)
        let began = MonotonicTime.now
        try await Seeder(scale, url: url, texts: configuration[textsSetting]) { step in
            print("\((MonotonicTime.now - began).nanoseconds / 1_000_000_000) s: \(step)")
            fflush(nil)
        }.run()
        print("\((MonotonicTime.now - began).nanoseconds / 1_000_000_000) s: done")
    case "reads":
        for line in ReadBench.header { print(line) }
        let bench = ReadBench(url: url, calls: configuration[callsSetting], concurrency: configuration[concurrencySetting])
        try await bench.run { outcome in
            print(outcome.row)
            fflush(nil)
        }
    case "explain": try explain(url, output: configuration[outputSetting])
    default: throw PlainDatabase.Fault(description: "no such command: \(command)")
    }
}

func explain(_ url: String, output: String) throws {
    let findings = try PlanCheck(url: url).run()
    let database = try PlainDatabase(url)
    let counts = try ["users", "conversations", "members", "messages"].map { table in
        "\(try database.run("SELECT count(*) FROM \(table)")[0][0] ?? "") \(table)"
    }
    let version = try database.run("SHOW server_version")[0][0] ?? ""
    let context = "This is PostgreSQL \(version) with \(counts.joined(separator: ", ")), made by `roost-bench-store seed`."
    let text = PlanReport(findings, context: context).text
    if output.isEmpty {
        print(text)
    } else {
        try Data(text.utf8).write(to: URL(fileURLWithPath: output))
    }
    let faults = findings.flatMap(\.faults)
    for fault in faults { tell(fault) }
    if !faults.isEmpty { exit(1) }
}

let settings: [any DeclaredSetting] =
    [PostgresConfiguration.urlSetting, scaleSetting, seedSetting, textsSetting, callsSetting, concurrencySetting, outputSetting]
    + journalSettings
do {
    let command = CommandLine.arguments.dropFirst().first ?? "--help"
    let isCommand = !command.hasPrefix("-")
    switch try Configuration.load(
        settings, environment: Configuration.processEnvironment(),
        arguments: Array(CommandLine.arguments.dropFirst(isCommand ? 2 : 1)))
    {
    case .help: print(Configuration.help(usage: usage, settings))
    case .run(let configuration): try await run(command, configuration)
    }
} catch {
    tell("roost-bench-store: \(error)")
    exit(1)
}

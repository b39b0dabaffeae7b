import Glibc
import PostgresStore
import Runtime

// Parse, then one command.

let usage = """
    roostctl [settings] <command>

    Commands:
      migrate    bring the database's schema up to date; safe to run at any time, by several at once

    --dir is short for --migrations.
    """

let settings: [any DeclaredSetting] = [PostgresConfiguration.urlSetting, Migrator.directorySetting]

func fail(_ text: String, status: Int32) -> Never {
    var line = "roostctl: \(text)\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(status)
}

let arguments = CommandLine.arguments.dropFirst().map { argument in
    if argument == "--dir" { return "--migrations" }
    return argument.hasPrefix("--dir=") ? "--migrations=" + argument.dropFirst(6) : argument
}

do {
    switch try Configuration.load(settings, environment: Configuration.processEnvironment(), arguments: arguments) {
    case .help: print(Configuration.help(usage: usage, settings))
    case .run(let configuration):
        guard configuration.arguments == ["migrate"] else {
            fail(configuration.arguments.isEmpty ? usage : "unknown command; see --help", status: 2)
        }
        let applied = try Migrator.runBlocking(
            url: configuration[PostgresConfiguration.urlSetting], directory: configuration[Migrator.directorySetting])
        for name in applied { print("applied \(name)") }
        if applied.isEmpty { print("up to date") }
    }
} catch let faults as ConfigurationFaults {
    fail("\(faults)", status: 2)
} catch {
    fail("\(error)", status: 1)
}

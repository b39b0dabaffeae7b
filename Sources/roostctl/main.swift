import EventLoop
import Glibc
import LoadCore
import OperatorTools
import PostgresStore
import RoostClient
import RoostProtocol
import Runtime

// Parse, then one command.

func fail(_ text: String, _ status: Int32) -> Never {
    Output.complain("roostctl: \(text)\n")
    exit(status)
}

func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } }

func clusterFile(_ path: String) throws(UsageFault) -> JSONValue {
    guard let text = Output.read(path), let file = try? JSONValue(Array(text.utf8)) else {
        throw UsageFault("\(path) cannot be read, or is not the launcher's cluster.json")
    }
    return file
}

/// Where the admin listeners are, and their token.
func place(_ invocation: Invocation) throws(UsageFault) -> (urls: [String], token: String) {
    if let path = invocation.options["cluster"] {
        let file = try clusterFile(path)
        let urls = (file["nodes"]?.array ?? []).compactMap { $0["adminUrl"]?.string }
        return (urls, file["adminToken"]?.string ?? "")
    }
    guard let urls = invocation.options["admin-url"] ?? environment("ROOST_ADMIN_URL") else {
        throw UsageFault("where is the cluster? --cluster FILE, --admin-url URL or ROOST_ADMIN_URL says it")
    }
    let token = invocation.options["admin-token"] ?? environment("ROOST_ADMIN_TOKEN") ?? ""
    return (urls.split(separator: ",").map(String.init), token)
}

/// The settings of commands that go to the database itself.
func database(_ invocation: Invocation) throws -> Configuration? {
    let known = try invocation.options["cluster"].map { (path) throws(UsageFault) in
        try clusterFile(path)["postgres"]?["url"]?.string
    }
    let url = (invocation.options["database-url"] ?? known ?? nil).map { ["--postgres-url=\($0)"] } ?? []
    let directory = (invocation.options["migrations"] ?? invocation.options["dir"]).map { ["--migrations=\($0)"] } ?? []
    let settings: [any DeclaredSetting] = [PostgresConfiguration.urlSetting, Migrator.directorySetting]
    guard
        case .run(let configuration) = try Configuration.load(
            settings, environment: Configuration.processEnvironment(), arguments: url + directory)
    else { return nil }
    return configuration
}

func migrate(_ configuration: Configuration, _ console: Console) throws {
    let applied = try Migrator.runBlocking(
        url: configuration[PostgresConfiguration.urlSetting], directory: configuration[Migrator.directorySetting])
    if console.isJSON { return console.json(.object(["applied": .array(applied.map { .string($0) })])) }
    for name in applied { console.line("applied \(name)") }
    if applied.isEmpty { console.line("up to date") }
}

let invocation: Invocation
do {
    invocation = try Invocation.parse(Array(CommandLine.arguments.dropFirst()))
} catch {
    fail("\(error)", ExitCode.usage)
}
let isTerminal = isatty(STDOUT_FILENO) == 1
let isColoured = isTerminal && !invocation.has("no-color") && environment("NO_COLOR") == nil
let console = Console(style: Style(isColoured: isColoured), isJSON: invocation.has("json"), isTerminal: isTerminal) {
    Output.print($0)
}
if invocation.has("help") || invocation.words == ["help"] {
    Output.print(CommandList.usage)
    exit(ExitCode.done)
}
signal(SIGPIPE, SIG_IGN)

do {
    switch invocation.words.first {
    case "migrate":
        if let configuration = try database(invocation) { try migrate(configuration, console) }
    case "check":
        if let configuration = try database(invocation) {
            try await CheckCommand(console: console).run(configuration, repair: invocation.has("repair"))
        }
    case "completion":
        guard let script = invocation.words.dropFirst().first.flatMap(CommandList.completion) else {
            throw UsageFault("completion needs a shell: bash, zsh or fish")
        }
        Output.print(script)
    default:
        let (urls, token) = try place(invocation)
        let loop = try EventLoop(name: "client")
        loop.start()
        let client = try AdminClient(urls: urls, token: token, name: invocation.options["as"], loop: ClientLoop(loop))
        try await Dispatcher(client: client, console: console).run(invocation)
    }
} catch let fault as UsageFault {
    fail(fault.description, ExitCode.usage)
} catch let fault as AdminFault {
    fail(fault.description, fault.exitCode)
} catch let faults as ConfigurationFaults {
    fail("\(faults)", ExitCode.usage)
} catch {
    fail("\(error)", ExitCode.failed)
}

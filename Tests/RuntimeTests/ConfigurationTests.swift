import Runtime
import Testing

@Suite struct ConfigurationTests {
    private static let port = Setting<Int>.port("ROOST_HTTP_PORT", default: 8_080, help: "where clients connect")
    private static let wait = Setting<Duration>.seconds("ROOST_WAIT_SECONDS", default: 10, in: 0.5...60, help: "how long")
    private static let echo = Setting<Bool>.bool("ROOST_ECHO", default: false, help: "an echo")
    private static let key = Setting<String>.string("ROOST_KEY", default: nil, isSecret: true, help: "the secret")
    private static let origins = Setting<[String]>.list("ROOST_ORIGINS", default: [], help: "who may come") { !$0.contains(" ") }
    private static let store = Setting<String>.url(
        "ROOST_STORE", default: "postgresql://localhost/x", schemes: ["postgresql", "postgres"], help: "the database")
    private static let name = Setting<String>.string("ROOST_NAME", default: nil, maximumBytes: 8, help: "a name").optional
    private static let all: [any DeclaredSetting] = [port, wait, echo, key, origins, store, name]

    private func load(
        file: String? = nil, environment: [String: String] = [:], _ arguments: [String] = []
    ) throws -> Configuration {
        var environment = environment
        if file != nil { environment["ROOST_CONFIG"] = "/etc/roost.conf" }
        let outcome = try Configuration.load(Self.all, environment: environment, arguments: arguments) { path in
            path == "/etc/roost.conf" ? file : nil
        }
        guard case .run(let configuration) = outcome else { throw ConfigurationFaults(faults: ["help"]) }
        return configuration
    }

    private func faults(
        file: String? = nil, environment: [String: String] = ["ROOST_KEY": "k"], _ arguments: [String] = []
    ) -> [String] {
        do {
            _ = try load(file: file, environment: environment, arguments)
            return []
        } catch let error as ConfigurationFaults { return error.faults } catch { return ["\(error)"] }
    }

    @Test func theLastWordWins() throws {
        let environment = ["ROOST_KEY": "k"]
        #expect(try load(environment: environment)[Self.port] == 8_080)
        let file = "ROOST_HTTP_PORT=1\n"
        #expect(try load(file: file, environment: environment)[Self.port] == 1)
        let both = ["ROOST_KEY": "k", "ROOST_HTTP_PORT": "2"]
        #expect(try load(file: file, environment: both)[Self.port] == 2)
        #expect(try load(file: file, environment: both, ["--http-port", "3"])[Self.port] == 3)
        #expect(try load(file: file, environment: both, ["--http-port=4", "--http-port", "5"])[Self.port] == 5)
    }

    @Test func valuesHaveTheirTypes() throws {
        let configuration = try load(
            environment: [
                "ROOST_KEY": "s=e c", "ROOST_WAIT_SECONDS": "0.5", "ROOST_ORIGINS": "https://a.example , https://b.example",
            ],
            ["move", "--echo", "on", "--", "--help", "x"])
        #expect(configuration[Self.wait] == .milliseconds(500))
        #expect(configuration[Self.echo])
        #expect(configuration[Self.key] == "s=e c")
        #expect(configuration[Self.origins] == ["https://a.example", "https://b.example"])
        #expect(configuration[Self.name] == nil)
        #expect(configuration.arguments == ["move", "--help", "x"])
        #expect(try load(environment: ["ROOST_KEY": "k", "ROOST_NAME": "n1"])[Self.name] == "n1")
    }

    @Test func allFaultsAreNamedAtOnce() {
        let named = faults(
            file: "ROOST_ORIGINS=a,,b\nROOST_TYPO=1\nnonsense\n",
            environment: ["ROOST_HTTP_PORT": "70000", "ROOST_WAIT_SECONDS": "1e1", "ROOST_NAME": "much too long"],
            ["--echo", "maybe", "--unknown=1", "--store"])
        #expect(named.count == 10)
        func has(_ parts: String...) -> Bool { named.contains { fault in parts.allSatisfy { fault.contains($0) } } }
        #expect(has("ROOST_HTTP_PORT", "\"70000\"", "the environment", "from 0 to 65535"))
        #expect(has("ROOST_WAIT_SECONDS", "\"1e1\"", "seconds from 0.5 to 60"))
        #expect(has("ROOST_ECHO", "\"maybe\"", "--echo", "on or off"))
        #expect(has("ROOST_ORIGINS", "/etc/roost.conf line 1"))
        #expect(has("/etc/roost.conf line 2", "ROOST_TYPO"))
        #expect(has("/etc/roost.conf line 3", "KEY=VALUE"))
        #expect(has("ROOST_KEY", "must be given"))
        #expect(has("--unknown"))
        #expect(has("--store", "a value must follow"))
        #expect(has("ROOST_NAME", "or nothing"))
    }

    @Test func secretsAreNeverShown() {
        let secret = String(repeating: "hunter2", count: 1_000)
        let named = faults(
            environment: ["ROOST_KEY": secret, "ROOST_STORE": "mysql://user:hunter2@host/x"],
            ["--tokn=hunter2", "--toke", "hunter2"])
        #expect(named.count == 4)
        #expect(!named.contains { $0.contains("hunter2") })
    }

    @Test func faultsShowNoControlCharacters() {
        let named = faults(environment: ["ROOST_KEY": "k", "ROOST_HTTP_PORT": "\u{1B}[31m1\n2\u{202E}"])
        #expect(named.count == 1)
        #expect(named[0].contains("\\u{1b}[31m1\\u{a}2\\u{202e}"))
    }

    @Test func filesHaveCommentsQuotesAndBlanks() throws {
        let file = "# all of it\r\n\r\n  ROOST_KEY = \" k \"\r\nROOST_ECHO=on\n"
        let configuration = try load(file: file)
        #expect(configuration[Self.key] == " k ")
        #expect(configuration[Self.echo])
        #expect(faults(file: "ROOST_ECHO=on\nROOST_ECHO=off\n").first?.contains("given before") == true)
    }

    @Test func aFileThatCannotBeReadIsAFault() {
        #expect(faults(["--config", "/nowhere"]).first?.contains("/nowhere") == true)
    }

    @Test func anothersSettingsMayShareTheFile() throws {
        let outcome = try Configuration.load(
            [Self.echo], alsoInFile: ["ROOST_KEY"], environment: ["ROOST_CONFIG": "f"], arguments: []
        ) { _ in "ROOST_KEY=x\nROOST_ECHO=on" }
        guard case .run(let configuration) = outcome else { throw ConfigurationFaults(faults: []) }
        #expect(configuration[Self.echo])
    }

    @Test(arguments: [["--help"], ["-h"], ["--http-port", "nonsense", "--help"]])
    func helpWinsOverFaults(_ arguments: [String]) throws {
        let outcome = try Configuration.load(Self.all, environment: [:], arguments: arguments)
        guard case .help = outcome else { throw ConfigurationFaults(faults: []) }
    }

    @Test func helpTellsOfEverySetting() {
        let text = Configuration.help(usage: "roostd: a node", Self.all)
        for setting in Self.all { #expect(text.contains(setting.name) && text.contains(setting.help)) }
        #expect(text.contains("--http-port VALUE  ROOST_HTTP_PORT"))
        #expect(text.contains("default: 8080"))
        #expect(text.contains("must be given"))
    }

    @Test(arguments: ["", " 1", "1 ", "0x10", "1.0", "-1", "99999999999999999999", "١", "NaN"])
    func numbersAreStrict(_ text: String) {
        #expect(faults(environment: ["ROOST_KEY": "k", "ROOST_HTTP_PORT": text]).count == 1)
    }

    @Test(arguments: ["", "nan", "inf", "-1", "0.4", "60.1", "1_0", "0x1p4", "."])
    func secondsAreStrict(_ text: String) {
        #expect(faults(environment: ["ROOST_KEY": "k", "ROOST_WAIT_SECONDS": text]).count == 1)
    }
}

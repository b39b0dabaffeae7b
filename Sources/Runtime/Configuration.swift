import Glibc

/// The settings of a process: defaults, then a file, then the environment, then flags; the last word wins.
///
/// All of them are read and checked together, so that every fault is named at once.
public struct Configuration: Sendable {
    public static let prefix = "ROOST_"
    /// Names the file; also the flag `--config`.
    public static let fileSetting = "ROOST_CONFIG"

    /// What the arguments ask for.
    public enum Outcome: Sendable {
        /// `--help` was given.
        case help
        case run(Configuration)
    }

    /// The arguments that are no flags, in order.
    public let arguments: [String]
    private let values: [String: any Sendable]

    /// The value of a setting that was among those loaded.
    public subscript<Value>(_ setting: Setting<Value>) -> Value {
        guard let value = values[setting.name] as? Value else { preconditionFailure("\(setting.name) was not loaded") }
        return value
    }

    /// Reads and checks everything.
    ///
    /// - Parameters:
    ///   - settings: those of this program.
    ///   - alsoInFile: names of other programs' settings, which may stand in a shared file.
    ///   - arguments: without the program's name: `--key value`, `--key=value`, and after `--` only plain arguments.
    ///   - readFile: the text of a file, or nil.
    /// - Throws: ``ConfigurationFaults``
    public static func load(
        _ settings: [any DeclaredSetting], alsoInFile: Set<String> = [], environment: [String: String], arguments: [String],
        readFile: (String) -> String? = Configuration.readFile
    ) throws(ConfigurationFaults) -> Outcome {
        var loader = ConfigurationLoader(settings: settings, alsoInFile: alsoInFile)
        loader.readArguments(arguments)
        if loader.wantsHelp { return .help }
        loader.readEnvironment(environment)
        if let path = loader.flags["config"] ?? environment[fileSetting], !path.isEmpty {
            if let text = readFile(path) {
                loader.readFile(text, path: path)
            } else {
                loader.faults.append("\(fileSetting): cannot read the file \(Printable.text(path))")
            }
        }
        let values = loader.checkedValues()
        if !loader.faults.isEmpty { throw ConfigurationFaults(faults: loader.faults) }
        return .run(Configuration(arguments: loader.plainArguments, values: values))
    }

    /// The process's own environment.
    public static func processEnvironment() -> [String: String] {
        var result: [String: String] = [:]
        var entry = environ
        while let line = entry.pointee {
            let text = String(cString: line)
            if let equals = text.utf8.firstIndex(of: 0x3D) {
                result[String(text[..<equals])] = String(text[text.utf8.index(after: equals)...])
            }
            entry += 1
        }
        return result
    }

    /// A file's text of at most 1 MiB, or nil.
    public static func readFile(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        var length = 0
        while length < bytes.count {
            let count = bytes[length...].withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 { return nil }
            if count == 0 { return String(decoding: bytes[..<length], as: UTF8.self) }
            length += count
        }
        return nil
    }

    /// The text of `--help`.
    ///
    /// - Parameter usage: what stands before the settings: the program's purpose and its arguments.
    public static func help(usage: String, _ settings: [any DeclaredSetting]) -> String {
        var text = usage
        text += "\n\nSettings, as flags, environment variables or KEY=VALUE lines of a file"
        text += " (the last of default, file, environment and flag wins):\n"
        text += "\n  --config PATH  \(fileSetting)\n      the file of settings\n"
        for setting in settings.sorted(by: { $0.name < $1.name }) {
            let standard =
                switch setting.defaultText {
                case nil: "must be given"
                case "": "default: none"
                case .some(let text): "default: \(text)"
                }
            text += "\n  --\(setting.flag) VALUE  \(setting.name)\n      \(setting.help)\n      \(setting.allowed); \(standard)\n"
        }
        return text
    }
}

/// Everything that is wrong with a configuration.
public struct ConfigurationFaults: Error, CustomStringConvertible, Equatable {
    /// One for each fault: the setting, its value unless secret, what is allowed, and where it was given.
    public let faults: [String]

    public init(faults: [String]) { self.faults = faults }

    public var description: String {
        let count = faults.count == 1 ? "1 fault" : "\(faults.count) faults"
        return "\(count) in the configuration:\n" + faults.map { "  \($0)\n" }.joined()
    }
}

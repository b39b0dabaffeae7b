/// The settings that every long-running program of the project shares.
public enum RuntimeSettings {
    public static let logLevel = Setting<String>.choice(
        "ROOST_LOG_LEVEL", default: "info", of: LogLevel.allCases.map(\.name), help: "the least level that is logged")
    public static let logFormat = Setting<String>.choice(
        "ROOST_LOG_FORMAT", default: "text", of: LogFormat.allCases.map(\.rawValue), help: "text for people, json for machines")
    public static let shutdownTimeout = Setting<Duration>.seconds(
        "ROOST_SHUTDOWN_SECONDS", default: 10, in: 0.1...600, help: "how long a stop may take after SIGTERM or SIGINT")

    public static let all: [any DeclaredSetting] = [logLevel, logFormat, shutdownTimeout]
}

extension Logger {
    /// As configured, to standard error.
    public init(label: String, configuration: Configuration) {
        self.init(
            label: label, level: LogLevel(name: configuration[RuntimeSettings.logLevel]) ?? .info,
            format: LogFormat(rawValue: configuration[RuntimeSettings.logFormat]) ?? .text)
    }
}

/// The name of a field of a log line. Declare further ones as static constants in an extension.
///
/// Values must never be a message's body, a token, a password or an e-mail address.
public struct LogKey: Hashable, Sendable {
    public let name: String
    public init(_ name: StaticString) { self.name = name.description }
}

extension LogKey {
    public static let node = LogKey("node")
    public static let incarnation = LogKey("incarnation")
    public static let shard = LogKey("shard")
    public static let lane = LogKey("lane")
    public static let epoch = LogKey("epoch")
    public static let conversation = LogKey("conversation")
    public static let user = LogKey("user")
    public static let device = LogKey("device")
    public static let session = LogKey("session")
    public static let request = LogKey("request")
    public static let method = LogKey("method")
    public static let route = LogKey("route")
    public static let status = LogKey("status")
    public static let service = LogKey("service")
    public static let signal = LogKey("signal")
    public static let subject = LogKey("subject")
    public static let count = LogKey("count")
    public static let bytes = LogKey("bytes")
    public static let duration = LogKey("duration")
    public static let attempt = LogKey("attempt")
    public static let address = LogKey("address")
    public static let port = LogKey("port")
    public static let version = LogKey("version")
    public static let reason = LogKey("reason")
    public static let error = LogKey("error")
}

/// Fields in the order written. Values may be of any type; numbers and booleans stay what they are in JSON.
public typealias LogFields = KeyValuePairs<LogKey, Any>

public enum LogLevel: Int, Comparable, Sendable, CaseIterable {
    case debug, info, warning, error

    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }

    public var name: String {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        }
    }

    public init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }
}

/// Lines for people, or one JSON object a line for machines.
public enum LogFormat: String, Sendable, CaseIterable { case text, json }

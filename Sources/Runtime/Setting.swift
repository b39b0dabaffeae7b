/// A declared setting: its name, what is allowed, and what it is without further word.
///
/// Declare settings once, as static constants, and hand all of them to ``Configuration/load(_:environment:arguments:readFile:)``.
/// `ROOST_SHUTDOWN_SECONDS` is also the flag `--shutdown-seconds`.
public struct Setting<Value: Sendable>: Sendable {
    public let name: String
    public let help: String
    /// What is allowed, for people: "a whole number from 1 to 65535".
    public let allowed: String
    /// Written as it would be given; nil means that the setting must be given.
    public let defaultText: String?
    public let isSecret: Bool
    let parse: @Sendable (String) -> Value?

    /// - Parameter name: `ROOST_` and then capital letters, digits and `_`.
    public init(
        _ name: String, default defaultText: String?, allowed: String, isSecret: Bool = false, help: String,
        parse: @escaping @Sendable (String) -> Value?
    ) {
        precondition(name.hasPrefix(Configuration.prefix), "a setting's name begins with \(Configuration.prefix)")
        if let defaultText { precondition(parse(defaultText) != nil, "the default of \(name) is not allowed") }
        self.name = name
        self.help = help
        self.allowed = allowed
        self.defaultText = defaultText
        self.isSecret = isSecret
        self.parse = parse
    }

    /// The same setting, nil where it is not given or empty.
    public var optional: Setting<Value?> {
        let parse = parse
        return Setting<Value?>(name, default: "", allowed: allowed + ", or nothing", isSecret: isSecret, help: help) { text in
            text.isEmpty ? .some(nil) : parse(text).map(Optional.some)
        }
    }
}

/// A setting whose type of value does not matter.
public protocol DeclaredSetting: Sendable {
    var name: String { get }
    var help: String { get }
    var allowed: String { get }
    var defaultText: String? { get }
    var isSecret: Bool { get }
    func value(of text: String) -> (any Sendable)?
}

extension Setting: DeclaredSetting {
    public func value(of text: String) -> (any Sendable)? { parse(text) }
}

extension DeclaredSetting {
    /// `ROOST_HTTP_PORT` → `http-port`.
    var flag: String {
        String(name.dropFirst(Configuration.prefix.count).map { $0 == "_" ? "-" : Character($0.lowercased()) })
    }
}

// MARK: The kinds of setting

extension Setting where Value == Int {
    public static func int(_ name: String, default value: Int?, in range: ClosedRange<Int>, help: String) -> Setting<Int> {
        let allowed = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return Setting(name, default: value.map(String.init), allowed: allowed, help: help) { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// A TCP port; 0 lets the system choose one.
    public static func port(_ name: String, default value: Int?, help: String) -> Setting<Int> {
        int(name, default: value, in: 0...65_535, help: help)
    }
}

extension Setting where Value == Duration {
    /// Seconds, with a fraction where wanted: `10`, `0.5`.
    public static func seconds(
        _ name: String, default value: Double?, in range: ClosedRange<Double>, help: String
    ) -> Setting<Duration> {
        let allowed = "seconds from \(plain(range.lowerBound)) to \(plain(range.upperBound))"
        return Setting(name, default: value.map(plain), allowed: allowed, help: help) { text in
            guard text.utf8.allSatisfy({ ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2E }), let seconds = Double(text),
                range.contains(seconds)
            else { return nil }
            return .milliseconds((seconds * 1_000).rounded())
        }
    }

    private static func plain(_ seconds: Double) -> String {
        seconds == seconds.rounded() ? String(Int(seconds)) : String(seconds)
    }
}

extension Setting where Value == Bool {
    public static func bool(_ name: String, default value: Bool, help: String) -> Setting<Bool> {
        Setting(name, default: value ? "on" : "off", allowed: "on or off", help: help) { text in
            switch text {
            case "on", "true", "1": true
            case "off", "false", "0": false
            default: nil
            }
        }
    }
}

extension Setting where Value == String {
    /// Any text of at most `maximumBytes` without control characters; not empty, unless the default is.
    public static func string(
        _ name: String, default value: String?, maximumBytes: Int = 4_096, isSecret: Bool = false, help: String
    ) -> Setting<String> {
        let mayBeEmpty = value == ""
        let allowed = "text of \(mayBeEmpty ? "at most" : "1 to") \(maximumBytes) bytes"
        return Setting(name, default: value, allowed: allowed, isSecret: isSecret, help: help) { text in
            guard text.utf8.count <= maximumBytes, mayBeEmpty || !text.isEmpty, !text.utf8.contains(where: { $0 < 0x20 })
            else { return nil }
            return text
        }
    }

    public static func choice(_ name: String, default value: String?, of choices: [String], help: String) -> Setting<String> {
        Setting(name, default: value, allowed: "one of " + choices.joined(separator: ", "), help: help) { text in
            choices.contains(text) ? text : nil
        }
    }

    /// `scheme://…` with one of `schemes`. It may carry a password, so it is never shown.
    public static func url(_ name: String, default value: String?, schemes: [String], help: String) -> Setting<String> {
        let allowed = "a URL beginning with " + schemes.map { $0 + "://" }.joined(separator: " or ")
        return Setting(name, default: value, allowed: allowed, isSecret: true, help: help) { text in
            guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return nil }
            let known = schemes.contains { text.hasPrefix($0 + "://") && text.utf8.count > $0.utf8.count + 3 }
            return known ? text : nil
        }
    }
}

extension Setting where Value == [String] {
    /// Items separated by commas, blanks around them dropped; empty for none.
    public static func list(
        _ name: String, default value: [String], allowed: String = "a list separated by commas", maximumCount: Int = 1_000,
        help: String, accepts: @escaping @Sendable (String) -> Bool = { _ in true }
    ) -> Setting<[String]> {
        Setting(name, default: value.joined(separator: ","), allowed: allowed, help: help) { text in
            if text.isEmpty { return [] }
            let items = text.utf8.split(separator: 0x2C, omittingEmptySubsequences: false).map { trimmed(Substring($0)) }
            guard items.count <= maximumCount, items.allSatisfy({ !$0.isEmpty && accepts($0) }) else { return nil }
            return items
        }
    }
}

/// Without the spaces, tabs and carriage returns at both ends.
func trimmed(_ text: some StringProtocol) -> String {
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
    let bytes = Array(text.utf8)
    guard let first = bytes.firstIndex(where: { !isBlank($0) }), let last = bytes.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(decoding: bytes[first...last], as: UTF8.self)
}

/// A command line as `roostctl` understands it: words, options, and what is wrong with them.
public struct Invocation: Equatable, Sendable {
    /// The command's words, options taken out: `["drain", "node3"]`.
    public var words: [String] = []
    /// By name without dashes; a flag has an empty value.
    public var options: [String: String] = [:]

    public init(words: [String] = [], options: [String: String] = [:]) {
        self.words = words
        self.options = options
    }

    public func has(_ flag: String) -> Bool { options[flag] != nil }

    /// - Throws: ``UsageFault`` naming an unknown option, or one without its value.
    public static func parse(_ arguments: [String]) throws(UsageFault) -> Invocation {
        var invocation = Invocation()
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--"), argument.count > 2 else {
                if argument == "-h" { invocation.options["help"] = "" } else { invocation.words.append(argument) }
                continue
            }
            let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            if Self.flags.contains(name) {
                guard parts.count == 1 else { throw UsageFault("--\(name) takes no value") }
                invocation.options[name] = ""
            } else if Self.valued.contains(name) {
                if parts.count == 2 {
                    invocation.options[name] = String(parts[1])
                } else if let value = rest.popFirst() {
                    invocation.options[name] = value
                } else {
                    throw UsageFault("--\(name) needs a value")
                }
            } else {
                throw UsageFault("unknown option --\(name)")
            }
        }
        return invocation
    }

    static let flags: Set<String> = ["json", "no-color", "dry-run", "no-wait", "once", "help", "repair"]
    static let valued: Set<String> = [
        "cluster", "admin-url", "admin-token", "as", "timeout", "node", "kind", "sort", "limit", "max-moves",
        "max-concurrent-moves", "interval", "database-url", "migrations", "dir", "output",
    ]

    /// A whole number from `range`.
    public func number(_ name: String, in range: ClosedRange<Int>) throws(UsageFault) -> Int? {
        guard let text = options[name] else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw UsageFault("--\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }
}

/// The command line makes no sense; exit code 2.
public struct UsageFault: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// How `roostctl` ends, for scripts.
public enum ExitCode {
    public static let done: Int32 = 0
    /// The cluster refused, or the operation failed.
    public static let failed: Int32 = 1
    public static let usage: Int32 = 2
    /// No node could be reached, or none answered.
    public static let unreachable: Int32 = 3
    public static let notFound: Int32 = 4
    /// The state of the cluster does not allow it now.
    public static let conflict: Int32 = 5
}

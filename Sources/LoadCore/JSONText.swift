/// Writes JSON for reports: members in the order given.
public indirect enum JSONText: Sendable, Equatable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSONText])
    case object([(String, JSONText)])

    public static func == (left: JSONText, right: JSONText) -> Bool { left.text == right.text }

    public static func counts(_ values: [String: Int]) -> JSONText {
        .object(values.sorted { $0.key < $1.key }.map { ($0.key, .int($0.value)) })
    }

    /// The text on one line.
    public var text: String {
        var result = ""
        write(to: &result)
        return result
    }

    /// The text with a member a line at the top two levels, for people.
    public var pretty: String {
        guard case .object(let members) = self else { return text }
        let lines = members.map { key, value -> String in
            if case .object(let inner) = value, inner.count > 3 {
                let rows = inner.map { "    \(JSONText.string($0).text): \($1.text)" }
                return "  \(JSONText.string(key).text): {\n" + rows.joined(separator: ",\n") + "\n  }"
            }
            return "  \(JSONText.string(key).text): \(value.text)"
        }
        return "{\n" + lines.joined(separator: ",\n") + "\n}\n"
    }

    private func write(to output: inout String) {
        switch self {
        case .null: output += "null"
        case .bool(let value): output += value ? "true" : "false"
        case .int(let value): output += String(value)
        case .double(let value): output += value.isFinite ? Self.rounded(value) : "null"
        case .string(let value): Self.quote(value, to: &output)
        case .array(let values):
            output += "["
            for (index, value) in values.enumerated() {
                if index > 0 { output += "," }
                value.write(to: &output)
            }
            output += "]"
        case .object(let members):
            output += "{"
            for (index, (key, value)) in members.enumerated() {
                if index > 0 { output += "," }
                Self.quote(key, to: &output)
                output += ":"
                value.write(to: &output)
            }
            output += "}"
        }
    }

    /// Three decimals are enough for any figure here.
    private static func rounded(_ value: Double) -> String {
        let scaled = (value * 1000).rounded() / 1000
        return scaled == scaled.rounded() && abs(scaled) < 1e15 ? String(Int64(scaled)) : String(scaled)
    }

    private static func quote(_ text: String, to output: inout String) {
        output += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n": output += "\\n"
            case "\u{0}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: output.unicodeScalars.append(scalar)
            }
        }
        output += "\""
    }
}

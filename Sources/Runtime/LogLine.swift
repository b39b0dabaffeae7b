/// How a log line is written. Every line is one line: control characters are escaped in both formats.
enum LogLine {
    /// Bytes of one value; longer ones are clipped.
    static let valueLimit = 1_024

    static func render(
        _ format: LogFormat, time: Int64, level: LogLevel, label: String, message: StaticString, bound: String, fields: LogFields
    ) -> String {
        var line = ""
        line.reserveCapacity(160)
        switch format {
        case .text:
            line += timeText(time)
            line += " \(level.name) ".padded(to: 9)
            line += label
            line += ": "
            line += message.description
            line += bound
            append(fields, format, to: &line)
        case .json:
            line += "{\"time\":\"\(timeText(time))\",\"level\":\"\(level.name)\",\"label\":"
            appendJSON(label, to: &line)
            line += ",\"message\":"
            appendJSON(message.description, to: &line)
            line += bound
            append(fields, format, to: &line)
            line += "}"
        }
        line += "\n"
        return line
    }

    static func append(_ fields: LogFields, _ format: LogFormat, to line: inout String) {
        for (key, value) in fields {
            switch format {
            case .text:
                line += " \(key.name)="
                appendText(describe(value), to: &line)
            case .json:
                line += ",\"\(key.name)\":"
                appendJSONValue(value, to: &line)
            }
        }
    }

    private static func describe(_ value: Any) -> String {
        // An optional's own description would say Optional(…).
        if let optional = value as? any OptionalValue { return optional.content.map(describe) ?? "nil" }
        return String(describing: value)
    }

    private static func appendText(_ value: String, to line: inout String) {
        let printable = Printable.text(value, limit: valueLimit)
        let isPlain = !printable.isEmpty && printable.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x5C && $0 != 0x3D }
        if isPlain {
            line += printable
            return
        }
        line += "\""
        for scalar in printable.unicodeScalars {
            if scalar == "\"" { line += "\\" }
            line.unicodeScalars.append(scalar)
        }
        line += "\""
    }

    private static func appendJSONValue(_ value: Any, to line: inout String) {
        switch value {
        case let number as any BinaryInteger: line += String(describing: number)
        case let number as Double where number.isFinite: line += String(describing: number)
        case let flag as Bool: line += flag ? "true" : "false"
        case let optional as any OptionalValue:
            if let content = optional.content { appendJSONValue(content, to: &line) } else { line += "null" }
        default: appendJSON(String(describing: value), to: &line)
        }
    }

    /// A JSON string (RFC 8259 section 7).
    private static func appendJSON(_ text: String, to line: inout String) {
        line += "\""
        var length = 0
        for scalar in text.unicodeScalars {
            if length >= valueLimit {
                line += "…"
                break
            }
            length += UTF8.width(scalar)
            switch scalar {
            case "\"": line += "\\\""
            case "\\": line += "\\\\"
            case "\n": line += "\\n"
            case "\t": line += "\\t"
            case "\r": line += "\\r"
            case _ where Printable.isHarmful(scalar):
                let hex = String(scalar.value, radix: 16)
                line += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: line.unicodeScalars.append(scalar)
            }
        }
        line += "\""
    }

    /// RFC 3339, UTC, with milliseconds. Days to a date by the algorithm of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    static func timeText(_ milliseconds: Int64) -> String {
        let second = Int(milliseconds / 1_000)
        let days = second / 86_400 + 719_468
        let ofDay = second % 86_400
        let era = days / 146_097
        let dayOfEra = days % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shifted + 2) / 5 + 1
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let fraction = String(1_000 + Int(milliseconds % 1_000)).dropFirst()
        return "\(year)-\(two(month))-\(two(day))T\(two(ofDay / 3_600)):\(two(ofDay / 60 % 60)):\(two(ofDay % 60)).\(fraction)Z"
    }
}

private protocol OptionalValue {
    var content: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var content: Any? { map { $0 as Any } }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - utf8.count)) }
}

/// Text from outside, made fit for a line of a terminal or a log.
enum Printable {
    /// `text` with control characters, line separators and bidirectional overrides written as `\u{…}`, clipped to about `limit` bytes.
    static func text(_ text: String, limit: Int = 200) -> String {
        var result = ""
        var length = 0
        for scalar in text.unicodeScalars {
            if length >= limit { return result + "…" }
            if isHarmful(scalar) {
                result += "\\u{\(String(scalar.value, radix: 16))}"
                length += 8
            } else {
                result.unicodeScalars.append(scalar)
                length += UTF8.width(scalar)
            }
        }
        return result
    }

    static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

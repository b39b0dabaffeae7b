/// Text in the header of a mail.
enum HeaderText {
    /// Controls, line ends among them: with one of them a value could become a field of its own.
    static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: false
        }
    }

    /// Whether a value can stand as it is: printable ASCII, in one short line, nothing that looks like an encoded word.
    static func isPlain(_ text: String) -> Bool {
        text.utf8.count <= 60 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && !text.contains("=?")
    }

    /// As encoded words of at most 75 bytes, on lines of their own, each of whole characters of UTF-8 (RFC 2047 §2, §5).
    ///
    /// - Parameter firstLimit: bytes that the first line has room for.
    static func encoded(_ text: String, firstLimit: Int = 60) -> String {
        let wrapping = "=?UTF-8?B??=".utf8.count
        var lines: [String] = []
        var chunk: [UInt8] = []
        func limit() -> Int { (min(75, lines.isEmpty ? firstLimit : 75) - wrapping) / 4 * 3 }
        func end() {
            guard !chunk.isEmpty else { return }
            lines.append("=?UTF-8?B?\(base64(chunk))?=")
            chunk = []
        }
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            if chunk.count + bytes.count > limit() { end() }
            chunk += bytes
        }
        end()
        return lines.joined(separator: "\r\n ")
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// RFC 4648 §4.
    private static func base64(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for index in 0..<4 {
                output.append(index <= group.count ? alphabet[bits >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

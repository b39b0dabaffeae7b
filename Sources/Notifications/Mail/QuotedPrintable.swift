/// RFC 2045 §6.7: text in lines of at most 76 ASCII characters.
enum QuotedPrintable {
    /// Line ends become CRLF.
    static func encode(_ text: String) -> String {
        var output: [UInt8] = []
        var lineLength = 0
        let bytes = Array(text.replacing("\r\n", with: "\n").utf8)
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "\n") {
                output += [0x0D, 0x0A]
                lineLength = 0
                continue
            }
            let endsLine = index + 1 == bytes.count || bytes[index + 1] == UInt8(ascii: "\n")
            let token = isLiteral(byte, endsLine: endsLine) ? [byte] : [UInt8(ascii: "="), hex(byte >> 4), hex(byte & 15)]
            // One place is left for the sign that a line goes on.
            if lineLength + token.count > 75 {
                output += [UInt8(ascii: "="), 0x0D, 0x0A]
                lineLength = 0
            }
            output += token
            lineLength += token.count
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func isLiteral(_ byte: UInt8, endsLine: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\t"): !endsLine
        case UInt8(ascii: "="): false
        default: (0x21...0x7E).contains(byte)
        }
    }

    private static func hex(_ digit: UInt8) -> UInt8 { digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10 }
}

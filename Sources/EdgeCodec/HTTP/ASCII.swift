/// Byte classes and comparisons of the HTTP grammar, all over ASCII.
enum ASCII {
    static let cr = UInt8(ascii: "\r")
    static let lf = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")

    @inline(__always)
    static func lowered(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    static func equalIgnoringCase(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
        let left = left.utf8
        let right = right.utf8
        guard left.count == right.count else { return false }
        return zip(left, right).allSatisfy { lowered($0) == lowered($1) }
    }

    static func lowercased(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.map(lowered), as: UTF8.self)
    }

    /// Without spaces and tabs at both ends.
    static func trim(_ text: Substring) -> Substring {
        var text = text
        while let first = text.utf8.first, first == space || first == tab { text = text.dropFirst() }
        while let last = text.utf8.last, last == space || last == tab { text = text.dropLast() }
        return text
    }

    /// `tchar` of RFC 9110 §5.6.2.
    @inline(__always)
    static func isToken(_ byte: UInt8) -> Bool {
        byte < 0x80 && (byte < 64 ? tokenLow >> UInt64(byte) : tokenHigh >> UInt64(byte - 64)) & 1 == 1
    }

    private static let tokenLow = tokenBits(from: 0)
    private static let tokenHigh = tokenBits(from: 64)

    private static func tokenBits(from base: UInt8) -> UInt64 {
        var bits: UInt64 = 0
        for byte in "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8
        where byte >= base && byte - base < 64 {
            bits |= 1 << UInt64(byte - base)
        }
        return bits
    }

    static func isToken(_ text: some StringProtocol) -> Bool { !text.isEmpty && text.utf8.allSatisfy { isToken($0) } }

    @inline(__always)
    static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

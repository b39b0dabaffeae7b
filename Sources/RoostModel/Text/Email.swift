/// An email address in the form in which Roost stores and compares it: trimmed, lower-case, the domain in ASCII.
///
/// RFC 5321 §4.1.2: a dot-string or quoted string of at most 64 bytes, an `@`, and a domain name; 254 bytes in all. Not taken: local
/// parts beyond ASCII (RFC 6531), address literals such as `[127.0.0.1]`, domains whose last label is a number, and domains that pass
/// for others by letters of other scripts.
public struct Email: Hashable, Sendable, CustomStringConvertible {
    public let value: String

    public init?(_ text: String) {
        let text = DisplayText.trimmed(text)
        // International domains are longer in Unicode than in Punycode, but not by more than this.
        guard text.utf8.count <= 4 * Limits.emailBytes, let at = text.unicodeScalars.lastIndex(of: "@") else { return nil }
        let local = text[..<at]
        guard Self.isLocalPart(local), let domain = DomainName.ascii(text[text.unicodeScalars.index(after: at)...]) else {
            return nil
        }
        let value = local.lowercased() + "@" + domain
        guard value.utf8.count <= Limits.emailBytes else { return nil }
        self.value = value
    }

    /// The address, or `invalid` on `field`, or `required` where there is nothing.
    public static func validated(_ text: String, field: String = "email") throws(RoostError) -> Email {
        guard !text.utf8.contains(0) else { throw RoostError(.malformed, "the character U+0000") }
        guard !MessageText.isBlank(text) else { throw .invalid(field, .required) }
        guard let email = Email(text) else { throw .invalid(field, .invalid) }
        return email
    }

    public var description: String { value }

    private static func isLocalPart(_ text: Substring) -> Bool {
        let bytes = Array(text.utf8)
        guard (1...64).contains(bytes.count) else { return false }
        if bytes[0] == UInt8(ascii: "\"") { return isQuotedString(bytes) }
        return bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { atom in
            !atom.isEmpty && atom.allSatisfy(isAtomText)
        }
    }

    /// RFC 5322 §3.2.3 `atext`.
    private static func isAtomText(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
        }
    }

    private static func isQuotedString(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 3, bytes.last == UInt8(ascii: "\"") else { return false }
        var index = 1
        while index < bytes.count - 1 {
            switch bytes[index] {
            case UInt8(ascii: "\\"):
                index += 1
                guard index < bytes.count - 1, (0x20...0x7E).contains(bytes[index]) else { return false }
            case UInt8(ascii: "\""): return false
            case 0x20...0x7E: break
            default: return false
            }
            index += 1
        }
        return true
    }
}

/// Domain names in ASCII (RFC 1035 §2.3.1, RFC 1123 §2.1), international ones through Punycode.
enum DomainName {
    /// The lower-case ASCII form, or nil where `text` is no domain name. International labels are mapped as RFC 5895 says: full-width
    /// forms to their usual ones, lower case, NFC, and the ideographic full stops to dots.
    static func ascii(_ text: some StringProtocol) -> String? {
        var mapped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x3002, 0xFF0E, 0xFF61: mapped.append(".")
            case 0xFF01...0xFF5E: mapped.append(Unicode.Scalar(scalar.value - 0xFEE0)!)
            default: mapped.append(scalar)
            }
        }
        let labels = String(mapped).lowercased().nfc.split(separator: ".", omittingEmptySubsequences: false).map(label)
        guard labels.allSatisfy({ $0 != nil }), let last = labels.last ?? nil else { return nil }
        // What ends in a number is an address, or a mistake.
        guard !last.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let name = labels.compactMap { $0 }.joined(separator: ".")
        return name.utf8.count <= 253 ? name : nil
    }

    private static func label(_ text: Substring) -> String? {
        let isASCII = text.utf8.allSatisfy { $0 < 0x80 }
        let ascii: String
        if isASCII {
            ascii = String(text)
            if text.hasPrefix("xn--") {
                // Only what this very mapping would make.
                guard let decoded = Punycode.decode(text.dropFirst(4)), isInternational(decoded), isMapped(decoded),
                    let again = Punycode.encode(decoded), again == text.dropFirst(4)
                else { return nil }
            } else if isReserved(text) {
                return nil
            }
        } else {
            guard !isReserved(text), isInternational(String(text)), let encoded = Punycode.encode(String(text)) else {
                return nil
            }
            ascii = "xn--" + encoded
        }
        guard (1...63).contains(ascii.utf8.count), ascii.first != "-", ascii.last != "-" else { return nil }
        let isPlain = ascii.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
            default: false
            }
        }
        return isPlain ? ascii : nil
    }

    /// RFC 5891 §4.2.3.1.
    private static func isReserved(_ label: Substring) -> Bool { label.dropFirst(2).hasPrefix("--") }

    private static func isMapped(_ text: String) -> Bool {
        text.lowercased().nfc.unicodeScalars.elementsEqual(text.unicodeScalars)
    }

    /// Letters, marks, digits, hyphens inside, and the few signs and joiners that languages need (RFC 5892 §2, appendix A).
    private static func isInternational(_ label: String) -> Bool {
        let scalars = Array(label.unicodeScalars)
        guard scalars.contains(where: { $0.value >= 0x80 }), let first = scalars.first, let last = scalars.last, first != "-",
            last != "-"
        else { return false }
        for (index, scalar) in scalars.enumerated() {
            switch scalar.properties.generalCategory {
            case .lowercaseLetter, .otherLetter, .modifierLetter, .decimalNumber: continue
            case .nonspacingMark, .spacingMark: guard index > 0 else { return false }
            default:
                switch scalar {
                case "-", "\u{B7}", "\u{375}", "\u{5F3}", "\u{5F4}", "\u{30FB}": continue
                case "\u{200C}", "\u{200D}":
                    guard index > 0, scalars[index - 1].properties.canonicalCombiningClass == .virama else { return false }
                default: return false
                }
            }
        }
        return true
    }
}

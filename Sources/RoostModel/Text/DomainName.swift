import Foundation

/// Domain names in ASCII (RFC 1035 §2.3.1, RFC 1123 §2.1), international ones through Punycode.
enum DomainName {
    /// The lower-case ASCII form, or nil where `text` is no domain name. International labels are mapped as RFC 5895 says: full-width
    /// and half-width forms to their usual ones, lower case, NFC, and the ideographic full stops to dots.
    ///
    /// Refused as well are names that pass for others: labels that mix scripts (UTS #39 §5.2), and labels of another script all of
    /// whose letters look Latin, unless the top-level domain is of that script.
    static func ascii(_ text: some StringProtocol) -> String? {
        var mapped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x3002, 0xFF0E, 0xFF61: mapped.append(".")
            case 0xFF00...0xFFEF:
                mapped.append(contentsOf: String(scalar).precomposedStringWithCompatibilityMapping.unicodeScalars)
            default: mapped.append(scalar)
            }
        }
        let parts = String(mapped).lowercased().nfc.split(separator: ".", omittingEmptySubsequences: false)
        let labels = parts.compactMap(Label.init)
        guard labels.count == parts.count, let last = labels.last else { return nil }
        // What ends in a number is an address, or a mistake.
        guard !last.ascii.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        guard labels.allSatisfy({ isDistinct($0, under: last) }) else { return nil }
        let name = labels.map(\.ascii).joined(separator: ".")
        return name.utf8.count <= 253 ? name : nil
    }

    private struct Label {
        let ascii: String
        /// As people see it.
        let text: String

        init?(_ text: Substring) {
            if text.utf8.allSatisfy({ $0 < 0x80 }) {
                ascii = String(text)
                if text.hasPrefix("xn--") {
                    // Only what this very mapping would make.
                    guard let decoded = Punycode.decode(text.dropFirst(4)), isInternational(decoded), isMapped(decoded),
                        let again = Punycode.encode(decoded), again == text.dropFirst(4)
                    else { return nil }
                    self.text = decoded
                } else if isReserved(text) {
                    return nil
                } else {
                    self.text = ascii
                }
            } else {
                guard !isReserved(text), isInternational(String(text)), let encoded = Punycode.encode(String(text)) else {
                    return nil
                }
                ascii = "xn--" + encoded
                self.text = String(text)
            }
            guard (1...63).contains(ascii.utf8.count), ascii.first != "-", ascii.last != "-", isPlain(ascii) else { return nil }
        }
    }

    private static func isPlain(_ label: String) -> Bool {
        label.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
            default: false
            }
        }
    }

    /// Whether a label cannot be taken for another by those who see it.
    private static func isDistinct(_ label: Label, under last: Label) -> Bool {
        switch LabelScripts.verdict(label.text) {
        case .noScript, .allowedMix, .single("Latn"): true
        case .mixed: false
        case .single(let script):
            !LabelScripts.looksLatin(label.text)
                // Whoever sees it knows by the end which script it is.
                || (LabelScripts.verdict(last.text) == .single(script) && !LabelScripts.looksLatin(last.text))
        }
    }

    /// RFC 5891 §4.2.3.1.
    private static func isReserved(_ label: Substring) -> Bool { label.dropFirst(2).hasPrefix("--") }

    private static func isMapped(_ text: String) -> Bool {
        text.lowercased().nfc.unicodeScalars.elementsEqual(text.unicodeScalars)
    }

    /// Letters, marks, digits, hyphens inside, and the few signs and joiners that languages need (RFC 5892 §2, appendix A); nothing that
    /// is another form of something else, such as ligatures and mathematical letters.
    private static func isInternational(_ label: String) -> Bool {
        let scalars = Array(label.unicodeScalars)
        guard scalars.contains(where: { $0.value >= 0x80 }), let first = scalars.first, let last = scalars.last, first != "-",
            last != "-", label.precomposedStringWithCompatibilityMapping.unicodeScalars.elementsEqual(scalars)
        else { return false }
        for (index, scalar) in scalars.enumerated() {
            guard !LabelScripts.isTechnical(scalar), !isOldHangul(scalar) else { return false }
            // Invisible, but for the joiners below.
            guard !scalar.properties.isDefaultIgnorableCodePoint || scalar == "\u{200C}" || scalar == "\u{200D}" else {
                return false
            }
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

    /// RFC 5892 §2.9.
    private static func isOldHangul(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x11FF, 0xA960...0xA97F, 0xD7B0...0xD7FF: true
        default: false
        }
    }
}

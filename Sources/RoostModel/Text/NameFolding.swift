import Foundation

/// How names are compared in the directory: lower case, without accents, words parted by single spaces.
public enum NameFolding {
    /// Words of a name that can be found by; further ones only in what follows them.
    static let wordLimit = 12
    static let scalarLimit = 160

    /// `"  Ångström-Łukasz "` → `"angstrom lukasz"`. Cut to 160 scalars.
    public static func fold(_ name: String) -> String {
        var folded = ""
        var count = 0
        var isGap = false
        for scalar in FoldedLetters.decomposed(name) {
            if FoldedLetters.isAccent(scalar) { continue }
            guard isWordPart(scalar) else {
                isGap = true
                continue
            }
            if isGap && !folded.isEmpty { folded += " " }
            isGap = false
            folded += FoldedLetters.plain[scalar] ?? String(scalar)
            count += 1
            if count == scalarLimit { break }
        }
        return folded
    }

    /// The folded name from each of its words on: a prefix of any word begins one of them.
    public static func searchKeys(_ name: String) -> [String] {
        let words = fold(name).split(separator: " ")
        return words.indices.prefix(wordLimit).map { words[$0...].joined(separator: " ") }
    }

    /// Letters, digits, signs such as emoji, and marks; not spaces or punctuation.
    private static func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .spaceSeparator, .lineSeparator, .paragraphSeparator, .control, .format, .surrogate, .dashPunctuation,
            .openPunctuation,
            .closePunctuation, .initialPunctuation, .finalPunctuation, .otherPunctuation, .connectorPunctuation:
            // An apostrophe is within a word, but few type it: O'Neil is two words, found by either.
            false
        default: true
        }
    }
}

/// What the folding of names and that of texts for search share.
enum FoldedLetters {
    /// Compatibility forms as their usual ones, lower case, marks apart from their letters.
    static func decomposed(_ text: String) -> String.UnicodeScalarView {
        text.decomposedStringWithCompatibilityMapping.lowercased().unicodeScalars
    }

    /// Marks of Latin, Greek, Cyrillic, Hebrew and Arabic that people leave out. Vowel signs of other scripts are letters to them.
    static func isAccent(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0300...0x036F, 0x0483...0x0489, 0x0591...0x05C7, 0x064B...0x065F, 0x0670, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF,
            0x20D0...0x20FF, 0xFE20...0xFE2F:
            true
        default: false
        }
    }

    /// Letters that Unicode does not decompose, as people without them type them; and the sigma that ends a word.
    static let plain: [Unicode.Scalar: String] = [
        "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t",
        "ŋ": "n", "ς": "σ",
    ]
}

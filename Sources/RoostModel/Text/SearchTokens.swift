/// A piece of a text that can be searched for, folded.
enum SearchToken: Equatable {
    case word(String)
    /// Characters of scripts that are written without spaces; longer runs come in several pieces that share a character.
    case run([String])
    case emoji(String)
}

/// Takes a text apart for ``SearchWords``.
struct SearchTokens {
    /// Calls `body` with each token and where it begins, until it answers false.
    static func read(_ text: String, _ body: (SearchToken, String.Index) -> Bool) {
        var reader = SearchTokens()
        var index = text.startIndex
        while index < text.endIndex {
            let next = text.index(after: index)
            guard reader.take(text[index], at: index, body) else { return }
            index = next
        }
        _ = reader.end(body)
    }

    private static let runLimit = 64

    private var start: String.Index?
    private var word = String.UnicodeScalarView()
    private var wordCount = 0
    private var run: [String] = []
    /// Folding asks much of the library; texts are of few different characters.
    private var folded: [Character: [Part]] = [:]

    private enum Part {
        case letter(Unicode.Scalar)
        /// A character of a script without spaces, with its marks.
        case unspaced(String)
        case emoji(String)
        case gap
    }

    private mutating func take(_ character: Character, at index: String.Index, _ body: (SearchToken, String.Index) -> Bool)
        -> Bool
    {
        if let ascii = character.asciiValue {
            switch ascii {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                return add(.letter(Unicode.Scalar(ascii)), at: index, body)
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): return add(.letter(Unicode.Scalar(ascii | 0x20)), at: index, body)
            default: return end(body)
            }
        }
        let parts = folded[character] ?? Self.parts(character)
        folded[character] = parts
        for part in parts {
            guard add(part, at: index, body) else { return false }
        }
        return true
    }

    private mutating func add(_ part: Part, at index: String.Index, _ body: (SearchToken, String.Index) -> Bool) -> Bool {
        switch part {
        case .letter(let scalar):
            if !run.isEmpty, !end(body) { return false }
            if wordCount == 0 { start = index }
            if wordCount < SearchWords.wordScalars { word.append(scalar) }
            wordCount += 1
            return true
        case .unspaced(let character):
            if wordCount > 0 || run.count == Self.runLimit {
                let last = run.last
                guard end(body) else { return false }
                if let last { run = [last] }
            }
            if run.isEmpty || start == nil { start = index }
            run.append(character)
            return true
        case .emoji(let emoji): return end(body) && body(.emoji(emoji), index)
        case .gap: return end(body)
        }
    }

    /// Hands over what has gathered.
    private mutating func end(_ body: (SearchToken, String.Index) -> Bool) -> Bool {
        guard let begin = start else { return true }
        start = nil
        if wordCount > 0 {
            let text = String(word).nfc
            word = String.UnicodeScalarView()
            wordCount = 0
            return body(.word(text), begin)
        }
        let characters = run
        run = []
        return body(.run(characters), begin)
    }

    private static func parts(_ character: Character) -> [Part] {
        if let emoji = emoji(character) { return [.emoji(emoji)] }
        var parts: [Part] = []
        for character in plain(FoldedLetters.decomposed(String(character))) {
            let scalars = character.unicodeScalars
            if let first = scalars.first, isWordPart(first), isUnspaced(first) {
                var text = String.UnicodeScalarView()
                text.append(contentsOf: scalars.lazy.filter(isWordPart).prefix(SearchWords.wordScalars))
                parts.append(.unspaced(String(text)))
            } else {
                for scalar in scalars.prefix(SearchWords.wordScalars) {
                    parts.append(isWordPart(scalar) ? .letter(scalar) : .gap)
                }
            }
        }
        return parts
    }

    /// Without accents, and without what shapes letters but is none: joiners, soft hyphens, selectors, the Arabic stretcher.
    private static func plain(_ scalars: String.UnicodeScalarView) -> String {
        var kept = String.UnicodeScalarView()
        for scalar in scalars where !FoldedLetters.isAccent(scalar) {
            // A zero-width space parts words.
            let isIgnored = scalar.properties.isDefaultIgnorableCodePoint && scalar != "\u{200B}" || scalar == "\u{640}"
            if isIgnored { continue }
            if let plain = FoldedLetters.plain[scalar] {
                kept.append(contentsOf: plain.unicodeScalars)
            } else {
                kept.append(scalar)
            }
        }
        return String(kept).nfc
    }

    /// An emoji as it is indexed: without selectors and skin tones.
    private static func emoji(_ character: Character) -> String? {
        guard let first = character.unicodeScalars.first, first.properties.isEmoji, let emoji = ReactionEmoji(String(character))
        else { return nil }
        var scalars = String.UnicodeScalarView()
        for scalar in emoji.text.unicodeScalars where scalar != "\u{FE0F}" && !scalar.properties.isEmojiModifier {
            scalars.append(scalar)
        }
        return String(scalars)
    }

    /// Letters, digits and marks.
    private static func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark, .spacingMark,
            .enclosingMark, .decimalNumber, .letterNumber, .otherNumber:
            true
        default: false
        }
    }

    /// Scripts whose words stand without spaces between them: Thai, Lao, Tibetan (its dots part syllables only), Myanmar, Khmer, Tai Le
    /// to Khmer signs, Tai Tham, Balinese, Javanese, Tai Viet, Hiragana, Katakana, Bopomofo, Yi, Han.
    private static func isUnspaced(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0E01...0x0E4E, 0x0E81...0x0ECF, 0x0EDC...0x0EDF, 0x0F40...0x0FBC, 0x1000...0x103F, 0x104E...0x108F,
            0x109A...0x109F,
            0x1780...0x17D3, 0x1950...0x19DF, 0x1A20...0x1A7F, 0x1B00...0x1B4F, 0xA980...0xA9CF, 0xA9E0...0xA9EF, 0xA9FA...0xA9FE,
            0xAA60...0xAADF, 0x2E80...0x2FDF, 0x3005...0x3007, 0x3021...0x3029, 0x3031...0x30FF, 0x3100...0x312F, 0x31A0...0x31BF,
            0x31F0...0x31FF, 0x3400...0x4DBF, 0x4E00...0xA4CF, 0xF900...0xFAFF, 0x1AFF0...0x1B16F, 0x20000...0x3FFFF:
            true
        default: false
        }
    }
}

/// How the texts of messages are indexed and searched, in any language.
///
/// Words are runs of letters, digits and marks, folded as names are (``NameFolding``): lower case, without accents, compatibility forms
/// as their usual ones. Scripts written without spaces become overlapping pairs of characters, and the last character of each run on its
/// own, so that one character is found as the beginning of a pair. An emoji is a word, whatever its skin tone.
///
/// A text is found where all terms of the query are among its words.
public enum SearchWords {
    /// A condition on the words of a text.
    public struct Term: Hashable, Sendable {
        public let word: String
        /// Whether a word that begins with ``word`` will do; compared by bytes.
        public let isPrefix: Bool

        public init(_ word: String, isPrefix: Bool) {
            self.word = word
            self.isPrefix = isPrefix
        }

        public func matches(_ word: String) -> Bool {
            isPrefix ? word.utf8.starts(with: self.word.utf8) : word.utf8.elementsEqual(self.word.utf8)
        }
    }

    /// Longer words are cut, in texts and queries alike.
    public static let wordScalars = 64
    /// Different words of a text; further ones are not found.
    public static let wordLimit = 1_000
    /// Different terms of a query; further ones do not matter.
    public static let termLimit = 32
    public static let snippetGraphemes = 160
    /// How much of a snippet stands before the hit, where there is more than fits.
    private static let leadGraphemes = 40

    /// The different words of a text, in its order.
    public static func index(_ text: String) -> [String] {
        var words: [String] = []
        var known = Set<String>()
        SearchTokens.read(text) { token, _ in
            for word in indexed(token) where known.insert(word).inserted { words.append(word) }
            return words.count < wordLimit
        }
        return Array(words.prefix(wordLimit))
    }

    /// What a text must hold to be found; empty where there is nothing to search for.
    public static func query(_ text: String) -> [Term] {
        var terms: [Term] = []
        var known = Set<Term>()
        SearchTokens.read(text) { token, _ in
            for term in Self.terms(token) where known.insert(term).inserted { terms.append(term) }
            return terms.count < termLimit
        }
        return Array(terms.prefix(termLimit))
    }

    /// Whether a text with these words is found. False where there are no terms.
    public static func matches(_ words: some Sequence<String>, _ terms: [Term]) -> Bool {
        let words = Array(words)
        return !terms.isEmpty && terms.allSatisfy { term in words.contains(where: term.matches) }
    }

    /// The text around the first word that a term finds, or from its beginning where there is none: on one line, at most
    /// ``snippetGraphemes`` long, with `…` where it is cut. Plain text.
    public static func snippet(_ text: String, _ terms: [Term]) -> String {
        var hit = text.startIndex
        SearchTokens.read(text) { token, start in
            guard indexed(token).contains(where: { word in terms.contains { $0.matches(word) } }) else { return true }
            hit = start
            return false
        }
        let before = oneLine(text[..<hit])
        let after = oneLine(text[hit...], limit: snippetGraphemes + 1)
        let isWhole = before.count + after.count <= snippetGraphemes
        var lead = before[...]
        if !isWhole {
            // The text's end is near: more of what stands before fits.
            let room = max(leadGraphemes, snippetGraphemes - after.count - 1)
            if before.count > room {
                lead = before.suffix(room - 1)
                // From the beginning of a word, if one is near.
                if let gap = lead.prefix(leadGraphemes / 2).firstIndex(of: " ") { lead = lead[(gap + 1)...] }
                lead = ["\u{2026}"] + lead
            }
        }
        var characters = Array(lead) + after
        if characters.count > snippetGraphemes { characters = characters.prefix(snippetGraphemes - 1) + ["\u{2026}"] }
        return DisplayText.trimmed(String(characters))
    }

    /// With white space as single spaces.
    private static func oneLine(_ text: Substring, limit: Int = .max) -> [Character] {
        var characters: [Character] = []
        for character in text {
            if characters.count == limit { break }
            if !character.isWhitespace {
                characters.append(character)
            } else if characters.last != " " {
                characters.append(" ")
            }
        }
        return characters
    }

    private static func indexed(_ token: SearchToken) -> [String] {
        switch token {
        case .word(let word): [word]
        case .emoji(let emoji): [emoji]
        case .run(let characters): pairs(characters) + characters.suffix(1)
        }
    }

    private static func terms(_ token: SearchToken) -> [Term] {
        switch token {
        case .word(let word): [Term(word, isPrefix: true)]
        case .emoji(let emoji): [Term(emoji, isPrefix: false)]
        case .run(let characters):
            characters.count == 1
                ? [Term(characters[0], isPrefix: true)] : pairs(characters).map { Term($0, isPrefix: false) }
        }
    }

    private static func pairs(_ characters: [String]) -> [String] { zip(characters, characters.dropFirst()).map { $0 + $1 } }
}

import Foundation
import LoadCore

/// Texts as people write them: mostly a line, seldom a paragraph, in many languages.
struct SeedTexts {
    let texts: [String]

    private static let short = [
        "ok", "Yes!", "no", "haha 😂", "thanks a lot 🙏", "see you tomorrow", "Bis gleich!", "À demain ?", "¿Dónde estás?",
        "Va bene",
        "до завтра", "好的", "ありがとう", "👍", "on my way", "call me later", "wo bist du?", "d'accord", "nos vemos luego", "jasne",
        "Где ты?", "明天见", "sounds good", "lol", "can't talk now", "perfect, thank you", "grazie mille", "obrigado!",
        "kein Problem",
    ]

    /// - Parameters:
    ///   - folder: of fortune files, parted by lines with a `%`; nil for made-up words.
    ///   - count: different texts.
    init(folder: String?, count: Int, random: inout SeededRandom) {
        let sources = folder.map { Self.fortunes(in: $0) } ?? []
        let pieces = sources.isEmpty ? Self.invented(2_000, random: &random) : sources
        texts = (0..<count).map { _ in
            let kind = random.unit()
            if kind < 0.15 { return random.element(of: Self.short) }
            let piece = random.element(of: pieces)
            if kind > 0.97 { return String(piece.prefix(1_500)) }
            // A sentence or two.
            let sentences = piece.split { $0.isNewline || $0 == "." || $0 == "!" || $0 == "?" }.filter { $0.count > 2 }
            if sentences.isEmpty { return piece }
            let first = random.index(sentences.count)
            let some = String(sentences[first...].prefix(1 + random.index(2)).joined(separator: ". "))
            return some.trimmingCharacters(in: .whitespaces)
        }.map { $0.isEmpty ? "…" : $0 }
    }

    private static func fortunes(in folder: String) -> [String] {
        guard let names = FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] else { return [] }
        var pieces: [String] = []
        // Those without an extension; the others are indexes and copies. Drawings have no words.
        for name in names.sorted() where !name.contains(".") && !name.contains("art") && !name.contains("off/") {
            guard let data = FileManager.default.contents(atPath: "\(folder)/\(name)"),
                let text = String(data: data, encoding: .utf8)
            else { continue }
            for piece in text.components(separatedBy: "\n%\n") {
                let clean = piece.replacingOccurrences(of: "\u{8}", with: "").trimmingCharacters(in: .whitespacesAndNewlines)
                if (3...2_000).contains(clean.count) { pieces.append(clean) }
            }
        }
        return pieces
    }

    private static func invented(_ count: Int, random: inout SeededRandom) -> [String] {
        let syllables = [
            "ka", "lo", "mi", "ter", "ün", "só", "re", "pan", "жи", "во", "δε", "ra", "sch", "ou", "ba", "ne", "to", "гра",
        ]
        let words = (0..<3_000).map { _ in (0...1 + random.index(3)).map { _ in random.element(of: syllables) }.joined() }
        let common = Zipf(count: words.count, exponent: 0.9)
        return (0..<count).map { _ in
            (0..<3 + random.index(40)).map { number in
                words[common.rank(&random)] + (number % 9 == 8 ? "." : "")
            }.joined(separator: " ")
        }
    }
}

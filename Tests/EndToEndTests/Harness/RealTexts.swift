import Foundation

/// Texts as people write them, in many scripts, from Debian's packages.
enum RealTexts {
    /// Every fortune of the `fortunes-…` packages for each language, cut to a number, and every line of `emoji-test.txt`.
    static func all() throws -> [String] {
        let fortunes = try fortunes()
        let lines = try emojiLines()
        guard fortunes.count >= 500, lines.count > 4_500 else {
            throw Failure("the packages fortunes-… and unicode-data are needed; cluster/test installs them")
        }
        return fortunes + lines
    }

    static func emojiLines() throws -> [String] {
        try String(contentsOf: URL(filePath: "/usr/share/unicode/emoji/emoji-test.txt"), encoding: .utf8)
            .split(separator: "\n").map(String.init)
    }

    static func fortunes(perFile limit: Int = 40) throws -> [String] {
        let folder = URL(filePath: "/usr/share/games/fortunes")
        var texts: [String] = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted() {
            guard !path.contains("."), !path.hasPrefix("off/") else { continue }
            // Files that are in another encoding than UTF-8, and folders, are left out.
            guard let text = try? String(contentsOf: folder.appending(path: path), encoding: .utf8) else { continue }
            texts += text.components(separatedBy: "\n%\n").filter(isText).prefix(limit)
        }
        return texts
    }

    /// What Roost takes as a text, as it stands: not blank, not too long, and in NFC already, so that it comes back byte by byte.
    private static func isText(_ text: String) -> Bool {
        !text.allSatisfy(\.isWhitespace) && text.utf8.count <= 32_768 && text.count <= 10_000 && !text.contains("\0")
            && Array(text.precomposedStringWithCanonicalMapping.utf8) == Array(text.utf8)
    }
}

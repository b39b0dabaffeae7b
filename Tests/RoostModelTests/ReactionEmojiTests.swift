import Foundation
import RoostModel
import Testing

@Suite struct ReactionEmojiTests {
    private func scalars(_ text: String) -> [UInt32] { text.unicodeScalars.map(\.value) }

    private enum Status: String {
        case fully = "fully-qualified", minimally = "minimally-qualified", not = "unqualified", component
    }

    /// The lines of Debian's emoji-test.txt (package unicode-data).
    private func lines() throws -> [(text: String, status: Status)] {
        let file = try String(contentsOfFile: "/usr/share/unicode/emoji/emoji-test.txt", encoding: .utf8)
        return try file.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let fields = line.prefix { $0 != "#" }.split(separator: ";")
            var text = String.UnicodeScalarView()
            for code in fields[0].split(separator: " ") {
                text.append(try #require(UInt32(code, radix: 16).flatMap(Unicode.Scalar.init)))
            }
            return (String(text), try #require(Status(rawValue: fields[1].trimmingCharacters(in: .whitespaces))))
        }
    }

    @Test func everyEmojiOfTheStandardIsOneInItsFullForm() throws {
        func bare(_ text: String) -> [UInt32] { scalars(text).filter { $0 != 0xFE0F } }
        let lines = try lines()
        #expect(lines.count > 4_500)
        var full: [[UInt32]: [UInt32]] = [:]
        for (text, status) in lines where status == .fully { full[bare(text)] = scalars(text) }
        for (text, status) in lines {
            let emoji = ReactionEmoji(text)
            switch status {
            case .fully: #expect(emoji.map { scalars($0.text) } == scalars(text))
            case .minimally, .not: #expect(emoji.map { scalars($0.text) } == full[bare(text)], "\(text)")
            case .component: #expect(emoji == nil)
            }
            // And only one.
            #expect(ReactionEmoji(text + text) == nil && ReactionEmoji(text + "a") == nil && ReactionEmoji(" " + text) == nil)
        }
    }

    @Test func withAndWithoutSelectorIsOne() throws {
        #expect(ReactionEmoji("\u{2764}") == ReactionEmoji("\u{2764}\u{FE0F}"))
        #expect(ReactionEmoji("\u{1F600}\u{FE0F}")?.text == "\u{1F600}")
        #expect(
            ReactionEmoji("\u{1F575}\u{FE0F}\u{1F3FB}\u{200D}\u{2642}").map { scalars($0.text) } == [
                0x1F575, 0x1F3FB, 0x200D, 0x2642, 0xFE0F,
            ])
    }

    /// Of Unicode 15.1 and later.
    @Test(arguments: [
        "\u{1F642}\u{200D}\u{2194}\u{FE0F}", "\u{1F426}\u{200D}\u{1F525}", "\u{26D3}\u{FE0F}\u{200D}\u{1F4A5}",
        "\u{1F3C3}\u{1F3FD}\u{200D}\u{2640}\u{FE0F}\u{200D}\u{27A1}\u{FE0F}", "\u{1F9D1}\u{200D}\u{1F9D1}\u{200D}\u{1F9D2}",
    ]) func newerSequencesAreTaken(_ text: String) { #expect(ReactionEmoji(text)?.text == text) }

    @Test(arguments: [
        "", " ", "a", "1", "#", "1\u{FE0F}", "1\u{20E3}\u{20E3}", "a\u{20E3}", "\u{20E3}", "\u{E9}", "\u{4E16}", "12", ":)",
        "\u{0}",
        "\u{200D}", "\u{FE0F}", "\u{2764}\u{FE0E}", "\u{2764}\u{FE0F}\u{FE0F}", "\u{1F600}\u{200D}", "\u{200D}\u{1F600}",
        "\u{1F600}\u{1F600}", "\u{1F600}\u{200D}\u{1F600}", "\u{1F600}\u{1F3FB}", "\u{1F44D}\u{1F3FB}\u{1F3FC}",
        "\u{1F44D}\u{1F3FB}\u{FE0F}", "\u{1F1E9}", "\u{1F1E9}\u{1F1EA}\u{1F1E9}", "\u{1F1E9}a", "\u{1F600}\u{301}", "\u{1F600}\n",
        "\u{1F3F4}\u{E0067}\u{E0062}", "\u{1F3F4}\u{E007F}", "\u{1F600}\u{E0067}\u{E007F}", "\u{202E}\u{1F600}",
        "\u{1F3F4}\u{E0048}\u{E0069}\u{E0021}\u{E007F}", "\u{1F3FB}", "\u{1F9B0}", "\u{2603}\u{200B}",
    ]) func whatIsNotOneEmojiIsRefused(_ text: String) { #expect(ReactionEmoji(text) == nil) }

    @Test func longJoinedSequencesAreRefused() {
        let person = "\u{1F469}"
        #expect(ReactionEmoji(Array(repeating: person, count: 4).joined(separator: "\u{200D}")) != nil)
        #expect(ReactionEmoji(Array(repeating: person, count: 5).joined(separator: "\u{200D}")) == nil)
    }

    @Test func theFaultIsOfTheField() throws {
        #expect(try ReactionEmoji.validated("\u{2764}").text == "\u{2764}\u{FE0F}")
        #expect(throws: RoostError.invalid("emoji", .required)) { try ReactionEmoji.validated(" ") }
        #expect(throws: RoostError.invalid("emoji", .invalid)) { try ReactionEmoji.validated("x") }
        #expect(throws: RoostError(.malformed, "the character U+0000")) { try ReactionEmoji.validated("\u{0}") }
    }
}

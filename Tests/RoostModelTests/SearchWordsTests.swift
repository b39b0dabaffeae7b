import RoostModel
import Testing

@Suite struct SearchWordsTests {
    private func found(_ query: String, in text: String) -> Bool {
        SearchWords.matches(SearchWords.index(text), SearchWords.query(query))
    }

    @Test(
        arguments: [
            ("Hello, World! hello", ["hello", "world"]), ("", []), (" \n\t.,;!? ", []), ("a1 2b", ["a1", "2b"]),
            ("O'Neil's e-mail_x", ["o", "neil", "s", "e", "mail", "x"]), ("\u{C5}ngstr\u{F6}m A\u{30A}", ["angstrom", "a"]),
            ("Stra\u{DF}e \u{1E9E} STRASSE", ["strasse", "ss"]), ("\u{FB01}sh \u{FF21}\u{FF42}\u{FF11}", ["fish", "ab1"]),
            ("\u{419}\u{43E}\u{433} \u{401}\u{43B}\u{43A}\u{430}", ["\u{438}\u{43E}\u{433}", "\u{435}\u{43B}\u{43A}\u{430}"]),
            ("\u{39F}\u{394}\u{39F}\u{3A3} \u{3BF}\u{3B4}\u{3CC}\u{3C2}", ["\u{3BF}\u{3B4}\u{3BF}\u{3C3}"]),
            ("\u{130}stanbul \u{131}s\u{131}", ["istanbul", "isi"]), ("co\u{AD}op a\u{200B}b", ["coop", "a", "b"]),
            // Persian with ZWNJ, Arabic with vowels and a stretcher, Hebrew with points.
            ("\u{645}\u{6CC}\u{200C}\u{62E}\u{648}", ["\u{645}\u{6CC}\u{62E}\u{648}"]),
            ("\u{643}\u{64E}\u{62A}\u{640}\u{64E}\u{628}", ["\u{643}\u{62A}\u{628}"]),
            ("\u{5E9}\u{5C1}\u{5B8}\u{5DC}\u{5D5}\u{5B9}\u{5DD}", ["\u{5E9}\u{5DC}\u{5D5}\u{5DD}"]),
            // Hindi keeps its vowel signs; Korean its syllables.
            ("\u{939}\u{93F}\u{928}\u{94D}\u{926}\u{940}", ["\u{939}\u{93F}\u{928}\u{94D}\u{926}\u{940}"]),
            ("\u{D55C}\u{AD6D} \u{1112}\u{1161}\u{11AB}", ["\u{D55C}\u{AD6D}", "\u{D55C}"]),
            // Japanese, with Latin and digits in between, half-width too.
            (
                "2024\u{5E74}\u{98DF}\u{3079}\u{308B}iPhone",
                ["2024", "\u{5E74}\u{98DF}", "\u{98DF}\u{3079}", "\u{3079}\u{308B}", "\u{308B}", "iphone"]
            ),
            ("\u{FF76}\u{FF9E}\u{FF92}", ["\u{30AC}\u{30E1}", "\u{30E1}"]), ("\u{732B}", ["\u{732B}"]),
            // Thai: marks stay with their letters.
            (
                "\u{E17}\u{E35}\u{E48}\u{E19}\u{E35}\u{E48}",
                ["\u{E17}\u{E35}\u{E48}\u{E19}\u{E35}\u{E48}", "\u{E19}\u{E35}\u{E48}"]
            ),
            (
                "ok\u{1F44D}\u{1F3FD}\u{1F44D} \u{2764}\u{FE0F}\u{1F1E9}\u{1F1EA}!",
                ["ok", "\u{1F44D}", "\u{2764}", "\u{1F1E9}\u{1F1EA}"]
            ),
            ("1\u{FE0F}\u{20E3} 5\u{B2} \u{BD}", ["1\u{20E3}", "52", "1", "2"]),
        ] as [(String, [String])]) func wordsOfATextAreFolded(_ text: String, _ words: [String])
    {
        #expect(SearchWords.index(text).map { Array($0.utf8) } == words.map { Array($0.utf8) })
    }

    @Test(arguments: [
        ("run", "We were running late"), ("RUN late", "We were running late"), ("cafe", "Caf\u{E9}s in Paris"),
        ("caf\u{E9}", "CAFE"), ("\u{732B}", "\u{9ED2}\u{732B}"), ("\u{732B}", "\u{732B}\u{8D70}"),
        ("\u{6771}\u{4EAC}", "\u{6771}\u{4EAC}\u{30BF}\u{30EF}\u{30FC}"),
        ("\u{30BF}\u{30EF}\u{30FC}", "\u{6771}\u{4EAC}\u{30BF}\u{30EF}\u{30FC}\u{3078}"),
        ("\u{1F44D}", "fine \u{1F44D}\u{1F3FF}"), ("\u{2764}", "\u{2764}\u{FE0F}"),
        ("\u{43F}\u{440}\u{438}\u{432}", "\u{41F}\u{440}\u{438}\u{432}\u{435}\u{442}"),
    ]) func queriesFind(_ query: String, _ text: String) { #expect(found(query, in: text)) }

    @Test(arguments: [
        ("ning", "running"), ("run far", "running"), ("\u{4EAC}\u{6771}", "\u{6771}\u{4EAC}"), ("\u{1F44E}", "\u{1F44D}"),
        ("", "a"), ("...", "a"),
        ("\u{44F}", "r"),
    ]) func queriesDoNotFind(_ query: String, _ text: String) { #expect(!found(query, in: text)) }

    @Test func aQueryHasPrefixesAndExactPairs() {
        typealias Term = SearchWords.Term
        #expect(SearchWords.query("Two  words two") == [Term("two", isPrefix: true), Term("words", isPrefix: true)])
        #expect(
            SearchWords.query("\u{65E5}\u{672C}\u{8A9E}") == [
                Term("\u{65E5}\u{672C}", isPrefix: false), Term("\u{672C}\u{8A9E}", isPrefix: false),
            ])
        #expect(SearchWords.query("\u{65E5}") == [Term("\u{65E5}", isPrefix: true)])
        #expect(SearchWords.query("\u{1F600}") == [Term("\u{1F600}", isPrefix: false)])
        #expect(SearchWords.query("?! \u{200B}\u{301}") == [])
    }

    @Test func allIsBounded() {
        let long = String(repeating: "x", count: 200)
        #expect(SearchWords.index(long) == [String(repeating: "x", count: 64)])
        #expect(found(long, in: long))
        let many = (0..<3_000).map { "w\($0)" }.joined(separator: " ")
        #expect(SearchWords.index(many).count == 1_000)
        #expect(SearchWords.query(many).count == 32)
        let marks = "a" + String(repeating: "\u{93E}", count: 5_000)
        #expect(SearchWords.index(marks).allSatisfy { $0.unicodeScalars.count <= 64 })
        let han = String((0..<3_000).map { Character(Unicode.Scalar(0x4E00 + $0)!) })
        #expect(SearchWords.index(han).count == 1_000 && SearchWords.query(han).count == 32)
        #expect(
            SearchWords.index("\u{4E00}" + String(repeating: "\u{3099}", count: 500)).allSatisfy { $0.unicodeScalars.count <= 64 }
        )
    }

    /// A run longer than a piece has the same pairs as a short one.
    @Test func longRunsHaveAllTheirPairs() {
        let characters = (0..<150).map { String(Unicode.Scalar(0x4E00 + $0)!) }
        let words = Set(SearchWords.index(characters.joined()))
        for (first, second) in zip(characters, characters.dropFirst()) { #expect(words.contains(first + second)) }
        #expect(words.contains(characters[149]))
    }

    // MARK: Snippets

    private func snippet(_ text: String, _ query: String) -> String { SearchWords.snippet(text, SearchWords.query(query)) }

    @Test func aShortTextIsItsOwnSnippet() {
        #expect(snippet("  A <b>short</b>\n\ntext ", "short") == "A <b>short</b> text")
        #expect(snippet("short", "missing") == "short")
        #expect(snippet("", "x") == "")
    }

    @Test func aLongTextIsCutAroundTheFirstHit() {
        let filler = Array(repeating: "lorem ipsum", count: 60).joined(separator: " ")
        for text in ["needle \(filler)", "\(filler) Needl\u{E9}s \(filler) needle", "\(filler) needle"] {
            let snippet = snippet(text, "needle")
            #expect(snippet.count <= 160 && snippet.count > 100)
            #expect(snippet.lowercased().contains("needl"))
            #expect(snippet.hasPrefix("\u{2026}") == !text.hasPrefix("needle"))
            #expect(snippet.hasSuffix("\u{2026}") == !text.hasSuffix("needle") || text.contains("Needl"))
        }
        #expect(snippet(filler, "missing").hasPrefix("lorem") && snippet(filler, "missing").hasSuffix("\u{2026}"))
    }

    @Test func graphemesAreNotCut() {
        let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}"
        let text = String(repeating: family, count: 400)
        let snippet = snippet(text, family)
        #expect(snippet.count == 160 && snippet.dropLast().allSatisfy { String($0) == family })
        let han =
            String(repeating: "\u{6771}\u{4EAC}", count: 300) + "\u{732B}\u{8D70}"
            + String(repeating: "\u{6771}\u{4EAC}", count: 300)
        #expect(self.snippet(han, "\u{732B}\u{8D70}").contains("\u{732B}\u{8D70}"))
    }
}

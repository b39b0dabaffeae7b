import RoostModel
import Testing

@Suite struct TextTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    // MARK: Normalisation

    @Test(arguments: [
        ("plain", "plain"), ("\u{E9}", "\u{E9}"), ("e\u{301}", "\u{E9}"), ("\u{212B}", "\u{C5}"),
        ("\u{1112}\u{1161}\u{11AB}", "\u{D55C}"),
        ("a\u{323}\u{302}", "\u{1EAD}"), ("a\u{302}\u{323}", "\u{1EAD}"), ("\u{958}", "\u{915}\u{93C}"),
        ("\u{1F600}", "\u{1F600}"),
        ("\u{2126}", "\u{3A9}"), ("", ""),
    ]) func formC(_ text: String, _ expected: String) { #expect(bytes(text.nfc) == bytes(expected)) }

    // MARK: Messages

    @Test(arguments: ["", " ", "\n\t\r ", "\u{A0}\u{2003}\u{3000}", "\u{200B}", "\u{FEFF}", "\u{2028}"])
    func whiteSpaceOnlyIsEmpty(_ text: String) {
        #expect(throws: RoostError(.emptyMessage)) { try MessageText.validated(text) }
    }

    @Test func theBoundsOfAMessageAreInclusive() throws {
        let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}"
        #expect(try MessageText.validated(String(repeating: "a", count: 10_000)).count == 10_000)
        #expect(try MessageText.validated(String(repeating: "\u{E9}", count: 10_000)).count == 10_000)
        #expect(try MessageText.validated(String(repeating: "a\u{301}", count: 10_000)).utf8.count == 20_000)
        #expect(throws: RoostError.invalid("text", .tooLong)) {
            try MessageText.validated(String(repeating: "\u{E9}", count: 10_001))
        }
        #expect(throws: RoostError.invalid("text", .tooLong)) {
            try MessageText.validated(String(repeating: family, count: 1_821))
        }
        #expect(try MessageText.validated(String(repeating: family, count: 1_820)).utf8.count == 32_760)
        #expect(try MessageText.validated(String(repeating: "\u{4E16}", count: 10_000)).utf8.count == 30_000)
    }

    @Test func aMessageKeepsWhatItHolds() throws {
        for text in [" x ", "a\r\nb\tc", "\u{202E}abc", "\u{1F3F4}\u{E0067}\u{E007F}", "\u{7F}\u{1}"] {
            #expect(try bytes(MessageText.validated(text)) == bytes(text))
        }
    }

    @Test func clientIDsHaveOneToSixtyFourCharacters() throws {
        #expect(throws: RoostError.invalid("clientId", .required)) { try ClientID.validated("") }
        #expect(throws: RoostError.invalid("clientId", .tooLong)) { try ClientID.validated(String(repeating: "a", count: 65)) }
        #expect(throws: RoostError.invalid("clientId", .tooLong)) {
            try ClientID.validated("a" + String(repeating: "\u{301}", count: 600))
        }
        for text in ["a", " ", String(repeating: "a", count: 64), String(repeating: "\u{1F600}", count: 64), "e\u{301}"] {
            #expect(try bytes(ClientID.validated(text)) == bytes(text))
        }
        #expect(throws: RoostError.self) { try ClientID.validated("a\u{0}") }
    }

    // MARK: Names

    @Test(arguments: [
        ("  Ann  Lee ", "Ann  Lee"), ("Ann\nLee", "Ann Lee"), ("Ann\r\nLee", "Ann Lee"), ("Ann\u{2028}Lee\u{85}", "Ann Lee"),
        ("A\u{7}n\u{1B}n\u{9F}", "Ann"), ("\u{202E}Ann\u{202C}", "Ann"), ("A\u{2066}n\u{2069}n\u{200E}\u{200F}\u{61C}", "Ann"),
        ("A\u{200B}n\u{AD}n\u{2060}\u{FEFF}\u{3164}\u{E0001}", "Ann"), ("e\u{34F}\u{301}", "\u{E9}"),
        ("A\u{200D}nn\u{200C}", "Ann"),
        // Persian with ZWNJ, Sinhala with ZWJ, a family, a heart with VS16, a flag of a region.
        ("\u{645}\u{6CC}\u{200C}\u{62E}\u{648}", "\u{645}\u{6CC}\u{200C}\u{62E}\u{648}"),
        ("\u{DC1}\u{DCA}\u{200D}\u{DBB}\u{DD3}", "\u{DC1}\u{DCA}\u{200D}\u{DBB}\u{DD3}"),
        ("\u{1F469}\u{1F3FD}\u{200D}\u{1F680}", "\u{1F469}\u{1F3FD}\u{200D}\u{1F680}"),
        ("\u{2764}\u{FE0F}\u{200D}\u{1F525}", "\u{2764}\u{FE0F}\u{200D}\u{1F525}"),
        (
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}"
        ),
        ("Ann\u{E0041}\u{FE0F}\u{FE0F}", "Ann"), ("\u{2764}\u{FE0F}\u{FE0F}", "\u{2764}\u{FE0F}"),
        ("1\u{FE0F}\u{20E3}2\u{FE0F}", "1\u{FE0F}\u{20E3}2"), ("\u{845B}\u{E0100}x\u{E0100}", "\u{845B}\u{E0100}x"),
        ("\u{FE0F}\u{2764}", "\u{2764}"), ("\u{1820}\u{180B}\u{180E}", "\u{1820}\u{180B}"),
        ("\u{2229}\u{FE00}", "\u{2229}\u{FE00}"),
        // Tags that spell out something hidden, or have no end.
        ("\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}x", "\u{1F3F4}x"), ("\u{1F3F4}\u{E007F}", "\u{1F3F4}"),
        ("\u{1F3F4}\u{E0068}\u{E0069}\u{E0064}\u{E0064}\u{E0065}\u{E006E}\u{E0073}\u{E007F}", "\u{1F3F4}"),
        ("\u{1F600}\u{E0067}\u{E0062}\u{E0065}\u{E007F}", "\u{1F600}"),
        ("A\u{2800}B\u{2800}", "A B"), ("\u{1D159}A", "A"), ("\u{E17}\u{200D}\u{E19}", "\u{E17}\u{E19}"),
        ("\u{1F600}\u{200D}", "\u{1F600}"), ("Zo\u{308}e", "Z\u{F6}e"),
    ]) func namesAreCleaned(_ text: String, _ expected: String) throws {
        let name = try DisplayText.name(text, field: "displayName")
        #expect(bytes(name) == bytes(expected))
        #expect(try bytes(DisplayText.name(name, field: "displayName")) == bytes(name))
    }

    /// Between letters that they do not shape, all that Unicode calls invisible goes, and what changes the direction.
    @Test func nothingInvisibleStaysInAName() throws {
        let isolates = [0x61C, 0x200E, 0x200F] + Array(0x202A...0x202E) + Array(0x2066...0x2069)
        for value in isolates.map(UInt32.init) {
            #expect(try #require(Unicode.Scalar(value)).properties.isDefaultIgnorableCodePoint)
        }
        let controls: ClosedRange<UInt32> = 0xFFF9...0xFFFB
        var count = 0
        for value in (UInt32(1)...0xE0FFF) {
            guard let scalar = Unicode.Scalar(value), scalar.properties.isDefaultIgnorableCodePoint || controls.contains(value)
            else { continue }
            count += 1
            #expect(
                try DisplayText.name("A\(scalar)\(scalar)B", field: "n").utf8.elementsEqual("AB".utf8),
                "U+\(String(value, radix: 16))")
            #expect(try DisplayText.name("\(scalar)A\(scalar)", field: "n").utf8.elementsEqual("A".utf8))
            #expect(throws: RoostError.self) { try DisplayText.name("\(scalar)", field: "n") }
        }
        #expect(count > 4_000)
    }

    @Test(arguments: ["\u{202E}\u{200D}", "\u{7}", "\u{2800}", "\u{3164}", "\u{E0041}", " \u{AD} "])
    func aNameWithNothingVisibleIsInvalid(_ text: String) {
        #expect(throws: RoostError.invalid("displayName", .invalid)) { try DisplayText.name(text, field: "displayName") }
    }

    @Test func namesAndTitlesAreBounded() throws {
        #expect(throws: RoostError.invalid("displayName", .required)) { try DisplayText.name(" \n", field: "displayName") }
        #expect(try DisplayText.name(String(repeating: "\u{1F600}", count: 80), field: "n").count == 80)
        #expect(throws: RoostError.invalid("n", .tooLong)) { try DisplayText.name(String(repeating: "a", count: 81), field: "n") }
        #expect(throws: RoostError.invalid("n", .tooLong)) {
            try DisplayText.name("a" + String(repeating: "\u{301}", count: 3000), field: "n")
        }
        #expect(try DisplayText.title(String(repeating: "a", count: 120)).count == 120)
        #expect(throws: RoostError.invalid("title", .tooLong)) { try DisplayText.title(String(repeating: "a", count: 121)) }
        #expect(throws: RoostError.self) { try DisplayText.name("a\u{0}", field: "n") }
    }

    @Test func aDescriptionKeepsItsLines() throws {
        #expect(try DisplayText.about(" a\r\nb\n\nc\u{202E} ") == "a\nb\n\nc")
        #expect(try DisplayText.about(" \u{200B}\n") == nil)
        #expect(throws: RoostError.invalid("about", .tooLong)) { try DisplayText.about(String(repeating: "a", count: 501)) }
    }

    // MARK: Passwords

    @Test func passwordsAreBoundedByTheirBytes() throws {
        #expect(throws: RoostError(.weakPassword)) { try Password.validated("1234567") }
        #expect(throws: RoostError(.weakPassword)) { try Password.validated(String(repeating: "a", count: 1025)) }
        #expect(try Password.validated("12345678") == "12345678")
        #expect(try Password.validated(String(repeating: "a", count: 1024)).utf8.count == 1024)
        #expect(try bytes(Password.validated("geheim e\u{301}")) == bytes("geheim \u{E9}"))
        #expect(throws: RoostError(.weakPassword)) { try Password.validated("e\u{301}e\u{301}e\u{301}") }
        #expect(throws: RoostError.self) { try Password.validated("12345678\u{0}") }
    }
}

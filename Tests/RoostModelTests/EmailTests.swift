import Testing

@testable import RoostModel

@Suite struct EmailTests {
    @Test(arguments: [
        ("bob@x.example", "bob@x.example"), (" Bob@X.example \n", "bob@x.example"), ("bob+a@x.example", "bob+a@x.example"),
        ("o'hara.x_y@sub.example", "o'hara.x_y@sub.example"), ("\"a b\\\"c\"@x.example", "\"a b\\\"c\"@x.example"),
        ("a@localhost", "a@localhost"), ("a@3com.example", "a@3com.example"),
        ("a@B\u{FC}cher.example", "a@xn--bcher-kva.example"), ("a@bu\u{308}cher.EXAMPLE", "a@xn--bcher-kva.example"),
        ("a@xn--BCHER-kva.example", "a@xn--bcher-kva.example"), ("a@\u{65E5}\u{672C}\u{8A9E}\u{3002}jp", "a@xn--wgv71a119e.jp"),
        ("a@\u{FF45}xample.org", "a@example.org"),
    ]) func addressesAreNormalised(_ text: String, _ expected: String) throws {
        #expect(try #require(Email(text)).value == expected)
        #expect(Email(expected)?.value == expected)
    }

    @Test(arguments: [
        "", " ", "a", "@", "a@", "@x.example", "a b@x.example", "a@x example", ".a@x.example", "a.@x.example", "a..b@x.example",
        "a@.x", "a@x.", "a@x..y", "a@-x.example", "a@x-.example", "a@x_y.example", "\u{E9}@x.example", "a@1.2.3.4",
        "a@[127.0.0.1]",
        "a@b@x.example", "\"a@x.example", "\"a\"b\"@x.example", "a@x.example\u{0}", "a@xn--a.example", "a@xn--\u{FC}.example",
        "a@ab--cd.example", "a@\u{301}x.example", "a@\u{1F600}.example", "a@x\u{200D}y.example", "a,b@x.example", "<a@x.example>",
    ]) func whatIsNoAddressIsRefused(_ text: String) { #expect(Email(text) == nil) }

    /// As written, and as whoever wants to deceive writes it: in Punycode.
    @Test(arguments: [
        // Latin with Cyrillic, Greek, Armenian or Cherokee letters.
        "\u{430}pple", "paypa\u{4CF}", "g\u{43E}\u{43E}gle", "\u{3BF}range", "\u{578}okia", "\u{AB74}x", "\u{431}x1", "a-\u{43F}",
        // One script, all of it like Latin: сосо, аррӏе, ѕсоре, уаһоо, ορο, with accents, digits and hyphens.
        "\u{441}\u{43E}\u{441}\u{43E}", "\u{430}\u{440}\u{440}\u{4CF}\u{435}", "\u{455}\u{441}\u{43E}\u{440}\u{435}",
        "\u{443}\u{430}\u{4BB}\u{43E}\u{43E}", "\u{3BF}\u{3C1}\u{3BF}", "\u{440}\u{451}\u{440}\u{451}",
        "\u{445}-\u{445}1", "\u{585}\u{585}",
        // Scripts that do not stand together: Han with Cyrillic, Hangul with kana, kana with Bopomofo, Devanagari with Bengali.
        "\u{65E5}\u{434}", "\u{D55C}\u{304B}", "\u{304B}\u{3105}", "\u{915}\u{995}",
        // What is invisible, a click like an l, phonetic letters, other forms of letters, letters of old Hangul.
        "ex\u{E9}\u{34F}mple", "exampl\u{E9}\u{115F}", "goog\u{1C0}e", "g\u{251}me", "\u{FB01}sh", "\u{1D41A}b", "\u{17F}ee",
        "\u{E9}\u{2B0}", "\u{1112}\u{1161}\u{1180}",
    ]) func domainsThatPassForOthersAreRefused(_ label: String) throws {
        for domain in ["\(label).com", "mail.\(label).example", "\(label).\u{65E5}\u{672C}"] {
            #expect(throws: RoostError.invalid("email", .invalid)) { try Email.validated("bob@\(domain)") }
        }
        let encoded = try #require(Punycode.encode(label))
        #expect(Email("bob@xn--\(encoded).com") == nil)
    }

    @Test(arguments: [
        "b\u{FC}cher.de", "\u{433}\u{43E}\u{440}\u{43E}\u{434}.com",
        "\u{43F}\u{440}\u{435}\u{437}\u{438}\u{434}\u{435}\u{43D}\u{442}.\u{440}\u{444}",
        // хор under .рф: the end tells the script.
        "\u{445}\u{43E}\u{440}.\u{440}\u{444}", "\u{3BB}\u{3CC}\u{3B3}\u{3BF}\u{3C2}.gr", "\u{570}\u{561}\u{575}.com",
        "\u{65E5}\u{672C}\u{8A9E}abc\u{306E}\u{30AB}\u{30CA}.jp", "\u{4E2D}\u{6587}x.cn", "\u{D55C}\u{AD6D}\u{97D3}a.kr",
        "\u{30AB}\u{30FC}.jp",
        "\u{939}\u{93F}\u{928}\u{94D}\u{926}\u{940}.com", "\u{0E44}\u{0E17}\u{0E22}.com", "\u{645}\u{635}\u{631}1.com",
        "\u{5E9}\u{5DC}\u{5D5}\u{5DD}.com",
        "fa\u{DF}.de", "\u{131}\u{15F}\u{131}k.tr", "\u{1EAD}\u{1EA1}.vn", "\u{259}li.az", "\u{10DB}\u{10D7}.ge",
        "\u{FF76}\u{FF9E}.jp",
        // Each label for itself.
        "mail.\u{434}\u{43E}\u{43C}.example",
    ]) func domainsOfManyLanguagesAreTaken(_ domain: String) throws {
        let email = try #require(Email("bob@\(domain)"))
        #expect(email.value.hasPrefix("bob@") && email.value.contains("xn--"))
        #expect(Email(email.value) == email)
        #expect(Email("bob@\(domain.uppercased().replacing("SS", with: "\u{DF}"))") != nil)
    }

    /// One account, however it is written.
    @Test func twinsAreOneAddress() throws {
        for twins in [
            ["Bob@X.example", "bob@x.example", " bob@x.example\t", "bob@\u{FF38}.example", "bob@x\u{3002}example"],
            ["a@B\u{DC}CHER.example", "a@bu\u{308}cher.example", "A@xn--bcher-kva.EXAMPLE"],
        ] {
            #expect(Set(twins.map { Email($0)?.value }).count == 1)
            #expect(Email(twins[0]) != nil)
        }
        #expect(Email("bob+a@x.example") != Email("bob@x.example"))
        // The sign for kelvin and a dotless i are no ASCII letters.
        #expect(Email("\u{212A}@x.example") == nil && Email("b\u{131}ll@x.example") == nil)
    }

    @Test func theBoundsAreInclusive() {
        let local = String(repeating: "a", count: 64)
        let label = String(repeating: "b", count: 63)
        #expect(Email("\(local)@\(label).example") != nil)
        #expect(Email("\(local)a@\(label).example") == nil)
        #expect(Email("a@b\(label).example") == nil)
        let long = "\(label).\(label).\(String(repeating: "c", count: 61))"
        #expect("\(local)@\(long)".utf8.count == 254)
        #expect(Email("\(local)@\(long)") != nil)
        #expect(Email("\(local)@\(long)c") == nil)
    }

    @Test func theFaultIsOfTheField() {
        #expect(throws: RoostError.invalid("email", .required)) { try Email.validated("  ") }
        #expect(throws: RoostError.invalid("email", .invalid)) { try Email.validated("x") }
        #expect(throws: RoostError(.malformed, "the character U+0000")) { try Email.validated("a@x.example\u{0}") }
    }

    /// RFC 3492 §7.1, in the lower case of domain names where the examples have mixed.
    @Test(arguments: [
        (
            "\u{644}\u{64A}\u{647}\u{645}\u{627}\u{628}\u{62A}\u{643}\u{644}\u{645}\u{648}\u{634}\u{639}\u{631}\u{628}\u{64A}\u{61F}",
            "egbpdaj6bu4bxfgehfvwxn"
        ),
        ("\u{4ED6}\u{4EEC}\u{4E3A}\u{4EC0}\u{4E48}\u{4E0D}\u{8BF4}\u{4E2D}\u{6587}", "ihqwcrb4cv8a8dqg056pqjye"),
        ("Pro\u{10D}prost\u{11B}nemluv\u{ED}\u{10D}esky", "Proprostnemluvesky-uyb24dma41a"),
        ("3\u{5E74}B\u{7D44}\u{91D1}\u{516B}\u{5148}\u{751F}", "3B-ww4c5e180e575a65lsy2b"),
        ("\u{305D}\u{306E}\u{30B9}\u{30D4}\u{30FC}\u{30C9}\u{3067}", "d9juau41awczczp"), ("-> $1.00 <-", "-> $1.00 <--"),
    ]) func punycodeOfTheRFC(_ text: String, _ encoded: String) {
        #expect(Punycode.encode(text) == encoded)
        #expect(Punycode.decode(encoded) == text)
    }

    @Test(arguments: ["\u{E9}", "99999999", "a-\u{7F}", "zzzzzzzzzzzzzzzzzzzzz"]) func whatIsNoPunycodeIsRefused(_ text: String) {
        #expect(Punycode.decode(text) == nil)
    }
}

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

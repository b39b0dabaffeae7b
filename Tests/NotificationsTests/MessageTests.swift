import Foundation
import Ports
import RoostModel
import Testing

@testable import Notifications

@Suite struct MessageTests {
    private let from = MailAddress("Roost <no-reply@chat.example>")!
    private let date = Timestamp(milliseconds: 1_796_058_000_123)

    private func message(_ mail: Mail, from: MailAddress? = nil) throws -> String {
        try MailMessage(mail, from: from ?? self.from, date: date, unique: "u1").text
    }

    private func mail(to: String = "bob@x.example", subject: String = "Hello", text: String = "t", html: String = "h") -> Mail {
        Mail(to: to, subject: subject, text: text, html: html)
    }

    @Test func aMessageHasAllItsParts() throws {
        let text = try message(mail(text: "Gr\u{FC}\u{DF}e\n.\n", html: "<p>a=b</p>"))
        #expect(
            text == """
                From: "Roost" <no-reply@chat.example>\r
                To: bob@x.example\r
                Subject: Hello\r
                Date: Mon, 30 Nov 2026 17:00:00 +0000\r
                Message-ID: <u1@chat.example>\r
                Auto-Submitted: auto-generated\r
                MIME-Version: 1.0\r
                Content-Type: multipart/alternative; boundary="=_u1"\r
                \r
                --=_u1\r
                Content-Type: text/plain; charset=utf-8\r
                Content-Transfer-Encoding: quoted-printable\r
                \r
                Gr=C3=BC=C3=9Fe\r
                .\r
                \r
                --=_u1\r
                Content-Type: text/html; charset=utf-8\r
                Content-Transfer-Encoding: quoted-printable\r
                \r
                <p>a=3Db</p>\r
                --=_u1--\r

                """)
    }

    @Test func noValueBreaksOutOfItsField() {
        for subject in ["a\r\nBcc: eve@x.example", "a\nb", "a\rb", "a\u{0}", "a\u{2028}b", "a\u{85}"] {
            #expect(throws: MailError.permanent(reason: "a control in the subject")) { try message(mail(subject: subject)) }
        }
        for to in [
            "bob@x.example\r\nBcc: eve@x.example", "bob@x.example, eve@x.example", "Bob@x.example", "x", "\u{E9}@x.example",
            " bob@x.example",
        ] {
            #expect(throws: MailError.permanent(reason: "the recipient is no address")) { try message(mail(to: to)) }
        }
    }

    @Test(arguments: [
        ("bob@x.example", nil, "bob@x.example", "bob@x.example"),
        ("Chat <Bob@X.example>", "Chat", "bob@x.example", "\"Chat\" <bob@x.example>"),
        ("A \"B\" <b@x.example>", "A \"B\"", "b@x.example", "\"A \\\"B\\\"\" <b@x.example>"),
        ("Z\u{FC}rich <b@x.example>", "Z\u{FC}rich", "b@x.example", "=?UTF-8?B?WsO8cmljaA==?=\r\n <b@x.example>"),
    ]) func senders(_ text: String, _ name: String?, _ address: String, _ header: String) throws {
        let sender = try #require(MailAddress(text))
        #expect(sender.name == name && sender.address == address && sender.header == header)
    }

    @Test(arguments: ["", "x", "Chat <>", "Chat <x>", "a\r\nBcc: b <c@x.example>", "Chat b@x.example"])
    func whatIsNoSender(_ text: String) { #expect(MailAddress(text) == nil) }

    @Test(arguments: [
        "Gr\u{FC}\u{DF}e", "\u{4F60}\u{597D}", String(repeating: "\u{65E5}\u{672C}\u{8A9E}", count: 40), "=?UTF-8?B?eA==?=",
        String(repeating: "long ", count: 30), String(repeating: "\u{1F468}\u{200D}\u{1F469}", count: 30),
    ]) func subjectsAreEncodedInShortLines(_ subject: String) throws {
        let text = try message(mail(subject: subject))
        let lines = text.components(separatedBy: "\r\n")
        #expect(lines.allSatisfy { $0.utf8.count <= 78 && $0.utf8.allSatisfy { $0 < 0x80 } })
        let start = try #require(lines.firstIndex { $0.hasPrefix("Subject: ") })
        let folded =
            [String(lines[start].dropFirst(9))]
            + lines[(start + 1)...].prefix { $0.hasPrefix(" ") }.map { String($0.dropFirst()) }
        #expect(folded.allSatisfy { $0.hasPrefix("=?UTF-8?B?") && $0.hasSuffix("?=") && $0.utf8.count <= 75 })
        let decoded = try folded.map { word in
            let data = try #require(Data(base64Encoded: String(word.dropFirst(10).dropLast(2))))
            return try #require(String(data: data, encoding: .utf8))
        }
        #expect(decoded.joined() == subject)
    }

    @Test(arguments: [
        ("", ""), ("a b", "a b"), ("a \nb\t", "a=20\r\nb=09"), ("a=b", "a=3Db"), ("a\r\nb\nc", "a\r\nb\r\nc"),
        ("\u{E9}", "=C3=A9"),
        (String(repeating: "x", count: 80), String(repeating: "x", count: 75) + "=\r\nxxxxx"), ("a\rb", "a=0Db"),
        ("\u{0}", "=00"),
    ]) func quotedPrintable(_ text: String, _ encoded: String) {
        #expect(QuotedPrintable.encode(text).utf8.elementsEqual(encoded.utf8))
    }

    @Test func linesOfQuotedPrintableAreShort() {
        let encoded = QuotedPrintable.encode(String(repeating: "\u{65E5}\u{672C} x", count: 200))
        #expect(encoded.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 76 })
    }

    @Test func linksAreSafe() {
        let templates = MailTemplates(base: "https://chat.example/a?b=1&c=\"<x>'//")
        let reset = templates.mail(.resetPassword, to: "bob@x.example", token: "a+b/c=\u{E9}&\"")
        #expect(reset.to == "bob@x.example" && reset.subject == "Reset your password")
        #expect(reset.text.contains("\nhttps://chat.example/a?b=1&c=\"<x>'/reset-password?token=a%2Bb%2Fc%3D%C3%A9%26%22\n"))
        #expect(
            reset.html.contains(
                "href=\"https://chat.example/a?b=1&amp;c=&quot;&lt;x&gt;&#39;/reset-password?token=a%2Bb%2Fc%3D%C3%A9%26%22\""))
        let verify = MailTemplates(base: "http://localhost:8080/").mail(.verifyEmail, to: "bob@x.example", token: "T-_~.9")
        #expect(verify.text.contains("\nhttp://localhost:8080/verify-email?token=T-_~.9\n"))
        #expect(verify.html.contains("href=\"http://localhost:8080/verify-email?token=T-_~.9\""))
    }
}

import Glibc
import Ports
import RoostModel

/// A mail as it is transmitted (RFC 5322), with its text and its HTML as alternatives (RFC 2046 §5.1.4).
struct MailMessage: Sendable {
    let text: String

    /// - Parameter unique: letters and digits, unlike those of any other mail.
    /// - Throws: `permanent` where an address is none, or a value would break out of its field.
    init(_ mail: Mail, from: MailAddress, date: Timestamp, unique: String = Self.unique()) throws(MailError) {
        guard let recipient = Email(mail.to), recipient.value == mail.to else {
            throw .permanent(reason: "the recipient is no address")
        }
        guard !mail.subject.unicodeScalars.contains(where: HeaderText.isForbidden) else {
            throw .permanent(reason: "a control in the subject")
        }
        let boundary = "=_\(unique)"
        let fields = [
            "From: \(from.header)",
            "To: \(mail.to)",
            "Subject: \(HeaderText.isPlain(mail.subject) ? mail.subject : HeaderText.encoded(mail.subject))",
            "Date: \(Self.dateField(date))",
            "Message-ID: <\(unique)@\(from.domain)>",
            "Auto-Submitted: auto-generated",
            "MIME-Version: 1.0",
            "Content-Type: multipart/alternative; boundary=\"\(boundary)\"",
        ]
        var text = fields.joined(separator: "\r\n") + "\r\n\r\n"
        for (type, body) in [("plain", mail.text), ("html", mail.html)] {
            text += "--\(boundary)\r\nContent-Type: text/\(type); charset=utf-8\r\n"
            text += "Content-Transfer-Encoding: quoted-printable\r\n\r\n\(QuotedPrintable.encode(body))\r\n"
        }
        self.text = text + "--\(boundary)--\r\n"
    }

    /// 26 letters and digits: 130 random bits.
    static func unique() -> String {
        String((0..<26).map { _ in "abcdefghijklmnopqrstuvwxyz234567".randomElement()! })
    }

    /// `Mon, 30 Nov 2026 17:00:00 +0000` (RFC 5322 §3.3).
    static func dateField(_ date: Timestamp) -> String {
        let (parts, days, months) = (utc(date), "SunMonTueWedThuFriSat", "JanFebMarAprMayJunJulAugSepOctNovDec")
        func name(_ names: String, _ index: Int32) -> Substring { names.dropFirst(3 * Int(index)).prefix(3) }
        let time = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
        return
            "\(name(days, parts.tm_wday)), \(two(parts.tm_mday)) \(name(months, parts.tm_mon)) \(parts.tm_year + 1900) \(time) +0000"
    }

    static func utc(_ date: Timestamp) -> tm {
        var seconds = time_t(date.milliseconds / 1_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return parts
    }

    static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

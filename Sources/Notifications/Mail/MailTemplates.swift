import Ports

/// The words of the mails.
public struct MailTemplates: Sendable {
    /// Without a slash at the end.
    private let base: String

    /// - Parameter base: where people reach the web page; the links begin with it.
    public init(base: String) {
        var base = base[...]
        while base.last == "/" { base = base.dropLast() }
        self.base = String(base)
    }

    public func mail(_ kind: MailKind, to recipient: String, token: String) -> Mail {
        switch kind {
        case .verifyEmail:
            mail(
                to: recipient, subject: "Confirm your email address", link: link("verify-email", token),
                action: "Confirm the address",
                before:
                    "Someone, presumably you, has signed up with this email address. To confirm that it is yours, open this link:",
                after: "If it was not you, you need not do anything.")
        case .resetPassword:
            mail(
                to: recipient, subject: "Reset your password", link: link("reset-password", token),
                action: "Choose a new password",
                before:
                    "Someone, presumably you, has asked to reset the password of your account. To choose a new one, open this link:",
                after:
                    "The link works once, and for one hour. If it was not you, you need not do anything: your password stays as it is."
            )
        }
    }

    private func mail(to recipient: String, subject: String, link: String, action: String, before: String, after: String) -> Mail
    {
        let html = """
            <!DOCTYPE html>
            <html lang="en">
            <head><meta charset="utf-8"><title>\(Self.escaped(subject))</title></head>
            <body style="font-family: sans-serif; line-height: 1.5; max-width: 36em; margin: 2em auto; padding: 0 1em">
            <p>\(Self.escaped(before))</p>
            <p><a href="\(Self.escaped(link))">\(Self.escaped(action))</a></p>
            <p style="word-break: break-all">\(Self.escaped(link))</p>
            <p>\(Self.escaped(after))</p>
            </body>
            </html>

            """
        return Mail(to: recipient, subject: subject, text: "\(before)\n\n\(link)\n\n\(after)\n", html: html)
    }

    private func link(_ page: String, _ token: String) -> String { "\(base)/\(page)?token=\(Self.percentEncoded(token))" }

    /// All but RFC 3986's unreserved characters.
    private static func percentEncoded(_ text: String) -> String {
        text.utf8.reduce(into: "") { result, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default: result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.append(character)
            }
        }
    }
}

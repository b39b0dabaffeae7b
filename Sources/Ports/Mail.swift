/// A mail to one person, as text and as HTML with the same content.
public struct Mail: Sendable, Equatable {
    /// An address in the form of ``RoostModel/Email``.
    public let to: String
    public let subject: String
    public let text: String
    public let html: String

    public init(to: String, subject: String, text: String, html: String) {
        self.to = to
        self.subject = subject
        self.text = text
        self.html = html
    }
}

/// Why a mail did not go out. The reason is for logs and holds neither addresses nor words of the mail.
public enum MailError: Error, Sendable, Equatable {
    /// Worth another try later.
    case temporary(reason: String)
    /// This mail will never go out: the server refuses its recipient or content, or a header would be malformed.
    case permanent(reason: String)

    public var reason: String {
        switch self {
        case .temporary(let reason), .permanent(let reason): reason
        }
    }
}

/// Hands a mail over to whoever delivers it.
public protocol MailTransport: Sendable {
    /// Returns once somebody else is responsible for the mail.
    func send(_ mail: Mail) async throws(MailError)
}

import Ports
import RoostModel
import Runtime

/// Hands mails to an SMTP server (RFC 5321), through libcurl, on a thread of its own.
///
/// TLS is verified, with the names and roots that the system knows: from the first byte with `smtps://`; with `smtp://` from STARTTLS on
/// (RFC 3207), which is required where there is a password that would leave this machine, and used elsewhere where offered.
public final class SMTPTransport: MailTransport {
    /// Where mail is handed in. Never shown: it may hold a password.
    public struct Server: Sendable {
        let url: String
        let requiresTLS: Bool

        /// From `smtp://user:password@host:port` or `smtps://…`, percent-encoded; nil where it is neither.
        public init?(url: String) {
            guard let mark = url.firstRange(of: "://") else { return nil }
            let (scheme, rest) = (url[..<mark.lowerBound], url[mark.upperBound...])
            guard scheme == "smtp" || scheme == "smtps", url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
            let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
            let name = host.hasPrefix("[") ? host.prefix { $0 != "]" }.dropFirst() : host.prefix { $0 != ":" }
            guard !name.isEmpty else { return nil }
            self.url = url
            let isLocal = name == "localhost" || name == "::1" || name.hasPrefix("127.")
            requiresTLS = scheme == "smtp" && authority.contains("@") && !isLocal
        }
    }

    private let from: MailAddress
    private let threads: WorkerThreads
    private let clock: WallClock
    private let session: SMTPSession

    /// - Parameters:
    ///   - threads: exactly one: the connection is kept from one mail to the next.
    ///   - timeout: for one mail, connecting included.
    ///   - trustedRoots: a file of certificates instead of the system's.
    public init(
        server: Server, from: MailAddress, threads: WorkerThreads, timeout: Duration = .seconds(30), trustedRoots: String? = nil,
        clock: @escaping WallClock = systemWallClock
    ) {
        self.from = from
        self.threads = threads
        self.clock = clock
        session = SMTPSession(server: server, timeout: timeout, trustedRoots: trustedRoots)
    }

    public func send(_ mail: Mail) async throws(MailError) {
        let message = try MailMessage(mail, from: from, date: Timestamp(milliseconds: clock()))
        try await threads.mail { [session, from] () throws(MailError) in
            try session.send(message.text, from: from.address, to: mail.to)
        }
    }
}

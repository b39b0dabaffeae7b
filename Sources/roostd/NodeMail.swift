import Notifications
import Ports
import PostgresStore
import Runtime

/// The sending of mail: what a node is told about it, and its parts.
struct NodeMail: Sendable {
    static let server = Setting<SMTPTransport.Server>(
        "ROOST_SMTP_URL", default: nil, allowed: "smtp://user:password@host:port or smtps://…, percent-encoded", isSecret: true,
        help: "the server that takes mail; without one it is written to files"
    ) { SMTPTransport.Server(url: $0) }.optional
    static let from = Setting<MailAddress>(
        "ROOST_MAIL_FROM", default: "Roost <no-reply@localhost>", allowed: "an email address, or a name and <address>",
        help: "who mail is from"
    ) { MailAddress($0) }
    static let directory = Setting<String>.string(
        "ROOST_MAIL_DIRECTORY", default: "mail", help: "where mail is written as .eml files when there is no server for it")
    static let publicURL = Setting<String>.url(
        "ROOST_PUBLIC_URL", default: nil, schemes: ["http", "https"],
        help: "what the links in mails begin with; the node's own URL where not given"
    ).optional

    static let settings: [any DeclaredSetting] = [server, from, directory, publicURL]

    let drain: MailDrain
    /// Stopped after ``drain``. One thread: the connection to the server is kept.
    let threads = WorkerThreads(name: "mail", threads: 1, queueLimit: 16)

    init(_ configuration: Configuration, outbox: any MailOutbox, metrics: Metrics, logger: Logger) {
        let from = configuration[Self.from]
        let transport: any MailTransport =
            if let server = configuration[Self.server] {
                SMTPTransport(server: server, from: from, threads: threads)
            } else {
                SpoolTransport(directory: configuration[Self.directory], from: from, threads: threads)
            }
        drain = MailDrain(
            outbox: outbox, transport: transport,
            templates: MailTemplates(base: configuration[Self.publicURL] ?? NodeSettings.url(configuration)), metrics: metrics,
            logger: logger.labelled("mail"))
    }
}

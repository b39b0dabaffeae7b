import Foundation
import Notifications
import Ports
import RoostModel
import Runtime
import TestSupport
import Testing

/// Mails over real sockets and into real files.
@Suite struct TransportTests {
    private let mail = Mail(to: "bob@x.example", subject: "Hello", text: ".\n..dots\nGr\u{FC}\u{DF}e\n", html: "<p>.</p>")
    private let from = MailAddress("Roost <no-reply@chat.example>")!

    private func withThreads(_ body: (WorkerThreads) async throws -> Void) async throws {
        let threads = WorkerThreads(name: "mail", threads: 1, queueLimit: 4)
        try await threads.start()
        do { try await body(threads) } catch {
            await threads.stop()
            throw error
        }
        await threads.stop()
    }

    private func transport(_ url: String, _ threads: WorkerThreads, timeout: Duration = .seconds(20)) throws -> SMTPTransport {
        SMTPTransport(server: try #require(SMTPTransport.Server(url: url)), from: from, threads: threads, timeout: timeout)
    }

    private func error(_ transport: SMTPTransport) async -> MailError? {
        do throws(MailError) {
            try await transport.send(mail)
            return nil
        } catch { return error }
    }

    @Test func mailsGoOverOneConnection() async throws {
        let server = try SMTPServer()
        try await withThreads { threads in
            let transport = try transport("smtp://127.0.0.1:\(server.port)", threads)
            for _ in 0..<3 { try await transport.send(mail) }
            let state = server.state.withLock { $0 }
            #expect(state.deliveries.count == 3 && state.connections == 1)
            #expect(state.deliveries.allSatisfy { $0.from == "no-reply@chat.example" && $0.recipients == ["bob@x.example"] })
            let data = state.deliveries[0].data
            #expect(data.hasPrefix("From: \"Roost\" <no-reply@chat.example>\r\nTo: bob@x.example\r\nSubject: Hello\r\n"))
            #expect(data.contains("\r\n\r\n.\r\n..dots\r\nGr=C3=BC=C3=9Fe\r\n") && data.hasSuffix("--\r\n"))
            #expect(Set(state.deliveries.map(\.data)).count == 3)
        }
        await server.stop()
    }

    @Test func aPasswordIsToldToTheServer() async throws {
        let server = try SMTPServer()
        try await withThreads { threads in
            try await transport("smtp://us%40er:p%3Ass@127.0.0.1:\(server.port)", threads).send(mail)
            let commands = server.state.withLock { $0.commands }
            #expect(commands.contains("AUTH PLAIN") && commands.contains(Data("\0us@er\0p:ss".utf8).base64EncodedString()))
        }
        await server.stop()
    }

    @Test(arguments: [
        ("RCPT", "550 no such user bob@x.example", true), ("RCPT", "450 try later", false), (".", "554 refused", true),
        (".", "451 try later", false), ("DATA", "554 no", true), ("MAIL", "553 not from you", false),
        ("AUTH", "535 wrong", false),
        ("MAIL", "421 closing", false),
    ]) func refusalsAreOfTheMailOrOfUs(_ command: String, _ line: String, isPermanent: Bool) async throws {
        let server = try SMTPServer()
        server.answer(command, with: line)
        try await withThreads { threads in
            let transport = try transport("smtp://u:p@127.0.0.1:\(server.port)", threads)
            switch try #require(await error(transport)) {
            case .permanent(let reason):
                #expect(isPermanent && reason.contains(String(line.prefix(3))) && !reason.contains("bob"))
            case .temporary(let reason):
                #expect(!isPermanent && !reason.contains("bob"))
            }
            #expect(server.state.withLock { $0.deliveries }.isEmpty)
            // And afterwards all is as ever.
            server.answer(command, with: nil)
            try await transport.send(mail)
            #expect(server.state.withLock { $0.deliveries.count } == 1)
        }
        await server.stop()
    }

    @Test func nobodyThereIsTemporary() async throws {
        let port = try Loopback.freePort()
        try await withThreads { threads in
            guard case .temporary = try await error(transport("smtp://127.0.0.1:\(port)", threads)) else {
                Issue.record("not temporary")
                return
            }
        }
    }

    @Test func aServerThatSaysNothingIsGivenUp() async throws {
        let server = try SMTPServer()
        server.state.withLock { $0.isSilent = true }
        try await withThreads { threads in
            let result = try await error(transport("smtp://127.0.0.1:\(server.port)", threads, timeout: .milliseconds(300)))
            guard case .temporary = result else {
                Issue.record("not temporary")
                return
            }
        }
        await server.stop()
    }

    /// No plain text where TLS was asked for, and no password without TLS to another machine.
    @Test func withoutTLSNothingIsSent() async throws {
        let server = try SMTPServer()
        try await withThreads { threads in
            guard case .temporary = try await error(transport("smtps://127.0.0.1:\(server.port)", threads)) else {
                Issue.record("sent in plain text")
                return
            }
            // All of 127/8 is this machine, but this way of writing it is not known to be.
            guard case .temporary = try await error(transport("smtp://u:secret@0x7f000001:\(server.port)", threads)) else {
                Issue.record("sent in plain text")
                return
            }
            let commands = server.state.withLock { $0.commands }
            #expect(commands.contains { $0.hasPrefix("EHLO") })
            #expect(commands.allSatisfy { !$0.hasPrefix("AUTH") && !$0.hasPrefix("MAIL") })
        }
        await server.stop()
    }

    @Test(arguments: [
        "", "smtp://", "http://x", "smtp:///x", "smtp://u:p@", "smtp://:25", "smtp://a b", "x", "smtp://\u{E9}.example",
    ]) func whatIsNoServer(_ url: String) { #expect(SMTPTransport.Server(url: url) == nil) }

    @Test func filesAreCompleteAndSorted() async throws {
        let directory = try TemporaryDirectory.make("mail") + "/deep/down"
        try await withThreads { threads in
            let time = Locked<Int64>(1_796_058_000_123)
            let transport = SpoolTransport(directory: directory, from: from, threads: threads) {
                time.withLock { time in
                    time += 7
                    return time
                }
            }
            for number in 0..<3 {
                try await transport.send(Mail(to: "bob@x.example", subject: "Mail \(number)", text: "t", html: "h"))
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
            #expect(names.count == 3 && names.allSatisfy { $0.hasPrefix("20261130T170000.1") && $0.hasSuffix(".eml") })
            for (number, name) in names.enumerated() {
                let text = try String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)
                #expect(text.contains("\r\nSubject: Mail \(number)\r\n") && text.hasSuffix("--\r\n"))
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")
                #expect(attributes[.posixPermissions] as? Int == 0o600)
            }
            let blocked = SpoolTransport(directory: "\(directory)/\(names[0])", from: from, threads: threads)
            await #expect(throws: MailError.self) { try await blocked.send(mail) }
        }
        await TemporaryDirectory.remove(URL(filePath: directory).deletingLastPathComponent().deletingLastPathComponent().path)
    }
}

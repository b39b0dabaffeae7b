import EventLoop
import Glibc
import Runtime
import TestSupport

/// A small SMTP server on loopback, for one client at a time. It answers as it is told to, and keeps what it got.
final class SMTPServer: Sendable {
    struct Delivery: Sendable, Equatable {
        let from: String
        let recipients: [String]
        /// Without the dots that the protocol adds, with its line ends.
        let data: String
    }

    struct State: Sendable {
        var deliveries: [Delivery] = []
        var connections = 0
        var commands: [String] = []
        /// What a command (its first word, or `.` for the end of a message) is answered with instead.
        var answers: [String: String] = [:]
        var isSilent = false
        var open: Int32?
        var isStopped = false
    }

    let port: Int
    let state = Locked(State())
    private let listener: Int32
    private let thread = LoopThread()

    /// - Parameter extensions: told in answer to `EHLO`.
    init(extensions: [String] = ["8BITMIME", "AUTH PLAIN LOGIN"]) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isBound else { throw ChildProcessError(what: "cannot listen: errno \(errno)") }
        listener = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
        thread.start(name: "smtp") { [self] in
            while true {
                let client = accept(descriptor, nil, nil)
                if state.withLock({ $0.isStopped }) || client < 0 {
                    if client >= 0 { close(client) }
                    break
                }
                state.withLock { state in
                    state.connections += 1
                    state.open = client
                }
                converse(client, extensions)
                state.withLock { $0.open = nil }
                close(client)
            }
            close(descriptor)
        }
    }

    func answer(_ command: String, with line: String?) { state.withLock { $0.answers[command] = line } }

    func stop() async {
        state.withLock { state in
            state.isStopped = true
            if let open = state.open { shutdown(open, Int32(SHUT_RDWR)) }
        }
        shutdown(listener, Int32(SHUT_RDWR))
        await withCheckedContinuation { continuation in thread.onExit { continuation.resume() } }
    }

    private func converse(_ client: Int32, _ extensions: [String]) {
        var reader = LineReader(descriptor: client)
        var sender = ""
        var recipients: [String] = []
        func say(_ line: String) { LineReader.write("\(line)\r\n", to: client) }
        if state.withLock({ $0.isSilent }) {
            while reader.line() != nil {}
            return
        }
        say("220 test ESMTP")
        while let line = reader.line() {
            let verb = String(line.prefix { $0 != " " }).uppercased()
            let answer = state.withLock { state in
                state.commands.append(line)
                return state.answers[verb]
            }
            if let answer {
                say(answer)
                continue
            }
            switch verb {
            case "EHLO":
                for name in extensions { say("250-\(name)") }
                say("250 SIZE 1000000")
            case "AUTH":
                say("334 ")
                guard let response = reader.line() else { return }
                state.withLock { $0.commands.append(response) }
                say("235 fine")
            case "MAIL":
                (sender, recipients) = (Self.path(line), [])
                say("250 fine")
            case "RCPT":
                recipients.append(Self.path(line))
                say("250 fine")
            case "DATA":
                say("354 go on")
                var data = ""
                while let line = reader.line(), line != "." {
                    data += (line.hasPrefix(".") ? String(line.dropFirst()) : line) + "\r\n"
                }
                let refusal = state.withLock { state in
                    if state.answers["."] == nil {
                        state.deliveries.append(Delivery(from: sender, recipients: recipients, data: data))
                    }
                    return state.answers["."]
                }
                say(refusal ?? "250 taken")
            case "QUIT":
                say("221 bye")
                return
            default: say("250 fine")
            }
        }
    }

    private static func path(_ line: String) -> String {
        guard let start = line.firstIndex(of: "<"), let end = line.lastIndex(of: ">") else { return "" }
        return String(line[line.index(after: start)..<end])
    }
}

private struct LineReader {
    let descriptor: Int32
    private var buffer: [UInt8] = []

    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Without its CRLF; nil at the end.
    mutating func line() -> String? {
        while true {
            if let end = buffer.firstIndex(of: 0x0A) {
                var line = buffer[..<end]
                if line.last == 0x0D { line = line.dropLast() }
                let text = String(decoding: line, as: UTF8.self)
                buffer.removeSubrange(...end)
                return text
            }
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            buffer += chunk[..<count]
        }
    }

    static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}

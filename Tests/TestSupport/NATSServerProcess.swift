import Glibc
import Runtime

/// A NATS server of a test's own on a free port of 127.0.0.1. It is ended when the test's process ends.
public final class NATSServerProcess: Sendable {
    public let port: Int
    public let directory: String
    public let url: String
    private let server = Locked<Server?>(nil)

    private struct Server: Sendable {
        let process: ChildProcess
        let guardian: Guardian
    }

    /// One for all tests of this process that do not stop it; made at the first call.
    public static func shared() async throws -> NATSServerProcess { try await sharedTask.value }
    private static let sharedTask = Task { try await make() }

    /// - Parameters:
    ///   - maximumPayloadBytes: what the server accepts in a message.
    ///   - password: of the user `roost`; nil lets anyone in.
    ///   - isStarted: false leaves the start to ``start()``.
    public static func make(
        maximumPayloadBytes: Int = 1 << 20, password: String? = nil, isStarted: Bool = true
    ) async throws -> NATSServerProcess {
        let server = try NATSServerProcess(maximumPayloadBytes: maximumPayloadBytes, password: password)
        if isStarted { try await server.start() }
        return server
    }

    private init(maximumPayloadBytes: Int, password: String?) throws {
        port = try Loopback.freePort()
        directory = try TemporaryDirectory.make("nats")
        let account = password.map { "roost:\($0)@" } ?? ""
        url = "nats://\(account)127.0.0.1:\(port)"
        var text = "listen: \"127.0.0.1:\(port)\"\nmax_payload: \(maximumPayloadBytes)\n"
        if let password { text += "authorization { user: roost, password: \"\(password)\" }\n" }
        let file = open("\(directory)/nats.conf", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        guard write(file, text, text.utf8.count) == text.utf8.count else {
            throw ChildProcessError(what: "cannot write nats.conf")
        }
    }

    /// Starts the server, again on the same port, and returns when it takes connections.
    public func start() async throws {
        let process = try ChildProcess(["nats-server", "-c", "\(directory)/nats.conf"], log: "\(directory)/log")
        let guardian = try Guardian(pids: [process.pid], directory: directory)
        try await eventually("NATS is ready, see \(directory)/log") { [port] in
            if !process.isRunning { throw ChildProcessError(what: "NATS does not start, see the log") }
            return Loopback.accepts(port: port)
        }
        server.withLock { $0 = Server(process: process, guardian: guardian) }
    }

    /// Ends the server in good order.
    public func stop() async { await end(SIGTERM) }

    /// Ends the server without warning.
    public func kill() async { await end(SIGKILL) }

    /// Stops the server from running, with its connections open: it is silent, not gone.
    public func pause() { server.withLock { $0 }?.process.signal(SIGSTOP) }
    public func resume() { server.withLock { $0 }?.process.signal(SIGCONT) }

    /// Ends the server and removes its directory.
    public func remove() async {
        await kill()
        await TemporaryDirectory.remove(directory)
    }

    private func end(_ signal: Int32) async {
        let running = server.withLock { server in
            let running = server
            server = nil
            return running
        }
        guard let running else { return }
        running.process.signal(signal)
        // It may be paused.
        running.process.signal(SIGCONT)
        await running.process.waitForExit()
        running.guardian.dismiss()
    }
}

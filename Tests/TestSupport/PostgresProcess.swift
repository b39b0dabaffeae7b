import Glibc
import Runtime

/// A PostgreSQL cluster of a test's own: its own directory, a free port of 127.0.0.1, no password.
///
/// It is ended and its directory removed when the test's process ends; ``remove()`` does it earlier.
public final class PostgresProcess: Sendable {
    public let port: Int
    public let directory: String
    private let options: [String]
    private let server = Locked<Server?>(nil)
    private let databases = Locked(0)

    private struct Server: Sendable {
        let process: ChildProcess
        let guardian: Guardian
    }

    /// How the server is told to stop.
    public enum StopMode: Sendable {
        /// Ends the sessions and writes a checkpoint.
        case fast
        /// Ends everything at once, with recovery at the next start.
        case immediate
    }

    /// One for all tests of this process that do not stop it; made at the first call.
    public static func shared() async throws -> PostgresProcess { try await sharedTask.value }
    private static let sharedTask = Task { try await make(durable: false) }

    /// Makes a cluster and starts it.
    ///
    /// - Parameters:
    ///   - durable: fsync and synchronous commit as in production; off is faster where nothing is killed.
    ///   - settings: further parameters of the server.
    public static func make(durable: Bool = true, settings: [String: String] = [:]) async throws -> PostgresProcess {
        let postgres = try PostgresProcess(durable: durable, settings: settings)
        try await postgres.initialize()
        try await postgres.start()
        return postgres
    }

    private init(durable: Bool, settings: [String: String]) throws {
        port = try Loopback.freePort()
        directory = try TemporaryDirectory.make("postgres")
        var all = [
            "listen_addresses": "127.0.0.1", "port": "\(port)", "unix_socket_directories": directory, "max_connections": "60",
            "shared_buffers": "32MB", "timezone": "UTC",
        ]
        if !durable { all.merge(["fsync": "off", "full_page_writes": "off"]) { $1 } }
        all.merge(settings) { $1 }
        options = all.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
    }

    /// - Parameter database: made with ``createDatabase()``, or the first one.
    public func url(database: String = "postgres") -> String { "postgresql://postgres@127.0.0.1:\(port)/\(database)" }

    /// A new, empty database.
    ///
    /// - Returns: its name.
    public func createDatabase() async throws -> String {
        let number = databases.withLock { databases in
            databases += 1
            return databases
        }
        let name = "test\(number)"
        try await ChildProcess.run(
            [Self.program("createdb"), "-h", "127.0.0.1", "-p", "\(port)", "-U", "postgres", name], log: "\(directory)/log")
        return name
    }

    /// Starts the server, again on the same port and directory, and returns when it takes connections.
    public func start() async throws {
        let command = Self.asPostgres([Self.program("postgres"), "-D", "\(directory)/data"] + options)
        // After a kill the old backends may hold the shared memory for a moment, and the first try fails.
        for _ in 0..<50 {
            let process = try ChildProcess(command, log: "\(directory)/log")
            let guardian = try Guardian(pids: [process.pid], directory: directory)
            try await eventually("PostgreSQL is ready, see \(directory)/log", within: .seconds(60)) {
                !process.isRunning || isReady(process)
            }
            if process.isRunning {
                server.withLock { $0 = Server(process: process, guardian: guardian) }
                return
            }
            guardian.dismiss()
            try await Task.sleep(for: .milliseconds(100))
        }
        throw ChildProcessError(what: "PostgreSQL does not start, see \(directory)/log")
    }

    public func stop(_ mode: StopMode = .fast) async {
        switch mode {
        case .fast: await end(SIGINT)
        case .immediate: await end(SIGQUIT)
        }
    }

    /// Kills the server and all its sessions without warning.
    public func kill() async {
        let processes = server.withLock { $0.map { [$0.process.pid] + Self.children(of: $0.process.pid) } } ?? []
        for pid in processes.dropFirst() { Glibc.kill(pid, SIGKILL) }
        await end(SIGKILL)
    }

    /// Stops the server's main process from running: no new connections are served. The sessions go on.
    public func pause() { server.withLock { $0 }?.process.signal(SIGSTOP) }
    public func resume() { server.withLock { $0 }?.process.signal(SIGCONT) }

    /// Ends the server and removes its directory.
    public func remove() async {
        await stop(.immediate)
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

    private func initialize() async throws {
        if geteuid() == 0 {
            guard let user = getpwnam("postgres") else { throw ChildProcessError(what: "there is no user postgres") }
            chown(directory, user.pointee.pw_uid, user.pointee.pw_gid)
        }
        let command = [
            Self.program("initdb"), "-D", "\(directory)/data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8",
            "--no-sync", "--no-instructions",
        ]
        try await ChildProcess.run(Self.asPostgres(command), log: "\(directory)/log")
    }

    /// postmaster.pid: the pid in its first line, "ready" in its eighth (PostgreSQL's `pidfile.h`).
    private func isReady(_ process: ChildProcess) -> Bool {
        guard let text = Configuration.readFile("\(directory)/data/postmaster.pid") else { return false }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.count >= 8 && lines[0] == "\(process.pid)" && lines[7].hasPrefix("ready")
    }

    private static func children(of pid: pid_t) -> [pid_t] {
        let text = Configuration.readFile("/proc/\(pid)/task/\(pid)/children") ?? ""
        return text.split(separator: " ").compactMap { pid_t($0) }
    }

    /// PostgreSQL refuses to run as root; `setpriv` becomes the command, so that its pid is the server's.
    private static func asPostgres(_ command: [String]) -> [String] {
        geteuid() == 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] + command : command
    }

    private static func program(_ name: String) -> String {
        for version in (13...20).reversed() {
            let path = "/usr/lib/postgresql/\(version)/bin/\(name)"
            if access(path, X_OK) == 0 { return path }
        }
        return name
    }
}

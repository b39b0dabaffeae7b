import EventLoop
import Glibc
import Runtime

/// A process started by a test, which never outlives the test's own process, however that ends.
public final class ChildProcess: Sendable {
    public let pid: pid_t

    private struct State {
        var status: Int32?
        var waiters: [CheckedContinuation<Int32, Never>] = []
    }

    private let state = Locked(State())

    /// - Parameters:
    ///   - arguments: the program, looked for in PATH, and its arguments.
    ///   - log: a file that output and errors are appended to; nil drops them.
    ///   - environment: set beside the inherited one.
    public init(_ arguments: [String], log: String? = nil, environment: [String: String] = [:], input: Int32? = nil) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_addopen(&actions, 1, log ?? "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0o644)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)

        // Signals that this process ignores or blocks would stay so in the child; a group of its own keeps a terminal's ^C away.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for number in [SIGTERM, SIGINT, SIGPIPE] { sigaddset(&defaults, number) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETPGROUP))

        let variables = Configuration.processEnvironment().merging(environment) { $1 }.map { "\($0)=\($1)" }
        var pid: pid_t = 0
        let result = Self.withCStrings(arguments) { argv in
            Self.withCStrings(variables) { envp in posix_spawnp(&pid, arguments[0], &actions, &attributes, argv, envp) }
        }
        guard result == 0 else { throw ChildProcessError(what: "cannot start \(arguments[0]): errno \(result)") }
        self.pid = pid
        LoopThread().start(name: "child-\(pid)") { self.reap() }
    }

    public var isRunning: Bool { state.withLock { $0.status == nil } }

    /// Sends a signal, unless the process has ended: its number may be another's by then.
    public func signal(_ number: Int32) {
        state.withLock { state in
            if state.status == nil { kill(pid, number) }
        }
    }

    /// The exit status, or 128 and the number of the signal that ended it.
    @discardableResult
    public func waitForExit() async -> Int32 {
        await withCheckedContinuation { continuation in
            let status = state.withLock { state in
                if state.status == nil { state.waiters.append(continuation) }
                return state.status
            }
            if let status { continuation.resume(returning: status) }
        }
    }

    /// Runs a command to its end.
    ///
    /// - Throws: ``ChildProcessError`` unless it exits with 0.
    public static func run(_ arguments: [String], log: String? = nil, environment: [String: String] = [:]) async throws {
        let status = await (try ChildProcess(arguments, log: log, environment: environment)).waitForExit()
        if status != 0 { throw ChildProcessError(what: "\(arguments[0]) ended with \(status)") }
    }

    private func reap() {
        var information = siginfo_t()
        // Without reaping: until the status is stored, the number must stay taken.
        while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) < 0 && errno == EINTR {}
        let (status, waiters) = state.withLock { state in
            var raw: Int32 = 0
            waitpid(pid, &raw, 0)
            let status = raw & 0x7F == 0 ? (raw >> 8) & 0xFF : 128 + (raw & 0x7F)
            state.status = status
            let waiters = state.waiters
            state.waiters = []
            return (status, waiters)
        }
        for waiter in waiters { waiter.resume(returning: status) }
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        let copies: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeBufferPointer { body($0.baseAddress!) }
    }
}

public struct ChildProcessError: Error, CustomStringConvertible {
    public let what: String
    public var description: String { what }

    public init(what: String) { self.what = what }
}

/// Ends processes and removes directories when the test's process ends, even by a crash: a shell that waits for the end of a line to it.
public final class Guardian: Sendable {
    private let shell: ChildProcess
    private let lifeline: Int32

    /// - Parameters:
    ///   - pids: killed with SIGKILL when this process has ended.
    ///   - directory: then removed.
    public init(pids: [pid_t], directory: String? = nil) throws {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw ChildProcessError(what: "socketpair: errno \(errno)") }
        lifeline = ends[1]
        defer { close(ends[0]) }
        let script = "read -r line; test \"$line\" = ok && exit; kill -KILL $1 2>/dev/null; test -n \"$2\" && rm -rf -- \"$2\""
        let numbers = pids.map { String($0) }.joined(separator: " ")
        shell = try ChildProcess(["sh", "-c", script, "guardian", numbers, directory ?? ""], input: ends[0])
    }

    /// Lets go without ending anything.
    public func dismiss() {
        _ = write(lifeline, "ok\n", 3)
        close(lifeline)
    }
}

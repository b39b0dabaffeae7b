import Glibc
import Ports
import RoostModel
import Runtime

/// Writes mails as files, for development and for others to send: `<time>-<unique>.eml`, which are complete when they appear.
public struct SpoolTransport: MailTransport {
    private let directory: String
    private let from: MailAddress
    private let threads: WorkerThreads
    private let clock: WallClock

    /// - Parameters:
    ///   - directory: made where it does not exist.
    ///   - threads: for the writing.
    public init(directory: String, from: MailAddress, threads: WorkerThreads, clock: @escaping WallClock = systemWallClock) {
        self.directory = directory
        self.from = from
        self.threads = threads
        self.clock = clock
    }

    public func send(_ mail: Mail) async throws(MailError) {
        let now = Timestamp(milliseconds: clock())
        let unique = MailMessage.unique()
        let message = try MailMessage(mail, from: from, date: now, unique: unique)
        let name = "\(Self.fileTime(now))-\(unique).eml"
        try await threads.mail { [directory] () throws(MailError) in try Self.write(message.text, named: name, in: directory) }
    }

    /// `20261130T170000.123Z`: sorted by name is sorted by time.
    private static func fileTime(_ time: Timestamp) -> String {
        let (parts, two) = (MailMessage.utc(time), MailMessage.two)
        let thousandths = String(1_000 + time.milliseconds % 1_000).dropFirst()
        return "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))"
            + "T\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec)).\(thousandths)Z"
    }

    /// Under a hidden name first, so that nobody sees half a mail. Only the owner may read it: its link is a secret.
    private static func write(_ text: String, named name: String, in directory: String) throws(MailError) {
        let (hidden, final) = ("\(directory)/.\(name)", "\(directory)/\(name)")
        var descriptor = create(hidden)
        if descriptor < 0, errno == ENOENT {
            makeDirectories(directory)
            descriptor = create(hidden)
        }
        guard descriptor >= 0 else { throw .temporary(reason: "cannot create a file in the mail directory: errno \(errno)") }
        var rest = Array(text.utf8)[...]
        var isWritten = true
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                isWritten = false
                break
            }
            rest = rest.dropFirst(count)
        }
        isWritten = isWritten && fsync(descriptor) == 0
        let isClosed = close(descriptor) == 0
        guard isWritten, isClosed, rename(hidden, final) == 0 else {
            let reason = errno
            unlink(hidden)
            throw .temporary(reason: "cannot write a file in the mail directory: errno \(reason)")
        }
    }

    private static func create(_ path: String) -> Int32 { open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }

    private static func makeDirectories(_ path: String) {
        var made = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            made += "/\(part)"
            mkdir(made, 0o700)
        }
    }
}

extension WorkerThreads {
    /// Runs what sends a mail; a pool that is full or stopped is a reason to try later.
    func mail(_ work: @escaping @Sendable () throws(MailError) -> Void) async throws(MailError) {
        let result: Result<Void, MailError>
        do {
            result = try await run {
                do throws(MailError) { return .success(try work()) } catch { return .failure(error) }
            }
        } catch { throw .temporary(reason: "too many mails are being sent") }
        try result.get()
    }
}

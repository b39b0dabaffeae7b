import CPostgres
import EventLoop
import Glibc
import Runtime

/// Applies the numbered SQL files of a directory, each once, in order, each in a transaction of its own.
///
/// Two that run at once wait for each other. What was applied is recorded with a checksum in `schema_migrations`; a file that changed
/// afterwards is an error, and so is one that comes before the newest applied one.
public enum Migrator {
    /// `ROOST_MIGRATIONS`
    public static let directorySetting = Setting<String>.string(
        "ROOST_MIGRATIONS", default: "migrations", help: "the directory of the SQL files")

    /// Applies what is missing. The work is done on a thread of its own.
    ///
    /// - Returns: the names of the files applied now.
    /// - Throws: ``MigrationError``
    public static func run(url: String, directory: String) async throws -> [String] {
        try await withCheckedThrowingContinuation { continuation in
            LoopThread().start(name: "migrate") {
                continuation.resume(with: Result { try runBlocking(url: url, directory: directory) })
            }
        }
    }

    /// As ``run(url:directory:)``, on the calling thread.
    public static func runBlocking(url: String, directory: String) throws(MigrationError) -> [String] {
        let files = try MigrationFile.all(in: directory)
        let session = try MigrationSession(url: url)
        // Held until the session ends. The number is arbitrary: "roost" in ASCII.
        try session.run("SELECT pg_advisory_lock(491496043380)")
        try session.run(
            """
            CREATE TABLE IF NOT EXISTS schema_migrations (
                name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())
            """)
        let applied = try session.pairs("SELECT name, checksum FROM schema_migrations ORDER BY name")
        let known = Dictionary(uniqueKeysWithValues: applied)
        if let missing = applied.first(where: { pair in !files.contains { $0.name == pair.0 } }) {
            // An older release beside a newer database: nothing to do, and nothing wrong, if all of its own are there.
            if files.allSatisfy({ known[$0.name] != nil }) { return [] }
            throw MigrationError(.missingFile, missing.0)
        }
        var done: [String] = []
        for file in files {
            if let checksum = known[file.name] {
                guard checksum == file.checksum else { throw MigrationError(.changed, file.name) }
                continue
            }
            if let newest = applied.last?.0, file.name < newest { throw MigrationError(.outOfOrder, file.name) }
            do {
                try session.run(
                    "BEGIN;\n\(file.text)\n;INSERT INTO schema_migrations (name, checksum) VALUES ('\(file.name)', '\(file.checksum)');COMMIT"
                )
            } catch { throw MigrationError(.failed, "\(file.name): \(error.detail)") }
            done.append(file.name)
        }
        return done
    }
}

public struct MigrationError: Error, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable {
        case cannotRead, badName, changed, outOfOrder, missingFile, cannotConnect, failed
    }

    public let code: Code
    public let detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    public var description: String {
        switch code {
        case .cannotRead: "cannot read \(detail)"
        case .badName: "\(detail): a migration is named by four digits, _, lower-case letters, digits or _, and .sql"
        case .changed: "\(detail) was applied and has been changed since; write a new migration instead"
        case .outOfOrder: "\(detail) comes before one that was applied"
        case .missingFile: "\(detail) was applied, but its file is not there"
        case .cannotConnect: "cannot connect to the database: \(detail)"
        case .failed: detail
        }
    }
}

struct MigrationFile {
    let name: String
    let text: String

    /// FNV-1a, 64 bits, with the length: against mistakes, not against attackers.
    var checksum: String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return "\(String(hash, radix: 16))-\(text.utf8.count)"
    }

    /// Those of a directory, in order.
    static func all(in directory: String) throws(MigrationError) -> [MigrationFile] {
        guard let stream = opendir(directory) else { throw MigrationError(.cannotRead, directory) }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasSuffix(".sql") { names.append(name) }
        }
        if names.isEmpty { throw MigrationError(.cannotRead, "\(directory): it holds no .sql file") }
        var files: [MigrationFile] = []
        for name in names.sorted() {
            guard isName(name) else { throw MigrationError(.badName, name) }
            guard let text = Configuration.readFile("\(directory)/\(name)") else {
                throw MigrationError(.cannotRead, "\(directory)/\(name)")
            }
            files.append(MigrationFile(name: name, text: text))
        }
        return files
    }

    static func isName(_ name: String) -> Bool {
        let bytes = Array(name.dropLast(4).utf8)
        return bytes.count > 5 && bytes[..<4].allSatisfy { (0x30...0x39).contains($0) } && bytes[4] == 0x5F
            && bytes[5...].allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x5F }
    }
}

/// A blocking session. It ends with the value.
private final class MigrationSession {
    private let connection: OpaquePointer

    init(url: String) throws(MigrationError) {
        guard
            let connection = PostgresLibrary.connect([
                ("dbname", url), ("application_name", "roost-migrate"), ("client_encoding", "UTF8"), ("connect_timeout", "10"),
            ])
        else { throw MigrationError(.cannotConnect, "out of memory") }
        self.connection = connection
        PQsetNoticeReceiver(connection, { @Sendable _, _ in }, nil)
        guard PQstatus(connection) == CONNECTION_OK else { throw MigrationError(.cannotConnect, message) }
    }

    deinit { PQfinish(connection) }

    private var message: String {
        let text = String(cString: PQerrorMessage(connection))
        return text.split(separator: "\n").joined(separator: " ")
    }

    func run(_ text: String) throws(MigrationError) {
        PQclear(try result(text))
    }

    func pairs(_ text: String) throws(MigrationError) -> [(String, String)] {
        let result = try result(text)
        defer { PQclear(result) }
        return (0..<PQntuples(result)).map {
            (String(cString: PQgetvalue(result, $0, 0)), String(cString: PQgetvalue(result, $0, 1)))
        }
    }

    private func result(_ text: String) throws(MigrationError) -> OpaquePointer? {
        let result = PQexec(connection, text)
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return result
        default:
            let message = message
            PQclear(result)
            throw MigrationError(.failed, message)
        }
    }
}

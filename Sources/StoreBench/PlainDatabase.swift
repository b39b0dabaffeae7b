import CPostgres
import Glibc

/// A blocking connection with values as text: for filling a database and for asking about it, not for measuring. Confined to one thread
/// at a time.
public final class PlainDatabase: @unchecked Sendable {
    private let connection: OpaquePointer

    public struct Fault: Error, CustomStringConvertible {
        public let description: String

        public init(description: String) { self.description = description }
    }

    /// - Parameter url: a libpq URL or conninfo string.
    public init(_ url: String) throws {
        guard let connection = PQconnectdb(url) else { throw Fault(description: "out of memory") }
        self.connection = connection
        guard PQstatus(connection) == CONNECTION_OK else { throw fault() }
        try run("SET client_min_messages = error; SET timezone = 'UTC'; SET jit = off")
    }

    deinit { PQfinish(connection) }

    /// One or several statements without parameters; the rows of the last one. Null is nil.
    @discardableResult
    public func run(_ statements: String) throws -> [[String?]] {
        let result = PQexec(connection, statements)
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: break
        default: throw fault()
        }
        return (0..<PQntuples(result)).map { row in
            (0..<PQnfields(result)).map { column in
                PQgetisnull(result, row, column) != 0 ? nil : String(cString: PQgetvalue(result, row, column))
            }
        }
    }

    /// `COPY target FROM STDIN`, of a table with its columns; `fill` writes the rows.
    func copy(_ target: String, _ fill: (inout CopyRows) throws -> Void) throws {
        let result = PQexec(connection, "COPY \(target) FROM STDIN")
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_COPY_IN else { throw fault() }
        var rows = CopyRows { [self] bytes in
            let sent = bytes.withUnsafeBytes {
                PQputCopyData(connection, $0.baseAddress!.assumingMemoryBound(to: CChar.self), Int32($0.count))
            }
            guard sent == 1 else { throw fault() }
        }
        try fill(&rows)
        try rows.flush()
        guard PQputCopyEnd(connection, nil) == 1 else { throw fault() }
        var failure: Fault?
        while let result = PQgetResult(connection) {
            if PQresultStatus(result) != PGRES_COMMAND_OK { failure = fault() }
            PQclear(result)
        }
        if let failure { throw failure }
    }

    private func fault() -> Fault { Fault(description: String(cString: PQerrorMessage(connection))) }
}

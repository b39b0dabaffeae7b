import CPostgres
import EventLoop
import Glibc
import LoadCore
import Runtime

/// Multi-row inserts of plain libpq into a table like `messages`, each statement a durable transaction of its own.
struct InsertFloor {
    let rows: Int
    let connections: Int

    /// Rows go round so many conversations, as batches of a busy node do.
    private static let conversations = 1000

    var name: String {
        let batch = rows == 1 ? "one-row inserts" : "inserts of \(rows) rows"
        return "plain libpq, \(batch), \(connections) connection\(connections == 1 ? "" : "s")"
    }

    /// Rows a second.
    func run(url: String, seconds: Double) throws -> Double {
        let setup = try PlainConnection(url)
        // Dropping what is not there is no news.
        try setup.execute("SET client_min_messages = warning")
        try setup.execute("DROP SCHEMA IF EXISTS bench_floor CASCADE")
        try setup.execute("CREATE SCHEMA bench_floor")
        try setup.execute("CREATE TABLE bench_floor.messages (LIKE public.messages INCLUDING INDEXES INCLUDING DEFAULTS)")
        let workers = try (0..<connections).map {
            try Worker(url: url, rows: rows, number: $0, conversations: Self.conversations)
        }
        let done = Locked((rows: 0, faults: [String](), ended: 0))
        let start = MonotonicTime.now
        let deadline = start + .nanoseconds(Int64(seconds * 1e9))
        for worker in workers {
            let thread = LoopThread()
            thread.start(name: "floor") {
                var rows = 0
                var faults: [String] = []
                do { while MonotonicTime.now < deadline { rows += try worker.insert() } } catch { faults.append("\(error)") }
                let (total, all) = (rows, faults)
                done.withLock {
                    $0.rows += total
                    $0.faults += all
                    $0.ended += 1
                }
            }
        }
        while done.withLock({ $0.ended }) < connections { usleep(2000) }
        let elapsed = MonotonicTime.now - start
        try setup.execute("DROP SCHEMA bench_floor CASCADE")
        let (total, faults) = done.withLock { ($0.rows, $0.faults) }
        if let fault = faults.first { throw PlainConnection.Fault(description: fault) }
        return Double(total) * 1e9 / Double(elapsed.nanoseconds)
    }

    /// Confined to its thread once that runs.
    private final class Worker: @unchecked Sendable {
        private let connection: PlainConnection
        private let rows: Int
        private let ids: [String]
        private var sequences: [Int64]
        private var position = 0
        private let text = String(repeating: "x", count: 64)

        init(url: String, rows: Int, number: Int, conversations: Int) throws {
            connection = try PlainConnection(url)
            self.rows = rows
            ids = (0..<conversations).map { index in
                let digits = String(number * conversations + index, radix: 16)
                return "00000000-0000-7000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
            }
            sequences = Array(repeating: 0, count: conversations)
            try connection.prepare(
                """
                INSERT INTO bench_floor.messages (conversation_id, sender_id, seq, change_seq, created_at, kind, client_id, text)
                SELECT c, u, s, s, now(), 0, k, t FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::text[])
                m(c, u, s, k, t)
                """)
        }

        func insert() throws -> Int {
            var lists = Array(repeating: "{", count: 5)
            for row in 0..<rows {
                let separator = row == 0 ? "" : ","
                sequences[position] += 1
                let sequence = String(sequences[position])
                lists[0] += separator + ids[position]
                lists[1] += separator + ids[position]
                lists[2] += separator + sequence
                lists[3] += separator + "run.1.0." + sequence
                lists[4] += separator + text
                position = (position + 1) % ids.count
            }
            try connection.executePrepared(lists.map { $0 + "}" })
            return rows
        }
    }
}

/// A blocking connection. Confined to one thread at a time.
final class PlainConnection: @unchecked Sendable {
    private let connection: OpaquePointer

    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    init(_ url: String) throws {
        guard let connection = PQconnectdb(url) else { throw Fault(description: "out of memory") }
        self.connection = connection
        guard PQstatus(connection) == CONNECTION_OK else { throw fault() }
    }

    deinit { PQfinish(connection) }

    func execute(_ statement: String) throws { try check(PQexec(connection, statement)) }

    func prepare(_ statement: String) throws { try check(PQprepare(connection, "floor", statement, 0, nil)) }

    func executePrepared(_ parameters: [String]) throws {
        let copies = parameters.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let values = copies.map { UnsafePointer<CChar>($0) }
        try check(PQexecPrepared(connection, "floor", Int32(values.count), values, nil, nil, 0))
    }

    private func check(_ result: OpaquePointer?) throws {
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: break
        default: throw fault()
        }
    }

    private func fault() -> Fault { Fault(description: String(cString: PQerrorMessage(connection))) }
}

import CPostgres
import Ports

/// Why a request to the database failed.
struct PostgresError: Error, Sendable {
    enum Code: Equatable, Sendable {
        /// No connection, too many requests, or the connection broke.
        case disconnected
        /// The server refused a statement; SQLSTATE, five characters.
        case server(state: String)
        /// A result that the code does not understand.
        case protocolViolation
    }

    let code: Code
    /// Without users' data: SQLSTATE's message texts and details may hold some, so they are left out.
    let detail: String
    /// Whether the request was handed to the connection before that broke.
    let wasSent: Bool

    init(_ code: Code, detail: String = "", wasSent: Bool = false) {
        self.code = code
        self.detail = detail
        self.wasSent = wasSent
    }

    init(result: OpaquePointer) {
        func field(_ code: Character) -> String? {
            PQresultErrorField(result, Int32(code.asciiValue!)).map { String(cString: $0) }
        }
        // No SQLSTATE: the error is libpq's own, and the connection has gone.
        guard let state = field("C") else {
            self.init(.disconnected, detail: "connection lost", wasSent: true)
            return
        }
        let constraint = field("n").map { " " + $0 } ?? ""
        // 57P01…57P03: the server ends the session. Whether a commit was in time cannot be known.
        if ["57P01", "57P02", "57P03"].contains(state) {
            self.init(.disconnected, detail: state, wasSent: true)
        } else {
            self.init(.server(state: state), detail: "SQLSTATE \(state)\(constraint)")
        }
    }

    var isUniqueViolation: Bool { code == .server(state: "23505") }

    /// The entry's own data are at fault: class 22 (data exception), 23 (integrity), 54 (limits: an index row too long).
    var isDataError: Bool {
        switch code {
        case .server(let state): ["22", "23", "54"].contains(state.prefix(2))
        case .disconnected, .protocolViolation: false
        }
    }

    var storeError: StoreError {
        switch code {
        case .disconnected: return StoreError(.unavailable, detail: detail, outcomeUnknown: wasSent)
        case .protocolViolation: return StoreError(.failed, detail: detail)
        case .server(let state):
            switch state.prefix(2) {
            // Unique and exclusion violations; others of class 23 are bugs.
            case "23" where state == "23505" || state == "23P01": return StoreError(.conflict, detail: detail)
            // Connection, resources, intervention; deadlock or serialisation; lock not available; read-only standby;
            // a prepared statement that a failed neighbour took with it.
            case "08", "53", "57", "40": return StoreError(.unavailable, detail: detail)
            default:
                let isPassing = ["55P03", "25006", "26000"].contains(state)
                return StoreError(isPassing ? .unavailable : .failed, detail: detail)
            }
        }
    }
}

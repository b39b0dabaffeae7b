import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// What operators see of users and do to them, and the audit of all that was done.
public struct AdminUsers: Sendable {
    private let backend: Backend
    private let operators: any OperatorStore
    private let authenticator: Authenticator
    private let eraser: AccountEraser
    private let exporter: AccountExporter

    public init(
        backend: Backend, operators: any OperatorStore, authenticator: Authenticator, eraser: AccountEraser,
        exporter: AccountExporter
    ) {
        self.backend = backend
        self.operators = operators
        self.authenticator = authenticator
        self.eraser = eraser
        self.exporter = exporter
    }

    var routes: [Route] {
        [
            .admin(.get, "/admin/v1/users", list),
            .admin(.post, "/admin/v1/users/{userId}/suspend") { (request) async throws(RoostError) in
                try await moderate(request, .suspend)
            },
            .admin(.post, "/admin/v1/users/{userId}/unsuspend") { (request) async throws(RoostError) in
                try await moderate(request, .unsuspend)
            },
            .admin(.post, "/admin/v1/users/{userId}/logout") { (request) async throws(RoostError) in
                try await moderate(request, .logout)
            },
            .admin(.delete, "/admin/v1/users/{userId}", delete),
            .admin(.get, "/admin/v1/users/{userId}/export", export),
            .admin(.get, "/admin/v1/audit", audit),
        ]
    }

    private func list(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let (limit, cursor) = (try request.query.limit, try request.query.cursor)
        let query = request.query.text("query")?.nfc.trimmedQuery
        let page = try await backend.ask { try await operators.accounts(query: query, cursor: cursor, limit: limit) }
        return .json { $0.page(page) { $0.accountRecord($1) } }
    }

    private func moderate(_ request: RequestContext, _ act: Moderation) async throws(RoostError) -> HTTPResponse {
        let (user, name, now) = (try request.userID, request.operatorName, authenticator.currentTime)
        let revoked = try await backend.ask {
            try await operators.moderate(user, act, by: name, at: now, claim: .zero)
        }
        guard let revoked else { throw .notFound }
        SessionDesk(backend: backend, authenticator: authenticator).announceRevocation(of: revoked)
        return .noContent
    }

    private func delete(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let (user, name, now) = (try request.userID, request.operatorName, authenticator.currentTime)
        let existed = try await eraser.delete(user) { (claim) async throws(StoreError) in
            try await operators.moderate(user, .delete, by: name, at: now, claim: claim)
        }
        guard existed else { throw .notFound }
        return .noContent
    }

    private func export(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        _ = try await moderate(request, .export)
        guard let response = try await exporter.export(try request.userID) else { throw .notFound }
        return response
    }

    private func audit(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let (limit, cursor) = (try request.query.limit, try request.query.cursor)
        let page = try await backend.ask { try await operators.audit(cursor: cursor, limit: limit) }
        return .json { $0.page(page) { $0.auditEntry($1) } }
    }
}

extension RequestContext {
    private static let nameBytes = 64

    /// What the operator calls themselves, in `X-Roost-Operator`: up to 64 visible ASCII characters. All of them hold one token, so
    /// this is a help for the record and no proof.
    var operatorName: String {
        guard let name = head.headers["X-Roost-Operator"], (1...Self.nameBytes).contains(name.utf8.count),
            name.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return "operator" }
        return name
    }
}

extension String {
    /// Nil where nothing but white space is asked for.
    fileprivate var trimmedQuery: String? {
        let trimmed = drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed()
        return trimmed.isEmpty ? nil : String(trimmed)
    }
}

extension JSONWriter {
    fileprivate mutating func accountRecord(_ record: AccountRecord) {
        object { writer in
            writer.meMembers(of: record.user, presence: nil)
            writer.member("suspendedAt", record.suspendedAt)
            writer.member("deletedAt", record.deletedAt)
            writer.member("lastSeenAt", record.lastSeenAt)
        }
    }

    fileprivate mutating func auditEntry(_ entry: AuditEntry) {
        object { writer in
            writer.member("id", "\(entry.number)")
            writer.member("at", entry.at)
            writer.member("operator", entry.name)
            writer.member("action", entry.action)
            writer.member("subject", entry.subject)
        }
    }
}

import Ports
import RoostModel

/// The memory twin of operators' view of users, and of the audit.
public struct MemoryOperatorStore: OperatorStore {
    private let database: MemoryDatabase

    public init(_ database: MemoryDatabase) { self.database = database }

    public func accounts(query: String?, cursor: String?, limit: Int) async throws(StoreError) -> Page<AccountRecord> {
        var before: UserID?
        if let cursor {
            var reader = try CursorReader(cursor, .operatorUsers)
            before = UserID(high: try reader.integer(), low: try reader.integer())
            try reader.end()
        }
        return try database.read { tables in
            let rows = tables.users.values
                .filter { row in before.map { row.user.id < $0 } ?? true }
                .filter { row in query.map { Self.matches(row.user, $0) } ?? true }
                .sorted { $0.user.id > $1.user.id }
            let page = rows.prefix(limit)
            var next: String?
            if rows.count > limit, let last = page.last {
                var writer = CursorWriter(.operatorUsers)
                writer.write(last.user.id.high)
                writer.write(last.user.id.low)
                next = writer.text
            }
            return Page(
                items: page.map {
                    AccountRecord(
                        user: $0.user, suspendedAt: $0.suspendedAt, deletedAt: $0.deletedAt, lastSeenAt: $0.lastSeen)
                }, nextCursor: next)
        }
    }

    private static func matches(_ user: User, _ query: String) -> Bool {
        if UserID(query) == user.id || user.email?.hasPrefix(query.lowercased()) == true { return true }
        let folded = NameFolding.fold(query)
        guard !folded.isEmpty, !user.isDeleted else { return false }
        return [user.displayName, user.firstName ?? "", user.lastName ?? ""].contains { name in
            NameFolding.searchKeys(name).contains { $0.hasPrefix(folded) }
        }
    }

    public func moderate(
        _ user: UserID, _ act: Moderation, by name: String, at time: Timestamp, claim: Duration
    ) async throws(StoreError) -> [DeviceID]? {
        try database.write { tables in
            guard let row = tables.users[user], !row.user.isDeleted else { return nil }
            var revoked: [DeviceID] = []
            switch act {
            case .suspend:
                tables.users[user]?.suspendedAt = row.suspendedAt ?? time
                tables.dropResetTokens(of: user)
                revoked = tables.revokeAll(of: user)
            case .unsuspend: tables.users[user]?.suspendedAt = nil
            case .logout: revoked = tables.revokeAll(of: user)
            case .delete: revoked = tables.erase(user, at: time, claim: claim) ?? []
            case .export: break
            }
            tables.note("user.\(act.rawValue)", subject: user.description, by: name, at: time)
            return revoked
        }
    }

    public func note(_ action: String, subject: String, by name: String, at time: Timestamp) async throws(StoreError) {
        try database.write { $0.note(action, subject: subject, by: name, at: time) }
    }

    public func exists(_ actor: ActorAddress) async throws(StoreError) -> Bool {
        try database.read { tables in
            switch actor.kind {
            case .conversation: tables.conversations[actor.conversationID] != nil
            case .presence: tables.users[actor.userID].map { !$0.user.isDeleted } ?? false
            }
        }
    }

    public func audit(cursor: String?, limit: Int) async throws(StoreError) -> Page<AuditEntry> {
        var before = Int64.max
        if let cursor {
            var reader = try CursorReader(cursor, .audit)
            before = try reader.integer()
            try reader.end()
        }
        return try database.read { tables in
            let rows = tables.audit.filter { $0.number < before }.reversed()
            let page = Array(rows.prefix(limit))
            var next: String?
            if rows.count > limit, let last = page.last {
                var writer = CursorWriter(.audit)
                writer.write(last.number)
                next = writer.text
            }
            return Page(items: page, nextCursor: next)
        }
    }
}

extension MemoryTables {
    mutating func note(_ action: String, subject: String, by name: String, at time: Timestamp) {
        audit.append(
            AuditEntry(number: Int64(audit.count + 1), at: time, name: name, action: action, subject: subject))
    }
}

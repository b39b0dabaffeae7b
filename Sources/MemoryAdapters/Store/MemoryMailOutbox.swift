import Ports
import RoostModel

/// The memory twin of the outbox of mails.
public struct MemoryMailOutbox: MailOutbox {
    private let database: MemoryDatabase

    public init(_ database: MemoryDatabase) { self.database = database }

    public func queue(_ kind: MailKind, to recipient: String, token: String) async throws(StoreError) {
        try database.write { tables in tables.queueMail(kind, to: recipient, token: token) }
    }

    public func take(limit: Int, lease: Duration) async throws(StoreError) -> [QueuedMail] {
        try database.write { tables in
            let now = ContinuousClock.now
            let due = tables.mails.indices.filter { tables.mails[$0].nextAttempt <= now }
                .sorted { tables.mails[$0].nextAttempt < tables.mails[$1].nextAttempt }.prefix(limit)
            return due.map { index in
                tables.mails[index].attempts += 1
                tables.mails[index].nextAttempt = now + lease
                let row = tables.mails[index]
                return QueuedMail(
                    id: row.id, recipient: row.recipient, kind: row.kind, token: row.token, attempts: row.attempts)
            }
        }
    }

    public func remove(_ id: Int64) async throws(StoreError) {
        try database.write { tables in tables.mails.removeAll { $0.id == id } }
    }

    public func postpone(_ id: Int64, by delay: Duration) async throws(StoreError) {
        try database.write { tables in
            guard let index = tables.mails.firstIndex(where: { $0.id == id }) else { return }
            tables.mails[index].nextAttempt = ContinuousClock.now + delay
        }
    }

    public func expire(age: Duration) async throws(StoreError) -> (expired: Int, waiting: Int) {
        try database.write { tables in
            let before = tables.mails.count
            let limit = ContinuousClock.now - age
            tables.mails.removeAll { $0.createdAt <= limit }
            return (before - tables.mails.count, tables.mails.count)
        }
    }
}

struct MailRow: Sendable {
    let id: Int64
    let recipient: String
    let kind: MailKind
    let token: String
    let createdAt: ContinuousClock.Instant
    var attempts = 0
    var nextAttempt: ContinuousClock.Instant
}

extension MemoryTables {
    /// As `queue_mail` of migrations/0005_mail.sql does, within whatever else changes.
    mutating func queueMail(_ kind: MailKind, to recipient: String, token: String) {
        let now = ContinuousClock.now
        mails.append(
            MailRow(id: nextVersion(), recipient: recipient, kind: kind, token: token, createdAt: now, nextAttempt: now))
    }
}

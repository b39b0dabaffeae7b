import Ports
import RoostModel

/// The memory twin of the conversations as members read them: what there is of them, and who belongs to them. Their messages are in
/// the extensions.
public struct MemoryConversationStore: ConversationStore {
    let database: MemoryDatabase

    public init(_ database: MemoryDatabase) { self.database = database }

    public func openDirect(
        between user: UserID, and other: UserID, newID: ConversationID, at time: Timestamp
    ) async throws(StoreError) -> (id: ConversationID, isNew: Bool) {
        try database.write { (tables) throws(StoreError) in
            let pair = DirectPair(user, other)
            if let id = tables.directs[pair] { return (id, false) }
            guard user != other, tables.areLive([user, other]) else { throw StoreError(.conflict, detail: "no such user") }
            let members = [pair.low, pair.high].map { MemberRow(userID: $0, role: .member, joinedAt: time) }
            let version = tables.nextVersion()
            tables.conversations[newID] = ConversationRow(
                id: newID, kind: .direct, createdAt: time, members: members, version: version)
            tables.directs[pair] = newID
            for member in members { tables.join(member, newID, version) }
            return (newID, true)
        }
    }

    public func create(_ new: NewConversation) async throws(StoreError) {
        try database.write { (tables) throws(StoreError) in
            guard tables.areLive([new.creatorID] + new.memberIDs) else { throw StoreError(.conflict, detail: "no such user") }
            guard tables.conversations[new.id] == nil else { throw StoreError(.conflict, detail: "id") }
            let version = tables.nextVersion()
            let members =
                [MemberRow(userID: new.creatorID, role: .admin, joinedAt: new.createdAt)]
                + new.memberIDs.map { MemberRow(userID: $0, role: .member, joinedAt: new.createdAt) }
            var row = ConversationRow(
                id: new.id, kind: new.kind, createdAt: new.createdAt, title: new.title, about: new.about,
                photoID: new.photo?.id, history: new.history, members: members, version: version)
            let created = Message(
                conversationID: new.id, seq: Seq(1), changeSeq: Seq(1), clientID: "", senderID: new.creatorID, kind: .system,
                text: "", system: SystemEvent(actorID: new.creatorID, change: .created), createdAt: new.createdAt)
            row.messages = [MessageRow(created, version: version)]
            tables.conversations[new.id] = row
            for member in members { tables.join(member, new.id, version) }
        }
    }

    public func conversation(_ id: ConversationID, for user: UserID) async throws(StoreError) -> ConversationView? {
        try database.read { tables in tables.conversations[id].flatMap { tables.view($0, for: user) } }
    }

    public func standing(of user: UserID, in conversation: ConversationID) async throws(StoreError) -> Standing? {
        try database.read { tables in
            tables.conversations[conversation].map { Standing(kind: $0.kind, role: $0.member(user)?.role) }
        }
    }

    public func isMember(_ user: UserID, of conversation: ConversationID) async throws(StoreError) -> Bool {
        try database.read { $0.joined(conversation, by: user) != nil }
    }

    public func directConversation(of user: UserID, and other: UserID) async throws(StoreError) -> ConversationID? {
        try database.read { $0.directs[DirectPair(user, other)] }
    }

    public func memberships(of user: UserID) async throws(StoreError) -> [Membership] {
        try database.read { tables in
            tables.conversations(of: user).sorted { $0.id < $1.id }
                .map { Membership(conversationID: $0.id, kind: $0.kind) }
        }
    }

    public func member(
        _ member: UserID, of conversation: ConversationID, for user: UserID
    ) async throws(StoreError) -> Member? {
        try database.read { tables in
            guard let (row, _) = tables.joined(conversation, by: user) else { return nil }
            return row.member(member).map { tables.member($0, to: user) }
        }
    }

    public func members(
        of conversation: ConversationID, for user: UserID, cursor: String?, limit: Int
    ) async throws(StoreError) -> Page<Member>? {
        var after: (Timestamp, Seq, UserID)?
        if let cursor {
            var reader = try CursorReader(cursor, .members)
            after = (
                Timestamp(milliseconds: try reader.integer()), Seq(try reader.integer()),
                UserID(high: try reader.integer(), low: try reader.integer())
            )
            try reader.end()
        }
        return try database.read { tables in
            guard let (row, _) = tables.joined(conversation, by: user) else { return nil }
            let rows = row.membersInOrder.filter { row in after.map { row.rank > $0 } ?? true }
            return Page(rows, limit: limit) { last in
                var writer = CursorWriter(.members)
                writer.write(last.joinedAt.milliseconds)
                writer.write(last.sinceSeq.value)
                writer.write(last.userID.high)
                writer.write(last.userID.low)
                return writer.text
            } item: {
                tables.member($0, to: user)
            }
        }
    }

    public func changeSettings(
        of conversation: ConversationID, for user: UserID, _ change: MemberSettingsChange, at time: Timestamp
    ) async throws(StoreError) -> Bool {
        try database.write { tables in
            guard var row = tables.conversations[conversation],
                let index = row.members.firstIndex(where: { $0.userID == user })
            else { return false }
            let version = tables.nextVersion()
            var me = row.members[index]
            if change.mutedUntil != nil || change.isArchived != nil {
                // What was said until now counts by how the member was muted until now.
                me.archivedAt = row.archivedAt(for: me)
                me.archivedSeq = row.head
            }
            if let mutedUntil = change.mutedUntil { me.mutedUntil = mutedUntil }
            if let isArchived = change.isArchived { me.archivedAt = isArchived ? me.archivedAt ?? time : nil }
            if let isPinned = change.isPinned, isPinned != (me.pinnedAt != nil) {
                me.pinChange = (version, !isPinned)
                me.pinnedAt = isPinned ? time : nil
            }
            row.members[index] = me
            row.version = version
            tables.conversations[conversation] = row
            return true
        }
    }
}

extension MemoryTables {
    func areLive(_ ids: [UserID]) -> Bool { ids.allSatisfy { users[$0]?.user.isDeleted == false } }

    fileprivate mutating func join(_ member: MemberRow, _ conversation: ConversationID, _ version: Int64) {
        apply(
            .joined(member.userID, role: member.role, at: member.joinedAt, sinceSeq: member.sinceSeq, readSeq: member.readSeq),
            of: conversation, version)
    }
}

extension Page {
    /// The first `limit` of `rows`, and a cursor after the last of them where there are more.
    init<Row>(_ rows: [Row], limit: Int, cursor: (Row) -> String, item: (Row) -> Item) {
        let page = rows.prefix(limit)
        self.init(items: page.map(item), nextCursor: rows.count > limit ? page.last.map(cursor) : nil)
    }
}

import Ports
import RoostModel

/// The memory twin of the conversations as members read them.
public struct MemoryConversationStore: ConversationStore {
    private let database: MemoryDatabase

    public init(_ database: MemoryDatabase) { self.database = database }

    public func openDirect(
        between user: UserID, and other: UserID, newID: ConversationID, at time: Timestamp
    ) async throws(StoreError) -> (id: ConversationID, isNew: Bool) {
        try database.write { (tables) throws(StoreError) in
            let pair = DirectPair(user, other)
            if let id = tables.directs[pair] { return (id, false) }
            guard user != other, [user, other].allSatisfy({ tables.users[$0]?.user.isDeleted == false })
            else { throw StoreError(.conflict, detail: "no such user") }
            let members = [pair.low, pair.high].map { MemberRow(userID: $0, role: .member, joinedAt: time) }
            tables.conversations[newID] = ConversationRow(
                id: newID, kind: .direct, createdAt: time, members: members, version: tables.nextVersion())
            tables.directs[pair] = newID
            for member in members { tables.memberships[member.userID, default: []].insert(newID) }
            return (newID, true)
        }
    }

    public func conversation(_ id: ConversationID, for user: UserID) async throws(StoreError) -> ConversationView? {
        try database.read { tables in tables.joined(id, by: user).map { tables.view($0.row, for: $0.me) } }
    }

    public func conversations(
        for user: UserID, cursor: String?, limit: Int, at time: Timestamp
    ) async throws(StoreError) -> Page<ConversationView> {
        var position: (version: Int64, activity: Timestamp, id: ConversationID)?
        if let cursor {
            var reader = try CursorReader(cursor, .conversations)
            position = (
                try reader.integer(), Timestamp(milliseconds: try reader.integer()),
                ConversationID(high: try reader.integer(), low: try reader.integer())
            )
            try reader.end()
        }
        return try database.read { tables in
            let version = position?.version ?? tables.version
            let rows = tables.conversations(of: user)
                .map { (row: $0, activity: $0.messages.last { $0.version <= version }?.message.createdAt ?? $0.createdAt) }
                .filter { row in position.map { (row.activity, row.row.id) < ($0.activity, $0.id) } ?? true }
                .sorted { ($0.activity, $0.row.id) > ($1.activity, $1.row.id) }
            let page = rows.prefix(limit)
            var next: String?
            if rows.count > limit, let last = page.last {
                var writer = CursorWriter(.conversations)
                writer.write(version)
                writer.write(last.activity.milliseconds)
                writer.write(last.row.id.high)
                writer.write(last.row.id.low)
                next = writer.text
            }
            return Page(
                items: page.compactMap { row in row.row.member(user).map { tables.view(row.row, for: $0) } }, nextCursor: next)
        }
    }

    public func isMember(_ user: UserID, of conversation: ConversationID) async throws(StoreError) -> Bool {
        try database.read { $0.joined(conversation, by: user) != nil }
    }

    public func history(
        of conversation: ConversationID, for user: UserID, range: HistoryRange, limit: Int
    ) async throws(StoreError) -> HistoryPage? {
        try database.read { tables in
            guard let (row, me) = tables.joined(conversation, by: user) else { return nil }
            let (pivot, older, newer): (Int64, Int, Int) =
                switch range {
                case .newest: (.max, limit, 0)
                case .before(let seq): (seq.value, limit, 0)
                case .after(let seq): (seq.value == .max ? .max : seq.value + 1, 0, limit)
                case .around(let seq): (seq.value, (limit - 1) / 2, limit - (limit - 1) / 2)
                }
            let before = row.messages.filter { $0.message.seq.value < pivot }
            let after = row.messages.filter { $0.message.seq.value >= pivot }
            return HistoryPage(
                items: (before.suffix(older) + after.prefix(newer)).map { tables.shown($0.message, in: row, to: me) },
                hasMoreBefore: before.count > older, hasMoreAfter: after.count > newer, lastSeq: row.head)
        }
    }

    public func changes(
        of conversation: ConversationID, for user: UserID, after: Seq, limit: Int
    ) async throws(StoreError) -> ChangesPage? {
        try database.read { tables in
            guard let (row, me) = tables.joined(conversation, by: user) else { return nil }
            let changed = row.messages.map(\.message).filter { $0.changeSeq > after }.sorted { $0.changeSeq < $1.changeSeq }
            let page = changed.prefix(limit)
            let hasMore = changed.count > limit
            return ChangesPage(
                items: page.map { tables.shown($0, in: row, to: me) },
                upToSeq: hasMore ? page.last?.changeSeq ?? after : row.head,
                hasMore: hasMore)
        }
    }

    public func receipts(
        of conversation: ConversationID, seq: Seq, for user: UserID
    ) async throws(StoreError) -> MessageReceipts? {
        try database.read { tables in
            guard let (row, me) = tables.joined(conversation, by: user),
                let message = row.messages.first(where: { $0.message.seq == seq })?.message
            else { return nil }
            var receipts = MessageReceipts(status: .sent, deliveredTo: [], seenBy: [])
            let others = row.members.filter { $0.userID != message.senderID }
            for other in others {
                let log = row.positions.filter { $0.userID == other.userID }
                if other.deliveredSeq >= seq {
                    let at = log.first { $0.deliveredSeq >= seq }?.at ?? other.joinedAt
                    receipts.deliveredTo.append(.init(userID: other.userID, at: at))
                }
                if let read = tables.sharedRead(of: other, to: me), read >= seq {
                    let at = log.first { $0.readSeq >= seq }?.at ?? other.joinedAt
                    receipts.seenBy.append(.init(userID: other.userID, at: at))
                }
            }
            if !others.isEmpty, receipts.deliveredTo.count == others.count { receipts.status = .delivered }
            if !others.isEmpty, receipts.seenBy.count == others.count { receipts.status = .read }
            return receipts
        }
    }

    public func counts(of conversation: ConversationID, for user: UserID) async throws(StoreError) -> ConversationCounts? {
        try database.read { tables in
            tables.joined(conversation, by: user).map { row, me in
                ConversationCounts(
                    readSeq: me.readSeq, deliveredSeq: me.deliveredSeq, unreadCount: row.unread(by: me), mentionCount: 0)
            }
        }
    }

    public func sync(for user: UserID, since token: String?, limit: Int) async throws(StoreError) -> SyncPage {
        var (since, horizon, after): (Int64, Int64?, ConversationID?) = (0, nil, nil)
        if let token {
            var reader = try CursorReader(token, .sync)
            since = try reader.integer()
            if try reader.integer(UInt8.self) == 1 {
                horizon = try reader.integer()
                after = ConversationID(high: try reader.integer(), low: try reader.integer())
            }
            try reader.end()
        }
        return try database.read { (tables) throws(StoreError) in
            guard max(since, horizon ?? 0) <= tables.version else { throw StoreError(.badCursor) }
            let rows = tables.conversations(of: user)
                .filter { row in after.map { row.id > $0 } ?? true }
                .filter { row in
                    let newest = row.members.compactMap { tables.users[$0.userID]?.version }.reduce(row.version, max)
                    let news = row.messages.map(\.version).max() ?? 0
                    return max(newest, news) > since || since == 0
                }
                .sorted { $0.id < $1.id }
            let page = rows.prefix(limit)
            let hasMore = rows.count > limit
            var writer = CursorWriter(.sync)
            writer.write(hasMore ? since : horizon ?? tables.version)
            writer.write(hasMore ? 1 : 0 as UInt8)
            if hasMore, let last = page.last {
                writer.write(horizon ?? tables.version)
                writer.write(last.id.high)
                writer.write(last.id.low)
            }
            return SyncPage(
                conversations: page.compactMap { row in row.member(user).map { tables.view(row, for: $0) } }, removed: [],
                token: writer.text, hasMore: hasMore)
        }
    }
}

extension MemoryTables {
    func joined(_ id: ConversationID, by user: UserID) -> (row: ConversationRow, me: MemberRow)? {
        conversations[id].flatMap { row in row.member(user).map { (row, $0) } }
    }

    func conversations(of user: UserID) -> [ConversationRow] {
        memberships[user, default: []].compactMap { conversations[$0] }
    }

    /// nil where either of the two keeps read receipts to themselves.
    func sharedRead(of member: MemberRow, to reader: MemberRow) -> Seq? {
        if member.userID == reader.userID { return member.readSeq }
        let share = [member, reader].allSatisfy { users[$0.userID]?.user.settings.shareReadReceipts ?? true }
        return share ? member.readSeq : nil
    }

    func view(_ row: ConversationRow, for me: MemberRow) -> ConversationView {
        ConversationView(
            id: row.id, kind: row.kind, title: row.title,
            members: row.members.map { member in
                Member(
                    userID: member.userID, displayName: users[member.userID]?.user.displayName ?? "", role: member.role,
                    joinedAt: member.joinedAt, readSeq: sharedRead(of: member, to: me), deliveredSeq: member.deliveredSeq)
            },
            memberCount: row.members.count, lastSeq: row.head, lastMessage: row.messages.last?.message, readSeq: me.readSeq,
            deliveredSeq: me.deliveredSeq, unreadCount: row.unread(by: me), mentionCount: 0, myRole: me.role,
            lastActivityAt: row.lastActivityAt, createdAt: row.createdAt, isReadOnly: row.isReadOnly)
    }

    func shown(_ message: Message, in row: ConversationRow, to me: MemberRow) -> ReadMessage {
        guard message.senderID == me.userID else { return ReadMessage(message: message, delivery: nil) }
        let others = row.members.filter { $0.userID != me.userID }
        let seen = others.filter { sharedRead(of: $0, to: me).map { $0 >= message.seq } ?? false }.count
        let isDelivered = others.allSatisfy { $0.deliveredSeq >= message.seq }
        let status: ReadMessage.Delivery.Status =
            others.isEmpty ? .sent : seen == others.count ? .read : isDelivered ? .delivered : .sent
        return ReadMessage(message: message, delivery: .init(status: status, seenByCount: seen))
    }
}

extension ConversationRow {
    func unread(by me: MemberRow) -> Int {
        let unread = messages.lazy.map(\.message).filter {
            $0.seq > me.readSeq && $0.senderID != me.userID && $0.kind != .system && $0.deletedAt == nil
        }
        return min(unread.count, Limits.countCap)
    }
}

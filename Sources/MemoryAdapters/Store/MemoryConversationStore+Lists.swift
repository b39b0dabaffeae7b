import Ports
import RoostModel

extension MemoryConversationStore {
    public func conversations(
        for user: UserID, archived: Bool, cursor: String?, limit: Int, at time: Timestamp
    ) async throws(StoreError) -> Page<ConversationView> {
        var began: Int64?
        var after: ListRank?
        if let cursor {
            var reader = try CursorReader(cursor, .conversations)
            began = try reader.integer()
            after = ListRank(
                isPinned: try reader.integer(UInt8.self) == 1, activity: Timestamp(milliseconds: try reader.integer()),
                id: ConversationID(high: try reader.integer(), low: try reader.integer()))
            try reader.end()
        }
        return try database.read { (tables) throws(StoreError) in
            let version = began ?? tables.version
            guard version <= tables.version else { throw StoreError(.badCursor) }
            let rows = tables.conversations(of: user)
                .compactMap { row in row.member(user).map { (row: row, me: $0) } }
                .filter { ($0.row.archivedAt(for: $0.me) != nil) == archived }
                .map { row, me in
                    let rank = ListRank(
                        isPinned: me.isPinned(asOf: version), activity: row.lastActivity(asOf: version), id: row.id)
                    return (row: row, me: me, rank: rank)
                }
                .filter { row in after.map { $0 < row.rank } ?? true }
                .sorted { $0.rank < $1.rank }
            return Page(rows, limit: limit) { last in
                var writer = CursorWriter(.conversations)
                writer.write(version)
                writer.write(last.rank.isPinned ? 1 : 0 as UInt8)
                writer.write(last.rank.activity.milliseconds)
                writer.write(last.rank.id.high)
                writer.write(last.rank.id.low)
                return writer.text
            } item: {
                tables.view($0.row, for: $0.me)
            }
        }
    }

    public func channels(
        query: String?, for user: UserID, cursor: String?, limit: Int
    ) async throws(StoreError) -> Page<ConversationView> {
        var after: (title: String, id: ConversationID)?
        if let cursor {
            var reader = try CursorReader(cursor, .channels)
            after = (try reader.text(), ConversationID(high: try reader.integer(), low: try reader.integer()))
            try reader.end()
        }
        let folded = NameFolding.fold(query ?? "")
        if let query, !query.isEmpty, folded.isEmpty { return Page(items: [], nextCursor: nil) }
        return try database.read { tables in
            let rows = tables.conversations.values
                .filter { $0.kind == .channel }
                .map { (row: $0, title: NameFolding.fold($0.title ?? "")) }
                .filter { row in
                    folded.isEmpty
                        || NameFolding.searchKeys(row.row.title ?? "").contains { $0.utf8.starts(with: folded.utf8) }
                }
                .filter { row in after.map { Self.precedes($0, (row.title, row.row.id)) } ?? true }
                .sorted { Self.precedes(($0.title, $0.row.id), ($1.title, $1.row.id)) }
            return Page(rows, limit: limit) { last in
                var writer = CursorWriter(.channels)
                writer.write(last.title)
                writer.write(last.row.id.high)
                writer.write(last.row.id.low)
                return writer.text
            } item: { row in
                tables.view(row.row, for: user) ?? tables.outsidersView(row.row)
            }
        }
    }

    /// By the bytes of the title, as the database's "C" collation has it.
    private static func precedes(
        _ left: (title: String, id: ConversationID), _ right: (title: String, id: ConversationID)
    ) -> Bool {
        if left.title.utf8.elementsEqual(right.title.utf8) { return left.id < right.id }
        return left.title.utf8.lexicographicallyPrecedes(right.title.utf8)
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
                .filter { tables.latestVersion(of: $0) > since || since == 0 }
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
            // Without a token there is nothing to be taken away; on later pages it has been told.
            let removed = since == 0 || after != nil ? [] : tables.departures[user, default: [:]].filter { $0.value > since }
            return SyncPage(
                conversations: page.compactMap { row in row.member(user).map { tables.view(row, for: $0) } },
                removed: removed.map(\.key).sorted(),
                hidden: page.flatMap { row in
                    row.hidden[user, default: [:]].filter { $0.value > since }.map(\.key).sorted()
                        .map { HiddenMessage(conversationID: row.id, seq: $0) }
                }, token: writer.text, hasMore: hasMore)
        }
    }
}

extension MemoryTables {
    /// Of everything that its members are shown.
    fileprivate func latestVersion(of row: ConversationRow) -> Int64 {
        switch row.kind {
        case .direct, .group: row.members.compactMap { users[$0.userID]?.version }.reduce(row.version, max)
        case .channel: row.version
        }
    }
}

/// A place in a member's list: pinned ones first, then newest activity first.
private struct ListRank: Comparable {
    let isPinned: Bool
    let activity: Timestamp
    let id: ConversationID

    static func < (left: Self, right: Self) -> Bool {
        if left.isPinned != right.isPinned { return left.isPinned }
        return (left.activity, left.id) > (right.activity, right.id)
    }
}

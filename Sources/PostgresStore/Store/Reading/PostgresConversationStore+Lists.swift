import Ports
import RoostModel

extension PostgresConversationStore {
    public func conversation(_ id: ConversationID, for user: UserID) async throws(StoreError) -> ConversationView? {
        let rows = try await pool.query(ViewStatements.view) {
            $0.add(user)
            $0.add(id)
        }
        return try await withDeliveries(rows.map { ConversationView($0) }, for: user).first
    }

    public func conversations(
        for user: UserID, archived: Bool, cursor: String?, limit: Int, at time: Timestamp
    ) async throws(StoreError) -> Page<ConversationView> {
        let position = try cursor.map { (text) throws(StoreError) in try ListPosition(text) }
        let rows = try await pool.query(position == nil ? ViewStatements.firstPage : ViewStatements.laterPage) {
            $0.add(user)
            $0.add(Int64(limit + 1))
            $0.add(archived)
            guard let position else { return }
            $0.add(position.snapshot)
            $0.add(position.began)
            $0.add(position.isPinned)
            $0.add(position.activity)
            $0.add(position.id)
        }
        return try await page(rows, of: user, limit: limit) { last in
            let column = ViewStatements.columnCount
            return ListPosition(
                began: position?.began ?? time, snapshot: position?.snapshot ?? last.text(column + 2),
                isPinned: last.bool(column), activity: last.time(column + 1), id: last.id(0)
            ).text
        }
    }

    public func channels(
        query: String?, for user: UserID, cursor: String?, limit: Int
    ) async throws(StoreError) -> Page<ConversationView> {
        let position = try cursor.map { (text) throws(StoreError) in try ChannelPosition(text) }
        let prefix = NameFolding.fold(query ?? "")
        // Nothing but punctuation: no title has a word of that.
        if let query, !query.isEmpty, prefix.isEmpty { return Page(items: [], nextCursor: nil) }
        let rows = try await pool.query(prefix.isEmpty ? ViewStatements.allChannels : ViewStatements.channelSearch) {
            $0.add(user)
            $0.add(position?.foldedTitle)
            $0.add(position?.id)
            $0.add(Int64(limit + 1))
            if prefix.isEmpty { return }
            $0.add(prefix)
            // Above every text that begins so: no character comes after this one.
            $0.add(prefix + "\u{10FFFF}")
        }
        return try await page(rows, of: user, limit: limit) { last in
            ChannelPosition(foldedTitle: last.text(ViewStatements.columnCount), id: last.id(0)).text
        }
    }

    /// Of `limit` + 1 rows.
    private func page(
        _ rows: PostgresRows, of reader: UserID, limit: Int, cursor: (_ last: PostgresRow) -> String
    ) async throws(StoreError) -> Page<ConversationView> {
        let items = try await withDeliveries((0..<min(limit, rows.count)).map { ConversationView(rows[$0]) }, for: reader)
        return Page(items: items, nextCursor: rows.count > limit ? cursor(rows[limit - 1]) : nil)
    }

    public func sync(for user: UserID, since token: String?, limit: Int) async throws(StoreError) -> SyncPage {
        let position = try token.map { (text) throws(StoreError) in try SyncPosition(text) } ?? SyncPosition()
        var commands = [
            PostgresCommand(SyncStatements.horizon),
            PostgresCommand(SyncStatements.page) {
                $0.add(user)
                $0.add(position.since)
                $0.add(position.after)
                $0.add(Int64(limit + 1))
            },
        ]
        // Without a token there is nothing to be taken away; on later pages it has been told.
        if position.since > 0, position.after == nil {
            commands.append(
                PostgresCommand(SyncStatements.removed) {
                    $0.add(user)
                    $0.add(position.since)
                })
        }
        let results = try await pool.transaction(commands)
        let (horizon, next) = (results[0][0].uint64(0), results[0][0].uint64(1))
        // A number that this database has not come to yet: the token is of another one.
        guard max(position.since, position.horizon ?? 0) <= next else { throw StoreError(.badCursor) }
        let rows = results[1]
        let count = min(rows.count, limit)
        let hasMore = rows.count > limit
        var following = SyncPosition()
        if hasMore {
            following = SyncPosition(since: position.since, horizon: position.horizon ?? horizon, after: rows[count - 1].id(0))
        } else {
            following.since = position.horizon ?? horizon
        }
        let shown = (0..<count).map { rows[$0] }
        return SyncPage(
            conversations: try await withDeliveries(shown.map { ConversationView($0) }, for: user),
            removed: commands.count == 3 ? results[2].map { $0.id(0) } : [],
            hidden: shown.flatMap { row in
                row.integers(ViewStatements.columnCount).map { HiddenMessage(conversationID: row.id(0), seq: Seq($0)) }
            }, token: following.text, hasMore: hasMore)
    }
}

extension ConversationView {
    /// The columns of ``ViewStatements``.
    init(_ row: PostgresRow) {
        let kind = ConversationKind(stored: row.int16(1))
        let isMember = !row.isNull(11)
        let ids: [UserID] = row.ids(19)
        let (names, photos, roles, joined) = (row.texts(20), row.optionalRecords(21), row.shorts(22), row.times(23))
        let (reads, delivered) = (row.optionalIntegers(24), row.integers(25))
        self.init(
            id: row.id(0), kind: kind, title: row.optional(2) { $0.text }, about: row.optional(3) { $0.text },
            photo: row.record(4).map { Media($0) }, history: HistorySetting(stored: row.int16(5)),
            members: ids.indices.map { index in
                Member(
                    userID: ids[index], displayName: names[index], photo: photos[index].map { Media($0) },
                    role: MemberRole(stored: roles[index]), joinedAt: joined[index], readSeq: reads[index].map { Seq($0) },
                    deliveredSeq: Seq(delivered[index]))
            },
            memberCount: kind == .channel ? Int(row.int64(10)) : ids.count, lastSeq: row.seq(8),
            lastMessage: row.isNull(26) ? nil : Message(row, from: 27),
            readSeq: isMember ? row.seq(12) : .zero, deliveredSeq: isMember ? row.seq(13) : .zero,
            unreadCount: Int(row.int64(17)), mentionCount: Int(row.int64(18)),
            myRole: isMember ? MemberRole(stored: row.int16(11)) : nil, mutedUntil: row.optional(14) { $0.time },
            pinnedAt: row.optional(15) { $0.time }, archivedAt: row.optional(16) { $0.time }, lastActivityAt: row.time(9),
            createdAt: row.time(7), isReadOnly: row.bool(6))
    }
}

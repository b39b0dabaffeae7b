import Ports
import RoostModel

/// Conversations and messages in PostgreSQL, as members read them.
///
/// A sync token is a transaction horizon: every transaction below it had ended when the token was made, and was seen. Whatever a
/// later one writes carries its own number, so nothing is passed over, however long a commit takes. While a sync has further pages,
/// the token holds the horizon of the first page and the id that the next page begins after.
public struct PostgresConversationStore: ConversationStore {
    private let pool: PostgresPool

    public init(pool: PostgresPool) { self.pool = pool }

    public func openDirect(
        between user: UserID, and other: UserID, newID: ConversationID, at time: Timestamp
    ) async throws(StoreError) -> (id: ConversationID, isNew: Bool) {
        guard user != other else { throw StoreError(.conflict, detail: "one user is no pair") }
        let (low, high) = (min(user, other), max(user, other))
        // The second look is for a row of another that was committed after the insert began.
        for _ in 0..<3 {
            let found = try await pool.query(ConversationStatements.find) {
                $0.add(low)
                $0.add(high)
            }
            if let row = found.first { return (row.id(0), false) }
            let made = try await pool.query(ConversationStatements.openDirect) {
                $0.add(low)
                $0.add(high)
                $0.add(newID)
                $0.add(Int16(ShardID(of: newID).number))
                $0.add(time)
            }
            if made.count == 1 { return (newID, true) }
        }
        throw StoreError(.conflict, detail: "no such user")
    }

    public func conversation(_ id: ConversationID, for user: UserID) async throws(StoreError) -> ConversationView? {
        let rows = try await pool.query(ConversationStatements.view) {
            $0.add(user)
            $0.add(id)
        }
        return rows.first.map { ConversationView($0) }
    }

    public func conversations(
        for user: UserID, cursor: String?, limit: Int, at time: Timestamp
    ) async throws(StoreError) -> Page<ConversationView> {
        let position = try cursor.map { (text) throws(StoreError) in try ListPosition(text) }
        let rows: PostgresRows
        if let position {
            rows = try await pool.query(ConversationStatements.laterPage) {
                $0.add(user)
                $0.add(Int64(limit + 1))
                $0.add(position.snapshot)
                $0.add(position.began)
                $0.add(position.activity)
                $0.add(position.id)
            }
        } else {
            rows = try await pool.query(ConversationStatements.firstPage) {
                $0.add(user)
                $0.add(Int64(limit + 1))
            }
        }
        guard rows.count > limit else { return Page(items: rows.map { ConversationView($0) }, nextCursor: nil) }
        let last = rows[limit - 1]
        let column = ConversationStatements.viewColumnCount
        let next = ListPosition(
            began: position?.began ?? time, snapshot: position?.snapshot ?? last.text(column + 1), activity: last.time(column),
            id: last.id(0))
        return Page(items: (0..<limit).map { ConversationView(rows[$0]) }, nextCursor: next.text)
    }

    public func isMember(_ user: UserID, of conversation: ConversationID) async throws(StoreError) -> Bool {
        try await pool.query(ConversationStatements.isMember) {
            $0.add(user)
            $0.add(conversation)
        }.count == 1
    }

    // MARK: Messages

    public func history(
        of conversation: ConversationID, for user: UserID, range: HistoryRange, limit: Int
    ) async throws(StoreError) -> HistoryPage? {
        // Every range is so many before a value and so many from it on; one more of each tells whether there are further ones.
        let (pivot, older, newer): (Int64, Int, Int) =
            switch range {
            case .newest: (.max, limit, 0)
            case .before(let seq): (seq.value, limit, 0)
            case .after(let seq): (seq.value == .max ? .max : seq.value + 1, 0, limit)
            case .around(let seq): (seq.value, (limit - 1) / 2, limit - (limit - 1) / 2)
            }
        let rows = try await pool.query(ConversationStatements.history) {
            $0.add(user)
            $0.add(conversation)
            $0.add(pivot)
            $0.add(Int64(older + 1))
            $0.add(Int64(newer + 1))
        }
        guard let first = rows.first else { return nil }
        let all = Self.messages(rows, reader: user)
        let before = all.filter { $0.message.seq.value < pivot }
        let after = all.filter { $0.message.seq.value >= pivot }
        return HistoryPage(
            items: Array(before.suffix(older) + after.prefix(newer)), hasMoreBefore: before.count > older,
            hasMoreAfter: after.count > newer, lastSeq: first.seq(0))
    }

    public func changes(
        of conversation: ConversationID, for user: UserID, after: Seq, limit: Int
    ) async throws(StoreError) -> ChangesPage? {
        let rows = try await pool.query(ConversationStatements.changes) {
            $0.add(user)
            $0.add(conversation)
            $0.add(after)
            $0.add(Int64(limit + 1))
        }
        guard let first = rows.first else { return nil }
        let items = Self.messages(rows, reader: user)
        guard items.count > limit else { return ChangesPage(items: items, upToSeq: first.seq(0), hasMore: false) }
        return ChangesPage(items: Array(items.prefix(limit)), upToSeq: items[limit - 1].message.changeSeq, hasMore: true)
    }

    private static func messages(_ rows: PostgresRows, reader: UserID) -> [ReadMessage] {
        rows.map { row in row.isNull(5) ? nil : ReadMessage(row, reader: reader) }.compactMap { $0 }
    }

    public func receipts(
        of conversation: ConversationID, seq: Seq, for user: UserID
    ) async throws(StoreError) -> MessageReceipts? {
        let rows = try await pool.query(ConversationStatements.receipts) {
            $0.add(user)
            $0.add(conversation)
            $0.add(seq)
        }
        guard rows.count > 0 else { return nil }
        var receipts = MessageReceipts(status: .sent, deliveredTo: [], seenBy: [])
        let others = (0..<rows.count).map { rows[$0] }.filter { !$0.isNull(0) }
        for row in others {
            // Without an entry the member joined with the position.
            let joined = row.time(3)
            if row.bool(1) { receipts.deliveredTo.append(.init(userID: row.id(0), at: row.optional(4) { $0.time } ?? joined)) }
            if row.bool(2) { receipts.seenBy.append(.init(userID: row.id(0), at: row.optional(5) { $0.time } ?? joined)) }
        }
        if !others.isEmpty, receipts.deliveredTo.count == others.count { receipts.status = .delivered }
        if !others.isEmpty, receipts.seenBy.count == others.count { receipts.status = .read }
        return receipts
    }

    public func counts(of conversation: ConversationID, for user: UserID) async throws(StoreError) -> ConversationCounts? {
        let rows = try await pool.query(ConversationStatements.counts) {
            $0.add(user)
            $0.add(conversation)
        }
        return rows.first.map {
            ConversationCounts(readSeq: $0.seq(0), deliveredSeq: $0.seq(1), unreadCount: Int($0.int64(2)), mentionCount: 0)
        }
    }

    // MARK: Sync

    public func sync(for user: UserID, since token: String?, limit: Int) async throws(StoreError) -> SyncPage {
        let position = try token.map { (text) throws(StoreError) in try SyncPosition(text) } ?? SyncPosition()
        let results = try await pool.transaction([
            PostgresCommand(ConversationStatements.horizon),
            PostgresCommand(ConversationStatements.sync) {
                $0.add(user)
                $0.add(position.since)
                $0.add(position.after)
                $0.add(Int64(limit + 1))
            },
        ])
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
        return SyncPage(
            conversations: (0..<count).map { ConversationView(rows[$0]) }, removed: [], token: following.text, hasMore: hasMore)
    }
}

/// Where a list of conversations goes on: what the first page saw, and the last row.
private struct ListPosition {
    let began: Timestamp
    /// `pg_snapshot`: `xmin:xmax:xip,…`
    let snapshot: String
    let activity: Timestamp
    let id: ConversationID

    init(began: Timestamp, snapshot: String, activity: Timestamp, id: ConversationID) {
        self.began = began
        self.snapshot = snapshot
        self.activity = activity
        self.id = id
    }

    init(_ text: String) throws(StoreError) {
        var reader = try CursorReader(text, .conversations)
        began = Timestamp(milliseconds: try reader.integer())
        snapshot = try reader.text()
        activity = Timestamp(milliseconds: try reader.integer())
        id = ConversationID(high: try reader.integer(), low: try reader.integer())
        try reader.end()
        // The year 9999: beyond, PostgreSQL's arithmetic could overflow.
        let range = Timestamp(milliseconds: 0)...Timestamp(milliseconds: 253_402_300_799_999)
        guard range.contains(began), range.contains(activity), Self.isSnapshot(snapshot) else { throw StoreError(.badCursor) }
    }

    var text: String {
        var writer = CursorWriter(.conversations)
        writer.write(began.milliseconds)
        writer.write(snapshot)
        writer.write(activity.milliseconds)
        writer.write(id.high)
        writer.write(id.low)
        return writer.text
    }

    /// What `pg_snapshot` takes: positive numbers, xmin ≤ xip… < xmax, rising.
    private static func isSnapshot(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let low = number(parts[0]), let high = number(parts[1]), low <= high else { return false }
        var last: Int64?
        for part in parts[2].split(separator: ",", omittingEmptySubsequences: false) where !parts[2].isEmpty {
            guard let value = number(part), value >= low, value < high, last.map({ $0 < value }) ?? true else { return false }
            last = value
        }
        return true
    }

    private static func number(_ text: Substring) -> Int64? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int64(text), value > 0, value < 1 << 62 else {
            return nil
        }
        return value
    }
}

/// Where a sync goes on.
private struct SyncPosition {
    /// Changes of transactions from here on are told; 0 for everything.
    var since: UInt64 = 0
    /// Within a sync of several pages: the horizon of its first page, and the last conversation told.
    var horizon: UInt64?
    var after: ConversationID?

    init() {}

    init(since: UInt64, horizon: UInt64, after: ConversationID) {
        self.since = since
        self.horizon = horizon
        self.after = after
    }

    init(_ text: String) throws(StoreError) {
        var reader = try CursorReader(text, .sync)
        since = try reader.integer()
        if try reader.integer(UInt8.self) == 1 {
            horizon = try reader.integer()
            after = ConversationID(high: try reader.integer(), low: try reader.integer())
        }
        try reader.end()
        guard max(since, horizon ?? 0) < 1 << 62 else { throw StoreError(.badCursor) }
    }

    var text: String {
        var writer = CursorWriter(.sync)
        writer.write(since)
        writer.write(horizon == nil ? 0 : 1 as UInt8)
        if let horizon, let after {
            writer.write(horizon)
            writer.write(after.high)
            writer.write(after.low)
        }
        return writer.text
    }
}

extension ConversationView {
    /// The columns of ``ConversationStatements``' views.
    fileprivate init(_ row: PostgresRow) {
        let kind = ConversationKind(stored: row.int16(1))
        let ids: [UserID] = row.ids(12)
        let (names, roles, joined, reads, delivered) = (
            row.texts(13), row.shorts(14), row.times(15), row.optionalIntegers(16), row.integers(17)
        )
        // A channel's members are asked for page by page.
        let shown = kind == .channel ? 0..<0 : ids.indices
        self.init(
            id: row.id(0), kind: kind, title: row.optional(2) { $0.text },
            members: shown.map { index in
                Member(
                    userID: ids[index], displayName: names[index], role: MemberRole(stored: roles[index]),
                    joinedAt: joined[index],
                    readSeq: reads[index].map { Seq($0) }, deliveredSeq: Seq(delivered[index]))
            },
            memberCount: Int(row.int64(11)), lastSeq: row.seq(5), lastMessage: row.isNull(18) ? nil : Message(row, from: 18),
            readSeq: row.seq(7), deliveredSeq: row.seq(8), unreadCount: Int(row.int64(10)), mentionCount: 0,
            myRole: MemberRole(stored: row.int16(9)), lastActivityAt: row.time(6), createdAt: row.time(4), isReadOnly: row.bool(3)
        )
    }
}

extension ReadMessage {
    /// The columns of history and changes, where there is a message.
    fileprivate init(_ row: PostgresRow, reader: UserID) {
        let message = Message(row, from: 5)
        var delivery: Delivery?
        if message.senderID == reader {
            delivery = Delivery(status: .sent, seenByCount: Int(row.int64(4)))
            // Without other members the two are NULL, and the message was only sent.
            if row.optional(2, { $0.bool }) == true { delivery?.status = .delivered }
            if row.optional(3, { $0.bool }) == true { delivery?.status = .read }
        }
        self.init(message: message, delivery: delivery)
    }
}

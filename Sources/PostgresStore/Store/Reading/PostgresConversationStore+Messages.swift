import Ports
import RoostModel

extension PostgresConversationStore {
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
        let rows = try await pool.query(MessageStatements.history) {
            $0.add(user)
            $0.add(conversation)
            $0.add(pivot)
            $0.add(Int64(older + 1))
            $0.add(Int64(newer + 1))
        }
        guard let first = rows.first else { return nil }
        let all = Self.messages(rows)
        let before = all.filter { $0.seq.value < pivot }
        let after = all.filter { $0.seq.value >= pivot }
        return HistoryPage(
            items: try await shown(Array(before.suffix(older) + after.prefix(newer)), to: user),
            hasMoreBefore: before.count > older, hasMoreAfter: after.count > newer, lastSeq: first.seq(0))
    }

    public func message(
        _ seq: Seq, of conversation: ConversationID, for user: UserID
    ) async throws(StoreError) -> ReadMessage? {
        let rows = try await pool.query(MessageStatements.message) {
            $0.add(user)
            $0.add(conversation)
            $0.add(seq)
        }
        return try await shown(Self.messages(rows), to: user).first
    }

    public func changes(
        of conversation: ConversationID, for user: UserID, after: Seq, limit: Int
    ) async throws(StoreError) -> ChangesPage? {
        let rows = try await pool.query(MessageStatements.changes) {
            $0.add(user)
            $0.add(conversation)
            $0.add(after)
            $0.add(Int64(limit + 1))
        }
        guard let first = rows.first else { return nil }
        let messages = Self.messages(rows)
        let items = try await shown(Array(messages.prefix(limit)), to: user)
        guard messages.count > limit else { return ChangesPage(items: items, upToSeq: first.seq(0), hasMore: false) }
        return ChangesPage(items: items, upToSeq: messages[limit - 1].changeSeq, hasMore: true)
    }

    private static func messages(_ rows: PostgresRows) -> [Message] {
        rows.map { row in row.isNull(1) ? nil : Message(row, from: 2) }.compactMap { $0 }
    }

    /// Puts in how far the reader's own last messages in channels got. One statement where there is such a one, none otherwise.
    func withDeliveries(_ views: [ConversationView], for reader: UserID) async throws(StoreError) -> [ConversationView] {
        let places = views.indices.filter { views[$0].kind == .channel && views[$0].lastMessage?.isOwn(of: reader) == true }
        if places.isEmpty { return views }
        let messages = try await shown(places.map { views[$0].lastMessage! }, to: reader)
        var views = views
        for (place, message) in zip(places, messages) { views[place].lastMessageDelivery = message.delivery }
        return views
    }

    /// With the status of the reader's own.
    func shown(_ messages: [Message], to reader: UserID) async throws(StoreError) -> [ReadMessage] {
        let own = Set(messages.lazy.filter { $0.isOwn(of: reader) }.map(\.conversationID))
        if own.isEmpty { return messages.map { ReadMessage(message: $0, delivery: nil) } }
        let rows = try await pool.query(MessageStatements.others) {
            $0.add(reader)
            $0.add(ids: own)
        }
        var others: [ConversationID: OtherMembers] = [:]
        for index in 0..<rows.count { others[rows[index].id(0)] = OtherMembers(rows[index]) }
        return messages.map { message in
            guard message.isOwn(of: reader) else { return ReadMessage(message: message, delivery: nil) }
            let others = others[message.conversationID] ?? OtherMembers()
            return ReadMessage(message: message, delivery: others.delivery(of: message.seq.value))
        }
    }

    public func receipts(
        of conversation: ConversationID, seq: Seq, for user: UserID
    ) async throws(StoreError) -> MessageReceipts? {
        let rows = try await pool.query(MessageStatements.receipts) {
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
        let rows = try await pool.query(MessageStatements.counts) {
            $0.add(user)
            $0.add(conversation)
        }
        return rows.first.map {
            ConversationCounts(
                readSeq: $0.seq(0), deliveredSeq: $0.seq(1), unreadCount: Int($0.int64(2)), mentionCount: Int($0.int64(3)))
        }
    }
}

/// The positions of a conversation's members but for the reader.
private struct OtherMembers {
    /// Parallel; a read position that is not shared is -1.
    private var since: [Int64] = []
    private var delivered: [Int64] = []
    private var read: [Int64] = []

    init() {}

    init(_ row: PostgresRow) { (since, delivered, read) = (row.integers(1), row.integers(2), row.integers(3)) }

    /// Only those count who were members when the message came.
    func delivery(of seq: Int64) -> ReadMessage.Delivery {
        var (count, deliveredCount, readCount) = (0, 0, 0)
        for index in since.indices where since[index] <= seq {
            count += 1
            if delivered[index] >= seq { deliveredCount += 1 }
            if read[index] >= seq { readCount += 1 }
        }
        let status: ReadMessage.Delivery.Status =
            count == 0 ? .sent : readCount == count ? .read : deliveredCount == count ? .delivered : .sent
        return ReadMessage.Delivery(status: status, seenByCount: readCount)
    }
}

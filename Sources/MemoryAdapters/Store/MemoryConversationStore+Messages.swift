import Ports
import RoostModel

extension MemoryConversationStore {
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
            let visible = row.visible(to: me)
            let before = visible.filter { $0.message.seq.value < pivot }
            let after = visible.filter { $0.message.seq.value >= pivot }
            return HistoryPage(
                items: (before.suffix(older) + after.prefix(newer)).map { tables.shown($0, in: row, to: me) },
                hasMoreBefore: before.count > older, hasMoreAfter: after.count > newer, lastSeq: row.head)
        }
    }

    public func message(
        _ seq: Seq, of conversation: ConversationID, for user: UserID
    ) async throws(StoreError) -> ReadMessage? {
        try database.read { tables in
            guard let (row, me) = tables.joined(conversation, by: user), let index = row.index(of: seq), row.sees(seq, me)
            else { return nil }
            return tables.shown(row.messages[index], in: row, to: me)
        }
    }

    public func changes(
        of conversation: ConversationID, for user: UserID, after: Seq, limit: Int
    ) async throws(StoreError) -> ChangesPage? {
        try database.read { tables in
            guard let (row, me) = tables.joined(conversation, by: user) else { return nil }
            let changed = row.visible(to: me).filter { $0.message.changeSeq > after }
                .sorted { $0.message.changeSeq < $1.message.changeSeq }
            let page = changed.prefix(limit)
            let hasMore = changed.count > limit
            return ChangesPage(
                items: page.map { tables.shown($0, in: row, to: me) },
                upToSeq: hasMore ? page.last?.message.changeSeq ?? after : row.head, hasMore: hasMore)
        }
    }

    public func receipts(
        of conversation: ConversationID, seq: Seq, for user: UserID
    ) async throws(StoreError) -> MessageReceipts? {
        try database.read { tables in
            guard let (row, me) = tables.joined(conversation, by: user), let index = row.index(of: seq), row.sees(seq, me)
            else { return nil }
            var receipts = MessageReceipts(status: .sent, deliveredTo: [], seenBy: [])
            let others = row.recipients(of: row.messages[index].message)
            for other in others {
                let log = row.positions.filter { $0.userID == other.userID }
                if other.deliveredSeq >= seq {
                    let at = log.first { $0.deliveredSeq >= seq }?.at ?? other.joinedAt
                    receipts.deliveredTo.append(.init(userID: other.userID, at: at))
                }
                if let read = tables.sharedRead(of: other, to: me.userID), read >= seq {
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
        try database.read { tables in tables.joined(conversation, by: user).map { row, me in row.counts(of: me) } }
    }

    public func search(
        _ query: String, in conversation: ConversationID?, for user: UserID, cursor: String?, limit: Int
    ) async throws(StoreError) -> Page<SearchHit>? {
        var after: (Timestamp, ConversationID, Seq)?
        if let cursor {
            var reader = try CursorReader(cursor, .search)
            after = (
                Timestamp(milliseconds: try reader.integer()),
                ConversationID(high: try reader.integer(), low: try reader.integer()), Seq(try reader.integer())
            )
            try reader.end()
        }
        let terms = SearchWords.query(query)
        return try database.read { tables in
            let rows = tables.conversations(of: user).filter { row in conversation.map { row.id == $0 } ?? true }
            if conversation != nil, rows.isEmpty { return nil }
            let hits = rows.flatMap { row -> [(row: ConversationRow, me: MemberRow, message: MessageRow)] in
                guard let me = row.member(user) else { return [] }
                return row.visible(to: me)
                    .filter { SearchWords.matches(SearchWords.index($0.message.text), terms) }
                    .map { (row, me, $0) }
            }
            .map {
                (
                    row: $0.row, me: $0.me, message: $0.message,
                    rank: ($0.message.message.createdAt, $0.row.id, $0.message.message.seq)
                )
            }
            .filter { hit in after.map { hit.rank < $0 } ?? true }
            .sorted { $0.rank > $1.rank }
            return Page(hits, limit: limit) { last in
                var writer = CursorWriter(.search)
                writer.write(last.rank.0.milliseconds)
                writer.write(last.rank.1.high)
                writer.write(last.rank.1.low)
                writer.write(last.rank.2.value)
                return writer.text
            } item: { hit in
                SearchHit(
                    message: tables.shown(hit.message, in: hit.row, to: hit.me),
                    snippet: SearchWords.snippet(hit.message.message.text, terms))
            }
        }
    }

    public func prepareSearch(limit: Int, all: Bool) async throws(StoreError) -> Int {
        try database.write { tables in
            let ids = tables.conversations.values.filter { $0.head > $0.searchableSeq }.prefix(limit).map(\.id)
            for id in ids {
                let head = tables.conversations[id]?.head ?? .zero
                tables.conversations[id]?.searchableSeq = head
            }
            return ids.count
        }
    }

    public func media(_ id: MediaID) async throws(StoreError) -> Media? { try database.read { $0.media[id] } }
}

import Ports
import RoostModel

extension PostgresConversationStore {
    /// Messages of one conversation that are prepared in one transaction.
    private static let preparedAtOnce = 500
    /// Rows of a deleted conversation that are cleared away in one transaction.
    private static let clearedAtOnce = 2_000

    /// Also clears away a part of what deleted conversations have left, which counts as one.
    public func prepareSearch(limit: Int, all: Bool) async throws(StoreError) -> Int {
        var count = 0
        let cleared = try await pool.query(SearchStatements.clear) { $0.add(Int32(Self.clearedAtOnce)) }
        if cleared[0].bool(0) { count += 1 }
        let statement = all ? SearchStatements.unprepared : SearchStatements.unpreparedQuiet
        let rows = try await pool.query(statement) { $0.add(Int64(limit)) }
        for index in 0..<rows.count {
            try await prepare(rows[index].id(0), after: rows[index].seq(1), upTo: rows[index].seq(2))
            count += 1
        }
        return count
    }

    /// Reads without a lock, and writes only if nobody else has prepared the conversation meanwhile. What is changed in between has a greater
    /// value of the counter, and is prepared again. One conversation in a transaction: so its row is the only one held.
    private func prepare(_ id: ConversationID, after: Seq, upTo head: Seq) async throws(StoreError) {
        let rows = try await pool.query(SearchStatements.changed) {
            $0.add(id)
            $0.add(after)
            $0.add(Int64(Self.preparedAtOnce))
        }
        // The values up to the head were all there when it was read.
        let isAll = rows.count < Self.preparedAtOnce
        let reached = rows.count == 0 ? head : rows[rows.count - 1].seq(1)
        let mark = SearchMark(id)
        let words = rows.map { SearchWords.index($0.text(3)).map(mark.word).joined(separator: " ") }
        _ = try await pool.query(SearchStatements.prepare) {
            $0.add(id)
            $0.add(after)
            $0.add(isAll ? max(head, reached) : reached)
            $0.add(integers: rows.map { $0.int64(0) })
            $0.add(times: rows.map { $0.time(2) })
            $0.add(texts: words)
        }
    }

    public func search(
        _ query: String, in conversation: ConversationID?, for user: UserID, cursor: String?, limit: Int
    ) async throws(StoreError) -> Page<SearchHit>? {
        let position = try cursor.map { (text) throws(StoreError) in try SearchPosition(text) }
        let scope = try await pool.query(SearchStatements.scope) {
            $0.add(user)
            $0.add(conversation)
        }
        if conversation != nil, scope.count == 0 { return nil }
        let search = MessageSearch(
            terms: SearchWords.query(query), user: user, conversations: scope.map { $0.id(0) }, wanted: limit + 1, pool: pool)
        guard !search.terms.isEmpty, scope.count > 0 else { return Page(items: [], nextCursor: nil) }
        // In this order: what is prepared in between is found twice and not missed.
        let unprepared = try await search.unprepared(after: position)
        let prepared = try await search.prepared(after: position)
        var found: [SearchPosition: Message] = [:]
        for message in unprepared + prepared { found[SearchPosition(message)] = message }
        let places = found.keys.sorted(by: >)
        let hits = try await shown(places.prefix(limit).map { found[$0]! }, to: user)
        return Page(
            items: hits.map { SearchHit(message: $0, snippet: SearchWords.snippet($0.message.text, search.terms)) },
            nextCursor: places.count > limit ? places[limit - 1].text : nil)
    }
}

/// One search on its way.
private struct MessageSearch {
    let terms: [SearchWords.Term]
    let user: UserID
    let conversations: [ConversationID]
    let wanted: Int
    let pool: PostgresPool

    /// Messages in their present state that have not been prepared: each is looked at.
    func unprepared(after position: SearchPosition?) async throws(StoreError) -> [Message] {
        try await matches(of: SearchStatements.unpreparedMessages, after: position, step: max(200, 2 * wanted)) {
            $0.add(ids: conversations)
        }
    }

    func prepared(after position: SearchPosition?) async throws(StoreError) -> [Message] {
        let queries = conversations.map { SearchMark($0).tsquery(terms) }
        return try await matches(of: SearchStatements.prepared, after: position, step: wanted) { $0.add(texts: queries) }
    }

    /// Candidates step by step, of which those count that may be seen and whose present text matches.
    private func matches(
        of statement: PostgresStatement, after position: SearchPosition?, step: Int,
        in scope: (inout PostgresParameters) -> Void
    ) async throws(StoreError) -> [Message] {
        var position = position
        var found: [Message] = []
        while true {
            let rows = try await pool.query(statement) {
                $0.add(user)
                scope(&$0)
                $0.add(position?.createdAt)
                $0.add(position?.conversationID)
                $0.add(position?.seq)
                $0.add(Int64(step))
            }
            for index in 0..<rows.count where !rows[index].isNull(3) {
                let message = Message(rows[index], from: 4)
                if SearchWords.matches(SearchWords.index(message.text), terms) { found.append(message) }
            }
            guard rows.count == step, found.count < wanted else { return found }
            let last = rows[step - 1]
            position = SearchPosition(createdAt: last.time(0), conversationID: last.id(1), seq: last.seq(2))
        }
    }
}

import Ports
import RoostModel
import RoostProtocol

/// Conversations and messages in PostgreSQL, as members read them.
///
/// A sync token is a transaction horizon: every transaction below it had ended when the token was made, and was seen. Whatever a
/// later one writes carries its own number, so nothing is passed over, however long a commit takes. While a sync has further pages,
/// the token holds the horizon of the first page and the id that the next page begins after.
public struct PostgresConversationStore: ConversationStore {
    let pool: PostgresPool

    public init(pool: PostgresPool) { self.pool = pool }

    // MARK: Making

    public func openDirect(
        between user: UserID, and other: UserID, newID: ConversationID, at time: Timestamp
    ) async throws(StoreError) -> (id: ConversationID, isNew: Bool) {
        guard user != other else { throw StoreError(.conflict, detail: "one user is no pair") }
        // The second look is for a row of another that was committed after the insert began.
        for _ in 0..<3 {
            if let id = try await directConversation(of: user, and: other) { return (id, false) }
            let made = try await pool.query(MemberStatements.openDirect) {
                $0.add(min(user, other))
                $0.add(max(user, other))
                $0.add(newID)
                $0.add(Int16(ShardID(of: newID).number))
                $0.add(time)
            }
            if made.count == 1 { return (newID, true) }
        }
        throw StoreError(.conflict, detail: "no such user")
    }

    public func create(_ conversation: NewConversation) async throws(StoreError) {
        let event = SystemEvent(actorID: conversation.creatorID, change: .created)
        let rows = try await pool.query(MemberStatements.create) {
            $0.add(conversation.id)
            $0.add(conversation.kind.stored)
            $0.add(Int16(ShardID(of: conversation.id).number))
            $0.add(conversation.creatorID)
            $0.add(ids: conversation.memberIDs)
            $0.add(conversation.title)
            $0.add(NameFolding.fold(conversation.title))
            $0.add(texts: NameFolding.searchKeys(conversation.title))
            $0.add(conversation.about)
            $0.add(conversation.photo?.id)
            $0.add(conversation.history.stored)
            $0.add(event.json())
            $0.add(conversation.createdAt)
        }
        guard rows[0].bool(0) else { throw StoreError(.conflict, detail: "no such user") }
    }

    // MARK: Membership

    public func isMember(_ user: UserID, of conversation: ConversationID) async throws(StoreError) -> Bool {
        try await pool.query(MemberStatements.isMember) {
            $0.add(user)
            $0.add(conversation)
        }.count == 1
    }

    public func standing(of user: UserID, in conversation: ConversationID) async throws(StoreError) -> Standing? {
        let rows = try await pool.query(MemberStatements.standing) {
            $0.add(user)
            $0.add(conversation)
        }
        return rows.first.map { row in
            Standing(
                kind: ConversationKind(stored: row.int16(0)), role: row.optional(1) { $0.int16 }.map { MemberRole(stored: $0) })
        }
    }

    public func directConversation(of user: UserID, and other: UserID) async throws(StoreError) -> ConversationID? {
        let rows = try await pool.query(MemberStatements.find) {
            $0.add(min(user, other))
            $0.add(max(user, other))
        }
        return rows.first?.id(0)
    }

    public func memberships(of user: UserID) async throws(StoreError) -> [Membership] {
        try await pool.query(MemberStatements.memberships) { $0.add(user) }
            .map { Membership(conversationID: $0.id(0), kind: ConversationKind(stored: $0.int16(1))) }
    }

    public func members(
        of conversation: ConversationID, for user: UserID, cursor: String?, limit: Int
    ) async throws(StoreError) -> Page<Member>? {
        let position = try cursor.map { (text) throws(StoreError) in try MemberPosition(text) }
        let rows = try await pool.query(MemberStatements.page) {
            $0.add(user)
            $0.add(conversation)
            $0.add(position?.joinedAt)
            $0.add(position?.sinceSeq)
            $0.add(position?.id)
            $0.add(Int64(limit + 1))
        }
        guard let first = rows.first else { return nil }
        if first.isNull(0) { return Page(items: [], nextCursor: nil) }
        let members = rows.map { Member($0) }
        guard members.count > limit else { return Page(items: members, nextCursor: nil) }
        let last = rows[limit - 1]
        let next = MemberPosition(joinedAt: last.time(4), sinceSeq: last.seq(7), id: last.id(0))
        return Page(items: Array(members.prefix(limit)), nextCursor: next.text)
    }

    public func member(
        _ member: UserID, of conversation: ConversationID, for user: UserID
    ) async throws(StoreError) -> Member? {
        let rows = try await pool.query(MemberStatements.member) {
            $0.add(user)
            $0.add(conversation)
            $0.add(member)
        }
        return rows.first.flatMap { $0.isNull(0) ? nil : Member($0) }
    }

    public func changeSettings(
        of conversation: ConversationID, for user: UserID, _ change: MemberSettingsChange, at time: Timestamp
    ) async throws(StoreError) -> Bool {
        try await pool.query(MemberStatements.changeSettings) {
            $0.add(user)
            $0.add(conversation)
            $0.add(change.mutedUntil != nil)
            $0.add(change.mutedUntil ?? nil)
            $0.add(change.isPinned)
            $0.add(change.isArchived)
            $0.add(time)
        }.count == 1
    }

    public func media(_ id: MediaID) async throws(StoreError) -> Media? {
        try await pool.query(MessageStatements.media) { $0.add(id) }.first.map { Media($0) }
    }
}

extension Member {
    /// The columns of ``MemberStatements/page``.
    fileprivate init(_ row: PostgresRow) {
        self.init(
            userID: row.id(0), displayName: row.text(1), photo: row.record(2).map { Media($0) },
            role: MemberRole(stored: row.int16(3)), joinedAt: row.time(4), readSeq: row.optional(5) { $0.seq },
            deliveredSeq: row.seq(6))
    }
}

import LoadCore
import RoostModel

/// Writes conversations, their members, and what hangs on both.
struct SeedConversationRows {
    struct History {
        let head: Int64
        /// The last ones.
        let messages: [(seq: Int64, createdAt: Timestamp)]
        let members: [SeedMember]
        let reactions: [SeedReaction]
        let hidden: [(seq: Int64, user: Int)]
    }

    let users: [SeedUser]
    var conversations: [SeedConversation] = []
    /// Parallel.
    var histories: [History] = []

    init(users: [SeedUser]) { self.users = users }

    func copy(to database: PlainDatabase, random: inout SeededRandom) throws {
        try database.copy(
            """
            conversations (id, kind, shard, is_active, title, folded_title, direct_low, direct_high, last_seq, last_activity_at,
            created_at, history, member_count, searchable_seq)
            """
        ) { rows in
            for index in conversations.indices { try addConversation(index, to: &rows) }
        }
        try database.copy("channel_words (folded, conversation_id)") { rows in
            for conversation in conversations where conversation.kind == .channel {
                for word in Set(NameFolding.searchKeys(conversation.title ?? "")).sorted() {
                    rows.add(word)
                    rows.add(conversation.id)
                    try rows.end()
                }
            }
        }
        try addMembers(to: database, random: &random)
        try database.copy("reactions (conversation_id, seq, emoji, user_id, at)") { rows in
            try each { conversation, history in
                for reaction in history.reactions {
                    rows.add(conversation.id)
                    rows.add(reaction.seq)
                    rows.add(reaction.emoji)
                    rows.add(users[reaction.user].id)
                    rows.add(reaction.at)
                    try rows.end()
                }
            }
        }
        try database.copy("hidden (conversation_id, user_id, seq)") { rows in
            try each { conversation, history in
                for hidden in history.hidden {
                    rows.add(conversation.id)
                    rows.add(users[hidden.user].id)
                    rows.add(hidden.seq)
                    try rows.end()
                }
            }
        }
    }

    private func each(_ body: (SeedConversation, History) throws -> Void) rethrows {
        for index in conversations.indices { try body(conversations[index], histories[index]) }
    }

    /// Where the dirty mark is set, the row stands a few messages back.
    private func addConversation(_ index: Int, to rows: inout CopyRows) throws {
        let (conversation, history) = (conversations[index], histories[index])
        var settled = (seq: history.head, at: history.messages.last?.createdAt ?? conversation.createdAt)
        if conversation.isActive { settled = history.messages.first.map { ($0.seq, $0.createdAt) } ?? settled }
        let pair = conversation.kind == .direct ? conversation.members.map { users[$0].id } : []
        rows.add(conversation.id)
        rows.add(conversation.kind.storedNumber)
        rows.add(ShardID(of: conversation.id).number)
        rows.add(conversation.isActive)
        rows.add(conversation.title)
        rows.add(conversation.kind == .channel ? NameFolding.fold(conversation.title ?? "") : nil)
        rows.add(pair.first)
        rows.add(pair.last)
        rows.add(settled.seq)
        rows.add(settled.at)
        rows.add(conversation.createdAt)
        rows.add(conversation.history == .full ? 0 : 1)
        rows.add(conversation.members.count)
        rows.add(Seeder.isLeftToTheStore(index) ? 0 : history.head)
        try rows.end()
    }

    private func addMembers(to database: PlainDatabase, random: inout SeededRandom) throws {
        try database.copy(
            """
            members (conversation_id, user_id, role, joined_at, since_seq, read_seq, delivered_seq, muted_until, pinned_at, archived_at,
            archived_seq)
            """
        ) { rows in
            try each { conversation, history in
                for member in history.members {
                    rows.add(conversation.id)
                    rows.add(users[member.user].id)
                    rows.add(member.role == .admin ? 0 : 1)
                    rows.add(member.joinedAt)
                    rows.add(member.sinceSeq)
                    rows.add(member.readSeq)
                    rows.add(member.deliveredSeq)
                    rows.add(member.mutedUntil)
                    rows.add(member.pinnedAt)
                    rows.add(member.archivedAt)
                    rows.add(member.archivedAt == nil ? 0 : history.head)
                    try rows.end()
                }
            }
        }
        // The way to the present positions: half of it at first.
        try database.copy("positions (conversation_id, user_id, delivered_seq, read_seq, at)") { rows in
            try each { conversation, history in
                for member in history.members where member.deliveredSeq > member.sinceSeq {
                    let half = (member.sinceSeq + member.deliveredSeq) / 2
                    let steps = [(half, min(half, member.readSeq), -3_600), (member.deliveredSeq, member.readSeq, 0)]
                    for (delivered, read, seconds) in steps[(half > member.sinceSeq ? 0 : 1)...] {
                        rows.add(conversation.id)
                        rows.add(users[member.user].id)
                        rows.add(delivered)
                        rows.add(read)
                        rows.add(conversation.lastActivityAt + .seconds(seconds))
                        try rows.end()
                    }
                }
            }
        }
        // Some have left.
        try database.copy("departures (user_id, conversation_id)") { rows in
            for conversation in conversations where conversation.kind != .direct {
                let user = random.index(users.count)
                guard random.happens(0.2), !conversation.members.contains(user) else { continue }
                rows.add(users[user].id)
                rows.add(conversation.id)
                try rows.end()
            }
        }
    }
}

extension ConversationKind {
    /// As in `migrations/`.
    var storedNumber: Int {
        switch self {
        case .direct: 0
        case .group: 1
        case .channel: 2
        }
    }
}

extension Message.Kind {
    /// As in `migrations/`.
    var storedNumber: Int {
        switch self {
        case .text: 0
        case .image: 1
        case .audio: 2
        case .video: 3
        case .file: 4
        case .system: 5
        }
    }
}

import EventLoop
import LoadCore
import PostgresStore
import RoostModel
import RoostProtocol
import Runtime

/// Fills a migrated, empty database, by COPY.
public struct Seeder {
    private let scale: SeedScale
    private let url: String
    private let database: PlainDatabase
    private let log: (String) -> Void
    private let texts: [String]
    private let users: [SeedUser]

    /// - Parameters:
    ///   - texts: a folder of fortune files; nil for made-up texts.
    ///   - log: told of each step.
    public init(_ scale: SeedScale, url: String, texts folder: String?, log: @escaping (String) -> Void = { _ in }) throws {
        self.scale = scale
        self.url = url
        self.log = log
        database = try PlainDatabase(url)
        var random = SeededRandom(seed: scale.seed, stream: 0)
        texts = SeedTexts(folder: folder, count: min(60_000, scale.messages / 10), random: &random).texts
        random = SeededRandom(seed: scale.seed, stream: 1)
        users = (0..<scale.users).map { SeedUser(number: $0, now: scale.now, random: &random) }
    }

    public func run() async throws {
        guard try database.run("SELECT 1 FROM users LIMIT 1").isEmpty else {
            throw PlainDatabase.Fault(description: "the database is not empty")
        }
        try database.run("SET synchronous_commit = off; SET maintenance_work_mem = '512MB'; SET statement_timeout = 0")
        log("\(scale.users) users")
        try addUsers()
        var conversations = SeedConversations(scale: scale, users: users)
        let made = conversations.make()
        log("\(made.count) conversations")
        let messages = try addConversations(made)
        log("\(messages.count) messages")
        try addMessages(messages, made)
        log("words")
        try addWords(messages, made)
        try await prepareRest()
        log("statistics")
        try database.run("VACUUM (ANALYZE)")
    }

    // MARK: People

    private func addUsers() throws {
        try database.copy(
            """
            users (id, email, email_verified, password_hash, display_name, folded_name, first_name, last_name, profile_completed,
            share_read_receipts, directory_visible, created_at, last_seen_at)
            """
        ) { rows in
            for user in users {
                rows.add(user.id)
                rows.add(user.email)
                rows.add(user.email != nil)
                rows.add(user.email.map { _ in "none" })
                rows.add(user.displayName)
                rows.add(NameFolding.fold(user.displayName))
                rows.add(user.firstName)
                rows.add(user.lastName)
                rows.add(user.firstName != nil)
                rows.add(user.sharesReadReceipts)
                rows.add(user.isListed)
                rows.add(user.createdAt)
                rows.add(user.lastSeenAt)
                try rows.end()
            }
        }
        try database.copy("user_words (folded, user_id, source)") { rows in
            for user in users {
                for word in user.words {
                    rows.add(word.folded)
                    rows.add(user.id)
                    rows.add(word.source)
                    try rows.end()
                }
            }
        }
        try addDevices()
        try addContacts()
    }

    private func addDevices() throws {
        var random = SeededRandom(seed: scale.seed, stream: 3)
        let devices = users.flatMap { user in
            (0..<(random.happens(0.3) ? 2 : 1)).map { _ in (DeviceID(at: user.createdAt, using: &random), user) }
        }
        try database.copy("devices (id, user_id, name, platform, created_at, last_used_at)") { rows in
            for (id, user) in devices {
                rows.add(id)
                rows.add(user.id)
                rows.add("phone")
                rows.add("android")
                rows.add(user.createdAt)
                rows.add(user.lastSeenAt)
                try rows.end()
            }
        }
        try database.copy("refresh_tokens (hash, device_id, expires_at)") { rows in
            for (id, _) in devices {
                let hash = (0..<32).map { _ in UInt8(random.index(256)) }
                rows.add("\\x" + hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
                rows.add(id)
                rows.add(scale.now + .seconds(86_400 * 30))
                try rows.end()
            }
        }
        try addPushAddresses(devices.map(\.0))
    }

    private func addPushAddresses(_ devices: [DeviceID]) throws {
        try database.copy("push_addresses (device_id, provider, token)") { rows in
            for (number, id) in devices.enumerated() where number % 3 > 0 {
                rows.add(id)
                rows.add(2)
                rows.add("token-\(number)")
                try rows.end()
            }
        }
    }

    private func addContacts() throws {
        var random = SeededRandom(seed: scale.seed, stream: 4)
        let popularity = Zipf(count: users.count, exponent: 0.45)
        for table in [
            "contacts (owner_id, user_id, by_email, nickname, created_at)", "blocks (blocker_id, blocked_id, created_at)",
        ] {
            let isContacts = table.hasPrefix("contacts")
            var seen = Set<UInt64>()
            try database.copy(table) { rows in
                for _ in 0..<(isContacts ? 3 * users.count : users.count / 10) {
                    let (owner, user) = (popularity.rank(&random), popularity.rank(&random))
                    let hasName = random.happens(0.1)
                    guard owner != user, seen.insert(UInt64(owner) << 32 | UInt64(user)).inserted else { continue }
                    rows.add(users[owner].id)
                    rows.add(users[user].id)
                    if isContacts {
                        rows.add(users[user].email != nil && owner % 3 == 0)
                        rows.add(hasName ? users[user].displayName + " 2" : nil)
                    }
                    rows.add(scale.now + .seconds(-random.index(86_400 * 800)))
                    try rows.end()
                }
            }
        }
    }

    // MARK: Conversations

    /// Everything about conversations but their messages, which are answered in the order of time.
    private func addConversations(_ conversations: [SeedConversation]) throws -> [SeedMessage] {
        var random = SeededRandom(seed: scale.seed, stream: 5)
        var messages: [SeedMessage] = []
        messages.reserveCapacity(scale.messages)
        var rows = SeedConversationRows(users: users)
        for (number, conversation) in conversations.enumerated() {
            let history = SeedHistory(of: conversation, number: number, users: users, textCount: texts.count, random: &random)
            messages += history.messages
            rows.histories.append(
                .init(
                    head: history.head, messages: history.messages.suffix(8).map { ($0.seq, $0.createdAt) },
                    members: history.members,
                    reactions: history.reactions, hidden: history.hidden))
        }
        rows.conversations = conversations
        try rows.copy(to: database, random: &random)
        messages.sort { ($0.createdAt, $0.conversation, $0.seq) < ($1.createdAt, $1.conversation, $1.seq) }
        return messages
    }

    private func addMessages(_ messages: [SeedMessage], _ conversations: [SeedConversation]) throws {
        try database.copy(
            """
            messages (conversation_id, sender_id, seq, change_seq, created_at, edited_at, deleted_at, kind, client_id, text,
            fingerprint, reply_to, media_id, is_forwarded, mentions, system)
            """
        ) { rows in
            for message in messages { try add(message, of: conversations[Int(message.conversation)], to: &rows) }
        }
        try database.copy("mentions (conversation_id, user_id, seq)") { rows in
            for message in messages {
                guard let mentioned = message.mentioned else { continue }
                rows.add(conversations[Int(message.conversation)].id)
                rows.add(users[Int(mentioned)].id)
                rows.add(message.seq)
                try rows.end()
            }
        }
        try database.copy("media (id, owner_id, state, kind, content_type, file_name, bytes, width, height)") { rows in
            for message in messages {
                guard let media = message.media else { continue }
                rows.add(media)
                rows.add(users[Int(message.sender)].id)
                rows.add(1)
                rows.add(0)
                rows.add("image/jpeg")
                rows.add("photo.jpg")
                rows.add(123_456)
                rows.add(1_024)
                rows.add(768)
                try rows.end()
            }
        }
    }

    private func add(_ message: SeedMessage, of conversation: SeedConversation, to rows: inout CopyRows) throws {
        let text = message.text.map { texts[$0] } ?? ""
        let mentioned = message.mentioned.map { users[Int($0)].id }
        let body = MessageBody.Original(
            kind: message.kind, text: text, mediaID: message.media, replyTo: message.replyTo.map { Seq($0) },
            mentions: mentioned.map { [$0] } ?? [])
        rows.add(conversation.id)
        rows.add(users[Int(message.sender)].id)
        rows.add(message.seq)
        rows.add(message.changeSeq)
        rows.add(message.createdAt)
        rows.add(message.editedAt)
        rows.add(message.deletedAt)
        rows.add(message.kind.storedNumber)
        rows.add(message.system == nil ? "seed-\(message.conversation)-\(message.seq)" : nil)
        rows.add(text)
        rows.add(message.system == nil ? MessageBody.original(body).fingerprint : 0)
        rows.add(message.replyTo)
        rows.add(message.media)
        rows.add(message.isForwarded)
        rows.add(mentioned.map { "{\($0)}" })
        rows.add(message.system.map { String(decoding: $0.json(), as: UTF8.self) })
        try rows.end()
    }

    // MARK: Words

    /// In bulk, all but those of each hundredth conversation. The index is made afterwards: that is many times as fast.
    private func addWords(_ messages: [SeedMessage], _ conversations: [SeedConversation]) throws {
        let index = "message_words_words"
        let definition = try database.run("SELECT indexdef FROM pg_indexes WHERE indexname = '\(index)'")
        try database.run("DROP INDEX \(index)")
        let words = texts.map { SearchWords.index($0) }
        try database.copy("message_words (conversation_id, seq, created_at, words)") { rows in
            for message in messages {
                guard message.searchable, let text = message.text, !Self.isLeftToTheStore(Int(message.conversation)) else {
                    continue
                }
                let id = conversations[Int(message.conversation)].id
                let stored = PreparedWords.stored(words[text], of: id)
                if stored.isEmpty { continue }
                rows.add(id)
                rows.add(message.seq)
                rows.add(message.createdAt)
                rows.add(words: stored)
                try rows.end()
            }
        }
        guard let definition = definition.first?[0] else { throw PlainDatabase.Fault(description: "there is no index of words") }
        try database.run(definition)
    }

    static func isLeftToTheStore(_ conversation: Int) -> Bool { conversation % 100 == 99 }

    /// The store itself prepares the rest. Afterwards up to 255 of the newest values of the active conversations count as not
    /// prepared, as it is at any moment.
    private func prepareRest() async throws {
        try database.run("ANALYZE")
        var configuration = PostgresConfiguration(url: url)
        configuration.statementTimeout = .seconds(60)
        configuration.requestTimeout = .seconds(70)
        let loop = try EventLoop(name: "seed")
        loop.start()
        let pool = PostgresPool(configuration: configuration, loop: loop)
        pool.start()
        try await pool.waitUntilAvailable()
        let store = PostgresConversationStore(pool: pool)
        while try await store.prepareSearch(limit: 1_000, all: true) > 0 {}
        await pool.stop()
        await loop.stop()
        try database.run(
            """
            UPDATE conversations SET searchable_seq = GREATEST(0, searchable_seq - get_byte(uuid_send(id), 15)) WHERE is_active
            """)
    }
}

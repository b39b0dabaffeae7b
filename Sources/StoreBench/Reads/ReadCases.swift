import Ports
import PostgresStore
import RoostModel

/// The kinds of calls that are measured.
struct ReadCases: Sendable {
    let samples: ReadSamples
    let conversations: PostgresConversationStore
    let accounts: PostgresAccountStore
    let contacts: PostgresContactStore
    let journal: JournalReader
    private let url: String
    private let cursors = Cursors()

    init(_ samples: ReadSamples, pool: PostgresPool, journal: JournalReader, url: String) {
        self.samples = samples
        conversations = PostgresConversationStore(pool: pool)
        accounts = PostgresAccountStore(pool: pool)
        contacts = PostgresContactStore(pool: pool)
        self.journal = journal
        self.url = url
    }

    /// Lists' cursors and sync tokens by number of the call.
    private actor Cursors {
        private var lists: [Int: String] = [:]
        private var tokens: [Int: String] = [:]

        func keep(list: String?, for number: Int) { lists[number] = list }
        func list(_ number: Int) -> String? { lists[number] }
        func keep(token: String, for number: Int) { tokens[number] = token }
        func token(_ number: Int) -> String? { tokens[number] }
    }

    var all: [ReadBench.Case] { messages + lists + searches + people + actors }

    private func user(_ number: Int) -> UserID { samples.users.at(number) }
    private func place(_ number: Int) -> ReadSamples.Place { samples.places.at(number) }

    private func history(_ name: String, _ range: @escaping @Sendable (ReadSamples.Place) -> HistoryRange) -> ReadBench.Case {
        ReadBench.Case("history: 50, \(name)") { number in
            let place = place(number)
            _ = try await conversations.history(of: place.conversation, for: place.user, range: range(place), limit: 50)
        }
    }

    private var messages: [ReadBench.Case] {
        [
            history("newest") { _ in .newest },
            history("before a message") { .before($0.seq) },
            history("after a message") { .after($0.seq) },
            history("around a message") { .around($0.seq) },
            ReadBench.Case("history: 50, newest, of a quiet conversation") { number in
                let place = samples.quietPlaces.at(number)
                _ = try await conversations.history(of: place.conversation, for: place.user, range: .newest, limit: 50)
            },
            ReadBench.Case("one message") { number in
                let place = place(number)
                _ = try await conversations.message(place.seq, of: place.conversation, for: place.user)
            },
            ReadBench.Case("changes: the last 20") { number in
                let place = place(number)
                let after = Seq(max(0, place.head.value - 20))
                _ = try await conversations.changes(of: place.conversation, for: place.user, after: after, limit: 100)
            },
            ReadBench.Case("changes: 100 from a message on") { number in
                let place = place(number)
                _ = try await conversations.changes(of: place.conversation, for: place.user, after: place.seq, limit: 100)
            },
            ReadBench.Case("receipts") { number in
                let place = place(number)
                _ = try await conversations.receipts(of: place.conversation, seq: place.seq, for: place.user)
            },
            ReadBench.Case("unread counts") { number in
                let place = place(number)
                _ = try await conversations.counts(of: place.conversation, for: place.user)
            },
        ]
    }

    private func list(_ number: Int, archived: Bool = false, cursor: String? = nil) async throws -> String? {
        try await conversations.conversations(
            for: user(number), archived: archived, cursor: cursor, limit: 30, at: .now
        ).nextCursor
    }

    private var lists: [ReadBench.Case] {
        var second = ReadBench.Case("list: 30, second page (or the first, of those who have no more)") { number in
            _ = try await list(number, cursor: await cursors.list(number))
        }
        second.prepare = { number in await cursors.keep(list: try await list(number), for: number) }
        return [
            ReadBench.Case("list: 30, first page") { number in _ = try await list(number) },
            second,
            ReadBench.Case("list: archived") { number in _ = try await list(number, archived: true) },
            ReadBench.Case("one conversation's view") { number in
                let place = samples.quietPlaces.at(number)
                _ = try await conversations.conversation(place.conversation, for: place.user)
            },
            ReadBench.Case("one conversation's view, of busy ones") { number in
                let place = place(number)
                _ = try await conversations.conversation(place.conversation, for: place.user)
            },
        ] + syncs + [
            ReadBench.Case("channels: first page of 50") { number in
                _ = try await conversations.channels(query: nil, for: user(number), cursor: nil, limit: 50)
            },
            ReadBench.Case("channels: by a word") { number in
                _ = try await conversations.channels(
                    query: samples.channelWords.at(number), for: user(number), cursor: nil, limit: 50)
            },
        ]
    }

    private var syncs: [ReadBench.Case] {
        let keepToken: @Sendable (Int) async throws -> Void = { number in
            var page = try await conversations.sync(for: user(number), since: nil, limit: 500)
            while page.hasMore { page = try await conversations.sync(for: user(number), since: page.token, limit: 500) }
            await cursors.keep(token: page.token, for: number)
        }
        let call: @Sendable (Int) async throws -> Void = { number in
            _ = try await conversations.sync(for: user(number), since: await cursors.token(number), limit: 50)
        }
        var none = ReadBench.Case("sync: nothing new", call)
        none.prepare = keepToken
        var some = ReadBench.Case("sync: news in up to three conversations", call)
        some.prepare = keepToken
        some.begin = {
            // Touched, as a change of their titles would.
            let ids = Set(samples.users).map { "'\($0)'" }.joined(separator: ", ")
            try PlainDatabase(url).run(
                """
                UPDATE conversations SET changed_xid = pg_current_xact_id() WHERE id IN (
                    SELECT m.conversation_id FROM unnest(ARRAY[\(ids)]::uuid[]) u(id)
                    CROSS JOIN LATERAL (SELECT conversation_id FROM members WHERE user_id = u.id LIMIT 3) m)
                """)
        }
        return [
            ReadBench.Case("sync: from scratch, first page of 50") { number in
                _ = try await conversations.sync(for: user(number), since: nil, limit: 50)
            }, none, some,
        ]
    }

    private func search(_ name: String, everywhere: Bool, _ query: @escaping @Sendable (Int) -> String) -> ReadBench.Case {
        ReadBench.Case("search: \(name), \(everywhere ? "everywhere" : "in one conversation")") { number in
            let place = place(number)
            _ = try await conversations.search(
                query(number), in: everywhere ? nil : place.conversation, for: place.user, cursor: nil, limit: 20)
        }
    }

    private var searches: [ReadBench.Case] {
        [
            search("a rare word", everywhere: true) { samples.rareWords.at($0) },
            search("a frequent word", everywhere: true) { samples.frequentWords.at($0) },
            search("a beginning of two letters", everywhere: true) { String(samples.rareWords.at($0).prefix(2)) },
            search("two words", everywhere: true) { samples.rareWords.at($0) + " " + samples.frequentWords.at($0) },
            search("a word that is nowhere", everywhere: true) { "xqzv\($0)" },
            search("a rare word", everywhere: false) { samples.rareWords.at($0) },
            search("a frequent word", everywhere: false) { samples.frequentWords.at($0) },
            search("a beginning of two letters", everywhere: false) { String(samples.rareWords.at($0).prefix(2)) },
        ]
    }

    private var people: [ReadBench.Case] {
        [
            ReadBench.Case("members: 50, first page, of a channel") { number in
                let place = samples.channels.at(number)
                _ = try await conversations.members(of: place.conversation, for: place.user, cursor: nil, limit: 50)
            },
            ReadBench.Case("standing") { number in
                let place = place(number)
                _ = try await conversations.standing(of: place.user, in: place.conversation)
            },
            ReadBench.Case("directory: 50, first page") { number in
                _ = try await accounts.directory(query: nil, caller: user(number), cursor: nil, limit: 50)
            },
            ReadBench.Case("directory: by four letters") { number in
                _ = try await accounts.directory(query: samples.names.at(number), caller: user(number), cursor: nil, limit: 50)
            },
            ReadBench.Case("directory: by one letter") { number in
                let letter = String(samples.names.at(number).prefix(1))
                _ = try await accounts.directory(query: letter, caller: user(number), cursor: nil, limit: 50)
            },
            ReadBench.Case("lookup by email") { number in
                _ = try await accounts.user(withEmail: samples.emails.at(number))
            },
            ReadBench.Case("contacts") { number in
                _ = try await contacts.contacts(of: user(number), cursor: nil, limit: 50)
            },
            ReadBench.Case("partners") { number in _ = try await accounts.partners(of: user(number), limit: 1_000) },
        ]
    }

    private var actors: [ReadBench.Case] {
        [
            ReadBench.Case("activation of a conversation") { number in
                try await journal.load(samples.quietPlaces.at(number).conversation)
            },
            ReadBench.Case("activation of a channel") { number in
                try await journal.load(samples.channels.at(number).conversation)
            },
            ReadBench.Case("target of a command") { number in
                let place = place(number)
                try await journal.targets([TargetKey(conversationID: place.conversation, seq: place.seq)])
            },
            ReadBench.Case("is it stored?") { number in
                let place = place(number)
                try await journal.stored([
                    MessageKey(conversationID: place.conversation, senderID: place.user, clientID: "seed-0-\(place.seq.value)")
                ])
            },
        ]
    }
}

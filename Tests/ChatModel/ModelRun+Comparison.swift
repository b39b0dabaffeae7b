import RoostModel
import RoostProtocol

/// Everything that anybody can look at, against the model.
extension ModelRun {
    func compareEverything() async throws {
        try await settle()
        try await flush()
        note("everything is compared")
        isComparing = true
        defer { isComparing = false }
        try await checkExport(random.below(world.users.count))
        for user in world.users.indices {
            try await compareLists(user)
            try await compareSync(user)
            try await compareSearch(user)
            for index in world.chats.indices { try await compareChat(index, user) }
        }
    }

    /// All that is held about a user is what they wrote, and nothing that they may not see besides.
    private func checkExport(_ user: Int) async throws {
        let answer = try await call("GET", "/v1/me/export", as: user)
        guard answer.status == 200 else { throw ModelFault("export: \(answer.status) \(answer.json.line)") }
        if let leak = secrets.leak(in: answer.bytes, to: user, [world], mayHoldOwn: true) {
            throw ModelFault("export: \(leak): \(answer.json.line.prefix(3_000))")
        }
        let text = answer.json.line
        for (index, chat) in world.chats.enumerated() where !chat.isGone {
            for post in chat.posts where post.sender == user && post.system == nil && post.deletedAt == nil {
                if !text.contains(post.text) {
                    throw ModelFault("export of user \(user): message \(post.seq) of chat \(index) is missing")
                }
            }
        }
    }

    // MARK: One chat

    private func compareChat(_ index: Int, _ user: Int) async throws {
        try await perform(Operation(user: user, act: .getChat(index)))
        let isMember = world.chat(index)?.members[user] != nil
        guard isMember else {
            for act in [
                Operation.Act.getHistory(index, .newest, limit: 10), .getChanges(index, after: 0, limit: 10),
                .getReceipts(index, 1),
            ] {
                try await perform(Operation(user: user, act: act))
            }
            return
        }
        let limit = 5 + random.below(60)
        var last = 0
        while true {
            try await perform(Operation(user: user, act: .getHistory(index, .after(last), limit: limit)))
            let items = world.chats[index].visible(to: user).filter { $0.seq > last }.prefix(limit)
            guard items.count == limit else { break }
            last = items.last!.seq
        }
        try await perform(
            Operation(user: user, act: .getChanges(index, after: random.below(world.chats[index].counter + 1), limit: 200)))
        if let post = random.pick(world.chats[index].visible(to: user)) {
            try await perform(Operation(user: user, act: .getReceipts(index, post.seq)))
        }
        let chat = world.chats[index]
        let members = try await pages("/v1/conversations/\(chat.id)/members", user, limit: 1 + random.below(4))
        try match(
            .bag(chat.members.keys.map { world.member($0, of: chat, for: user) }), .array(members), "members of \(index)", user)
    }

    // MARK: Lists

    private func compareLists(_ user: Int) async throws {
        for archived in [false, true] {
            let items = try await pages("/v1/conversations?archived=\(archived)", user, limit: 1 + random.below(5))
            let expected = chats(of: user).filter { ($0.members[user]!.archivedAt != nil) == archived }
            try match(.bag(expected.map { world.shape(of: $0, for: user) }), .array(items), "the list", user)
            let ranks = items.map { ($0["pinnedAt"]?.isNull == false ? "1" : "0") + ($0["lastActivityAt"]?.string ?? "") }
            if ranks != ranks.sorted(by: >) { throw ModelFault("the list of user \(user) is not in order: \(ranks)") }
        }
        let found = try await pages("/v1/channels", user, limit: 1 + random.below(5))
        let channels = world.chats.filter { $0.kind == .channel && !$0.isGone }
        // Others may use the same cluster.
        let ours = found.filter { item in world.chats.contains { $0.id == item["id"]?.string } }
        try match(.bag(channels.map { world.shape(of: $0, for: user) }), .array(ours), "the channels", user)
        if let channel = random.pick(channels), let word = channel.title?.split(separator: " ").last {
            let named = try await pages("/v1/channels?query=\(word)", user, limit: 3)
            try match(.bag([world.shape(of: channel, for: user)]), .array(named), "channels named \(word)", user)
        }
    }

    private func chats(of user: Int) -> [Chat] { world.chats.filter { !$0.isGone && $0.members[user] != nil } }

    /// All items, page by page.
    private func pages(_ path: String, _ user: Int, limit: Int) async throws -> [JSONValue] {
        var items: [JSONValue] = []
        var cursor: String?
        repeat {
            var query = path + (path.contains("?") ? "&" : "?") + "limit=\(limit)"
            if let cursor { query += "&cursor=\(cursor)" }
            let answer = try await look(query, user)
            let page = answer["items"]?.array ?? []
            if page.count > limit { throw ModelFault("\(query): more than asked for") }
            items += page
            cursor = answer["nextCursor"]?.string
        } while cursor != nil
        return items
    }

    /// A question whose answer is a success, and holds nothing that is not for the user.
    func look(_ path: String, _ user: Int) async throws -> JSONValue {
        let answer = try await call("GET", path, as: user)
        guard answer.status == 200 else { throw ModelFault("\(path): \(answer.status) \(answer.json.line)") }
        if let leak = secrets.leak(in: answer.bytes, to: user, [world]) { throw ModelFault("\(path): \(leak)") }
        return answer.json
    }

    func match(_ shape: Shape, _ value: JSONValue, _ what: String, _ user: Int) throws {
        if let fault = shape.mismatch(value) { throw ModelFault("\(what), for user \(user): \(fault)") }
    }

    // MARK: Search

    private func compareSearch(_ user: Int) async throws {
        var words = [random.pick(Generator.words)!]
        if random.chance(30) { words.append(random.pick(Generator.words)!) }
        let only =
            random.chance(30)
            ? world.chats.indices.filter { world.chat($0)?.members[user] != nil }.randomElement(using: &random) : nil
        var path = "/v1/search/messages?query=\(words.joined(separator: "%20"))"
        if let only { path += "&conversationId=\(world.chats[only].id)" }
        let hits = try await pages(path, user, limit: 5 + random.below(40))
        let expected = world.found(words, by: user, in: only).map { place -> Shape in
            let chat = world.chats[place[0]]
            return .object([
                "message": world.shape(of: chat.post(place[1])!, in: chat, for: user, overREST: true), "snippet": .anything,
            ])
        }
        // By id first, so that a bag of hundreds is quick to compare.
        try match(.bag(expected), .array(hits), "the search for \(words)", user)
    }

    // MARK: Sync

    private func compareSync(_ user: Int) async throws {
        try await catchUp(user)
        let replica = people[user].replica
        let own = chats(of: user)
        let ids = Set(own.map(\.id))
        guard Set(replica.chats.keys) == ids else {
            throw ModelFault("user \(user) knows by sync of \(replica.chats.keys.sorted()), not of \(ids.sorted())")
        }
        for chat in own {
            try match(world.shape(of: chat, for: user), replica.chats[chat.id]!, "sync", user)
            let posts = chat.visible(to: user)
            let known = replica.messages[chat.id, default: [:]]
            guard known.keys.sorted() == posts.map(\.seq) else {
                throw ModelFault(
                    "user \(user) knows by changes \(known.keys.sorted()) of \(chat.id), and not \(posts.map(\.seq))")
            }
            for post in posts {
                try match(world.shape(of: post, in: chat, for: user, overREST: false), known[post.seq]!, "changes", user)
            }
        }
        let (fresh, _) = try await sync(user, since: nil)
        try match(.bag(own.map { world.shape(of: $0, for: user) }), .array(fresh.chats), "a fresh sync", user)
    }

    /// Brings a user's own copy up to date, as a client does.
    private func catchUp(_ user: Int) async throws {
        let (page, token) = try await sync(user, since: people[user].replica.token)
        for id in page.removed {
            people[user].replica.chats[id] = nil
            people[user].replica.forget(id)
        }
        for view in page.chats {
            guard let id = view["id"]?.string, let index = world.chats.firstIndex(where: { $0.id == id }) else { continue }
            let old = people[user].replica.chats[id]
            // After another joining, or under another setting, there may be more to see, or less.
            if old?["history"] != view["history"] || people[user].joined[index] != world.chats[index].members[user]?.since {
                people[user].replica.forget(id)
            }
            people[user].joined[index] = world.chats[index].members[user]?.since
            people[user].replica.chats[id] = view
            var upTo = people[user].replica.upTo[id] ?? 0
            while upTo < view["lastSeq"]?.int ?? 0 {
                let changes = try await look(
                    "/v1/conversations/\(id)/changes?after=\(upTo)&limit=\(10 + random.below(100))", user)
                for item in changes["items"]?.array ?? [] { people[user].replica.apply(change: item, in: id) }
                guard let next = changes["upToSeq"]?.int, next > upTo else {
                    throw ModelFault("changes stand still: \(changes.line)")
                }
                upTo = next
            }
            people[user].replica.upTo[id] = upTo
        }
        for hidden in page.hidden {
            if let id = hidden["conversationId"]?.string, let seq = hidden["seq"]?.int { people[user].replica.hide(seq, in: id) }
        }
        people[user].replica.token = token
    }

    private struct SyncedPages {
        var chats: [JSONValue] = []
        var removed: [String] = []
        var hidden: [JSONValue] = []
    }

    private func sync(_ user: Int, since: String?) async throws -> (SyncedPages, String) {
        var all = SyncedPages()
        var token = since
        while true {
            let since = token.map { "&since=\($0)" } ?? ""
            let page = try await look("/v1/sync?limit=\(1 + random.below(6))\(since)", user)
            all.chats += page["conversations"]?.array ?? []
            all.removed += page["removed"]?.array?.compactMap(\.string) ?? []
            all.hidden += page["hidden"]?.array ?? []
            token = page["token"]?.string
            guard let token else { throw ModelFault("no token: \(page.line)") }
            if page["hasMore"] == .bool(false) { return (all, token) }
        }
    }
}

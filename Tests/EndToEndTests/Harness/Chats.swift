import Foundation

/// What people do in conversations, over HTTP. Where a value is returned it was done; an `Answer` may be a refusal.
extension Person {
    // MARK: Conversations

    /// A call below a conversation.
    func call(_ method: String, in chat: String, _ path: String = "", _ body: JSON? = nil) async throws -> Answer {
        try await call(method, "/v1/conversations/\(chat)\(path)", body)
    }

    /// The id of a new group, of which this person is the admin.
    /// - Parameter fields: more of the body, or other values.
    func group(_ title: String = "Group", _ members: [Person] = [], _ fields: JSON = [:]) async throws -> String {
        try await conversation(
            from: ["kind": "group", "title": .string(title), "memberIds": .strings(members.map(\.id))], fields)
    }

    /// The id of a new channel, of which this person is the admin.
    func channel(_ title: String = "Channel", _ fields: JSON = [:]) async throws -> String {
        try await conversation(from: ["kind": "channel", "title": .string(title)], fields)
    }

    private func conversation(from body: JSON, _ fields: JSON) async throws -> String {
        let answer = try await call("POST", "/v1/conversations", body.adding(fields)).expect(201)
        guard let id = answer.json["id"].string else { throw Failure("no id: \(answer)") }
        return id
    }

    func join(_ chat: String) async throws -> Answer { try await call("POST", in: chat, "/join") }

    func add(_ users: [String], to chat: String) async throws -> Answer {
        try await call("POST", in: chat, "/members", ["userIds": .strings(users)])
    }

    /// Removes someone, or leaves.
    func remove(_ user: String, from chat: String) async throws -> Answer {
        try await call("DELETE", in: chat, "/members/\(user)")
    }

    func setRole(_ role: String, of user: String, in chat: String) async throws -> Answer {
        try await call("PATCH", in: chat, "/members/\(user)", ["role": .string(role)])
    }

    /// All members, page by page.
    func members(_ chat: String) async throws -> [JSON] { try await pages("/v1/conversations/\(chat)/members") }

    /// The items of all pages.
    /// - Parameter path: without a cursor; it may have a query.
    func pages(_ path: String) async throws -> [JSON] {
        var items: [JSON] = []
        var cursor = ""
        while true {
            let page = try await call("GET", "\(path)\(path.contains("?") ? "&" : "?")cursor=\(cursor)").expect(200).json
            items += page["items"].items
            guard let next = page["nextCursor"].string else { return items }
            cursor = next
        }
    }

    // MARK: Messages

    /// Sends a message of those fields; a text unless they say otherwise.
    func send(_ fields: JSON, to chat: String) async throws -> Answer {
        let body: JSON = ["clientId": .string(UUID().uuidString), "type": "text"]
        return try await call("POST", in: chat, "/messages", body.adding(fields))
    }

    /// The `seq` of a new text.
    @discardableResult
    func say(_ text: String, in chat: String) async throws -> Int {
        let answer = try await post(text, to: chat).expect(201)
        guard let seq = answer.json["seq"].int else { throw Failure("no seq: \(answer)") }
        return seq
    }

    func forward(_ seq: Int, of chat: String, to other: String) async throws -> Answer {
        let original: JSON = ["conversationId": .string(chat), "seq": .int(seq)]
        return try await call("POST", in: other, "/messages", ["clientId": .string(UUID().uuidString), "forward": original])
    }

    func edit(_ seq: Int, in chat: String, _ text: String) async throws -> Answer {
        try await call("PATCH", in: chat, "/messages/\(seq)", ["text": .string(text)])
    }

    /// - Parameter scope: `me` or `everyone`.
    func delete(_ seq: Int, in chat: String, for scope: String) async throws -> Answer {
        try await call("DELETE", in: chat, "/messages/\(seq)?scope=\(scope)")
    }

    /// Puts a reaction, or takes it away.
    func react(_ emoji: String, to seq: Int, in chat: String, put: Bool = true) async throws -> Answer {
        try await call(put ? "PUT" : "DELETE", in: chat, "/messages/\(seq)/reactions/\(emoji.escaped)")
    }

    /// One message as this person sees it now; null where they do not.
    func message(_ seq: Int, in chat: String) async throws -> JSON {
        let page = try await call("GET", in: chat, "/messages?around=\(seq)&limit=1").expect(200).json
        return page["items"].items.first { $0["seq"] == .int(seq) } ?? .null
    }

    /// The messages that a search finds, newest first.
    func search(_ words: String, in chat: String? = nil) async throws -> [JSON] {
        let place = chat.map { "&conversationId=\($0)" } ?? ""
        return try await pages("/v1/search/messages?query=\(words.escaped)\(place)").map { $0["message"] }
    }

    // MARK: People

    /// What this person is shown of another; null where nothing.
    func presence(of other: Person) async throws -> JSON {
        try await call("GET", "/v1/presence?userIds=\(other.id)").expect(200).json["items"][0]
    }

    /// All that changed since a token, over all pages.
    func sync(since token: String? = nil) async throws -> Synced {
        var synced = Synced(token: token ?? "")
        while true {
            let page = try await call("GET", "/v1/sync?since=\(synced.token)").expect(200).json
            for item in page["conversations"].items { synced.conversations[item["id"].string ?? ""] = item }
            synced.removed += page["removed"].items.compactMap(\.string)
            synced.hidden += page["hidden"].items
            guard let next = page["token"].string else { throw Failure("no token: \(page)") }
            synced.token = next
            if page["hasMore"] != true { return synced }
        }
    }

    @discardableResult
    func change(_ fields: JSON) async throws -> JSON { try await call("PATCH", "/v1/me", fields).expect(200).json }

    /// The id of a picture of this person's, as if it had been uploaded.
    /// - Parameter state: 0 processing, 1 ready, 2 rejected.
    func picture(state: Int = 1) async throws -> String {
        let picture = UUID().uuidString.lowercased()
        _ = try await cluster.query(
            """
            INSERT INTO media (id, owner_id, state, kind, content_type, file_name, bytes, width, height)
            VALUES ('\(picture)', '\(id)', \(state), 0, 'image/jpeg', 'picture.jpg', 48213, 640, 480)
            """)
        return picture
    }
}

/// What a sync brought.
struct Synced: Sendable {
    var conversations: [String: JSON] = [:]
    var removed: [String] = []
    var hidden: [JSON] = []
    var token: String
}

extension String {
    /// For one segment of a path or one value of a query (RFC 3986 §2.3).
    var escaped: String {
        addingPercentEncoding(withAllowedCharacters: .alphanumerics.intersection(.init(charactersIn: "\0"..."\u{7F}"))) ?? ""
    }
}

/// The answers to calls made at once, in no order.
func atOnce(_ count: Int, _ call: @escaping @Sendable (Int) async throws -> Answer) async throws -> [Answer] {
    try await withThrowingTaskGroup(of: Answer.self) { group in
        for number in 0..<count { group.addTask { try await call(number) } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}

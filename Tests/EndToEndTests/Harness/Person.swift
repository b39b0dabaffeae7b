import Foundation

/// A user with one logged-in device.
struct Person: Sendable {
    let cluster: Cluster
    let id: String
    let deviceID: String
    let token: String
    let refreshToken: String
    /// Nil for guests.
    let email: String?
    /// The number of the node to which this person talks unless told otherwise.
    let node: Int

    init(_ session: JSON, cluster: Cluster, node: Int) throws {
        guard let id = session["user"]["id"].string, let deviceID = session["deviceId"].string,
            let token = session["accessToken"].string, let refreshToken = session["refreshToken"].string
        else { throw Failure("no session: \(session)") }
        self.cluster = cluster
        self.id = id
        self.deviceID = deviceID
        self.token = token
        self.refreshToken = refreshToken
        email = session["user"]["email"].string
        self.node = node
    }

    static func guest(_ name: String, of cluster: Cluster, node: Int = 1) async throws -> Person {
        let answer = try await HTTP.call("POST", cluster.url(node), "/v1/auth/anonymous", body: ["displayName": .string(name)])
        return try Person(answer.expect(201).json, cluster: cluster, node: node)
    }

    static let password = "correct horse battery"

    /// A full account.
    static func registered(
        _ name: String, of cluster: Cluster, node: Int = 1, email: String = uniqueEmail()
    ) async throws -> Person {
        let answer = try await HTTP.call(
            "POST", cluster.url(node), "/v1/auth/register",
            body: ["email": .string(email), "password": .string(password), "displayName": .string(name)])
        return try Person(answer.expect(201).json, cluster: cluster, node: node)
    }

    static func uniqueEmail() -> String { "u\(UUID().uuidString.lowercased())@x.example" }

    /// A word that nobody else's name has, to find people and channels of one test by.
    static func uniqueWord() -> String { "w\(UUID().uuidString.prefix(8).lowercased())" }

    /// The same user on another device.
    static func loggedIn(email: String, of cluster: Cluster, node: Int = 1) async throws -> Person {
        let answer = try await HTTP.call(
            "POST", cluster.url(node), "/v1/auth/login", body: ["email": .string(email), "password": .string(password)])
        return try Person(answer.expect(200).json, cluster: cluster, node: node)
    }

    /// The same device through another node.
    func at(_ node: Int) -> Person { Person(self, node: node) }

    private init(_ other: Person, node: Int) {
        cluster = other.cluster
        id = other.id
        deviceID = other.deviceID
        token = other.token
        refreshToken = other.refreshToken
        email = other.email
        self.node = node
    }

    // MARK: Calls

    func call(_ method: String, _ path: String, _ body: JSON? = nil, raw: Data? = nil, patience: Double = 30) async throws
        -> Answer
    {
        try await HTTP.call(method, cluster.url(node), path, token: token, body: body, raw: raw, patience: patience)
    }

    /// The id of the direct conversation with another.
    func chat(with other: Person) async throws -> String {
        let answer = try await call("POST", "/v1/conversations", ["kind": "direct", "userId": .string(other.id)])
        guard let id = try answer.expect(200, 201).json["id"].string else { throw Failure("no id: \(answer)") }
        return id
    }

    func post(_ text: String, to chat: String, clientID: String = UUID().uuidString, patience: Double = 30) async throws -> Answer
    {
        let body: JSON = ["clientId": .string(clientID), "type": "text", "text": .string(text)]
        return try await call("POST", "/v1/conversations/\(chat)/messages", body, patience: patience)
    }

    /// Sends, and sends again with the same client id as long as that is refused as retryable, through one node after the other.
    func postInTheEnd(_ text: String, to chat: String, clientID: String = UUID().uuidString, within limit: Duration) async throws
        -> Answer
    {
        let deadline = ContinuousClock.now + limit
        var person = self
        while true {
            let answer = try? await person.post(text, to: chat, clientID: clientID, patience: 10)
            if let answer, answer.status != 503 { return try answer.expect(200, 201) }
            if ContinuousClock.now > deadline {
                throw Failure("not sent within \(limit): \(answer.map(String.init(describing:)) ?? "no answer")")
            }
            person = person.at(person.node + 1)
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Everything in a conversation, oldest first, page by page.
    func history(_ chat: String, pageSize: Int = 200) async throws -> [JSON] {
        var items: [JSON] = []
        var after = 0
        while true {
            let page = try await call("GET", "/v1/conversations/\(chat)/messages?after=\(after)&limit=\(pageSize)").expect(200)
                .json
            items += page["items"].items
            guard page["hasMoreAfter"] == true, let last = page["items"].items.last?["seq"].int, last > after else {
                return items
            }
            after = last
        }
    }

    func conversation(_ chat: String) async throws -> JSON {
        try await call("GET", "/v1/conversations/\(chat)").expect(200).json
    }

    func changes(_ chat: String, after: Int, limit: Int = 200) async throws -> JSON {
        try await call("GET", "/v1/conversations/\(chat)/changes?after=\(after)&limit=\(limit)").expect(200).json
    }

    /// Where this person reads and what is unread: `readSeq`, `deliveredSeq`, `unreadCount`, `mentionCount`.
    @discardableResult
    func mark(_ verb: String, _ chat: String, _ seq: Int) async throws -> JSON {
        try await call("POST", "/v1/conversations/\(chat)/\(verb)", ["seq": .int(seq)]).expect(200).json
    }
}

extension [JSON] {
    /// The texts of messages.
    var texts: [String] { compactMap { $0["text"].string } }
    /// The counter's values at which messages were born.
    var seqs: [Int] { compactMap { $0["seq"].int } }
    var ids: [String] { compactMap { $0["id"].string } }
    /// Without those of the system.
    var ofPeople: [JSON] { filter { $0["type"] != "system" } }
}

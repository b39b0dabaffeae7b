import EventLoop
import LoadCore
import RoostClient
import RoostModel
import RoostProtocol

/// The HTTP calls of the load tester: each to a given node first and, where that is away or asks for patience, to the next ones.
final class NodeAPI: Sendable {
    let targets: [Target]
    private let clients: [HTTPClient]

    init(_ targets: [Target], context: ClientLoop, connections: Int) {
        self.targets = targets
        clients = targets.map { target in
            var configuration = HTTPClient.Configuration(host: target.host, port: target.port)
            configuration.maxConnections = connections
            configuration.timeout = .seconds(10)
            return HTTPClient(context, configuration)
        }
    }

    /// Closes idle connections, so that they do not count as memory of anything else.
    func close() async {
        for client in clients { await client.close() }
    }

    func makeGuest(_ name: String, node: Int) async throws -> AuthSession {
        let body = JSONWriter.object { $0.member("displayName", name) }
        return try await AuthSession.decode(
            call("POST", "/v1/auth/anonymous", body, token: nil, node: node, patience: .seconds(30)))
    }

    func refresh(_ token: String, node: Int) async throws -> AuthSession {
        let body = JSONWriter.object { $0.member("refreshToken", token) }
        // A spent token answers with the same successor for 10 s only.
        return try await AuthSession.decode(call("POST", "/v1/auth/refresh", body, token: nil, node: node, patience: .seconds(8)))
    }

    func openDirect(with user: UserID, token: String, node: Int) async throws -> ConversationID {
        let body = JSONWriter.object {
            $0.member("kind", "direct")
            $0.member("userId", user)
        }
        let answer = try await call("POST", "/v1/conversations", body, token: token, node: node, patience: .seconds(30))
        return try NamedConversation.decode(answer).id
    }

    /// The token of the next sync.
    func sync(since: String?, token: String, node: Int) async throws -> String {
        var since = since
        while true {
            // Tokens are opaque, but made for URLs.
            let path = "/v1/sync" + (since.map { "?since=\($0)" } ?? "")
            let page = try SyncPage.decode(await call("GET", path, nil, token: token, node: node, patience: .seconds(20)))
            since = page.token
            if !page.hasMore { return page.token }
        }
    }

    func changes(
        of conversation: ConversationID, after seq: Int64, run: LoadText, token: String, node: Int,
        patience: Duration = .seconds(20)
    ) async throws -> MessagePage {
        try await page(
            "/v1/conversations/\(conversation)/changes?after=\(seq)&limit=200", run: run, token: token, node: node,
            patience: patience)
    }

    func history(
        of conversation: ConversationID, after seq: Int64, run: LoadText, token: String, node: Int,
        patience: Duration
    ) async throws -> MessagePage {
        try await page(
            "/v1/conversations/\(conversation)/messages?after=\(seq)&limit=200", run: run, token: token, node: node,
            patience: patience)
    }

    private func page(
        _ path: String, run: LoadText, token: String, node: Int, patience: Duration
    ) async throws -> MessagePage {
        let bytes = try await call("GET", path, nil, token: token, node: node, patience: patience)
        guard let page = MessagePage(bytes, run: run) else { throw LoadFault("a page of messages cannot be read") }
        return page
    }

    /// Tries until `patience` has passed; every call here may be repeated.
    private func call(
        _ method: String, _ path: String, _ body: [UInt8]?, token: String?, node: Int, patience: Duration
    ) async throws -> [UInt8] {
        var headers: [(String, String)] = []
        if body != nil { headers.append(("Content-Type", "application/json")) }
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        let deadline = MonotonicTime.now + patience
        var backoff = Backoff(first: .milliseconds(100), longest: .seconds(1))
        var random = SystemRandomNumberGenerator()
        var attempt = 0
        while true {
            let index = (node + attempt) % targets.count
            let reason: String
            do {
                let response = try await clients[index].send(method, path, headers: headers, body: body)
                switch response.status {
                case 200..<300: return response.body
                case 429, 500..<600: reason = "\(response.status)"
                default: throw Refusal(status: response.status, call: "\(method) \(Self.shown(path))")
                }
            } catch let failure as ClientFailure {
                reason = "\(failure)"
            }
            attempt += 1
            guard MonotonicTime.now < deadline else {
                throw LoadFault("\(method) \(Self.shown(path)) on \(targets[index].name): \(reason), after \(attempt) attempts")
            }
            try await Task.sleep(for: backoff.next(using: &random))
        }
    }

    /// A status that no repetition changes.
    struct Refusal: Error, CustomStringConvertible {
        let status: Int
        let call: String
        var description: String { "\(call): status \(status)" }
    }

    private static func shown(_ path: String) -> String { String(path.prefix { $0 != "?" }) }
}

private struct NamedConversation: WireDecodable {
    let id: ConversationID

    init?(json: JSONSlice) {
        var found: ConversationID?
        json.forEachMember { if $0.equals("id") { found = $1.identifier() } }
        guard let found else { return nil }
        id = found
    }
}

private struct SyncPage: WireDecodable {
    let token: String
    let hasMore: Bool

    init?(json: JSONSlice) {
        var found: String?
        var more = false
        json.forEachMember { key, value in
            if key.equals("token") { found = value.string }
            if key.equals("hasMore") { more = value.bool ?? false }
        }
        guard let found else { return nil }
        token = found
        hasMore = more
    }
}

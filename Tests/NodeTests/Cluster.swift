import EventLoop
import MemoryAdapters
import RoostClient
import RoostModel
import RoostProtocol
import Testing

/// Some nodes on one database and one bus in memory. The first owns all shards until the test says otherwise.
final class TestCluster: Sendable {
    let database = MemoryDatabase()
    let hub = MemoryBusHub()
    let nodes: [TestNode]
    let clientLoop: EventLoop
    let client: ClientLoop

    init(_ count: Int, _ options: TestNodeOptions) async throws {
        var nodes: [TestNode] = []
        for index in 0..<count {
            nodes.append(
                try await TestNode("node\(index + 1)", database: database, hub: hub, options: options))
        }
        self.nodes = nodes
        clientLoop = try EventLoop(name: "client")
        clientLoop.start()
        client = ClientLoop(clientLoop)
        own(0, version: 1)
    }

    /// All shards to one node, of those that are up.
    func own(_ owner: Int, version: Int64, up: [Int]? = nil) {
        own(version: version, up: up) { _ in owner }
    }

    /// Each node a part of the shards.
    func spread(version: Int64) { own(version: version, up: nil) { $0 % self.nodes.count } }

    private func own(version: Int64, up: [Int]?, owner: (Int) -> Int) {
        let up = up ?? Array(nodes.indices)
        let records = nodes.indices.map { index in
            NodeRecord(
                identity: nodes[index].identity, state: up.contains(index) ? .up : .dead, leaseRemaining: 60, url: "",
                adminURL: "", version: "", startedAt: .now)
        }
        let shards = ShardKind.allCases.flatMap { kind in
            (0..<kind.count).map {
                ShardRecord(
                    id: ShardID(kind: kind, number: $0), owner: nodes[owner($0)].identity, epoch: Epoch(version), target: nil)
            }
        }
        let snapshot = ClusterSnapshot(
            version: version, nodes: records, shards: shards, leader: nil, leaderTerm: 0, leaderLeaseRemaining: 0)
        for index in up { nodes[index].apply(snapshot) }
    }

    func stop() async {
        for node in nodes { await node.stop() }
        await clientLoop.stop()
    }

    // MARK: Users

    func request(_ method: String, _ path: String, _ body: String?, token: String?, at node: Int = 0) async throws
        -> HTTPClientResponse
    {
        let http = HTTPClient(client, HTTPClient.Configuration(host: "127.0.0.1", port: nodes[node].port))
        let response = try await http.json(method, path, body, token: token)
        await http.close()
        return response
    }

    func anonymous() async throws -> AuthSession {
        let response = try await request("POST", "/v1/auth/anonymous", "{}", token: nil)
        return try AuthSession.decode(response.body)
    }

    func registered() async throws -> AuthSession {
        let response = try await request(
            "POST", "/v1/auth/register", #"{"email":"\#(UserID.make())@x.example","password":"correct horse"}"#, token: nil)
        return try AuthSession.decode(response.body)
    }

    /// Two users and their conversation.
    func pair() async throws -> (AuthSession, AuthSession, ConversationID) {
        let (ann, bob) = (try await anonymous(), try await anonymous())
        let response = try await request(
            "POST", "/v1/conversations", #"{"kind":"direct","userId":"\#(bob.user.id)"}"#, token: ann.accessToken)
        return (ann, bob, try ConversationView.decode(response.body).id)
    }

    /// A socket whose handshake is done.
    func socket(at node: Int = 0) async throws -> TestSocket {
        var configuration = WebSocketClientConfiguration(host: "127.0.0.1", port: nodes[node].port, path: "/v1/ws")
        configuration.subprotocols = ["roost.v1"]
        return TestSocket(channel: try await WebSocketChannel.connect(client, configuration))
    }

    /// A socket that has said hello and is ready.
    func session(_ user: AuthSession, at node: Int = 0, isBackground: Bool = false) async throws -> TestSocket {
        let socket = try await socket(at: node)
        await socket.send(.hello(.init(token: user.accessToken, isBackground: isBackground)))
        guard case .ready? = try await socket.next() else { throw Unexpected("no ready") }
        return socket
    }
}

struct Unexpected: Error {
    let what: String
    init(_ what: String) { self.what = what }
}

func withCluster(
    _ count: Int, accessTokenLifetime: Duration = .seconds(900), _ body: (TestCluster) async throws -> Void
) async throws {
    try await withCluster(count, TestNodeOptions(accessTokenLifetime: accessTokenLifetime), body)
}

func withCluster(
    _ count: Int, _ options: TestNodeOptions, _ body: (TestCluster) async throws -> Void
) async throws {
    let cluster = try await TestCluster(count, options)
    do {
        try await body(cluster)
    } catch {
        await cluster.stop()
        throw error
    }
    await cluster.stop()
}

struct TestSocket: Sendable {
    let channel: WebSocketChannel

    func send(_ operation: ClientOperation, id: Int? = nil) async {
        let frame = ClientFrame(id: id.map { FrameID($0) }, operation: operation)
        await channel.send(String(decoding: frame.json(), as: UTF8.self))
    }

    /// The next frame; nil once the socket has closed.
    func next() async throws -> ServerFrame? {
        guard let text = await channel.receive()?.text else { return nil }
        return try ServerFrame.decode(Array(text.utf8))
    }

    /// The next frame for which `pick` gives something; the others are passed over.
    func first<Value>(_ pick: (ServerFrame) throws -> Value?) async throws -> Value {
        while let frame = try await next() {
            if let value = try pick(frame) { return value }
        }
        throw Unexpected("the socket closed")
    }

    func answer(to id: Int) async throws -> Result<AnswerResult, Problem> {
        try await first { frame in
            guard case .answer(let answered, let result) = frame, answered == FrameID(id) else { return nil }
            return result
        }
    }

    func messageSeq() async throws -> Seq {
        try await first { frame in
            guard case .message(_, let seq, _) = frame else { return nil }
            return seq
        }
    }

    func closeCode() async -> UInt16? {
        while await channel.receive() != nil {}
        if case .closeFrame(let code, _) = await channel.closed() { return code }
        return nil
    }
}

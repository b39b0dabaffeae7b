import EventLoop
import RoostClient
import RoostProtocol
import Runtime

/// Users who do things at the same time through several nodes. What each is answered cannot be foretold; at the end all must agree.
///
/// Every run has a group with all users, a channel that they join and leave, and a direct chat of each two neighbours. The first user
/// only watches: everything must have come to their socket.
public struct ConcurrentRun: Sendable {
    public struct Summary: Sendable {
        public var operations = 0
        public var refused = 0
        public var messages = 0
        public var changes = 0
        public var events = 0
    }

    struct Room: Sendable {
        let id: String
        let members: [Int]
    }

    let seed: UInt64
    let operations: Int
    let context: ClientLoop
    let nodes: [NodeAddress]
    let clients: [HTTPClient]
    private let users = 6

    /// - Parameters:
    ///   - operations: of each user.
    ///   - loop: a running loop, which the caller stops.
    public init(nodes: [String], seed: UInt64, operations: Int, loop: EventLoop) throws {
        self.seed = seed
        self.operations = operations
        self.nodes = try nodes.map(NodeAddress.init)
        let context = ClientLoop(loop)
        self.context = context
        clients = self.nodes.map { HTTPClient(context, HTTPClient.Configuration(host: $0.host, port: $0.port)) }
    }

    /// - Throws: ``ModelFault`` with the seed.
    public func run() async throws -> Summary {
        let result: Result<Summary, any Error>
        do {
            result = .success(try await play())
        } catch {
            result = .failure(ModelFault("seed \(seed): \(error)"))
        }
        for client in clients { await client.close() }
        return try result.get()
    }

    private func play() async throws -> Summary {
        var people: [ConcurrentUser] = []
        let mark = String(UInt64.random(in: 0 ... .max), radix: 36)
        for index in 0..<users {
            let (person, account) = try await Person.make(index, isGuest: false, over: clients[0], mark: mark)
            people.append(ConcurrentUser(index: index, id: account.id, token: person.token, clients: clients))
        }
        let rooms = try await makeRooms(people)
        let feed = try await Feed.connect(context, nodes[nodes.count - 1], token: people[0].token)
        defer { feed.close() }
        var watched = WatchedEvents()
        try await watched.gather(feed) { $0.isReady }

        let (seed, operations) = (seed, operations)
        var summary = Summary()
        var acknowledged: [ConcurrentUser.Acknowledged] = []
        try await withThrowingTaskGroup(of: (ConcurrentUser.Report).self) { group in
            for user in people {
                group.addTask { try await user.play(rooms, seed: seed, operations: operations) }
            }
            for try await report in group {
                summary.operations += report.operations
                summary.refused += report.refused
                acknowledged += report.acknowledged
            }
        }
        try await check(rooms, people, acknowledged, feed, &watched, &summary)
        return summary
    }

    private func makeRooms(_ people: [ConcurrentUser]) async throws -> [Room] {
        let everyone = Array(people.indices)
        func make(_ fields: [String: JSONValue], members: [Int]) async throws -> Room {
            let answer = try await people[members[0]].call("POST", "/v1/conversations", .object(fields))
            guard answer.status == 201, let id = answer.json["id"]?.string else {
                throw ModelFault("no chat: \(answer.json.line)")
            }
            return Room(id: id, members: members)
        }
        let ids = people.dropFirst().map { JSONValue.string($0.id) }
        var rooms = [
            try await make(["kind": .string("group"), "title": .string("All"), "memberIds": .array(ids)], members: everyone),
            try await make(["kind": .string("channel"), "title": .string("Open")], members: everyone),
        ]
        for index in everyone.dropLast() {
            rooms.append(
                try await make(
                    ["kind": .string("direct"), "userId": .string(people[index + 1].id)], members: [index, index + 1]))
        }
        return rooms
    }

    // MARK: At the end

    private func check(
        _ rooms: [Room], _ people: [ConcurrentUser], _ acknowledged: [ConcurrentUser.Acknowledged], _ feed: Feed,
        _ watched: inout WatchedEvents, _ summary: inout Summary
    ) async throws {
        for room in rooms {
            for index in room.members {
                try await people[index].checkCounts(room.id)
                try await people[index].checkChanges(room.id)
            }
            let observer = people[room.members[0]]
            let history = try await observer.history(room.id)
            summary.messages += history.count
            let seqs = history.compactMap { $0["seq"]?.int }
            if seqs != Array(Set(seqs)).sorted() { throw ModelFault("not each once, in order: \(seqs)") }
            for message in acknowledged where message.room == room.id {
                let stored = history.filter {
                    $0["clientId"] == .string(message.clientID) && $0["senderId"] == .string(people[message.user].id)
                }
                // Whoever watches hides nothing; in direct chats without them the first member may.
                guard room.members[0] == 0 || !stored.isEmpty else { continue }
                guard stored.count == 1, stored[0]["seq"]?.int == message.seq else {
                    throw ModelFault("\(message) is there \(stored.count) times: \(stored.map(\.line))")
                }
            }
        }
        for room in rooms where room.members[0] == 0 {
            let lastSeq = try await people[0].call("GET", "/v1/conversations/\(room.id)").json["lastSeq"]?.int ?? 0
            summary.changes += lastSeq
            try await watched.gather(feed) { $0.last[room.id, default: 0] >= lastSeq }
            try watched.check(room.id, upTo: lastSeq, against: try await people[0].history(room.id))
        }
        summary.events = watched.count
    }
}

/// What came to one socket, as its application keeps it.
struct WatchedEvents {
    var isReady = false
    var count = 0
    /// By chat.
    var last: [String: Int] = [:]
    private var first: [String: Int] = [:]
    private var replica = Replica()

    /// Takes what comes until that holds.
    mutating func gather(_ feed: Feed, until isEnough: (WatchedEvents) -> Bool) async throws {
        let deadline = MonotonicTime.now + .seconds(60)
        while true {
            for bytes in feed.take() { try take(try JSONValue(bytes)) }
            if isEnough(self) { return }
            if MonotonicTime.now > deadline { throw ModelFault("not all events came: \(last)") }
            if let closure = feed.closure { throw ModelFault("the socket closed: \(closure)") }
            await feed.wait(until: deadline)
        }
    }

    private mutating func take(_ frame: JSONValue) throws {
        count += 1
        switch frame["event"]?.string {
        case "ready": isReady = true
        case "resync": throw ModelFault("a session of a healthy cluster was told to resync")
        case "message":
            guard let chat = frame["conversationId"]?.string, let seq = frame["seq"]?.int, let message = frame["message"] else {
                throw ModelFault("no message event: \(frame.line)")
            }
            if let last = last[chat], seq != last + 1 { throw ModelFault("after \(last) came \(seq) in \(chat)") }
            if first[chat] == nil { first[chat] = seq }
            last[chat] = seq
            if !message.isNull { replica.apply(change: message, in: chat) }
        default: break
        }
    }

    /// All values from the first change on, and the same messages as in the history.
    func check(_ chat: String, upTo lastSeq: Int, against history: [JSONValue]) throws {
        guard last[chat] == lastSeq, let first = first[chat], first <= 2 else {
            throw ModelFault("\(chat): events \(first[chat] ?? 0)...\(last[chat] ?? 0) of 1...\(lastSeq)")
        }
        for message in history where message["seq"]!.int! >= first {
            let seq = message["seq"]!.int!
            let known = replica.messages[chat]?[seq]
            if known?.line != Replica.withoutStatus(message).line {
                throw ModelFault("\(chat), \(seq): by events \(known?.line ?? "nothing"), in the history \(message.line)")
            }
        }
    }
}

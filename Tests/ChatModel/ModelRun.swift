import EventLoop
import RoostClient
import RoostProtocol
import Runtime
import TestSupport

/// Random operations of a few users over several nodes, one after the other, each held against the model.
public final class ModelRun {
    public struct Options: Sendable {
        /// URLs of nodes: each operation goes through one or another.
        public var nodes: [String]
        public var seed: UInt64
        public var operations: Int
        public var users = 6
        /// Everything is compared after so many operations.
        public var comparesEvery = 150

        public init(nodes: [String], seed: UInt64, operations: Int) {
            self.nodes = nodes
            self.seed = seed
            self.operations = operations
        }
    }

    let options: Options
    let nodes: [NodeAddress]
    let context: ClientLoop
    let clients: [HTTPClient]
    var random: SeededRandom
    var world = World(users: [])
    /// As it was before each operation since all sessions were told everything: what they are sent may be of then.
    var past: [World] = []
    var people: [Person] = []
    var sessions: [LiveSession] = []
    var secrets = Secrets()
    var generator = Generator()
    private var trail: [String] = []
    var step = 0
    var isComparing = false
    var nextFrame = 0
    public internal(set) var summary = Summary()

    public struct Summary: Sendable {
        /// Random ones, and those by which things are compared.
        public var operations = 0
        public var questions = 0
        public var refused = 0
        public var events = 0
        public var comparisons = 0
    }

    /// - Parameter loop: a running loop, which the caller stops.
    public init(_ options: Options, loop: EventLoop) throws {
        self.options = options
        nodes = try options.nodes.map(NodeAddress.init)
        let context = ClientLoop(loop)
        self.context = context
        clients = nodes.map { HTTPClient(context, HTTPClient.Configuration(host: $0.host, port: $0.port)) }
        random = SeededRandom(seed: options.seed)
    }

    /// - Throws: ``ModelFault`` with the seed and the last operations.
    public func run() async throws {
        do {
            try await begin()
            while step < options.operations {
                step += 1
                try await next()
                if step.isMultiple(of: options.comparesEvery) { try await compareEverything() }
            }
            try await compareEverything()
        } catch {
            await end()
            throw ModelFault(
                "seed \(options.seed), operation \(step): \(error)\n" + trail.suffix(25).joined(separator: "\n"))
        }
        await end()
    }

    private func begin() async throws {
        let mark = String(UInt64.random(in: 0 ... .max), radix: 36)
        for index in 0..<options.users {
            let isGuest = index >= options.users - 2
            let (person, account) = try await Person.make(index, isGuest: isGuest, over: clients[0], mark: mark)
            people.append(person)
            world.users.append(account)
        }
        for user in 0..<options.users { try await connect(user) }
    }

    private func end() async {
        for session in sessions { session.feed.close() }
        for client in clients { await client.close() }
    }

    private func next() async throws {
        if random.chance(2) { return try await changeSessions() }
        let operation = generator.next(world, &random, &secrets)
        if operation.isDrastic { try await settle() }
        try await perform(operation)
        if operation.isDrastic || past.count >= 8 || random.chance(50) { try await settle() }
    }

    func note(_ line: String) {
        trail.append("#\(step) \(line)")
        if trail.count > 200 { trail.removeFirst(100) }
    }

    // MARK: Operations

    func perform(_ operation: Operation) async throws {
        let before = world
        let outcome = world.perform(operation)
        noteSecrets(before)
        past.append(before)
        for session in sessions where !session.hasClosed { session.follow(before, world) }
        let session = operation.hasSocketForm ? sessions.first { $0.user == operation.user && !$0.hasClosed } : nil
        let answer: Answer
        if let session, operation.mustUseSocket || random.chance(50) {
            answer = try await ask(operation, over: session, outcome)
        } else if operation.mustUseSocket {
            return
        } else {
            answer = try await call(operation, before)
        }
        if !isComparing { note("user \(operation.user) \(operation.act) -> \(answer.status) \(answer.code ?? "")") }
        if isComparing { summary.questions += 1 } else { summary.operations += 1 }
        if answer.status >= 400, !isComparing { summary.refused += 1 }
        guard answer.status == outcome.status, answer.code == outcome.code else {
            throw ModelFault(
                "must be answered \(outcome.status) \(outcome.code ?? ""), not \(answer.status) \(answer.code ?? ""): \(operation.act): \(answer.json.line.prefix(500))"
            )
        }
        var expected = outcome
        if let index = outcome.creates {
            world.learn(answer.json["id"]?.string ?? "", of: index)
            expected = world.see(index, operation.user, status: 201)
        }
        if let fault = (answer.isOverSocket ? expected.bodyOverSocket(operation) : expected.body)?.mismatch(answer.json) {
            throw ModelFault("\(operation.act): \(fault)")
        }
        if !operation.isRepetition(answer), let leak = secrets.leak(in: answer.bytes, to: operation.user, [before, world]) {
            throw ModelFault("\(operation.act): \(leak): \(answer.json.line.prefix(2_000))")
        }
    }

    struct Answer {
        var status: Int
        var code: String?
        var json: JSONValue
        var bytes: [UInt8]
        var isOverSocket = false
    }

    private func call(_ operation: Operation, _ world: World) async throws -> Answer {
        let call = operation.call(world)
        return try await self.call(call.method, call.path, call.body, as: operation.user)
    }

    /// Through any node.
    func call(_ method: String, _ path: String, _ body: JSONValue? = nil, as user: Int) async throws -> Answer {
        let client = clients[random.below(clients.count)]
        let response = try await client.json(method, path, body?.line, token: people[user].token)
        let json = response.body.isEmpty ? .null : try? JSONValue(response.body)
        guard let json else { throw ModelFault("no JSON: \(response.text)") }
        let code = response.status >= 400 ? json["code"]?.string : nil
        return Answer(status: response.status, code: code, json: json, bytes: response.body)
    }

    func ask(_ operation: Operation, over session: LiveSession, _ outcome: Outcome) async throws -> Answer {
        nextFrame += 1
        let id = "f\(nextFrame)"
        session.feed.send(operation.frame(world, id: id))
        let deadline = MonotonicTime.now + .seconds(30)
        while session.answers[id] == nil {
            try await drain(session, until: deadline, for: "the answer to \(operation.act)")
        }
        let frame = session.answers.removeValue(forKey: id)!
        let bytes = Array(frame.line.utf8)
        if frame["ok"] == .bool(true) {
            return Answer(
                status: outcome.status < 300 ? outcome.status : 200, json: frame["result"] ?? .null, bytes: bytes,
                isOverSocket: true)
        }
        let problem = frame["error"] ?? .null
        return Answer(
            status: problem["status"]?.int ?? 0, code: problem["code"]?.string, json: problem, bytes: bytes, isOverSocket: true)
    }

    private func noteSecrets(_ before: World) {
        for index in world.chats.indices {
            let chat = world.chats[index]
            let known = before.chats.indices.contains(index) ? before.chats[index].counter : -1
            guard chat.counter > known else { continue }
            secrets.note(world, chat: index)
            for value in max(1, known + 1)...max(1, chat.counter) {
                if let event = chat.events[value] { secrets.note(world, chat: index, seq: event.seq) }
            }
        }
    }
}

extension Operation {
    var mustUseSocket: Bool { if case .typing = act { true } else { false } }

    /// Whether it is the answer to a message that was sent before: it is its sender's own, whatever they see of it otherwise.
    func isRepetition(_ answer: ModelRun.Answer) -> Bool {
        if case .send = act { answer.status == 200 || answer.isOverSocket } else { false }
    }
}

extension Outcome {
    /// As a socket shows it.
    func bodyOverSocket(_ operation: Operation) -> Shape? {
        guard case .send = operation.act, case .object(var members, _)? = body else { return body }
        members["status"] = nil
        members["seenByCount"] = nil
        return .object(["message": .object(members)])
    }
}

extension World {
    mutating func learn(_ id: String, of index: Int) {
        chats[index].id = id
        // What was noted of its birth did not know the id.
        chats[index].events = [:]
    }
}

extension Chat {
    /// Every session has been told of all but the newest, and none again.
    mutating func forgetEvents() { events = events.filter { $0.key > counter - 4 } }
}

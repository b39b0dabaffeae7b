import EdgeServer
import EventLoop
import RoostModel
import RoostProtocol

/// A server that speaks just enough of the contract for the load tester, on three ports, and misbehaves on demand.
/// Everything is on one loop. Confined to it, but for starting and stopping.
final class FakeRoost: EdgeHandler, @unchecked Sendable {
    /// What goes wrong with one send.
    enum Mischief: Sendable, CaseIterable {
        case none
        /// Answered and delivered, but gone from the store.
        case forgotten
        /// Stored under two numbers.
        case doubled
        /// Its event comes twice.
        case eventTwice
        /// Its event comes after the next one's.
        case eventLate
        /// Its event never comes to anyone; the next one's shows the hole.
        case eventMissing
        case garbled
        /// Refused once with `unavailable`.
        case unavailable
        /// Refused for good.
        case blocked
        /// Stored, but the line breaks before the answer.
        case answerLost
        /// The line breaks before it is stored.
        case requestLost
        /// Everyone is told to sync, and the event never comes.
        case resync
        /// Its node says that it leaves.
        case goaway
        /// Told to the members, but neither stored nor answered; the line breaks.
        case phantom
        /// Left unanswered for ever, but stored.
        case silent
    }

    private let loop: EventLoop
    private var servers: [EdgeServer] = []
    private(set) var ports: [Int] = []
    /// What to do to the n-th send that arrives, from 0.
    private let mischief: @Sendable (Int) -> Mischief
    private let tokenSeconds: Double

    private var users: [String: UserID] = [:]
    private var chats: [ConversationID: Chat] = [:]
    private var sessions: [UserID: [FakeSession]] = [:]
    private var sends = 0
    private(set) var refreshes = 0

    private struct Chat {
        let members: [UserID]
        var counter: Int64 = 0
        var messages: [Message] = []
        var byClientID: [String: Int64] = [:]
        var refused: Set<String> = []
        var late: [Message] = []
    }

    init(_ loop: EventLoop, tokenSeconds: Double = 900, mischief: @escaping @Sendable (Int) -> Mischief) {
        self.loop = loop
        self.tokenSeconds = tokenSeconds
        self.mischief = mischief
    }

    func start() async throws {
        for _ in 0..<3 {
            let server = EdgeServer(configuration: EdgeConfiguration(), loops: [loop], handler: self)
            ports.append(try await server.start())
            servers.append(server)
        }
    }

    func stop() async {
        for server in servers { await server.stop(grace: .milliseconds(100)) }
    }

    // MARK: HTTP

    func admit(_ head: HTTPRequestHead) -> Admission {
        guard head.path == "/v1/ws" else { return .buffer(limit: 65_536) }
        return .webSocket(WebSocketAcceptance(subprotocol: "roost.v1") { _ in FakeSession(self) })
    }

    func fault(_ status: Int, code: String, requestID: String) -> HTTPResponse { HTTPResponse(status: status) }

    func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
        let path = request.head.pathSegments
        let after = Int64(request.head.queryValue("after") ?? "0") ?? 0
        switch (request.head.method, path.last) {
        case ("POST", "anonymous"): responder.respond(.json(newSession(.make()), status: 201))
        case ("POST", "refresh"):
            refreshes += 1
            let body = try? JSONBody(request.body)
            guard let token = try? body?.requiredString("refreshToken"), let user = users[token] else {
                return responder.respond(HTTPResponse(status: 401))
            }
            responder.respond(.json(newSession(user)))
        case ("POST", "conversations"):
            guard let caller = user(request.head), let body = try? JSONBody(request.body),
                let other = try? body.requiredIdentifier("userId", UserID.self)
            else { return responder.respond(HTTPResponse(status: 401)) }
            let id = ConversationID.make()
            chats[id] = Chat(members: [caller, other])
            responder.respond(.json(JSONWriter.object { $0.member("id", id) }, status: 201))
        case ("GET", "sync"):
            responder.respond(
                .json(
                    JSONWriter.object {
                        $0.member("token", "s1")
                        $0.member("hasMore", false)
                    }))
        case ("GET", "messages"), ("GET", "changes"):
            guard user(request.head) != nil, path.count > 2, let id = ConversationID(path[2]), let chat = chats[id] else {
                return responder.respond(HTTPResponse(status: 404))
            }
            let rest = chat.messages.filter { $0.seq.value > after }
            // Small pages, so that more than one is needed.
            let items = Array(rest.prefix(7))
            let isHistory = path.last == "messages"
            responder.respond(
                .json(
                    JSONWriter.object {
                        $0.key("items")
                        $0.array(items) { $0.message($1) }
                        $0.member(isHistory ? "hasMoreAfter" : "hasMore", rest.count > items.count)
                        $0.member(isHistory ? "lastSeq" : "upToSeq", items.last?.seq ?? Seq(chat.counter))
                    }))
        default: responder.respond(HTTPResponse(status: 404))
        }
    }

    private func user(_ head: HTTPRequestHead) -> UserID? {
        head.headers["Authorization"].flatMap { users[String($0.dropFirst("Bearer ".count))] }
    }

    private func newSession(_ id: UserID) -> [UInt8] {
        let token = "token-\(users.count)"
        users[token] = id
        let session = AuthSession(
            user: User(id: id, email: nil, displayName: "x", createdAt: .now), deviceID: .make(), accessToken: token,
            accessTokenExpiresAt: .now + .milliseconds(Int64(tokenSeconds * 1000)), refreshToken: token)
        var writer = JSONWriter()
        writer.session(session)
        return writer.bytes
    }

    // MARK: Sessions

    func greet(_ session: FakeSession, token: String) {
        guard let user = users[token] else { return session.socket.close(code: 4001) }
        session.user = user
        sessions[user, default: []].append(session)
        session.send(
            ServerEvent.ready(Ready(userID: user, deviceID: .make(), sessionID: .make(), node: "node", serverTime: .now)))
    }

    func left(_ session: FakeSession) {
        if let user = session.user { sessions[user]?.removeAll { $0 === session } }
    }

    func send(_ session: FakeSession, id: FrameID?, to conversation: ConversationID, _ body: SendBody) {
        guard var chat = chats[conversation], let sender = session.user else {
            return session.send(ServerAnswer.failed(id, RoostError(.notFound)))
        }
        defer { chats[conversation] = chat }
        if let seq = chat.byClientID[body.clientID], let stored = chat.messages.first(where: { $0.seq.value == seq }) {
            return session.send(ServerAnswer.sent(id, message: stored.json()))
        }
        let mischief = self.mischief(sends)
        sends += 1
        switch mischief {
        case .unavailable:
            if chat.refused.insert(body.clientID).inserted { return session.send(ServerAnswer.failed(id, .unavailable)) }
        case .blocked: return session.send(ServerAnswer.failed(id, RoostError(.blocked)))
        case .requestLost: return session.socket.close(code: 1011)
        case .none, .forgotten, .doubled, .eventTwice, .eventLate, .eventMissing, .garbled, .answerLost, .resync, .goaway,
            .phantom,
            .silent:
            break
        }
        chat.counter += 1
        let text = mischief == .garbled ? body.text + "?" : body.text
        let message = make(chat.counter, conversation, sender, body.clientID, text)
        if mischief == .phantom {
            tell(chat, ServerEvent.message(message))
            chat.counter -= 1
            return session.socket.close(code: 1011)
        }
        chat.byClientID[body.clientID] = message.seq.value
        if mischief != .forgotten { chat.messages.append(message) }
        if mischief == .doubled {
            chat.counter += 1
            let second = make(chat.counter, conversation, sender, body.clientID, text)
            chat.messages.append(second)
            tell(chat, ServerEvent.message(message))
            tell(chat, ServerEvent.message(second))
            return session.send(ServerAnswer.sent(id, message: message.json()))
        }
        fanOut(message, &chat, mischief)
        switch mischief {
        case .answerLost: session.socket.close(code: 1011)
        case .silent: break
        case .goaway:
            session.send(ServerAnswer.sent(id, message: message.json()))
            session.send(ServerEvent.goaway(afterSeconds: 0))
        case .none, .forgotten, .doubled, .eventTwice, .eventLate, .eventMissing, .garbled, .unavailable, .blocked, .requestLost,
            .resync, .phantom:
            session.send(ServerAnswer.sent(id, message: message.json()))
        }
    }

    private func fanOut(_ message: Message, _ chat: inout Chat, _ mischief: Mischief) {
        switch mischief {
        case .eventMissing: return
        case .resync: return tell(chat, ServerEvent.resync())
        case .eventLate: return chat.late.append(message)
        case .eventTwice:
            tell(chat, ServerEvent.message(message))
            tell(chat, ServerEvent.message(message))
        case .none, .forgotten, .doubled, .garbled, .unavailable, .blocked, .answerLost, .requestLost, .goaway, .phantom, .silent:
            tell(chat, ServerEvent.message(message))
        }
        for late in chat.late { tell(chat, ServerEvent.message(late)) }
        chat.late = []
    }

    private func tell(_ chat: Chat, _ event: [UInt8]) {
        for member in chat.members {
            for session in sessions[member] ?? [] { session.send(event) }
        }
    }

    private func make(_ seq: Int64, _ id: ConversationID, _ sender: UserID, _ clientID: String, _ text: String) -> Message {
        Message(
            conversationID: id, seq: Seq(seq), changeSeq: Seq(seq), clientID: clientID, senderID: sender, kind: .text, text: text,
            createdAt: .now)
    }
}

/// One socket of the fake.
final class FakeSession: WebSocketHandler {
    private let server: FakeRoost
    var user: UserID?
    private(set) var socket: WebSocketConnection!

    init(_ server: FakeRoost) { self.server = server }

    func opened(_ socket: WebSocketConnection) { self.socket = socket }

    func send(_ text: [UInt8]) { socket.sendText(text) }

    func received(text: UnsafeRawBufferPointer, _ socket: WebSocketConnection) {
        self.socket = socket
        guard case .frame(let frame) = ClientFrame.parse(Array(text)) else { return }
        switch frame.operation {
        case .hello(let hello): server.greet(self, token: hello.token)
        case .send(let conversation, let body): server.send(self, id: frame.id, to: conversation, body)
        case .token, .ping, .state, .typing, .watch, .unwatch, .read, .delivered: send(ServerAnswer.empty(frame.id))
        }
    }

    func received(binary: UnsafeRawBufferPointer, _ socket: WebSocketConnection) {}
    func closed(_ how: WebSocketClosure, _ socket: WebSocketConnection) { server.left(self) }
}

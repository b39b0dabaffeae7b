import Foundation
import Runtime

/// A WebSocket client for tests: another one than the project's own, and one that can misbehave.
///
/// A thread reads and keeps everything; tests wait until what they expect has come.
final class Socket: Sendable {
    private struct State {
        /// All server events, in the order of their coming.
        var events: [JSON] = []
        var answers: [String: JSON] = [:]
        /// Answers without an id.
        var complaints: [JSON] = []
        var nextID = 1
        /// Set at the end: the close code, 1005 for a close frame without one, 1006 for an end without a close frame.
        var closeCode: Int?
        var isSilent = false
    }

    let url: String
    private let connection: TCPSocket
    private let state = Locked(State())

    // MARK: Opening

    /// A socket after the opening handshake, without a hello.
    static func open(_ url: String) async throws -> Socket { try await onThread { try Socket(url) } }

    /// A socket after `ready`.
    static func connect(_ person: Person, background: Bool = false) async throws -> Socket {
        let socket = try await open(person.cluster.url(person.node))
        try await socket.hello(person.token, background: background)
        return socket
    }

    /// - Returns: the `ready` event.
    @discardableResult
    func hello(_ token: String, background: Bool = false) async throws -> JSON {
        try await send(["op": "hello", "token": .string(token), "background": .bool(background)])
        return try await event("ready")
    }

    private init(_ url: String) throws {
        self.url = url
        connection = try TCPSocket(url)
        let host = url.dropFirst("http://".count)
        try connection.write(
            Array(
                """
                GET /v1/ws HTTP/1.1\r\nHost: \(host)\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: roost.v1\r\n\r\n
                """.utf8))
        var head: [UInt8] = []
        while !head.ends(with: "\r\n\r\n") {
            let byte = try connection.read(1, patience: .seconds(20))
            guard !byte.isEmpty, head.count < 16_384 else {
                throw Failure("no handshake: \(String(decoding: head, as: UTF8.self))")
            }
            head += byte
        }
        let text = String(decoding: head, as: UTF8.self)
        guard text.hasPrefix("HTTP/1.1 101"), text.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") else {
            throw Failure("no upgrade: \(text)")
        }
        Thread { self.readAll() }.start()
    }

    // MARK: Sending

    func send(_ frame: JSON) async throws { try send(opcode: 1, Array(frame.text.utf8)) }

    /// One frame, masked as clients must (RFC 6455 §5.3; a mask of zeros leaves the bytes as they are).
    func send(opcode: UInt8, _ payload: [UInt8]) throws {
        var frame: [UInt8] = [0x80 | opcode]
        switch payload.count {
        case ..<126: frame.append(0x80 | UInt8(payload.count))
        case ..<65_536: frame += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default: frame += [0x80 | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
        }
        try connection.write(frame + [0, 0, 0, 0] + payload)
    }

    /// Sends an operation and waits for its answer.
    func request(_ op: String, _ fields: JSON = [:]) async throws -> JSON {
        let id = try await begin(op, fields)
        return try await answer(id, to: op)
    }

    /// Sends an operation; `answer(_:to:)` waits for what comes back.
    func begin(_ op: String, _ fields: JSON = [:]) async throws -> String {
        let id = state.withLock { state in
            state.nextID += 1
            return "r\(state.nextID)"
        }
        guard case .object(var members) = fields else { throw Failure("no object: \(fields)") }
        members["op"] = .string(op)
        members["id"] = .string(id)
        try await send(.object(members))
        return id
    }

    func answer(_ id: String, to what: String) async throws -> JSON {
        try await wait("an answer to \(what)") { $0.answers[id] }
    }

    func post(_ text: String, to chat: String, clientID: String = UUID().uuidString) async throws -> JSON {
        try await request(
            "send", ["conversationId": .string(chat), "clientId": .string(clientID), "type": "text", "text": .string(text)])
    }

    // MARK: What came

    var events: [JSON] { state.withLock { $0.events } }
    var complaints: [JSON] { state.withLock { $0.complaints } }
    var closeCode: Int? { state.withLock { $0.closeCode } }

    func events(_ kind: String) -> [JSON] { events.filter { $0["event"] == .string(kind) } }

    /// The messages of a conversation's `message` events, in the order of their coming.
    func messages(_ chat: String) -> [JSON] {
        events("message").filter { $0["conversationId"] == .string(chat) }.map { $0["message"] }
    }

    /// The first event of that kind that has come or comes, and fits.
    func event(
        _ kind: String, within limit: Duration = .seconds(20), where fits: @escaping @Sendable (JSON) -> Bool = { _ in true }
    ) async throws -> JSON {
        try await wait("the event \(kind)", within: limit) { state in
            state.events.first { $0["event"] == .string(kind) && fits($0) }
        }
    }

    /// Waits until a conversation's message with that text has come.
    @discardableResult
    func message(_ text: String, in chat: String, within limit: Duration = .seconds(20)) async throws -> JSON {
        let event = try await event("message", within: limit) {
            $0["conversationId"] == .string(chat) && $0["message"]["text"] == .string(text)
        }
        return event["message"]
    }

    /// Waits for the end.
    func closed(within limit: Duration = .seconds(20)) async throws -> Int {
        try await wait("the end of the connection", within: limit, evenAfterTheEnd: true) { $0.closeCode }
    }

    /// Asks something of the node and waits for the answer: all that was on its way to this session before has come by then.
    func settle() async throws { _ = try await request("ping") }

    private func wait<Value: Sendable>(
        _ what: String, within limit: Duration = .seconds(20), evenAfterTheEnd: Bool = false, _ value: @Sendable (State) -> Value?
    ) async throws -> Value {
        let deadline = ContinuousClock.now + limit
        while true {
            let (found, code, last) = state.withLock { (value($0), $0.closeCode, $0.events.suffix(3)) }
            if let found { return found }
            if let code, !evenAfterTheEnd { throw Failure("the connection ended with \(code) before \(what)") }
            if ContinuousClock.now > deadline { throw Failure("not within \(limit): \(what); the last events: \(last)") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    // MARK: Ends

    /// Says goodbye with a close frame.
    func close() throws { try send(opcode: 8, [0x03, 0xE8]) }

    /// Ends the connection without a close frame.
    func drop() { connection.end() }

    /// Breaks the connection with an RST.
    func reset() { connection.reset() }

    /// From now on pings stay without answer, as when a line goes silent.
    func fallSilent() { state.withLock { $0.isSilent = true } }

    // MARK: Reading

    private func readAll() {
        var code = 1_006
        while let (opcode, payload) = try? readFrame() {
            switch opcode {
            case 1: keep(payload)
            case 8:
                code = payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : 1_005
                try? send(opcode: 8, Array(payload.prefix(2)))
            case 9: if !state.withLock({ $0.isSilent }) { try? send(opcode: 10, payload) }
            default: break
            }
            if opcode == 8 { break }
        }
        connection.end()
        state.withLock { $0.closeCode = code }
    }

    /// A frame; the server sends each message in one, as compression was not agreed on and nothing is fragmented.
    private func readFrame() throws -> (opcode: UInt8, payload: [UInt8]) {
        let head = try readExactly(2)
        guard head[0] & 0xF0 == 0x80, head[1] & 0x80 == 0 else { throw Failure("an unexpected frame: \(head)") }
        var length = Int(head[1])
        if length == 126 { length = try readExactly(2).reduce(0) { $0 << 8 | Int($1) } }
        if length == 127 { length = try readExactly(8).reduce(0) { $0 << 8 | Int($1) } }
        return (head[0] & 0x0F, try readExactly(length))
    }

    private func readExactly(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let more = try connection.read(count - bytes.count)
            if more.isEmpty { throw Failure("the stream ended") }
            bytes += more
        }
        return bytes
    }

    private func keep(_ payload: [UInt8]) {
        guard let json = try? JSON(Data(payload)) else { return }
        state.withLock { state in
            if json["event"].string != nil {
                state.events.append(json)
            } else if let id = json["id"].string {
                state.answers[id] = json
            } else {
                state.complaints.append(json)
            }
        }
    }
}

extension [UInt8] {
    fileprivate func ends(with text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}

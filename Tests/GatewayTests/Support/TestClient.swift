import EdgeServer
import Glibc
import RoostModel
import RoostProtocol
import Runtime

@testable import Gateway

/// An answer as a test looks at it.
struct Answer: Sendable {
    let status: Int
    let headers: [(name: String, value: String)]
    let body: [UInt8]

    func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }

    /// Null where the body is no JSON.
    var json: JSONValue { (try? JSONValue(body)) ?? .null }

    subscript(key: String) -> JSONValue? { json[key] }

    /// The problem's word.
    var code: String? { self["code"]?.string }

    /// `field:code` of each field at fault.
    var faults: [String] {
        (self["errors"]?.array ?? []).map { "\($0["field"]?.string ?? "?"):\($0["code"]?.string ?? "?")" }
    }

    var items: [JSONValue] { self["items"]?.array ?? [] }
}

/// Sends one request.
protocol TestClient: Sendable {
    func send(_ method: String, _ target: String, headers: [(String, String)], body: [UInt8]) async throws -> Answer
}

extension TestClient {
    /// - Parameter json: the body, as written.
    func call(
        _ method: String, _ target: String, token: String? = nil, _ json: String? = nil, headers: [(String, String)] = []
    ) async throws -> Answer {
        var headers = headers
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        if json != nil, !headers.contains(where: { $0.0 == "Content-Type" }) {
            headers.append(("Content-Type", "application/json"))
        }
        return try await send(method, target, headers: headers, body: Array((json ?? "").utf8))
    }

    func register(_ email: String, name: String? = nil) async throws -> Account {
        let name = name.map { #","displayName":"\#($0)""# } ?? ""
        return try Account(await call("POST", "/v1/auth/register", #"{"email":"\#(email)","password":"correct horse"\#(name)}"#))
    }

    func guest() async throws -> Account { try Account(await call("POST", "/v1/auth/anonymous")) }

    func openDirect(_ account: Account, with other: Account) async throws -> String {
        let answer = try await call(
            "POST", "/v1/conversations", token: account.token, #"{"kind":"direct","userId":"\#(other.id)"}"#)
        guard let id = answer["id"]?.string else { throw UnexpectedAnswer(answer) }
        return id
    }

    func post(_ text: String, clientID: String, by account: Account, in conversation: String) async throws -> Answer {
        try await call(
            "POST", "/v1/conversations/\(conversation)/messages", token: account.token,
            #"{"clientId":"\#(clientID)","type":"text","text":"\#(text)"}"#)
    }
}

/// A registered user's tokens.
struct Account: Sendable {
    let id: String
    let device: String
    let token: String
    let refreshToken: String

    init(_ answer: Answer) throws {
        guard let id = answer["user"]?["id"]?.string, let device = answer["deviceId"]?.string,
            let token = answer["accessToken"]?.string, let refresh = answer["refreshToken"]?.string
        else { throw UnexpectedAnswer(answer) }
        self.id = id
        self.device = device
        self.token = token
        refreshToken = refresh
    }
}

struct UnexpectedAnswer: Error, CustomStringConvertible {
    let description: String
    init(_ answer: Answer) { description = "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))" }
}

/// Straight into the gateway, without a socket.
struct RouterClient: TestClient {
    let gateway: Gateway

    func send(_ method: String, _ target: String, headers: [(String, String)], body: [UInt8]) async throws -> Answer {
        let response: HTTPResponse
        do throws(HTTPFault) {
            var head = try HTTPRequestHead(method: method, target: target, headers: HTTPHeaders(headers + [("Host", "test")]))
            head.requestID = "request-1"
            response =
                body.count > Limits.jsonBodyBytes
                ? gateway.fault(413, code: "tooLarge", requestID: head.requestID)
                : await gateway.respond(to: HTTPRequest(head: head, body: body))
        } catch {
            response = gateway.fault(error.status, code: error.code, requestID: "request-1")
        }
        return try await Answer(response)
    }
}

extension Answer {
    init(_ response: HTTPResponse) async throws {
        var body: [UInt8] = []
        switch response.body {
        case .empty: break
        case .bytes(let bytes): body = bytes
        case .stream(let producer): while let piece = try await producer.next() { body += piece }
        }
        self.init(
            status: response.status,
            headers: response.headers.map { (name: $0.0, value: $0.1) } + [(name: "X-Request-Id", value: "request-1")], body: body
        )
    }
}

/// Over loopback, a connection for each request.
struct SocketClient: TestClient {
    let port: Int
    private let threads = WorkerThreads(name: "test-client", threads: 4, queueLimit: 256)

    init(port: Int) { self.port = port }

    func start() async throws { try await threads.start() }
    func stop() async { await threads.stop() }

    func send(_ method: String, _ target: String, headers: [(String, String)], body: [UInt8]) async throws -> Answer {
        var request = "\(method) \(target) HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
        for (name, value) in headers { request += "\(name): \(value)\r\n" }
        if !body.isEmpty || method == "POST" { request += "Content-Length: \(body.count)\r\n" }
        let bytes = Array("\(request)\r\n".utf8) + body
        let port = port
        return try Answer(wire: await threads.run { try BlockingSocket.exchange(bytes, port: port) })
    }
}

extension Answer {
    /// A whole response of HTTP/1.1 with a length, in chunks, or without a body.
    fileprivate init(wire: [UInt8]) throws {
        guard let end = wire.firstRange(of: Array("\r\n\r\n".utf8)) else { throw BlockingSocket.Failure() }
        let lines = String(decoding: wire[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        guard let first = lines.first, let status = Int(first.split(separator: " ")[1]) else { throw BlockingSocket.Failure() }
        self.init(
            status: status,
            headers: lines.dropFirst().map { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                return (name: String(parts[0]), value: String(parts[1].drop { $0 == " " }))
            },
            body: Array(wire[end.upperBound...]))
    }
}

private enum BlockingSocket {
    struct Failure: Error {}

    /// Sends everything and reads to the end. A server that answers early may reset: what came counts.
    static func exchange(_ request: [UInt8], port: Int) throws -> [UInt8] {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure() }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Failure() }
        var sent = 0
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count <= 0 { break }
            sent += count
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { break }
            answer += buffer[..<count]
        }
        return answer
    }
}

import EventLoop
import RoostClient
import RoostModel
import RoostProtocol

/// The operators' API of a cluster: each call goes to the first node that can be reached.
public final class AdminClient: Sendable {
    private let clients: [HTTPClient]
    private let token: String
    private let name: String?

    /// - Parameters:
    ///   - urls: of admin listeners, `http://127.0.0.1:9000`.
    ///   - name: what the operator is called in the audit.
    /// - Throws: ``UsageFault`` for anything that is no such URL.
    public init(urls: [String], token: String, name: String?, loop: ClientLoop) throws(UsageFault) {
        var clients: [HTTPClient] = []
        for url in urls {
            guard url.hasPrefix("http://"), let address = Self.address(url.dropFirst("http://".count)) else {
                throw UsageFault("\(url) is not an address such as http://127.0.0.1:9000")
            }
            var configuration = HTTPClient.Configuration(host: address.host, port: address.port)
            configuration.timeout = .seconds(15)
            clients.append(HTTPClient(loop, configuration))
        }
        self.clients = clients
        self.token = token
        self.name = name
    }

    private static func address(_ text: Substring) -> (host: String, port: Int)? {
        let authority = text.prefix { $0 != "/" }
        guard let colon = authority.lastIndex(of: ":"), let port = Int(authority[authority.index(after: colon)...]),
            (1...65_535).contains(port)
        else { return nil }
        let host = authority[..<colon]
        // The client takes numeric addresses.
        return host.isEmpty ? nil : (host == "localhost" ? "127.0.0.1" : String(host), port)
    }

    /// - Returns: the answer's value; null where there is none.
    /// - Throws: ``AdminFault``.
    public func call(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws(AdminFault) -> JSONValue {
        let answer = try await raw(method, path, body)
        if answer.body.isEmpty { return .null }
        guard let value = try? JSONValue(answer.body) else { throw AdminFault(ExitCode.failed, "the answer is not JSON") }
        return value
    }

    /// The bytes of an answer with a status of success.
    public func raw(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws(AdminFault) -> HTTPClientResponse {
        var headers = [("Authorization", "Bearer \(token)")]
        if let name { headers.append(("X-Roost-Operator", name)) }
        var bytes: [UInt8]?
        if let body {
            headers.append(("Content-Type", "application/json"))
            bytes = JSONWriter.encoded { body.write(to: &$0) }
        }
        var last = "no node is known"
        for client in clients {
            do {
                let answer = try await client.send(method, "/admin/v1/\(path)", headers: headers, body: bytes)
                if (200..<300).contains(answer.status) { return answer }
                throw Self.fault(answer)
            } catch let fault as AdminFault {
                throw fault
            } catch {
                // What may have been done is not done again elsewhere.
                last = "\(client.configuration.host):\(client.configuration.port): \(error)"
                if method != "GET", !Self.wasRefused(error) { break }
            }
        }
        throw AdminFault(ExitCode.unreachable, "no node answers (\(last))")
    }

    private static func wasRefused(_ error: any Error) -> Bool {
        if case .cannotConnect? = error as? ClientFailure { true } else { false }
    }

    private static func fault(_ answer: HTTPClientResponse) -> AdminFault {
        let problem = try? JSONValue(answer.body)
        let code = problem?["code"]?.string ?? "status \(answer.status)"
        let text = problem?["detail"]?.string ?? problem?["title"]?.string ?? "refused"
        let fields = (problem?["fields"]?.array ?? problem?["errors"]?.array ?? []).compactMap { $0["field"]?.string }
        let exit =
            switch answer.status {
            case 404: ExitCode.notFound
            case 409: ExitCode.conflict
            case 503: ExitCode.unreachable
            default: ExitCode.failed
            }
        return AdminFault(exit, "\(code): \(text)" + (fields.isEmpty ? "" : " (\(fields.joined(separator: ", ")))"))
    }
}

/// Why a command ended without having done what it should.
public struct AdminFault: Error, Equatable, Sendable, CustomStringConvertible {
    public let exitCode: Int32
    public let description: String

    public init(_ exitCode: Int32, _ description: String) {
        self.exitCode = exitCode
        self.description = description
    }
}

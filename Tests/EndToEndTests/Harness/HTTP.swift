import Foundation
import FoundationNetworking

/// What a node answered.
struct Answer: Sendable, CustomStringConvertible {
    let status: Int
    /// Names in lower case.
    let headers: [String: String]
    let bytes: Data
    /// `null` where the body is no JSON.
    let json: JSON

    var code: String? { json["code"].string }
    var text: String { String(decoding: bytes, as: UTF8.self) }
    var description: String { "\(status) \(String(decoding: bytes.prefix(2_000), as: UTF8.self))" }

    /// This answer, if it has that status.
    ///
    /// - Throws: ``Failure`` with the whole answer otherwise.
    func expect(_ expected: Int...) throws -> Answer {
        if !expected.contains(status) { throw Failure("expected status \(expected), got \(self)") }
        return self
    }
}

/// HTTP through Foundation's client: another one than the project's own.
enum HTTP {
    private static let session = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 100
        configuration.timeoutIntervalForRequest = 30
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        return URLSession(configuration: configuration)
    }()

    /// - Parameters:
    ///   - url: of a node, without a path.
    ///   - path: as it goes on the wire, percent-encoded where needed.
    ///   - patience: in seconds.
    /// - Throws: what Foundation throws when no answer comes.
    static func call(
        _ method: String, _ url: String, _ path: String, token: String? = nil, body: JSON? = nil, raw: Data? = nil,
        patience: Double = 30
    ) async throws -> Answer {
        guard let address = URL(string: url + path) else { throw Failure("no URL: \(url + path)") }
        var request = URLRequest(url: address)
        request.httpMethod = method
        request.timeoutInterval = patience
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        if let body = raw ?? body.map({ Data($0.text.utf8) }) {
            request.httpBody = body
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        let (bytes, response) = try await session.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw Failure("no HTTP response") }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields { headers["\(name)".lowercased()] = "\(value)" }
        let json = (try? JSON(bytes)) ?? .null
        return Answer(status: response.statusCode, headers: headers, bytes: bytes, json: json)
    }
}

public enum HTTPVersion: Sendable, Equatable {
    case http10
    case http11
}

/// The request line and header fields of one request, already checked (see ``HTTPRequestParser``).
public struct HTTPRequestHead: Sendable {
    /// As sent: methods are case-sensitive.
    public var method: String
    /// As sent, in origin form, absolute form reduced to it, or `*`.
    public var target: String
    /// The path as sent, still percent-encoded; use ``pathSegments`` for routing.
    public var path: String
    /// Decoded segments: `/v1/a%2Fb` is `["v1", "a/b"]`, `/` is `[]`, and a slash at the end gives an empty last segment.
    public var pathSegments: [String]
    /// Decoded names and values, in order.
    public var query: [(name: String, value: String)]
    public var headers: HTTPHeaders
    public var version: HTTPVersion
    /// The peer's numeric address without the port. Set by the server.
    public var remoteAddress = ""
    /// Made by the server for each request; the response carries it as `X-Request-Id`.
    public var requestID = ""

    /// The first value of a query parameter.
    public func queryValue(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// Whether the connection may carry another request after this one (RFC 9112 §9.3).
    public var keepAlive: Bool {
        switch version {
        case .http11: !headers.contains("Connection", token: "close")
        case .http10: headers.contains("Connection", token: "keep-alive") && !headers.contains("Connection", token: "close")
        }
    }

    public init(
        method: String, target: String, headers: HTTPHeaders = [], version: HTTPVersion = .http11
    ) throws(HTTPFault) {
        self.method = method
        self.target = target
        self.headers = headers
        self.version = version
        let (path, query) = Self.split(target)
        guard let segments = PercentCoding.segments(path), let items = PercentCoding.query(query) else {
            throw .malformed
        }
        self.path = String(path)
        pathSegments = segments
        self.query = items
    }

    private static func split(_ target: String) -> (Substring, Substring) {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (target[...], "") }
        return (target[..<mark], target[target.utf8.index(after: mark)...])
    }
}

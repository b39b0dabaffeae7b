import EdgeServer

/// Which web pages of other hosts may talk to this server (the Fetch standard's CORS, and `Origin` of RFC 6455 §10.2).
struct Origins: Sendable {
    private let allowed: Set<String>
    private let allowsAll: Bool

    /// - Parameter allowed: `https://app.example`, as browsers send them; `*` for all.
    init(_ allowed: [String]) {
        self.allowed = Set(allowed.map { $0.lowercased() })
        allowsAll = allowed.contains("*")
    }

    func isListed(_ origin: String) -> Bool { allowsAll || allowed.contains(origin.lowercased()) }

    /// Whether a WebSocket may be opened: no `Origin` (not a browser), the own host, or a listed one.
    func mayConnect(_ headers: HTTPHeaders) -> Bool {
        guard let origin = headers["Origin"] else { return true }
        if isListed(origin) { return true }
        guard let host = headers["Host"], let mark = origin.firstRange(of: "://") else { return false }
        return origin[mark.upperBound...].lowercased() == host.lowercased()
    }

    /// What a response to this request needs so that a page of a listed origin may read it.
    func responseFields(_ headers: HTTPHeaders) -> [(String, String)] {
        guard let origin = headers["Origin"], isListed(origin) else { return allowed.isEmpty ? [] : [("Vary", "Origin")] }
        return [
            ("Access-Control-Allow-Origin", origin), ("Vary", "Origin"),
            ("Access-Control-Expose-Headers", "X-Request-Id, Retry-After"),
        ]
    }

    /// What a preflight needs beside ``responseFields(_:)``. Tokens travel in a header, never as cookies, so credentials are not allowed.
    func preflightFields(_ headers: HTTPHeaders, methods: [String]) -> [(String, String)] {
        guard let origin = headers["Origin"], isListed(origin) else { return [] }
        return [
            ("Access-Control-Allow-Methods", methods.joined(separator: ", ")),
            ("Access-Control-Allow-Headers", "Authorization, Content-Type"), ("Access-Control-Max-Age", "600"),
        ]
    }
}

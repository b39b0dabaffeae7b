import EdgeServer
import RoostModel

/// One line of the table of routes: what is asked how, who may ask, and what answers.
struct Route: Sendable {
    enum Method: String, Sendable, CaseIterable {
        case get = "GET", post = "POST", patch = "PATCH", put = "PUT", delete = "DELETE"
    }

    enum Body: Sendable {
        /// What comes is not looked at.
        case ignored
        /// JSON, or nothing.
        case optional
        case required
    }

    enum Handler: Sendable {
        /// Anybody, at once and on the loop: it must not wait for anything, and so it answers however busy the node is.
        case instant(@Sendable () throws(RoostError) -> HTTPResponse)
        /// Anybody.
        case open(@Sendable (RequestContext) async throws(RoostError) -> HTTPResponse)
        /// Whoever has a valid access token.
        case user(@Sendable (RequestContext, Caller) async throws(RoostError) -> HTTPResponse)
        /// Whoever has the operators' token.
        case admin(@Sendable (RequestContext) async throws(RoostError) -> HTTPResponse)
    }

    /// What a request counts as where clients are limited.
    enum Limit: Sendable {
        case none
        case usual
        /// An attempt to get tokens, or to prove an email: also by address, and by the `email` in the body.
        case signIn
        /// A question whether an email has an account: also by account.
        case lookup
    }

    let method: Method
    let template: PathTemplate
    let body: Body
    let limit: Limit
    /// Whether it is closed to those with an incomplete profile, where completion is required.
    let needsProfile: Bool
    let handler: Handler

    init(
        _ method: Method, _ path: String, body: Body = .ignored, limit: Limit, needsProfile: Bool = false,
        _ handler: Handler
    ) {
        self.method = method
        template = PathTemplate(path)
        self.body = body
        self.limit = limit
        self.needsProfile = needsProfile
        self.handler = handler
    }

    static func instant(
        _ method: Method, _ path: StaticString, limit: Limit = .none,
        _ handler: @escaping @Sendable () throws(RoostError) -> HTTPResponse
    ) -> Route {
        Route(method, path.description, limit: limit, .instant(handler))
    }

    static func open(
        _ method: Method, _ path: StaticString, body: Body = .ignored, limit: Limit = .signIn,
        _ handler: @escaping @Sendable (RequestContext) async throws(RoostError) -> HTTPResponse
    ) -> Route {
        Route(method, path.description, body: body, limit: limit, .open(handler))
    }

    /// - Parameter needsProfile: nil for what the path says: all but `/v1/me`, `/v1/auth` and `/v1/devices`.
    static func user(
        _ method: Method, _ path: StaticString, body: Body = .ignored, limit: Limit = .usual, needsProfile: Bool? = nil,
        _ handler: @escaping @Sendable (RequestContext, Caller) async throws(RoostError) -> HTTPResponse
    ) -> Route {
        let isExempt = ["me", "auth", "devices"].contains { path.description.split(separator: "/").dropFirst().first == $0[...] }
        return Route(method, path.description, body: body, limit: limit, needsProfile: needsProfile ?? !isExempt, .user(handler))
    }

    static func admin(
        _ method: Method, _ path: StaticString, body: Body = .ignored,
        _ handler: @escaping @Sendable (RequestContext) async throws(RoostError) -> HTTPResponse
    ) -> Route {
        Route(method, path.description, body: body, limit: .none, .admin(handler))
    }
}

/// `/v1/conversations/{conversationId}/messages`
struct PathTemplate: Sendable {
    private enum Segment: Sendable {
        case constant(String)
        case parameter(String)
    }

    let text: String
    private let segments: [Segment]

    init(_ path: String) {
        text = path
        segments = text.split(separator: "/").map { segment in
            segment.hasPrefix("{") ? .parameter(String(segment.dropFirst().dropLast())) : .constant(String(segment))
        }
    }

    var segmentCount: Int { segments.count }

    var parameterNames: [String] {
        segments.compactMap { segment in
            switch segment {
            case .constant: nil
            case .parameter(let name): name
            }
        }
    }

    /// The parameters by name, or nil where the path is another.
    func match(_ path: [String]) -> [String: String]? {
        guard path.count == segments.count else { return nil }
        var parameters: [String: String] = [:]
        for (segment, part) in zip(segments, path) {
            switch segment {
            case .constant(let constant):
                if part != constant { return nil }
            case .parameter(let name):
                if part.isEmpty { return nil }
                parameters[name] = part
            }
        }
        return parameters
    }
}

import EdgeServer
import RoostModel
import RoostProtocol
import Runtime

/// A table of routes with all that every request goes through, without any socket: a head and a body in, a response out.
struct API: Sendable {
    /// Whom an access or operators' token stands for.
    struct Guards: Sendable {
        var user: @Sendable (_ token: String) -> Result<Caller, RoostError> = { _ in .failure(RoostError(.unauthenticated)) }
        var admin: @Sendable (_ token: String) -> Bool = { _ in false }
    }

    /// What the head alone decides.
    enum Decision: Sendable {
        case respond(HTTPResponse, route: Int?)
        case run(Router.Match, Caller?)
    }

    let router: Router
    let guards: Guards
    let origins: Origins
    let limiter: RateLimiter
    let profiles: ProfileGate?
    let logger: Logger

    /// - Parameter profiles: nil where profiles need not be complete.
    init(
        _ routes: [Route], guards: Guards, origins: Origins, limiter: RateLimiter = .off, profiles: ProfileGate? = nil,
        logger: Logger
    ) {
        router = Router(routes)
        self.guards = guards
        self.origins = origins
        self.limiter = limiter
        self.profiles = profiles
        self.logger = logger
    }

    /// Where no body is needed to know the answer, none is read.
    /// - Parameter counts: whether this is the first look at the request, which its client's limits count.
    func decide(_ head: HTTPRequestHead, counts: Bool) -> Decision {
        let outcome = router.find(head.method, head.pathSegments)
        do throws(RoostError) {
            switch outcome {
            case .unknownPath:
                if counts { try limiter.admit(head, .usual) }
                return .respond(failure(.notFound, head), route: nil)
            case .otherMethods(let allowed):
                if counts { try limiter.admit(head, .usual) }
                if head.method == "OPTIONS" { return .respond(options(allowed, head), route: nil) }
                return .respond(finished(.methodNotAllowed(allowed, requestID: head.requestID), head), route: nil)
            case .found(let match):
                if counts { try limiter.admit(head, match.route.limit) }
                if case .instant(let handler) = match.route.handler {
                    return .respond(finished(try handler(), head), route: match.index)
                }
                let caller = try caller(of: match.route, head)
                if counts, let caller { try limiter.admit(caller, match.route.limit) }
                return .run(match, caller)
            }
        } catch {
            if case .found(let match) = outcome { return .respond(failure(error, head), route: match.index) }
            return .respond(failure(error, head), route: nil)
        }
    }

    /// The answer of a route; errors become problems.
    func run(_ match: Router.Match, _ caller: Caller?, _ request: HTTPRequest) async -> HTTPResponse {
        do throws(RoostError) {
            if match.route.needsProfile, let caller { try await profiles?.require(caller.userID) }
            try checkContentType(match.route, request)
            if match.route.limit == .signIn { try countEmail(request.body) }
            let context = RequestContext(head: request.head, parameters: match.parameters, body: request.body)
            let response: HTTPResponse
            switch match.route.handler {
            case .instant(let handler): response = try handler()
            case .open(let handler), .admin(let handler): response = try await handler(context)
            case .user(let handler):
                guard let caller else { throw RoostError(.unauthenticated) }
                response = try await handler(context, caller)
            }
            return finished(response, request.head)
        } catch {
            if error.code == .internalError {
                logger.error("a request failed", [.request: request.head.requestID, .route: match.route.template.text])
            }
            return failure(error, request.head)
        }
    }

    func failure(_ error: RoostError, _ head: HTTPRequestHead) -> HTTPResponse {
        finished(.problem(error, requestID: head.requestID), head)
    }

    private func caller(of route: Route, _ head: HTTPRequestHead) throws(RoostError) -> Caller? {
        switch route.handler {
        case .instant, .open: return nil
        case .user: return try guards.user(try bearerToken(head)).get()
        case .admin:
            guard guards.admin(try bearerToken(head)) else { throw RoostError(.unauthenticated) }
            return nil
        }
    }

    /// RFC 6750 §2.1, and only that: never from the URL or the body.
    private func bearerToken(_ head: HTTPRequestHead) throws(RoostError) -> String {
        let fields = head.headers.all("Authorization")
        guard fields.count == 1, let field = fields.first else { throw RoostError(.unauthenticated) }
        let parts = field.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw RoostError(.unauthenticated) }
        return String(parts[1])
    }

    private func checkContentType(_ route: Route, _ request: HTTPRequest) throws(RoostError) {
        switch route.body {
        case .ignored: return
        case .optional, .required:
            if !request.body.isEmpty, !MediaType.isJSON(request.head.headers.all("Content-Type")) {
                throw RoostError(.unsupportedMediaType, "application/json is expected")
            }
            guard request.head.headers.all("Content-Encoding").allSatisfy({ $0.lowercased() == "identity" }) else {
                throw RoostError(.unsupportedMediaType, "a body without content coding is expected")
            }
        }
    }

    /// Whatever else may be wrong with the body is for the route to say.
    private func countEmail(_ body: [UInt8]) throws(RoostError) {
        guard let text = (try? JSONBody(body))?.members["email"]?.string, let email = Email(text) else { return }
        try limiter.admit(email: email.value)
    }

    private func options(_ allowed: [String], _ head: HTTPRequestHead) -> HTTPResponse {
        let fields = [("Allow", allowed.joined(separator: ", "))] + origins.preflightFields(head.headers, methods: allowed)
        return finished(HTTPResponse(status: 204, headers: fields), head)
    }

    /// Answers are for this caller and this moment only, and are never to be taken for a page.
    private func finished(_ response: HTTPResponse, _ head: HTTPRequestHead) -> HTTPResponse {
        var response = response
        response.headers += [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]
        response.headers += origins.responseFields(head.headers)
        return response
    }
}

enum MediaType {
    /// `application/json`, with no charset or UTF-8 (RFC 8259 §8.1).
    static func isJSON(_ fields: [String]) -> Bool {
        guard fields.count == 1, let field = fields.first else { return false }
        let parts = field.lowercased().split(separator: ";", omittingEmptySubsequences: false).map { trimmed($0) }
        guard parts[0] == "application/json" else { return false }
        return parts.dropFirst().allSatisfy { parameter in
            !parameter.hasPrefix("charset=") || ["charset=utf-8", #"charset="utf-8""#].contains(parameter)
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}

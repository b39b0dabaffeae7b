import EdgeServer
import RoostModel
import RoostProtocol
import Runtime

/// Makes the handler of an authenticated-to-be socket on `/v1/ws`. Called on the socket's loop.
public typealias SessionFactory = @Sendable (WebSocketConnection) -> any WebSocketHandler

/// The public listener's application: the HTTP API, the upgrade to the socket, and the echo where it is switched on.
public final class Gateway: EdgeHandler {
    public static let subprotocol = "roost.v1"
    private static let socketPath = ["v1", "ws"]
    private static let echoPath = ["echo"]
    /// What a proxy may need to see that this node is not ready.
    private static let secondsToAnotherNode = 2

    private let api: API
    private let served: ServedRequests
    private let origins: Origins
    private let limiter: RateLimiter
    private let offersEcho: Bool
    private let takesSockets: @Sendable () -> Bool
    private let makeSession: SessionFactory

    /// - Parameters:
    ///   - executor: started before the listener, stopped after it.
    ///   - profiles: nil where profiles need not be complete.
    ///   - isReady: what `/readyz` says; cheap, any thread.
    ///   - takesSockets: false while this node sends its clients elsewhere; cheap, any thread.
    ///   - makeSession: for each socket whose handshake was accepted.
    public init(
        backend: Backend, authenticator: Authenticator, passwords: PasswordHasher, eraser: AccountEraser,
        exporter: AccountExporter,
        executor: RequestExecutor, settings: GatewaySettings = GatewaySettings(), limiter: RateLimiter = .off,
        profiles: ProfileGate? = nil,
        isReady: @escaping @Sendable () -> Bool, takesSockets: @escaping @Sendable () -> Bool = { true },
        metrics: Metrics, logger: Logger, makeSession: @escaping SessionFactory
    ) {
        let desk = SessionDesk(backend: backend, authenticator: authenticator)
        let routes =
            HealthRoutes(isReady: isReady).routes
            + AuthRoutes(desk: desk, passwords: passwords).routes
            + PasswordRoutes(desk: desk, passwords: passwords, forgotPace: settings.forgotPace).routes
            + DeviceRoutes(desk: desk).routes
            + UserRoutes(backend: backend).routes
            + ExportRoutes(exporter: exporter).routes
            + DeletionRoutes(backend: backend, passwords: passwords, eraser: eraser).routes
            + ContactRoutes(backend: backend, now: { authenticator.currentTime }).routes
            + BlockRoutes(backend: backend, now: { authenticator.currentTime }).routes
            + ConversationRoutes(backend: backend, now: { authenticator.currentTime }).routes
            + GroupRoutes(backend: backend, now: { authenticator.currentTime }).routes
            + MessageRoutes(backend: backend).routes
            + MessageActionRoutes(backend: backend).routes
        origins = Origins(settings.allowedOrigins)
        api = API(
            routes + [OpenAPIDocument.route(describing: routes, version: settings.version)],
            guards: API.Guards(user: { authenticator.verify($0) }), origins: origins, limiter: limiter,
            profiles: profiles,
            logger: logger)
        self.limiter = limiter
        served = ServedRequests(api: api, executor: executor, metrics: metrics, listener: "public", logger: logger)
        offersEcho = settings.offersEcho
        self.takesSockets = takesSockets
        self.makeSession = makeSession
    }

    public func admit(_ head: HTTPRequestHead) -> Admission {
        if head.pathSegments == Self.socketPath { return admitSocket(head) { self.sessionAcceptance(head) } }
        if offersEcho, head.pathSegments == Self.echoPath { return admitSocket(head) { .webSocket(EchoEndpoint.acceptance()) } }
        return served.admit(head)
    }

    public func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
        served.handle(request) { responder.respond($0) }
    }

    public func fault(_ status: Int, code: String, requestID: String) -> HTTPResponse {
        .fault(status, code: code, requestID: requestID)
    }

    var routes: [Route] { api.router.routes }

    /// As a listener would get it, for tests without one.
    func respond(to request: HTTPRequest) async -> HTTPResponse {
        if case .respond(let response) = admit(request.head) { return response }
        return await served.answer(to: request)
    }

    private func admitSocket(_ head: HTTPRequestHead, _ accept: () -> Admission) -> Admission {
        guard head.method == "GET" else {
            return .respond(.methodNotAllowed(["GET"], requestID: head.requestID))
        }
        guard origins.mayConnect(head.headers) else {
            return .respond(api.failure(RoostError(.forbidden, "this origin may not connect"), head))
        }
        return accept()
    }

    /// Clients that offer no subprotocol get the only one there is. Those that offer others are refused: browsers would fail a
    /// connection that took none of their offers, without saying why.
    private func sessionAcceptance(_ head: HTTPRequestHead) -> Admission {
        let offered = WebSocketHandshake.subprotocols(head)
        guard offered.isEmpty || offered.contains(Self.subprotocol) else {
            return .respond(api.failure(RoostError(.badParameter, "the subprotocol is \(Self.subprotocol)"), head))
        }
        guard takesSockets() else {
            return .respond(
                api.failure(
                    RoostError(.unavailable, "this node is leaving, another takes you", retryAfter: Self.secondsToAnotherNode),
                    head
                ))
        }
        do throws(RoostError) { try limiter.admitSocket(head) } catch { return .respond(api.failure(error, head)) }
        return .webSocket(
            WebSocketAcceptance(
                subprotocol: offered.isEmpty ? nil : Self.subprotocol, maxMessageBytes: Limits.socketMessageBytes,
                compression: true, outboxLimit: SessionSettings.outboxBytes, makeHandler: makeSession))
    }
}

extension HTTPResponse {
    /// A problem that the server below found; some of its words are HTTP's own and not among ``ErrorCode``.
    static func fault(_ status: Int, code: String, requestID: String) -> HTTPResponse {
        if let known = ErrorCode(rawValue: code), known.status == status {
            return .problem(RoostError(known), requestID: requestID)
        }
        if status == 500 { return .problem(RoostError(.internalError), requestID: requestID) }
        var headers = [("Content-Type", "application/problem+json")]
        // RFC 9110 §15.5.22, RFC 6455 §4.4.
        if status == 426 { headers += [("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")] }
        let body = JSONWriter.written { writer in
            writer.object {
                $0.member("type", "about:blank")
                $0.member("title", "The request cannot be served")
                $0.member("status", status)
                $0.member("code", code)
                $0.member("requestId", requestID)
            }
        }
        return HTTPResponse(status: status, headers: headers, body: .bytes(body))
    }
}

import EdgeServer
import RoostModel
import RoostProtocol
import Runtime

/// The admin listener's application: `/metrics` for anyone who reaches it, the rest for the bearer of the operators' token.
public final class AdminGateway: EdgeHandler {
    private let served: ServedRequests

    /// - Parameters:
    ///   - token: empty for none, in which case only `/metrics` and the health routes answer.
    ///   - hooks: what tests may do to this node; nil, as in production, offers nothing.
    ///   - users: nil leaves the routes about users out.
    ///   - cluster: nil leaves those about nodes, actors and operations out.
    public init(
        token: String, executor: RequestExecutor, isReady: @escaping @Sendable () -> Bool, metrics: Metrics, logger: Logger,
        hooks: AdminTestHooks? = nil, users: AdminUsers? = nil, cluster: AdminCluster? = nil
    ) {
        var routes: [Route] =
            HealthRoutes(isReady: isReady).routes + [
                .instant(.get, "/metrics") { () throws(RoostError) in
                    HTTPResponse(
                        status: 200, headers: [("Content-Type", Metrics.contentType)], body: .bytes(Array(metrics.render().utf8)))
                }
            ]
        if let cluster { routes += cluster.routes + [OperatorsPage.route] }
        if let users { routes += users.routes }
        if let hooks { routes += hooks.routes }
        let expected = Sodium.hash(token.utf8)
        let guards = API.Guards(admin: { given in !token.isEmpty && Sodium.areEqual(Sodium.hash(given.utf8), expected) })
        let api = API(routes, guards: guards, origins: Origins([]), logger: logger)
        served = ServedRequests(api: api, executor: executor, metrics: metrics, listener: "admin", logger: logger)
    }

    public func admit(_ head: HTTPRequestHead) -> Admission { served.admit(head) }

    public func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
        served.handle(request) { responder.respond($0) }
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse { await served.respond(to: request) }

    public func fault(_ status: Int, code: String, requestID: String) -> HTTPResponse {
        .fault(status, code: code, requestID: requestID)
    }
}

import EdgeServer
import RoostModel
import RoostProtocol
import Runtime

/// What `GET /admin/v1/nodes` tells of a node; nil where it is not known.
public struct NodeStatus: Sendable {
    public var name: String
    public var incarnation: IncarnationID
    /// A word of the contract: `up`, `suspect`, `dead`, …
    public var state: String
    public var version: String
    public var startedAt: Timestamp
    public var url: String
    public var isLeader: Bool
    public var sessions: Int?
    public var conversationActors: Int?
    public var presenceActors: Int?
    public var load: Int?
    public var residentBytes: Int?

    public init(
        name: String, incarnation: IncarnationID, state: String, version: String, startedAt: Timestamp, url: String,
        isLeader: Bool,
        sessions: Int? = nil, conversationActors: Int? = nil, presenceActors: Int? = nil, load: Int? = nil,
        residentBytes: Int? = nil
    ) {
        self.name = name
        self.incarnation = incarnation
        self.state = state
        self.version = version
        self.startedAt = startedAt
        self.url = url
        self.isLeader = isLeader
        self.sessions = sessions
        self.conversationActors = conversationActors
        self.presenceActors = presenceActors
        self.load = load
        self.residentBytes = residentBytes
    }
}

/// The admin listener's application: `/metrics` for anyone who reaches it, the rest for the bearer of the operators' token.
public final class AdminGateway: EdgeHandler {
    private let served: ServedRequests

    /// - Parameters:
    ///   - token: empty for none, in which case only `/metrics` and the health routes answer.
    ///   - hooks: what tests may do to this node; nil, as in production, offers nothing.
    ///   - users: nil leaves the routes about users out.
    ///   - nodes: the cluster as this node knows it.
    public init(
        token: String, executor: RequestExecutor, isReady: @escaping @Sendable () -> Bool, metrics: Metrics, logger: Logger,
        hooks: AdminTestHooks? = nil, users: AdminUsers? = nil,
        nodes: @escaping @Sendable () async throws(RoostError) -> [NodeStatus]
    ) {
        var routes: [Route] =
            HealthRoutes(isReady: isReady).routes + [
                .instant(.get, "/metrics") { () throws(RoostError) in
                    HTTPResponse(
                        status: 200, headers: [("Content-Type", Metrics.contentType)], body: .bytes(Array(metrics.render().utf8)))
                },
                .admin(.get, "/admin/v1/nodes") { (_) async throws(RoostError) in
                    let nodes = try await nodes()
                    return .json { writer in
                        writer.object { writer in
                            writer.key("items")
                            writer.array(nodes) { $0.nodeStatus($1) }
                        }
                    }
                },
            ]
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

extension JSONWriter {
    fileprivate mutating func nodeStatus(_ node: NodeStatus) {
        func count(_ writer: inout JSONWriter, _ name: StaticString, _ value: Int?) {
            if let value { writer.member(name, value) } else { writer.nullMember(name) }
        }
        object { writer in
            writer.member("name", node.name)
            writer.member("incarnation", node.incarnation)
            writer.member("state", node.state)
            writer.member("version", node.version)
            writer.member("startedAt", node.startedAt)
            writer.member("url", node.url)
            writer.member("isLeader", node.isLeader)
            count(&writer, "sessions", node.sessions)
            writer.key("actors")
            writer.object {
                count(&$0, "conversation", node.conversationActors)
                count(&$0, "presence", node.presenceActors)
            }
            count(&writer, "load", node.load)
            count(&writer, "residentBytes", node.residentBytes)
        }
    }
}

import EdgeServer
import RoostModel

/// What tests may do to a node, behind `ROOST_TEST_HOOKS=on` and the operators' token: stand still without knowing it, so that
/// there are two owners and the database has to refuse one.
public struct AdminTestHooks: Sendable {
    private let freeze: @Sendable () -> Void
    private let thaw: @Sendable () -> Void

    public init(freeze: @escaping @Sendable () -> Void, thaw: @escaping @Sendable () -> Void) {
        self.freeze = freeze
        self.thaw = thaw
    }

    var routes: [Route] {
        [
            .admin(.post, "/admin/v1/test/freeze") { (_) async throws(RoostError) in
                freeze()
                return HTTPResponse(status: 204)
            },
            .admin(.post, "/admin/v1/test/thaw") { (_) async throws(RoostError) in
                thaw()
                return HTTPResponse(status: 204)
            },
        ]
    }
}

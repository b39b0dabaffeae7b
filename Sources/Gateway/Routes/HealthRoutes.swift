import EdgeServer
import RoostModel
import RoostProtocol

/// `/healthz`: the process answers. `/readyz`: clients should be sent here.
struct HealthRoutes: Sendable {
    let isReady: @Sendable () -> Bool

    var routes: [Route] { [.instant(.get, "/healthz", health), .instant(.get, "/readyz", readiness)] }

    private func health() throws(RoostError) -> HTTPResponse { Self.status("ok") }

    private func readiness() throws(RoostError) -> HTTPResponse {
        guard isReady() else { throw RoostError(.unavailable, "this node is not ready") }
        return Self.status("ready")
    }

    private static func status(_ word: String) -> HTTPResponse {
        .json { writer in writer.object { $0.member("status", word) } }
    }
}

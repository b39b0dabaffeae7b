import EdgeServer
import RoostModel

/// `GET /v1/me/export`: all that is held about the caller.
struct ExportRoutes: Sendable {
    let exporter: AccountExporter

    var routes: [Route] { [.user(.get, "/v1/me/export", limit: .signIn, export)] }

    private func export(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        guard let response = try await exporter.export(caller.userID) else { throw RoostError(.unauthenticated) }
        return response
    }
}

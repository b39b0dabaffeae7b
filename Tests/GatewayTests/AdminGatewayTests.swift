import EdgeServer
import RoostModel
import RoostProtocol
import Runtime
import Testing

@testable import Gateway

@Suite struct AdminGatewayTests {
    private func answer(_ target: String, token: String?, configured: String = "secret") async throws -> HTTPResponse {
        let metrics = Metrics()
        let executor = RequestExecutor(metrics: metrics)
        try await executor.start()
        let admin = AdminGateway(
            token: configured, executor: executor, isReady: { true }, metrics: metrics, logger: .silent
        ) { () async throws(RoostError) in
            [
                NodeStatus(
                    name: "node1", incarnation: .make(), state: "up", version: "1", startedAt: .now, url: "http://127.0.0.1:1",
                    isLeader: true, sessions: 3)
            ]
        }
        let headers = token.map { [("Authorization", "Bearer \($0)")] } ?? []
        let head = try HTTPRequestHead(method: "GET", target: target, headers: HTTPHeaders(headers))
        let response = await admin.respond(to: HTTPRequest(head: head))
        await executor.stop()
        return response
    }

    @Test func metricsNeedNoToken() async throws {
        let response = try await answer("/metrics", token: nil)
        guard case .bytes(let bytes) = response.body else { throw UnexpectedBody() }
        #expect(response.status == 200)
        #expect(String(decoding: bytes, as: UTF8.self).contains("# TYPE roost_http_requests_total counter"))
    }

    @Test func theRestNeedsTheRightOne() async throws {
        for token in [nil, "", "secre", "secrets"] {
            #expect(try await answer("/admin/v1/nodes", token: token).status == 401, "\(token ?? "none")")
        }
        #expect(try await answer("/admin/v1/nodes", token: "", configured: "").status == 401)
        #expect(try await answer("/admin/v1/nothing", token: "secret").status == 404)
        let response = try await answer("/admin/v1/nodes", token: "secret")
        guard case .bytes(let bytes) = response.body else { throw UnexpectedBody() }
        let node = try #require(JSONValue(bytes)["items"]?.array?.first)
        #expect(node["name"]?.string == "node1" && node["sessions"]?.integer == 3 && node["load"] == .null)
        #expect(node["actors"]?["conversation"] == .null)
    }

    private struct UnexpectedBody: Error {}
}

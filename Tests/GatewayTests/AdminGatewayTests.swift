import ClusterOperations
import EdgeServer
import MemoryAdapters
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
        let inspector = FakeInspector()
        let identity = NodeIdentity(name: "node1", incarnation: .make())
        inspector.state.withLock { state in
            state.nodes = [
                NodeStatus(
                    name: "node1", incarnation: identity.incarnation, state: .up, version: "1", startedAt: .now,
                    url: "http://127.0.0.1:1", isLeader: true, report: LoadReport(node: identity, sessions: 3)),
                NodeStatus(
                    name: "node2", incarnation: .make(), state: .draining, version: "1", startedAt: .now,
                    url: "http://127.0.0.1:2", isLeader: false),
            ]
        }
        let world = try await World()
        let admin = AdminGateway(
            token: configured, executor: executor, isReady: { true }, metrics: metrics, logger: .silent,
            cluster: AdminCluster(
                inspector: inspector, operations: MemoryOperationStore(world.database),
                operators: MemoryOperatorStore(world.database), backend: world.backend))
        let headers = token.map { [("Authorization", "Bearer \($0)")] } ?? []
        let head = try HTTPRequestHead(method: "GET", target: target, headers: HTTPHeaders(headers))
        let response = await admin.respond(to: HTTPRequest(head: head))
        await executor.stop()
        await world.stop()
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
        #expect(node["name"]?.string == "node1" && node["sessions"]?.integer == 3 && node["load"]?.integer == 0)
        #expect(node["actors"]?["conversation"]?.integer == 0 && node["state"]?.string == "up")
        let silent = try #require(JSONValue(bytes)["items"]?.array?.last)
        #expect(silent["state"]?.string == "draining" && silent["sessions"] == .null && silent["load"] == .null)
        #expect(silent["actors"]?["conversation"] == .null)
    }

    private struct UnexpectedBody: Error {}
}

import EdgeServer
import Ports
import RoostModel
import RoostProtocol
import Runtime
import Testing

@testable import Gateway

@Suite struct ConventionsTests {
    @Test(arguments: Transport.allCases) func unknownPathsAndMethods(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            for path in ["/", "/v1", "/v2/me", "/v1/me/", "/v1/conversations//messages", "/v1/auth/register/x", "/echo"] {
                let answer = try await client.call("GET", path)
                #expect(answer.status == 404 && answer.code == "notFound", "\(path)")
                #expect(answer.header("Content-Type") == "application/problem+json")
                #expect(answer["requestId"]?.string == answer.header("X-Request-Id"))
            }
            let method = try await client.call("PUT", "/v1/me")
            #expect(method.status == 405 && method.code == "methodNotAllowed")
            #expect(method.header("Allow") == "GET, HEAD, PATCH, DELETE, OPTIONS")
            #expect(try await client.call("BREW", "/v1/me").status == 405)
        }
    }

    @Test(arguments: Transport.allCases) func bodiesAreJSON(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            func post(_ type: String?) async throws -> Answer {
                try await client.send(
                    "POST", "/v1/auth/anonymous", headers: type.map { [("Content-Type", $0)] } ?? [], body: Array("{}".utf8))
            }
            for good in ["application/json", "Application/JSON; charset=UTF-8", #"application/json;charset="utf-8""#] {
                #expect(try await post(good).status == 201, "\(good)")
            }
            for bad in [
                "text/plain", "application/json; charset=latin1", "application/x-www-form-urlencoded", "application/jsonx", "",
            ] {
                let answer = try await post(bad)
                #expect(answer.status == 415 && answer.code == "unsupportedMediaType", "\(bad)")
            }
            #expect(try await post(nil).status == 415)
        }
    }

    @Test(arguments: Transport.allCases) func largeBodiesAreRefused(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            func body(_ count: Int) -> [UInt8] {
                let frame = Array(#"{"x":""}"#.utf8)
                return Array(#"{"x":""#.utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: count - frame.count)
                    + Array(#""}"#.utf8)
            }
            let json = [("Content-Type", "application/json")]
            let most = try await client.send("POST", "/v1/auth/anonymous", headers: json, body: body(Limits.jsonBodyBytes))
            #expect(most.status == 201)
            let more = try await client.send("POST", "/v1/auth/anonymous", headers: json, body: body(Limits.jsonBodyBytes + 1))
            #expect(more.status == 413 && more.code == "tooLarge")
        }
    }

    @Test func pagesCheckTheirParameters() async throws {
        try await withGateway(.router) { _, client in
            let bob = try await client.register("bob@x.example")
            let chat = try await client.openDirect(bob, with: try await client.guest())
            for path in [
                "/v1/users", "/v1/conversations", "/v1/sync", "/v1/conversations/\(chat)/messages",
                "/v1/conversations/\(chat)/changes",
                "/v1/conversations/\(chat)/members",
            ] {
                for bad in ["0", "-1", "x", "", "1.5", "+1", "%201"] {
                    let answer = try await client.call("GET", "\(path)?limit=\(bad)", token: bob.token)
                    #expect(answer.status == 400 && answer.code == "badParameter", "\(path) \(bad)")
                }
                for good in ["1", "200", "201", "999999999999999999999999"] {
                    #expect(
                        try await client.call("GET", "\(path)?limit=\(good)", token: bob.token).status == 200, "\(path) \(good)")
                }
            }
            for path in ["/v1/users", "/v1/conversations", "/v1/conversations/\(chat)/members"] {
                let answer = try await client.call("GET", "\(path)?cursor=%F0%9F%98%80", token: bob.token)
                #expect(answer.status == 400 && answer.code == "badCursor", "\(path)")
            }
            #expect(try await client.call("GET", "/v1/sync?since=nonsense", token: bob.token).code == "badCursor")
            for bad in ["x", "*", "a.b", chat.uppercased()] {
                let answer = try await client.call("GET", "/v1/search/messages?query=a&conversationId=\(bad)", token: bob.token)
                #expect(answer.status == 400 && answer.code == "badParameter", "\(bad)")
            }
            for bad in ["before=x", "after=-1", "around=1.0", "before=1&after=2", "before=99999999999999999999"] {
                let answer = try await client.call("GET", "/v1/conversations/\(chat)/messages?\(bad)", token: bob.token)
                #expect(answer.code == "badParameter", "\(bad)")
            }
        }
    }

    @Test(arguments: Transport.allCases) func pagesOfOtherHosts(_ transport: Transport) async throws {
        var settings = GatewaySettings()
        settings.allowedOrigins = ["https://app.example"]
        try await withGateway(transport, settings: settings) { _, client in
            let preflight = try await client.call(
                "OPTIONS", "/v1/me",
                headers: [("Origin", "https://app.example"), ("Access-Control-Request-Method", "PATCH")])
            #expect(preflight.status == 204)
            #expect(preflight.header("Access-Control-Allow-Origin") == "https://app.example")
            #expect(preflight.header("Access-Control-Allow-Methods")?.contains("PATCH") == true)
            #expect(preflight.header("Access-Control-Allow-Headers")?.contains("Authorization") == true)
            let plain = try await client.call("GET", "/v1/me", headers: [("Origin", "https://app.example")])
            #expect(plain.status == 401 && plain.header("Access-Control-Allow-Origin") == "https://app.example")
            let foreign = try await client.call("GET", "/v1/me", headers: [("Origin", "https://evil.example")])
            #expect(foreign.header("Access-Control-Allow-Origin") == nil && foreign.header("Vary") == "Origin")
        }
    }

    @Test func socketsAreAdmittedByOriginAndSubprotocol() async throws {
        var settings = GatewaySettings()
        settings.allowedOrigins = ["https://app.example"]
        settings.offersEcho = true
        try await withGateway(.router, settings: settings) { world, _ in
            func admit(_ headers: [(String, String)], path: String = "/v1/ws") throws -> Admission {
                world.gateway.admit(
                    try HTTPRequestHead(
                        method: "GET", target: path, headers: HTTPHeaders(headers + [("Host", "chat.example:8080")])))
            }
            for origin in ["https://app.example", "http://chat.example:8080", "https://CHAT.example:8080"] {
                guard
                    case .webSocket(let acceptance) = try admit([("Origin", origin), ("Sec-WebSocket-Protocol", "x, roost.v1")])
                else {
                    Issue.record("\(origin) was refused")
                    continue
                }
                #expect(acceptance.subprotocol == "roost.v1")
            }
            guard case .webSocket(let acceptance) = try admit([]) else {
                Issue.record("a client without origin and subprotocol was refused")
                return
            }
            #expect(acceptance.subprotocol == nil)
            for origin in ["https://evil.example", "http://chat.example", "null", "chat.example:8080"] {
                guard case .respond(let response) = try admit([("Origin", origin)]) else {
                    Issue.record("\(origin) was let in")
                    continue
                }
                #expect(response.status == 403)
            }
            guard case .respond(let response) = try admit([("Sec-WebSocket-Protocol", "roost.v9")]) else {
                Issue.record("an unknown subprotocol was taken")
                return
            }
            #expect(response.status == 400)
            guard case .webSocket = try admit([], path: "/echo") else {
                Issue.record("no echo")
                return
            }
        }
    }

    @Test(arguments: Transport.allCases) func aDatabaseThatIsAwayIsARetryableError(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let bob = try await client.register("bob@x.example")
            let chat = try await client.openDirect(bob, with: try await client.guest())
            world.database.setAvailable(false)
            let calls: [(String, String, String?)] = [
                ("GET", "/v1/me", nil), ("GET", "/v1/users", nil), ("GET", "/v1/conversations", nil), ("GET", "/v1/sync", nil),
                ("GET", "/v1/conversations/\(chat)/messages", nil), ("POST", "/v1/auth/anonymous", "{}"),
                ("POST", "/v1/auth/login", #"{"email":"bob@x.example","password":"correct horse"}"#),
                ("POST", "/v1/conversations/\(chat)/messages", #"{"clientId":"c","type":"text","text":"x"}"#),
            ]
            for (method, path, body) in calls {
                let answer = try await client.call(method, path, token: bob.token, body)
                #expect(answer.status == 503 && answer.code == "unavailable", "\(method) \(path)")
                #expect(answer.header("Retry-After") != nil, "\(method) \(path)")
            }
            world.database.setAvailable(true)
            #expect(try await client.call("GET", "/v1/me", token: bob.token).status == 200)
        }
    }

    @Test(arguments: Transport.allCases) func healthAndReadiness(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let ready = try await client.call("GET", "/readyz")
            #expect(ready.status == 200)
            world.isReady.withLock { $0 = false }
            #expect(try await client.call("GET", "/readyz").status == 503)
            #expect(try await client.call("GET", "/healthz").status == 200)
        }
    }

    @Test func requestsAreCountedByRouteAndNotByWhatClientsSend() async throws {
        try await withGateway(.router) { world, client in
            let before = world.metrics.render().split(separator: "\n").count
            let bob = try await client.register("bob@x.example")
            for _ in 0..<3 { _ = try await client.call("GET", "/v1/users/\(UserID.make())", token: bob.token) }
            _ = try await client.call("GET", "/made/up/\(UserID.make())")
            let text = world.metrics.render()
            #expect(
                text.contains(
                    #"roost_http_requests_total{listener="public",method="GET",route="/v1/users/{userId}",status="4xx"} 3"#))
            #expect(text.contains(#"roost_http_requests_total{listener="public",method="any",route="none",status="4xx"} 1"#))
            #expect(text.split(separator: "\n").count == before)
        }
    }
}

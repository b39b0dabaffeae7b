import EdgeServer
import RoostModel
import Runtime
import Testing

@testable import Gateway

/// Limits as clients meet them.
@Suite struct RateLimitTests {
    private func limits(_ kind: RateLimiter.Kind, _ perSecond: Double, _ burst: Double) -> RateLimitSettings {
        var settings = RateLimitSettings()
        settings.rates[kind] = .init(perSecond: perSecond, burst: burst)
        return settings
    }

    private func expectRefused(_ answer: Answer, after seconds: Int, _ note: Comment? = nil) {
        #expect(answer.status == 429 && answer.code == "rateLimited", note)
        #expect(answer.header("Retry-After") == "\(seconds)", note)
    }

    @Test(arguments: Transport.allCases) func everyRequestOfAnAddressCounts(_ transport: Transport) async throws {
        try await withGateway(transport, limits: limits(.address, 0.5, 4)) { world, client in
            let guest = try await client.guest()
            #expect(try await client.call("GET", "/v1/me", token: guest.token).status == 200)
            #expect(try await client.call("GET", "/v1/nothing").status == 404)
            #expect(try await client.call("PATCH", "/v1/users").status == 405)
            expectRefused(try await client.call("GET", "/v1/me", token: guest.token), after: 2)
            expectRefused(try await client.call("GET", "/v1/nothing"), after: 2)
            // Probes of a load balancer answer all the same.
            for _ in 0..<10 { #expect(try await client.call("GET", "/readyz").status == 200) }
            world.advance(by: .seconds(2))
            #expect(try await client.call("GET", "/v1/me", token: guest.token).status == 200)
            expectRefused(try await client.call("GET", "/v1/me", token: guest.token), after: 2)
            #expect(world.metrics.render().contains(#"roost_rate_limited_total{kind="address"} 3"#))
            #expect(world.metrics.render().contains(#"roost_rate_limit_entries{kind="address"} 1"#))
        }
    }

    @Test func addressesAreThoseBehindTrustedProxies() async throws {
        var settings = limits(.address, 1, 1)
        settings.proxies = TrustedProxies([try #require(AddressBlock("10.0.0.0/8"))])
        try await withGateway(.router, limits: settings) { world, _ in
            func get(_ peer: String, _ forwarded: String?) throws -> Int {
                let headers = HTTPHeaders(forwarded.map { [("X-Forwarded-For", $0)] } ?? [])
                var head = try HTTPRequestHead(method: "GET", target: "/v1/nothing", headers: headers)
                head.remoteAddress = peer
                guard case .respond(let response) = world.gateway.admit(head) else { return 0 }
                return response.status
            }
            let answers = [
                try get("10.0.0.1", "198.51.100.1"), try get("10.0.0.2", "6.6.6.6, 198.51.100.1"),
                try get("10.0.0.1", "198.51.100.2"),
                // A stranger's word is not believed.
                try get("203.0.113.1", "198.51.100.3"), try get("203.0.113.1", "198.51.100.4"),
                try get("2001:db8::1", nil), try get("2001:db8::2", nil), try get("2001:db8:0:1::2", nil),
            ]
            #expect(answers == [404, 429, 404, 404, 429, 404, 429, 404])
        }
    }

    @Test func devicesAndAccounts() async throws {
        var settings = limits(.device, 0.1, 2)
        settings.rates[.account] = .init(perSecond: 0.1, burst: 3)
        try await withGateway(.router, limits: settings) { _, client in
            let one = try await client.register("bob@x.example")
            let two = try Account(
                await client.call("POST", "/v1/auth/login", #"{"email":"bob@x.example","password":"correct horse"}"#))
            let other = try await client.guest()
            for _ in 0..<2 { #expect(try await client.call("GET", "/v1/me", token: one.token).status == 200) }
            expectRefused(try await client.call("GET", "/v1/me", token: one.token), after: 10)
            #expect(try await client.call("GET", "/v1/me", token: two.token).status == 200)
            expectRefused(try await client.call("GET", "/v1/me", token: two.token), after: 10, "the account's are spent")
            #expect(try await client.call("GET", "/v1/me", token: other.token).status == 200)
            #expect(try await client.call("GET", "/v1/me", token: "nonsense").status == 401)
        }
    }

    @Test(arguments: Transport.allCases) func attemptsToSignInCountByAddress(_ transport: Transport) async throws {
        try await withGateway(transport, limits: limits(.signIn, 0.1, 3)) { world, client in
            let guest = try await client.guest()
            _ = try await client.call("POST", "/v1/auth/login", #"{"email":"a@x.example","password":"x"}"#)
            _ = try await client.call("POST", "/v1/auth/refresh", #"{"refreshToken":"\#(guest.refreshToken)"}"#)
            for path in ["login", "register", "anonymous", "refresh"] {
                expectRefused(try await client.call("POST", "/v1/auth/\(path)", "{}"), after: 10, "\(path)")
            }
            #expect(try await client.call("GET", "/v1/me", token: guest.token).status == 200)
            world.advance(by: .seconds(10))
            #expect(try await client.call("POST", "/v1/auth/anonymous").status == 201)
        }
    }

    @Test func attemptsToSignInCountByEmail() async throws {
        try await withGateway(.router, limits: limits(.email, 0.1, 2)) { world, client in
            func login(_ email: String, _ password: String = "wrong password") async throws -> Answer {
                try await client.call("POST", "/v1/auth/login", #"{"email":"\#(email)","password":"\#(password)"}"#)
            }
            _ = try await client.register("bob@x.example")
            #expect(try await login(" BOB@X.example ").status == 401)
            expectRefused(try await login("bob@x.example", "correct horse"), after: 10)
            #expect(try await login("carol@x.example").status == 401)
            // Whether there is such an account must not show.
            #expect(try await login("nobody@x.example").status == 401)
            #expect(try await login("nobody@x.example").status == 401)
            expectRefused(try await login("nobody@x.example"), after: 10)
            #expect(try await login("not an address").status == 401)
            #expect(try await client.call("POST", "/v1/auth/login", "{").code == "malformed")
            world.advance(by: .seconds(10))
            #expect(try await login("bob@x.example", "correct horse").status == 200)
        }
    }

    @Test func socketsCountByAddress() async throws {
        try await withGateway(.router, limits: limits(.sockets, 1, 2)) { world, client in
            func open() throws -> Int? {
                let head = try HTTPRequestHead(method: "GET", target: "/v1/ws", headers: [("Host", "test")])
                guard case .respond(let response) = world.gateway.admit(head) else { return nil }
                return response.status
            }
            let answers = [try open(), try open(), try open()]
            #expect(answers == [nil, nil, 429])
            #expect(try await client.call("GET", "/v1/nothing").status == 404)
        }
    }

    @Test func settingsAreRead() throws {
        func load(_ environment: [String: String]) throws -> RateLimitSettings {
            guard
                case .run(let configuration) = try Configuration.load(
                    RateLimitSettings.settings, environment: environment, arguments: [])
            else { throw Unexpected() }
            return RateLimitSettings(configuration)
        }
        let standard = try load([:])
        #expect(Set(standard.rates.keys) == Set(RateLimiter.Kind.allCases) && standard.frames != nil)
        #expect(standard.socketsOfUser == 100)
        // Fifty people behind one address who all sign in, and then each ask ten times a second.
        let (signIn, address, sockets) = (standard.rates[.signIn], standard.rates[.address], standard.rates[.sockets])
        #expect(try #require(signIn).burst >= 50 * 3)
        #expect(try #require(address).perSecond >= 50 * 10)
        #expect(try #require(sockets).burst >= 50 * 2)
        let off = try load(["ROOST_RATE_LIMITS": "off", "ROOST_TRUSTED_PROXIES": "10.0.0.0/8, ::1"])
        #expect(off.rates.isEmpty && off.frames == nil && off.socketsOfUser == nil)
        let some = try load(["ROOST_LIMIT_LOOKUP": "0.5:7", "ROOST_LIMIT_ADDRESS": "off"])
        #expect(some.rates[.lookup] == .init(perSecond: 0.5, burst: 7) && some.rates[.address] == nil)
        for bad in ["5", "5:", ":5", "5:0", "-1:5", "5:1.5", "1e3:5", "5:5:5", "x:y", "1.2.3:4"] {
            #expect(throws: ConfigurationFaults.self, "\(bad)") { _ = try load(["ROOST_LIMIT_EMAIL": bad]) }
        }
        #expect(throws: ConfigurationFaults.self) { _ = try load(["ROOST_TRUSTED_PROXIES": "proxy.example"]) }
    }

    private struct Unexpected: Error {}
}

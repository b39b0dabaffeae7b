import EdgeServer
import RoostClient
import Testing

@Suite struct HTTPServerTests {
    private func get(_ path: String, _ extra: String = "") -> String { "GET \(path) HTTP/1.1\r\nHost: h\r\n\(extra)\r\n" }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        try await Harness.with { harness in
            let socket = try await harness.raw()
            // The first is answered from another thread, while the others wait.
            await socket.send(
                get("/later/1") + get("/2") + "POST /3 HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"
                    + get("/4", "Connection: close\r\n"))
            let text = await socket.end()
            let paths = text.components(after: "X-Path: ")
            #expect(paths == ["/later/1", "/2", "/3", "/4"])
            #expect(text.contains("POST body"))
            #expect(text.contains("Connection: close\r\n"))
            #expect(text.components(after: "HTTP/1.1 ") == ["200 OK", "200 OK", "200 OK", "200 OK"])
            let identifiers = text.components(after: "X-Request-Id: ")
            #expect(Set(identifiers).count == 4)
            #expect(text.components(after: "Date: ").allSatisfy { $0.hasSuffix(" GMT") && $0.utf8.count == 29 })
            // A line break in a header's value did not become a header.
            #expect(!text.contains("\nInjected"))
        }
    }

    /// One read brings them all; they are served a few at a time, as the client takes the answers.
    @Test func pipelinedAnswersThatOutgrowTheOutbox() async throws {
        try await Harness.with { harness in
            let socket = try await harness.raw()
            await socket.send(String(repeating: get("/big"), count: 40) + get("/last", "Connection: close\r\n"))
            let text = await socket.end()
            #expect(text.components(after: "HTTP/1.1 ") == [String](repeating: "200 OK", count: 41))
            #expect(text.utf8.count > 4_000_000)
            #expect(text.hasSuffix("GET "))
        }
    }

    @Test func halfClosedClientsGetTheirAnswers() async throws {
        try await Harness.with { harness in
            let socket = try await harness.raw()
            await socket.send(get("/later/1") + get("/later/2"))
            await socket.finishWriting()
            #expect(await socket.end().components(after: "X-Path: ") == ["/later/1", "/later/2"])
        }
    }

    @Test func oneByteAtATime() async throws {
        try await Harness.with { harness in
            let socket = try await harness.raw()
            await socket.sendSingly(
                Array("POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".utf8))
            #expect(await socket.text { $0.contains("POST abcde") }.contains("200 OK"))
            await socket.close()
        }
    }

    @Test func headHasTheLengthButNoBody() async throws {
        try await Harness.with { harness in
            let socket = try await harness.raw()
            await socket.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n" + get("/empty") + get("/b", "Connection: close\r\n"))
            let text = await socket.end()
            #expect(text.contains("Content-Length: 5\r\n"))
            #expect(!text.contains("HEAD "))
            #expect(text.contains("204 No Content\r\n"))
            #expect(text.hasSuffix("GET "))
        }
    }

    @Test func continueIsSentWhenTheBodyIsWanted() async throws {
        try await Harness.with { harness in
            let socket = try await harness.raw()
            await socket.send("POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
            #expect(await socket.text { $0.hasSuffix("\r\n\r\n") } == "HTTP/1.1 100 Continue\r\n\r\n")
            await socket.send("abc")
            #expect(await socket.text { $0.contains("POST abc") }.contains("200 OK"))
            await socket.close()
            for (path, length, status) in [("/refuse", 3, "403"), ("/x", 1001, "413")] {
                let socket = try await harness.raw()
                await socket.send("POST \(path) HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: \(length)\r\n\r\n")
                let text = await socket.end()
                #expect(text.hasPrefix("HTTP/1.1 \(status)"))
                await socket.close()
            }
        }
    }

    @Test func faultsAreAnsweredAndTheConnectionClosed() async throws {
        try await Harness.with { harness in
            let long = String(repeating: "a", count: 20_000)
            for (request, status) in [
                ("nonsense\r\n\r\n", "400"), ("GET / HTTP/3.0\r\nHost: h\r\n\r\n", "505"), (get("/" + long), "414"),
                (get("/", "X: \(long)\r\n"), "431"), (get("/%00"), "400"),
                ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
                ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n" + long.prefix(1001), "413"),
                ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n" + long.prefix(2048), "413"),
                ("POST /stream HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"),
            ] {
                let socket = try await harness.raw()
                await socket.send(request)
                let text = await socket.end()
                #expect(text.hasPrefix("HTTP/1.1 \(status) "), "\(request.prefix(60))")
                #expect(text.contains("Connection: close"))
                #expect(text.contains("X-Request-Id: "))
                #expect(text.components(after: "HTTP/1.1 ").count == 1)
                await socket.close()
            }
            #expect(harness.server.metrics.snapshot().faults == 9)
        }
    }

    @Test func aRequestThatNobodyAnswersIs500() async throws {
        try await Harness.with { harness in
            let response = try await harness.http().json("GET", "/drop")
            #expect(response.status == 500)
        }
    }

    @Test func smallRefusedBodiesKeepTheConnection() async throws {
        try await Harness.with { harness in
            let socket = try await harness.raw()
            await socket.send(
                "POST /refuse HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello" + get("/next", "Connection: close\r\n"))
            let text = await socket.end()
            #expect(text.components(after: "HTTP/1.1 ") == ["403 Forbidden", "200 OK"])
        }
    }

    @Test func streamedBodiesBothWays() async throws {
        try await Harness.with { harness in
            let http = harness.http()
            let up = try await http.send("POST", "/stream", body: [UInt8](repeating: 1, count: 5_000_000))
            #expect(up.text == "5000000")
            let down = try await http.send("GET", "/pieces?count=100&size=50000")
            #expect(down.body.count == 5_000_000)
            #expect(down.headers["Transfer-Encoding"] == "chunked")
            let sized = try await http.send("GET", "/pieces?count=3&size=10&length=30")
            #expect(sized.headers["Content-Length"] == "30")
            #expect(sized.body.count == 30)
            // A producer that breaks its word cannot be told to the client but by a broken connection.
            await #expect(throws: ClientFailure.broken) {
                try await harness.http().send("GET", "/pieces?count=2&size=10&length=30")
            }
            let early = try await http.send("POST", "/stream/early", body: [UInt8](repeating: 1, count: 100_000))
            #expect(early.status == 409)
        }
    }

    @Test func streamOverTheLimitIs413() async throws {
        try await Harness.with { harness in
            let body = [UInt8](repeating: 1, count: 10_000_001)
            let response = try await harness.http().send("POST", "/stream", body: body)
            #expect(response.status == 413)
        }
    }

    @Test func slowHeadsAreTimedOut() async throws {
        try await Harness.with {
            $0.headTimeout = .milliseconds(60)
        } _: { harness in
            let silent = try await harness.raw()
            #expect(await silent.end() == "")
            // On a busy machine the time may be over before the first byte has come: then it ends as the silent one did.
            var answer = ""
            while answer.isEmpty {
                let slow = try await harness.raw()
                await slow.send("GET / HTTP/1.1\r\nHo")
                answer = await slow.end()
                await slow.close()
            }
            #expect(answer.hasPrefix("HTTP/1.1 408 "))
        }
    }

    @Test func slowBodiesAreTimedOut() async throws {
        try await Harness.with {
            $0.bodyProgressInterval = .milliseconds(60)
        } _: { harness in
            let socket = try await harness.raw()
            await socket.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc")
            #expect(await socket.end().hasPrefix("HTTP/1.1 408 "))
        }
    }

    @Test func idleConnectionsAreClosedQuietly() async throws {
        try await Harness.with {
            $0.idleTimeout = .milliseconds(60)
        } _: { harness in
            let socket = try await harness.raw()
            await socket.send(get("/once"))
            let text = await socket.end()
            #expect(text.components(after: "HTTP/1.1 ") == ["200 OK"])
        }
    }

    @Test func clientsThatDoNotReadAreDropped() async throws {
        try await Harness.with {
            $0.writeStallTimeout = .milliseconds(200)
        } _: { harness in
            let socket = try await harness.socket("/ws") { $0.maxMessageBytes = 1 << 20 }
            await socket.sendRaw([])
            let http = try await harness.raw()
            // Paused by never reading: the raw socket is not watched for it.
            await http.stopReading()
            await http.send(get("/pieces?count=10000&size=100000"))
            await harness.waitFor { $0.timeouts >= 1 }
            await socket.abort()
            await http.close()
        }
    }

    @Test func connectionsBeyondTheLimitAreClosed() async throws {
        try await Harness.with {
            $0.maxConnections = 2
        } _: { harness in
            let first = try await harness.raw()
            let second = try await harness.raw()
            await first.send(get("/a"))
            _ = await first.text { $0.contains("200 OK") }
            await second.send(get("/a"))
            _ = await second.text { $0.contains("200 OK") }
            let third = try await harness.raw()
            #expect(await third.end() == "")
            #expect(harness.server.metrics.snapshot().connectionsRefused == 1)
        }
    }

    @Test func twoServersDoNotShareAPort() async throws {
        try await Harness.with(loops: 2) { harness in
            let loop = harness.client.loop
            let other = EdgeServer(
                configuration: EdgeConfiguration(port: harness.port), loops: [loop, loop], handler: TestHandler())
            await #expect(throws: (any Error).self) { try await other.start() }
        }
    }

    @Test func manyRequestsOverManyConnectionsAndLoops() async throws {
        try await Harness.with(loops: 2) { harness in
            let http = harness.http { $0.maxConnections = 50 }
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<1000 {
                    group.addTask {
                        try await http.json("POST", "/later/\(index)", "{\"n\":\(index)}").text == "POST {\"n\":\(index)}"
                    }
                }
                for try await good in group { #expect(good) }
            }
            let metrics = harness.server.metrics.snapshot()
            #expect(metrics.requests == 1000)
            #expect(metrics.connectionsAccepted <= 50)
        }
    }

    @Test func stoppingLetsARequestEnd() async throws {
        try await Harness.with { harness in
            let http = harness.http()
            async let answer = http.json("GET", "/hold")
            await harness.waitFor { $0.requests == 1 }
            async let stopped: Void = harness.server.stop(grace: .seconds(20))
            await harness.waitForHeld()
            let held = harness.app.held.withLock { responders in
                defer { responders = [] }
                return responders
            }
            for responder in held { responder.respond(HTTPResponse(status: 200)) }
            let response = try await answer
            #expect(response.status == 200)
            await stopped
            #expect(harness.server.metrics.snapshot().connectionsOpen == 0)
        }
    }
}

extension Harness {
    /// Yields until the server's counters satisfy `condition`; the test's own time limit bounds it.
    func waitFor(_ condition: (EdgeMetrics.Snapshot) -> Bool) async {
        while !condition(server.metrics.snapshot()) { await Task.yield() }
    }

    func waitForHeld() async { while app.held.withLock({ $0.isEmpty }) { await Task.yield() } }
}

extension String {
    /// What stands between each `mark` and the end of its line.
    func components(after mark: String) -> [String] {
        var found: [String] = []
        var rest = self[...]
        while let range = rest.firstRange(of: mark) {
            rest = rest[range.upperBound...]
            found.append(String(rest.prefix { $0 != "\r\n" }))
        }
        return found
    }
}

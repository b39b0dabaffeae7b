import EdgeServer
import RoostClient
import Testing

@Suite struct WebSocketServerTests {
    private let handshake =
        "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

    private func frame(_ opcode: UInt8, _ payload: [UInt8], fin: Bool = true) -> [UInt8] {
        [(fin ? 0x80 : 0) | opcode, 0x80 | UInt8(payload.count), 1, 2, 3, 4] + payload.enumerated().map { $1 ^ UInt8($0 % 4 + 1) }
    }

    @Test func messagesComeBackInOrder() async throws {
        try await Harness.with { harness in
            let socket = try await harness.socket { $0.subprotocols = ["other", "test.v1"] }
            #expect(socket.subprotocol == "test.v1")
            for index in 0..<2000 { await socket.send("message \(index) 😀") }
            for index in 0..<2000 { #expect(await socket.receive()?.text == "message \(index) 😀") }
            await socket.send(binary: [1, 2, 3])
            #expect(await socket.receive() == .binary([1, 2, 3]))
            await socket.send("twice")
            #expect(await socket.receive()?.text == "twice")
            #expect(await socket.receive()?.text == "twice")
            await socket.close(code: 1000)
            #expect(await socket.closed() == .local(1000))
            #expect(await harness.app.closures(1) == [.closeFrame(1000)])
        }
    }

    @Test func framesRightBehindTheHandshakeAndInSingleBytes() async throws {
        try await Harness.with { harness in
            let socket = try await harness.raw()
            await socket.send(Array(handshake.utf8) + frame(1, Array("first".utf8)))
            _ = await socket.text { $0.contains("first") }
            await socket.sendSingly(
                frame(1, Array("se".utf8), fin: false) + frame(9, [65]) + frame(0, Array("cond".utf8)) + frame(8, [3, 0xE8]))
            let text = await socket.end()
            // Without a socket there would be no closure to wait for.
            try #require(text.contains("101 Switching Protocols"))
            #expect(text.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
            #expect(text.contains("second"))
            #expect(await harness.app.closures(1) == [.closeFrame(1000)])
        }
    }

    @Test func theClientReadsFramesOfAnySplit() async throws {
        // The case from the field: frames that arrive split over reads must not be lost. The server's side is a bare socket here.
        try await Harness.with { harness in
            let socket = try await harness.socket("/echo") { $0.maxMessageBytes = 4 << 20 }
            let big = String(repeating: "split me ", count: 300_000)
            await socket.send(big.prefix(900_000).description)
            #expect(await socket.receive()?.text?.utf8.count == 900_000)
            await socket.close()
        }
    }

    @Test func badHandshakes() async throws {
        try await Harness.with { harness in
            for (text, status) in [
                ("GET /ws HTTP/1.1\r\nHost: h\r\n\r\n", "400"),
                (handshake.replacing("Version: 13", with: "Version: 8"), "426"),
                (handshake.replacing("GET", with: "POST"), "400"),
                (handshake.replacing("dGhlIHNhbXBsZSBub25jZQ==", with: "short"), "400"),
                (handshake.replacing("Connection: Upgrade", with: "Connection: close"), "400"),
            ] {
                let socket = try await harness.raw()
                await socket.send(text)
                let answer = await socket.end()
                #expect(answer.hasPrefix("HTTP/1.1 \(status)"))
                #expect(status != "426" || answer.contains("Sec-WebSocket-Version: 13"))
                await socket.close()
            }
            let error = await #expect(throws: WebSocketOpenError.self) { try await harness.socket("/refuse") }
            #expect(error?.closure == .refused(status: 403))
        }
    }

    @Test func violationsCloseWithTheirCode() async throws {
        try await Harness.with { harness in
            for (bytes, code) in [
                ([0x81, 0x01, 0x41], 1002), (frame(1, [0xC0, 0xAF]), 1007), ([0x82, 0xFE, 0x03, 0xE9, 0, 0, 0, 0], 1009),
                (frame(3, []), 1002),
            ] as [([UInt8], UInt16)] {
                let socket = try await harness.socket()
                await socket.sendRaw(bytes)
                #expect(await socket.closed() == .closeFrame(code, reason: ""))
            }
            #expect(await harness.app.closures(4) == [.local(1002), .local(1007), .local(1009), .local(1002)])
        }
    }

    @Test func localCloseTellsCodeAndReason() async throws {
        try await Harness.with { harness in
            let socket = try await harness.socket()
            await socket.send("close 4010")
            #expect(await socket.closed() == .closeFrame(4010, reason: "asked"))
            #expect(await harness.app.closures(1) == [.local(4010)])
            await harness.waitFor { $0.connectionsOpen == 0 }
            #expect(harness.server.metrics.snapshot().webSocketsOpen == 0)
        }
    }

    @Test func aTornLineIsBroken() async throws {
        try await Harness.with { harness in
            let torn = try await harness.socket()
            await torn.sendRaw(Array(frame(1, Array("half".utf8)).prefix(8)))
            await torn.abort()
            #expect(await harness.app.closures(1) == [.broken])
        }
    }

    @Test func silenceIsPingedThenHungUp() async throws {
        try await Harness.with { configuration in
            configuration.pingInterval = .milliseconds(60)
            configuration.silenceTimeout = .milliseconds(1500)
        } _: { harness in
            // A real client answers pings and lives; a bare socket does not.
            let alive = try await harness.socket()
            let mute = try await harness.raw()
            await mute.send(handshake)
            let text = await mute.end()
            #expect(text.contains("\u{0}") && text.contains("101"))
            #expect(await harness.app.closures(1) == [.silent])
            await alive.send("still here")
            #expect(await alive.receive()?.text == "still here")
        }
    }

    @Test func theOutboxIsBoundedAndDrains() async throws {
        try await Harness.with {
            $0.outboxLimit = 8 << 20
        } _: { harness in
            let socket = try await harness.socket()
            await socket.send("flood")
            var count = 0
            while let message = await socket.receive() {
                if message.text == "drained" { break }
                count += 1
            }
            let (refusedAt, drained) = harness.app.log.withLock { ($0.refusedAt, $0.drained) }
            #expect(refusedAt.count == 1)
            #expect(refusedAt[0] <= 8 << 20 && refusedAt[0] > (8 << 20) - 20_000)
            #expect(count == refusedAt[0] / 10_004)
            #expect(drained == 1)
            #expect(harness.server.metrics.snapshot().sendsRefused == 1)
        }
    }

    @Test(arguments: [true, false]) func compressedEcho(_ takeover: Bool) async throws {
        try await Harness.with { harness in
            for path in ["/deflate", "/echo"] {
                let socket = try await harness.socket(path) { configuration in
                    configuration.compression = true
                    configuration.contextTakeover = takeover
                    configuration.compressionThreshold = 0
                }
                for index in 0..<200 {
                    let text = String(repeating: "compress me \(index) ", count: index)
                    await socket.send(text)
                    #expect(await socket.receive()?.text == text)
                }
                await socket.close()
                #expect(await socket.closed() == .local(1000))
            }
        }
    }

    @Test func manySocketsAtOnce() async throws {
        try await Harness.with(loops: 2) { harness in
            let sockets = try await withThrowingTaskGroup(of: WebSocketChannel.self) { group in
                for index in 0..<400 {
                    group.addTask { try await harness.socket { $0.sourceAddress = "127.0.0.\(2 + index % 3)" } }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(harness.server.metrics.snapshot().webSocketsOpen == 400)
            await withTaskGroup(of: Bool.self) { group in
                for (index, socket) in sockets.enumerated() {
                    group.addTask {
                        await socket.send("hello \(index)")
                        return await socket.receive()?.text == "hello \(index)"
                    }
                }
                for await good in group { #expect(good) }
            }
            for socket in sockets { await socket.abort() }
            let closures = await harness.app.closures(400)
            #expect(closures.allSatisfy { $0 == .broken })
            #expect(harness.app.log.withLock { Set($0.sockets.map(\.remoteAddress)) } == ["127.0.0.2", "127.0.0.3", "127.0.0.4"])
        }
    }

    @Test func stoppingSaysGoingAway() async throws {
        try await Harness.with { harness in
            let socket = try await harness.socket()
            await harness.server.stop(grace: .seconds(5))
            #expect(await socket.closed() == .closeFrame(1001, reason: ""))
            #expect(await harness.app.closures(1) == [.local(1001)])
            #expect(harness.server.metrics.snapshot().connectionsOpen == 0)
        }
    }
}

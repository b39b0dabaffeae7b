import TestSupport
import Testing

@testable import EdgeCodec

@Suite struct SmallPartsTests {
    @Test func handshakeExampleOfTheRFC() {
        // RFC 6455 §1.3.
        #expect(WebSocketHandshake.accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test func sha1Vectors() {
        func hex(_ text: String) -> String {
            SHA1.hash(Array(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        #expect(hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        #expect(hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(
            hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") == "84983e441c3bd26ebaae4aa1f95129e5e54670f1")
    }

    @Test func base64Vectors() {
        // RFC 4648 §10.
        for (text, encoded) in [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy"),
        ] {
            #expect(Base64.encode(Array(text.utf8)) == encoded)
        }
    }

    @Test func handshakeIsValidated() throws {
        func head(_ headers: [(String, String)], method: String = "GET") throws -> HTTPRequestHead {
            try HTTPRequestHead(method: method, target: "/ws", headers: HTTPHeaders(headers))
        }
        let good = [
            ("Upgrade", "websocket"), ("Connection", "keep-alive, Upgrade"), ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ]
        #expect(try WebSocketHandshake.validate(head(good)) == "dGhlIHNhbXBsZSBub25jZQ==")
        #expect(throws: HTTPFault.malformed) { try WebSocketHandshake.validate(head(good, method: "POST")) }
        for index in good.indices {
            var missing = good
            missing.remove(at: index)
            let fault: HTTPFault = index == 2 ? .upgradeRequired : .malformed
            #expect(throws: fault) { try WebSocketHandshake.validate(head(missing)) }
        }
        #expect(throws: HTTPFault.malformed) {
            try WebSocketHandshake.validate(head(good.dropLast() + [("Sec-WebSocket-Key", "short")]))
        }
        #expect(throws: HTTPFault.malformed) { try WebSocketHandshake.validate(head(good + [good[3]])) }
    }

    @Test func validatorAgreesWithTheStandardLibrary() {
        var generator = SeededRandom(seed: 42)
        let seeds: [[UInt8]] = ["", "plain ascii text that is long", "κόσμε", "häß€😀", "\u{10FFFF}\u{D7FF}\u{E000}"].map {
            Array($0.utf8)
        }
        for round in 0..<20_000 {
            var bytes = seeds[round % seeds.count]
            for _ in 0..<(round % 4) {
                let byte = UInt8.random(in: 0...255, using: &generator)
                if bytes.isEmpty || Bool.random(using: &generator) {
                    bytes.append(byte)
                } else {
                    bytes[Int.random(in: 0..<bytes.count, using: &generator)] = byte
                }
            }
            let expected = String(validating: bytes, as: UTF8.self) != nil
            #expect(bytes.withUnsafeBytes { UTF8Validator.isValid($0) } == expected)
            var validator = UTF8Validator()
            var accepted = true
            for byte in bytes { accepted = accepted && [byte].withUnsafeBytes { validator.consume($0) } }
            #expect((accepted && validator.isComplete) == expected)
        }
    }

    @Test func maskingIsItsOwnInverseAtAnyLengthAndAlignment() {
        for count in 0..<100 {
            for start in 0..<9 {
                let original = (0..<(count + start)).map { UInt8(truncatingIfNeeded: $0 &* 7) }
                var bytes = original
                bytes.withUnsafeMutableBytes {
                    WebSocketFraming.mask(UnsafeMutableRawBufferPointer(rebasing: $0[start...]), with: 0x0403_0201)
                }
                for index in 0..<count { #expect(bytes[start + index] == original[start + index] ^ UInt8(index % 4 + 1)) }
                #expect(bytes.prefix(start) == original.prefix(start))
            }
        }
    }

    @Test func outboxKeepsOrderOverChunksAndSharedFrames() {
        let pool = OutboxPool(limit: 4)
        let outbox = pool.take()
        var expected: [UInt8] = []
        var generator = SeededRandom(seed: 5)
        for round in 0..<500 {
            let payload = (0..<Int.random(in: 0...(round % 50 == 0 ? 30_000 : 600), using: &generator)).map {
                UInt8(truncatingIfNeeded: $0)
            }
            if round % 3 == 0 {
                let frame = SharedFrame.binary(payload)
                outbox.append(frame)
                expected += Array(frame.bytes)
            } else {
                payload.withUnsafeBytes { outbox.append($0) }
                expected += payload
            }
        }
        #expect(outbox.count == expected.count)
        #expect(drain(outbox, step: 4321) == expected)
        #expect(outbox.isEmpty)
        pool.giveBack(outbox)
        let again = pool.take()
        [1, 2, 3].withUnsafeBytes { again.append($0) }
        #expect(drain(again, step: 1) == [1, 2, 3].withUnsafeBytes { Array($0) })
    }

    @Test func responseParser() {
        func parse(_ text: String, method: String = "GET", pieces: [Int] = []) -> [String] {
            var parser = HTTPResponseParser()
            parser.expect(method: method)
            var log: [String] = []
            let bytes = Array(text.utf8)
            var start = 0
            for end in pieces + [bytes.count] {
                Array(bytes[start..<end]).withUnsafeBytes { piece in
                    var input = piece
                    while true {
                        switch parser.next(&input) {
                        case .needMore: return
                        case .head(let head): log.append("\(head.status)")
                        case .body(let bytes): log.append(String(decoding: bytes, as: UTF8.self))
                        case .end: log.append("end")
                        case .malformed:
                            log.append("malformed")
                            return
                        }
                    }
                }
                start = end
            }
            if parser.finish() { log.append("end at close") }
            return log
        }
        #expect(
            parse("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 204 No Content\r\n\r\n")
                == ["200", "hi", "end", "204", "end"])
        #expect(parse("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n", method: "HEAD") == ["200", "end"])
        #expect(parse("HTTP/1.0 200 OK\r\n\r\nall", pieces: [3, 20]).last == "end at close")
        #expect(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n") == ["200", "a", "end"])
        #expect(parse("SSH-2.0-OpenSSH\r\n\r\n") == ["malformed"])
        #expect(parse("HTTP/1.1 20 OK\r\n\r\n") == ["malformed"])
    }
}

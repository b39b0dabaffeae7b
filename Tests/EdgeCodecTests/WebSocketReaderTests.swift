import TestSupport
import Testing

@testable import EdgeCodec

/// Frames for tests, written independently of the code under test.
enum TestFrame {
    static func make(
        _ opcode: UInt8, _ payload: [UInt8], fin: Bool = true, rsv: UInt8 = 0, mask: [UInt8]? = [0x37, 0xFA, 0x21, 0x3D]
    ) -> [UInt8] {
        var bytes: [UInt8] = [(fin ? 0x80 : 0) | rsv << 4 | opcode]
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        if payload.count < 126 {
            bytes.append(maskBit | UInt8(payload.count))
        } else if payload.count < 65536 {
            bytes += [maskBit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        } else {
            bytes.append(maskBit | 127)
            for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: payload.count >> shift)) }
        }
        guard let mask else { return bytes + payload }
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    static func text(_ text: String, fin: Bool = true) -> [UInt8] { make(1, Array(text.utf8), fin: fin) }
}

/// What a reader says about some bytes.
func read(
    _ bytes: [UInt8], pieces: [Int] = [], role: WebSocketRole = .server, limit: Int = 1 << 20, deflate: WebSocketDeflate? = nil
) -> [String] {
    var reader = WebSocketReader(role: role, maxMessageBytes: limit, deflate: deflate)
    let pool = WebSocketCompressionPool()
    var log: [String] = []
    func hex(_ bytes: UnsafeRawBufferPointer) -> String { bytes.map { String($0, radix: 16) }.joined(separator: " ") }
    var start = 0
    for end in pieces + [bytes.count] {
        var piece = Array(bytes[start..<end])
        piece.withUnsafeMutableBytes { buffer in
            var input = buffer
            while true {
                switch reader.next(&input, pool) {
                case .needMore: return
                case .text(let text): log.append("text " + String(decoding: text, as: UTF8.self))
                case .binary(let bytes): log.append("binary " + hex(bytes))
                case .ping(let bytes): log.append("ping " + hex(bytes))
                case .pong(let bytes): log.append("pong " + hex(bytes))
                case .close(let code, let reason):
                    log.append("close \(code.map(String.init) ?? "-") " + String(decoding: reason, as: UTF8.self))
                case .failure(let code): log.append("failure \(code)")
                }
            }
        }
        start = end
    }
    return log
}

@Suite struct WebSocketReaderTests {
    @Test func messagesOverEverySplit() {
        let long = String(repeating: "häß€😀", count: 40)
        let stream =
            TestFrame.text("Hello") + TestFrame.make(9, [1, 2]) + TestFrame.text("frag", fin: false) + TestFrame.make(9, [3])
            + TestFrame.make(0, Array("mént".utf8), fin: false) + TestFrame.make(10, []) + TestFrame.make(0, [])
            + TestFrame.text(long) + TestFrame.make(2, [0xFF, 0]) + TestFrame.make(1, [])
            + TestFrame.make(8, [3, 0xE8] + Array("by€".utf8))
        let expected = [
            "text Hello", "ping 1 2", "ping 3", "pong ", "text fragmént", "text \(long)", "binary ff 0", "text ",
            "close 1000 by€",
        ]
        #expect(read(stream) == expected)
        for cut in 0...stream.count { #expect(read(stream, pieces: [cut]) == expected) }
        #expect(read(stream, pieces: Array(0..<stream.count)) == expected)
    }

    @Test func longFramesOfAllLengthForms() {
        for count in [125, 126, 127, 65535, 65536, 200_000] {
            let payload = [UInt8](repeating: UInt8(ascii: "x"), count: count)
            let frame = TestFrame.make(1, payload)
            let expected = ["text " + String(decoding: payload, as: UTF8.self)]
            #expect(read(frame) == expected)
            #expect(read(frame, pieces: [1, 3, 9, 14, count / 2]) == expected)
        }
    }

    /// RFC 6455 §5.7.
    @Test func examplesOfTheRFC() {
        #expect(read([0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]) == ["text Hello"])
        #expect(read([0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F], role: .client) == ["text Hello"])
        #expect(read([0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F], role: .client) == ["text Hello"])
        #expect(read([0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]) == ["pong 48 65 6c 6c 6f"])
    }

    /// In the manner of Autobahn's sections 2 to 5 and 7: frames frozen as bytes, and the code that each must be closed with.
    @Test(arguments: [
        ("ping of 126 bytes", TestFrame.make(9, [UInt8](repeating: 0, count: 126)), 1002),
        ("fragmented ping", TestFrame.make(9, [], fin: false), 1002),
        ("reserved bit 1", TestFrame.make(1, [], rsv: 4), 1002), ("reserved bit 2", TestFrame.make(1, [], rsv: 2), 1002),
        ("reserved bit 3", TestFrame.make(2, [], rsv: 1), 1002), ("reserved bit in ping", TestFrame.make(9, [], rsv: 4), 1002),
        ("opcode 3", TestFrame.make(3, []), 1002), ("opcode 7", TestFrame.make(7, [1]), 1002),
        ("opcode 11", TestFrame.make(11, []), 1002), ("opcode 15", TestFrame.make(15, [1]), 1002),
        ("unmasked", TestFrame.make(1, [], mask: nil), 1002), ("continuation of nothing", TestFrame.make(0, [1]), 1002),
        ("text within text", TestFrame.text("a", fin: false) + TestFrame.text("b"), 1002),
        ("continuation after the end", TestFrame.text("a", fin: false) + TestFrame.make(0, []) + TestFrame.make(0, []), 1002),
        ("length not minimal", [0x81, 0xFE, 0, 5, 0, 0, 0, 0, 1, 1, 1, 1, 1], 1002),
        ("long length not minimal", [0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0], 1002),
        ("length with the high bit", [0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1002),
        ("close of one byte", TestFrame.make(8, [3]), 1002),
        ("close of 126 bytes", TestFrame.make(8, [UInt8](repeating: 3, count: 126)), 1002),
        ("close with bad UTF-8", TestFrame.make(8, [3, 0xE8, 0xCE, 0xBA, 0xE1]), 1007),
        ("overlong", TestFrame.make(1, [0xC0, 0xAF]), 1007), ("surrogate", TestFrame.make(1, [0xED, 0xA0, 0x80]), 1007),
        ("above U+10FFFF", TestFrame.make(1, [0xF4, 0x90, 0x80, 0x80]), 1007),
        ("cut off", TestFrame.make(1, [0xE2, 0x82]), 1007),
        ("too long", [0x82, 0xFF, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0], 1009),
    ])
    func violations(_ name: String, _ bytes: [UInt8], _ code: Int) {
        let expected = "failure \(code)"
        #expect(read(bytes).last == expected)
        #expect(read(bytes, pieces: Array(0..<bytes.count)).last == expected)
        #expect(read(bytes + TestFrame.text("after")).last == expected)
    }

    @Test func closeCodes() {
        for code in [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999] {
            #expect(read(TestFrame.make(8, [UInt8(code >> 8), UInt8(code & 255)])) == ["close \(code) "])
        }
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535] {
            #expect(read(TestFrame.make(8, [UInt8(code >> 8), UInt8(code & 255)])) == ["failure 1002"])
        }
        #expect(read(TestFrame.make(8, [])) == ["close - "])
    }

    /// Autobahn 6.4: bad UTF-8 is refused before the message, or even the frame, is complete.
    @Test func badTextFailsFast() {
        let start = TestFrame.make(1, Array("κόσμε".utf8) + [0xF4, 0x90], fin: false)
        #expect(read(start) == ["failure 1007"])
        #expect(read(Array(start.dropLast())) == [])
        let frame = TestFrame.make(1, Array("κόσμε".utf8) + [0xF4, 0x90, 0x80, 0x80] + Array("edited".utf8))
        #expect(read(Array(frame.dropLast(8))) == ["failure 1007"])
    }

    @Test func theLimitCountsTheWholeMessage() {
        let ten = [UInt8](repeating: 65, count: 10)
        #expect(read(TestFrame.make(2, ten), limit: 10).count == 1)
        #expect(read(TestFrame.make(2, ten + [1]), limit: 10) == ["failure 1009"])
        #expect(read(TestFrame.make(2, ten, fin: false) + TestFrame.make(0, [1]), limit: 10) == ["failure 1009"])
        #expect(read(TestFrame.make(2, ten, fin: false) + TestFrame.make(0, []), limit: 10).count == 1)
        // Said by the header alone.
        #expect(read(Array(TestFrame.make(2, ten + [1]).prefix(6)), limit: 10) == ["failure 1009"])
    }

    @Test func idleReadersHoldNothing() {
        var reader = WebSocketReader(role: .server, maxMessageBytes: 100)
        let pool = WebSocketCompressionPool()
        func feed(_ bytes: [UInt8]) {
            var bytes = bytes
            bytes.withUnsafeMutableBytes { buffer in
                var input = buffer
                while true { if case .needMore = reader.next(&input, pool) { return } }
            }
        }
        let frame = TestFrame.text("hello")
        feed(Array(frame.prefix(8)))
        #expect(reader.isMidMessage)
        feed(Array(frame.dropFirst(8)))
        #expect(!reader.isMidMessage)
    }

    @Test func randomBytesNeverTrap() {
        var generator = SeededRandom(seed: 99)
        let deflate = WebSocketDeflate(keepsContext: true, peerKeepsContext: true)
        for round in 0..<3000 {
            var bytes =
                TestFrame.text("abc", fin: false) + TestFrame.make(9, [1]) + TestFrame.make(0, [0x64])
                + TestFrame.make(8, [3, 0xE8])
            if round % 3 == 0 { bytes = (0..<60).map { _ in UInt8.random(in: 0...255, using: &generator) } }
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            let cut = Int.random(in: 0...bytes.count, using: &generator)
            #expect(read(bytes, limit: 1000) == read(bytes, pieces: [cut], limit: 1000))
            #expect(read(bytes, limit: 1000, deflate: deflate) == read(bytes, pieces: [cut], limit: 1000, deflate: deflate))
        }
    }
}

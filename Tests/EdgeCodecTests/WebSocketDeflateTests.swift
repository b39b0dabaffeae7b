import TestSupport
import Testing

@testable import EdgeCodec

@Suite struct WebSocketDeflateTests {
    private let takeover = WebSocketDeflate(keepsContext: true, peerKeepsContext: true)
    private let alone = WebSocketDeflate(keepsContext: false, peerKeepsContext: false)

    private func frame(_ payload: [UInt8], rsv: UInt8 = 4, fin: Bool = true, opcode: UInt8 = 1) -> [UInt8] {
        TestFrame.make(opcode, payload, fin: fin, rsv: rsv, mask: nil)
    }

    /// RFC 7692 §7.2.3.
    @Test func examplesOfTheRFC() {
        let hello: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
        #expect(read(frame(hello), role: .client, deflate: takeover) == ["text Hello"])
        #expect(
            read(
                frame(Array(hello.prefix(3)), fin: false) + frame(Array(hello.dropFirst(3)), rsv: 0, opcode: 0), role: .client,
                deflate: takeover)
                == ["text Hello"])
        // The second message refers to the first one's window.
        #expect(
            read(frame(hello) + frame([0xF2, 0x00, 0x11, 0x00, 0x00]), role: .client, deflate: takeover) == [
                "text Hello", "text Hello",
            ])
        // A block without compression, one that is final, and two blocks.
        #expect(
            read(frame([0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]), role: .client, deflate: takeover)
                == ["text Hello"])
        #expect(
            read(frame([0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]), role: .client, deflate: takeover) == ["text Hello"])
        #expect(
            read(
                frame([0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00]), role: .client,
                deflate: takeover)
                == ["text Hello"])
        #expect(read(frame([0x00]), role: .client, deflate: takeover) == ["text "])
    }

    @Test func aMessageThatStandsAloneMayNotReferBack() {
        let hello: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
        #expect(
            read(frame(hello) + frame([0xF2, 0x00, 0x11, 0x00, 0x00]), role: .client, deflate: alone) == [
                "text Hello", "failure 1007",
            ])
    }

    private func roundTrip(_ messages: [[UInt8]], _ deflate: WebSocketDeflate, pieces: Int) -> (log: [String], bytes: Int) {
        let pool = WebSocketCompressionPool()
        let outboxes = OutboxPool()
        let outbox = outboxes.take()
        var writer = WebSocketWriter(role: .client, deflate: deflate, compressionThreshold: 0)
        for message in messages {
            message.withUnsafeBytes { writer.message(.text, $0, to: outbox, pool: pool, mask: 0x1234_5678) }
        }
        let bytes = drain(outbox, step: 1000)
        let cuts = pieces == 0 ? [] : Array(stride(from: pieces, to: bytes.count, by: pieces))
        return (read(bytes, pieces: cuts, deflate: deflate), bytes.count)
    }

    @Test func bothContextModesOverAnySplit() {
        var generator = SeededRandom(seed: 3)
        let messages = (0..<20).map { index in
            Array(
                String(
                    repeating: "message \(index) 😀 \(UInt64.random(in: 0...UInt64.max, using: &generator)) ",
                    count: 1 + index * 40
                ).utf8)
        }
        let expected = messages.map { "text " + String(decoding: $0, as: UTF8.self) }
        var sizes: [Bool: Int] = [:]
        for deflate in [takeover, alone] {
            for pieces in [0, 1, 7, 1460] {
                let result = roundTrip(messages + [[]], deflate, pieces: pieces)
                #expect(result.log == expected + ["text "])
                sizes[deflate.keepsContext] = result.bytes
            }
        }
        #expect(sizes[true]! < sizes[false]!)
        for bits in 9...15 {
            let small = WebSocketDeflate(keepsContext: true, peerKeepsContext: true, windowBits: bits)
            #expect(roundTrip(messages, small, pieces: 100).log == expected)
        }
    }

    /// 64 MiB of zeros in some 64 kB: stopped at the limit, over a fast-path frame and over pieces alike.
    @Test func inflationIsBounded() {
        let pool = WebSocketCompressionPool()
        let output = ByteChunk(capacity: 1024)
        let zeros = [UInt8](repeating: 0, count: 16 << 20)
        zeros.withUnsafeBytes { Deflater(windowBits: 15)!.compress($0, into: output, keepsContext: false) }
        let bomb = TestFrame.make(2, Array(output.bytes), rsv: 4)
        #expect(output.count < 200_000)
        #expect(read(bomb, limit: 1 << 20, deflate: alone) == ["failure 1009"])
        #expect(read(bomb, pieces: [100, 5000], limit: 1 << 20, deflate: alone) == ["failure 1009"])
        #expect(pool.inflated.capacity < 1 << 20)
        let exact = [UInt8](repeating: 65, count: 1000)
        let small = ByteChunk(capacity: 16)
        exact.withUnsafeBytes { Deflater(windowBits: 15)!.compress($0, into: small, keepsContext: false) }
        let frame = TestFrame.make(1, Array(small.bytes), rsv: 4)
        #expect(read(frame, limit: 1000, deflate: alone).first?.hasPrefix("text") == true)
        #expect(read(frame, limit: 999, deflate: alone) == ["failure 1009"])
    }

    @Test func compressedTextIsValidatedToo() {
        let output = ByteChunk(capacity: 64)
        [UInt8]([0x41, 0xC0, 0xAF, 0x42]).withUnsafeBytes {
            Deflater(windowBits: 15)!.compress($0, into: output, keepsContext: false)
        }
        let frame = TestFrame.make(1, Array(output.bytes), rsv: 4)
        #expect(read(frame, deflate: alone) == ["failure 1007"])
        #expect(read(frame, pieces: Array(0..<frame.count), deflate: alone) == ["failure 1007"])
        #expect(read(TestFrame.make(1, [0xFF, 0xFF, 0xFF], rsv: 4), deflate: alone) == ["failure 1007"])
    }

    @Test func reservedBitOneIsForTheFirstFrameOnly() {
        #expect(
            read(TestFrame.make(1, [0x4A], fin: false, rsv: 4) + TestFrame.make(0, [], rsv: 4), deflate: takeover).last
                == "failure 1002")
        #expect(read(TestFrame.make(9, [], rsv: 4), deflate: takeover) == ["failure 1002"])
        #expect(read(TestFrame.text("plain"), deflate: takeover) == ["text plain"])
    }

    @Test func negotiation() {
        func header(_ offers: [String], takeover: Bool = true) -> String? {
            WebSocketDeflate.accept(offers, contextTakeover: takeover)?.header
        }
        #expect(header(["permessage-deflate"]) == "permessage-deflate")
        #expect(
            header(["permessage-deflate; client_max_window_bits"], takeover: false)
                == "permessage-deflate; server_no_context_takeover; client_no_context_takeover")
        #expect(header(["permessage-deflate; server_max_window_bits=10"]) == "permessage-deflate; server_max_window_bits=10")
        #expect(header(["permessage-deflate; server_max_window_bits=\"10\""]) == "permessage-deflate; server_max_window_bits=10")
        #expect(
            header(["permessage-deflate; server_no_context_takeover; client_max_window_bits=12"])
                == "permessage-deflate; server_no_context_takeover")
        for bad in [
            "x-webkit-deflate-frame", "permessage-deflate; server_max_window_bits",
            "permessage-deflate; server_max_window_bits=7",
            "permessage-deflate; server_max_window_bits=16", "permessage-deflate; server_max_window_bits=8",
            "permessage-deflate; server_max_window_bits=010", "permessage-deflate; client_max_window_bits=x",
            "permessage-deflate; unknown", "permessage-deflate; server_no_context_takeover=1",
            "permessage-deflate; server_no_context_takeover; server_no_context_takeover", "permessage-deflate;",
        ] {
            #expect(header([bad]) == nil, "\(bad)")
            #expect(header([bad, "permessage-deflate"]) == "permessage-deflate")
        }
    }

    @Test func clientChecksTheResponse() {
        #expect(WebSocketDeflate.confirm("permessage-deflate", offeredTakeover: true) == takeover)
        #expect(WebSocketDeflate.confirm("permessage-deflate", offeredTakeover: false) == nil)
        #expect(
            WebSocketDeflate.confirm("permessage-deflate; server_no_context_takeover", offeredTakeover: false) == alone)
        #expect(WebSocketDeflate.confirm("permessage-deflate; client_max_window_bits", offeredTakeover: true) == nil)
        #expect(WebSocketDeflate.confirm("permessage-deflate; client_max_window_bits=9", offeredTakeover: true)?.windowBits == 9)
        #expect(WebSocketDeflate.confirm("other", offeredTakeover: true) == nil)
    }
}

/// All bytes of an outbox, taken `step` at a time as a socket might.
func drain(_ outbox: Outbox, step: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while !outbox.isEmpty {
        let taken = outbox.withSegments { segments -> Int in
            var left = step
            for segment in segments where left > 0 {
                let piece = UnsafeRawBufferPointer(start: segment.iov_base, count: min(left, segment.iov_len))
                bytes.append(contentsOf: piece)
                left -= piece.count
            }
            return step - left
        }
        outbox.advance(taken)
    }
    return bytes
}

/// The opening handshake (RFC 6455 §4).
public enum WebSocketHandshake {
    /// `Sec-WebSocket-Accept` for a key.
    public static func accept(_ key: String) -> String {
        Base64.encode(SHA1.hash(Array(key.utf8) + Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)))
    }

    /// A client's nonce: 16 random bytes.
    public static func makeKey(using generator: inout some RandomNumberGenerator) -> String {
        Base64.encode((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    /// Whether a request asks for an upgrade to WebSocket at all.
    public static func isUpgrade(_ head: HTTPRequestHead) -> Bool { head.headers.contains("Upgrade", token: "websocket") }

    /// - Returns: the key of a well-formed opening handshake.
    /// - Throws: 400, or 426 for another version (the response must then name 13).
    public static func validate(_ head: HTTPRequestHead) throws(HTTPFault) -> String {
        guard head.method == "GET", head.version == .http11, isUpgrade(head),
            head.headers.contains("Connection", token: "upgrade")
        else { throw .malformed }
        guard head.headers.all("Sec-WebSocket-Version") == ["13"] else { throw .upgradeRequired }
        let keys = head.headers.all("Sec-WebSocket-Key")
        guard keys.count == 1, isKey(keys[0]) else { throw .malformed }
        return keys[0]
    }

    /// 16 bytes in base64: 22 characters and `==`.
    private static func isKey(_ key: String) -> Bool {
        let bytes = Array(key.utf8)
        return bytes.count == 24 && bytes.suffix(2) == Array("==".utf8) && bytes.dropLast(2).allSatisfy(Base64.isDigit)
    }

    /// Subprotocols that the client offers, in its order of preference.
    public static func subprotocols(_ head: HTTPRequestHead) -> [String] { head.headers.tokens("Sec-WebSocket-Protocol") }

    public static func extensions(_ headers: HTTPHeaders) -> [String] { headers.tokens("Sec-WebSocket-Extensions") }
}

/// Base64 of RFC 4648 §4, encoding only.
enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func isDigit(_ byte: UInt8) -> Bool { digits.contains(byte) }

    static func encode(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var value = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            value <<= UInt32(8 * (3 - group.count))
            for place in 0..<4 {
                output.append(place <= group.count ? digits[Int(value >> UInt32(18 - 6 * place)) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

/// SHA-1 (FIPS 180-4), for the handshake only: it guards nothing there.
enum SHA1 {
    static func hash(_ message: [UInt8]) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        var padded = message + [0x80]
        while padded.count % 64 != 56 { padded.append(0) }
        let bits = UInt64(message.count) * 8
        for shift in stride(from: 56, through: 0, by: -8) { padded.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift))) }
        for block in stride(from: 0, to: padded.count, by: 64) { compress(padded[block..<(block + 64)], into: &state) }
        return state.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) } }
    }

    private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var words = [UInt32](repeating: 0, count: 80)
        for index in 0..<16 {
            words[index] = block.dropFirst(index * 4).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<80 {
            words[index] = rotate(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1)
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let (mix, constant): (UInt32, UInt32) =
                switch index {
                case ..<20: ((b & c) | (~b & d), 0x5A82_7999)
                case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case ..<60: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            (a, b, c, d, e) = (rotate(a, 5) &+ mix &+ e &+ constant &+ words[index], a, rotate(b, 30), c, d)
        }
        for (index, value) in [a, b, c, d, e].enumerated() { state[index] &+= value }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}

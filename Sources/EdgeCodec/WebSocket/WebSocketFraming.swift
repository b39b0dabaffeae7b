/// Frame types of RFC 6455 §5.2.
public enum WebSocketOpcode: UInt8, Sendable {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    var isControl: Bool { rawValue >= 8 }
}

/// Which end of the connection we are: it decides who masks (RFC 6455 §5.1).
public enum WebSocketRole: Sendable {
    case server
    case client
}

/// Writing of frame headers, and masking.
public enum WebSocketFraming {
    public static let longestHeader = 14

    @inline(__always)
    public static func headerCount(payload: Int, masked: Bool) -> Int {
        (payload < 126 ? 2 : payload <= 0xFFFF ? 4 : 10) + (masked ? 4 : 0)
    }

    /// Writes a header of ``headerCount(payload:masked:)`` bytes.
    /// - Parameter mask: the masking key in memory order, as ``mask(_:with:)`` takes it.
    @inline(__always)
    public static func writeHeader(
        _ target: UnsafeMutableRawPointer, _ opcode: WebSocketOpcode, fin: Bool = true, compressed: Bool = false, payload: Int,
        mask: UInt32? = nil
    ) {
        let bytes = target.assumingMemoryBound(to: UInt8.self)
        bytes[0] = opcode.rawValue | (fin ? 0x80 : 0) | (compressed ? 0x40 : 0)
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        var end = 2
        if payload < 126 {
            bytes[1] = UInt8(truncatingIfNeeded: payload) | maskBit
        } else if payload <= 0xFFFF {
            bytes[1] = 126 | maskBit
            target.storeBytes(of: UInt16(truncatingIfNeeded: payload).bigEndian, toByteOffset: 2, as: UInt16.self)
            end = 4
        } else {
            bytes[1] = 127 | maskBit
            target.storeBytes(of: UInt64(payload).bigEndian, toByteOffset: 2, as: UInt64.self)
            end = 10
        }
        if let mask { target.storeBytes(of: mask, toByteOffset: end, as: UInt32.self) }
    }

    /// XORs `bytes` with the repeated key (RFC 6455 §5.3), 32 bytes at a step. `key` is in memory order of its first byte.
    @inline(__always)
    public static func mask(_ bytes: UnsafeMutableRawBufferPointer, with key: UInt32) {
        guard let base = bytes.baseAddress, key != 0 else { return }
        let word = UInt64(key) << 32 | UInt64(key)
        let wide = SIMD4<UInt64>(repeating: word)
        var offset = 0
        let count = bytes.count
        while offset + 32 <= count {
            let value = base.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
            base.storeBytes(of: value ^ wide, toByteOffset: offset, as: SIMD4<UInt64>.self)
            offset += 32
        }
        while offset + 8 <= count {
            let value = base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            base.storeBytes(of: value ^ word, toByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        var rest = word
        while offset < count {
            let value = base.load(fromByteOffset: offset, as: UInt8.self)
            base.storeBytes(of: value ^ UInt8(truncatingIfNeeded: rest), toByteOffset: offset, as: UInt8.self)
            rest >>= 8
            offset += 1
        }
    }

    /// The key for bytes that begin `offset` into a masked payload.
    @inline(__always)
    static func rotate(_ key: UInt32, by offset: Int) -> UInt32 {
        let bits = UInt32(offset & 3) * 8
        return bits == 0 ? key : key >> bits | key << (32 - bits)
    }
}

/// Status codes of RFC 6455 §7.4 and the registry it made.
public enum WebSocketCloseCode {
    public static let normal: UInt16 = 1000
    public static let goingAway: UInt16 = 1001
    public static let protocolError: UInt16 = 1002
    public static let unsupportedData: UInt16 = 1003
    public static let invalidData: UInt16 = 1007
    public static let policyViolation: UInt16 = 1008
    public static let messageTooBig: UInt16 = 1009
    public static let internalError: UInt16 = 1011

    /// Whether a peer may send it: not the reserved 1004…1006 and 1015, nor what nobody has registered.
    public static func isValid(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

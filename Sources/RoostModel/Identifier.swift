/// A UUIDv7 (RFC 9562 §5.7) made by the server: 48 bits of Unix milliseconds, then random bits. `Subject` keeps kinds apart.
public struct Identifier<Subject>: Hashable, Comparable, Sendable {
    /// The first eight bytes, big endian.
    public let high: UInt64
    /// The last eight bytes, big endian.
    public let low: UInt64

    @inlinable
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A new identifier of this moment. Those of one process rise with time, to the millisecond.
    public init(at time: Timestamp, using random: inout some RandomNumberGenerator) {
        let milliseconds = UInt64(truncatingIfNeeded: time.milliseconds) & 0xFFFF_FFFF_FFFF
        high = milliseconds << 16 | 0x7000 | random.next() & 0x0FFF
        low = 0x8000_0000_0000_0000 | random.next() & 0x3FFF_FFFF_FFFF_FFFF
    }

    /// A new identifier from the system's clock and random source.
    public static func make() -> Self {
        var random = SystemRandomNumberGenerator()
        return Self(at: .now, using: &random)
    }

    /// Reads the 36 characters of the canonical, lower-case form; anything else is nil.
    public init?(_ text: some StringProtocol) {
        var text = String(text)
        guard let value = text.withUTF8({ Self(ascii: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = value
    }

    /// As ``init(_:)-(StringProtocol)``, from bytes.
    public init?(ascii bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 36 else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        var digits = 0
        for index in 0..<36 {
            let byte = bytes[index]
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            let digit: UInt64
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = UInt64(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = UInt64(byte - UInt8(ascii: "a") + 10)
            default: return nil
            }
            if digits < 16 { high = high << 4 | digit } else { low = low << 4 | digit }
            digits += 1
        }
        self.init(high: high, low: low)
    }

    @inlinable
    public static func < (left: Self, right: Self) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }

    /// Writes the 36 ASCII bytes of the canonical form.
    public func write(to buffer: UnsafeMutablePointer<UInt8>) {
        var position = 0
        for index in 0..<32 {
            if index == 8 || index == 12 || index == 16 || index == 20 {
                buffer[position] = UInt8(ascii: "-")
                position += 1
            }
            let word = index < 16 ? high : low
            let digit = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (index & 15))) & 0xF
            buffer[position] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            position += 1
        }
    }

    /// A well-mixed hash that is the same in every process, for shards, lanes and the like.
    @inlinable
    public var stableHash: UInt64 {
        var value = high ^ (low &* 0x9E37_79B9_7F4A_7C15)
        value ^= value >> 32
        value = value &* 0xD6E8_FEB8_6659_FD93
        value ^= value >> 32
        value = value &* 0xD6E8_FEB8_6659_FD93
        return value ^ (value >> 32)
    }
}

extension Identifier: CustomStringConvertible {
    public var description: String {
        String(unsafeUninitializedCapacity: 36) { buffer in
            write(to: buffer.baseAddress!)
            return 36
        }
    }
}

extension Identifier: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an identifier")
        }
        self = value
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

public enum UserSubject {}
public enum ConversationSubject {}
public enum DeviceSubject {}
public enum SessionSubject {}
public enum IncarnationSubject {}
public enum MediaSubject {}
public enum OperationSubject {}
public enum PlanSubject {}

public typealias UserID = Identifier<UserSubject>
public typealias ConversationID = Identifier<ConversationSubject>
/// An uploaded file.
public typealias MediaID = Identifier<MediaSubject>
/// One logged-in client installation: a refresh-token family.
public typealias DeviceID = Identifier<DeviceSubject>
/// One live WebSocket.
public typealias SessionID = Identifier<SessionSubject>
/// One life of a node: a restart under the same name is another.
public typealias IncarnationID = Identifier<IncarnationSubject>
/// Something that operators, or the cluster itself, began: a drain, a rebalance, a pin.
public typealias OperationID = Identifier<OperationSubject>
/// A list of moves that was drawn up and can be applied.
public typealias PlanID = Identifier<PlanSubject>

/// How the stores write cursors and tokens: bytes in base64url without padding (RFC 4648 section 5), with a version and a kind in front. Whatever was not made by
/// ``CursorWriter`` is a `badCursor`.
public struct CursorWriter {
    private var bytes: [UInt8]

    public init(_ kind: CursorKind) { bytes = [1, kind.rawValue] }

    public mutating func write(_ value: Int64) { append(value) }
    public mutating func write(_ value: UInt64) { append(value) }
    public mutating func write(_ value: UInt8) { bytes.append(value) }
    public mutating func write(_ text: String) {
        append(UInt16(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func append(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// With a checksum, so that a mistyped or cut one is noticed.
    public var text: String { Base64URL.encode(bytes + checksum(bytes[...])) }
}

public enum CursorKind: UInt8, Sendable {
    case conversations = 1, directory = 2, sync = 3, members = 4, channels = 5, search = 6
    case contacts = 16, blocks = 17, operatorUsers = 18, audit = 19, operations = 20, actors = 21
}

public struct CursorReader {
    private var rest: ArraySlice<UInt8>

    public init(_ text: String, _ kind: CursorKind) throws(StoreError) {
        guard text.utf8.count <= 8192, let bytes = Base64URL.decode(text), bytes.count >= 6, bytes[0] == 1,
            bytes[1] == kind.rawValue,
            bytes.suffix(4).elementsEqual(checksum(bytes.dropLast(4)))
        else { throw StoreError(.badCursor) }
        rest = bytes[2..<bytes.count - 4]
    }

    public mutating func integer<Integer: FixedWidthInteger>(_: Integer.Type = Integer.self) throws(StoreError) -> Integer {
        let size = MemoryLayout<Integer>.size
        guard rest.count >= size else { throw StoreError(.badCursor) }
        let value = rest.prefix(size).reduce(Integer.zero) {
            size == 1 ? Integer(truncatingIfNeeded: $1) : $0 << 8 | Integer(truncatingIfNeeded: $1)
        }
        rest = rest.dropFirst(size)
        return value
    }

    public mutating func text() throws(StoreError) -> String {
        let count = Int(try integer(UInt16.self))
        guard rest.count >= count, let text = String(validating: rest.prefix(count), as: UTF8.self), !text.utf8.contains(0)
        else { throw StoreError(.badCursor) }
        rest = rest.dropFirst(count)
        return text
    }

    /// - Throws: ``StoreError`` unless everything was read.
    public func end() throws(StoreError) {
        if !rest.isEmpty { throw StoreError(.badCursor) }
    }
}

/// FNV-1a, 32 bits: against mistakes. A forged cursor reads nothing that its bearer could not ask for anyway.
private func checksum(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var hash: UInt32 = 0x811C_9DC5
    for byte in bytes { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
    return withUnsafeBytes(of: hash.bigEndian) { Array($0) }
}

enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var buffer: UInt32 = 0
        var bits = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[Int(buffer >> UInt32(bits) & 63)])
            }
        }
        if bits > 0 { text.append(alphabet[Int(buffer << UInt32(6 - bits) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// nil for anything that ``encode(_:)`` does not make.
    static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer: UInt32 = 0
        var bits = 0
        for character in text.utf8 {
            guard let value = values[Int(character)] else { return nil }
            buffer = buffer << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        let rest = buffer & (1 << UInt32(bits) - 1)
        return bits >= 6 || rest != 0 ? nil : bytes
    }

    private static let values: [UInt8?] = {
        var values = [UInt8?](repeating: nil, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()
}

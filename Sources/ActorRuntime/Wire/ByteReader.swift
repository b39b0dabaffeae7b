import RoostModel

/// Reads what ``ByteWriter`` wrote. Every read checks its bounds: bytes from the wire are never trusted.
public struct ByteReader {
    public struct Truncated: Error {
        public init() {}
    }

    private let bytes: [UInt8]
    private var position: Int
    private let end: Int

    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
        position = 0
        end = bytes.count
    }

    public var isAtEnd: Bool { position == end }

    public mutating func byte() throws(Truncated) -> UInt8 {
        guard position < end else { throw Truncated() }
        defer { position += 1 }
        return bytes[position]
    }

    public mutating func uint16() throws(Truncated) -> UInt16 { try integer() }

    public mutating func uint32() throws(Truncated) -> UInt32 { try integer() }

    public mutating func uint64() throws(Truncated) -> UInt64 { try integer() }

    public mutating func int64() throws(Truncated) -> Int64 { Int64(bitPattern: try integer()) }

    public mutating func bool() throws(Truncated) -> Bool { try byte() != 0 }

    public mutating func seq() throws(Truncated) -> Seq { Seq(try int64()) }

    public mutating func timestamp() throws(Truncated) -> Timestamp { Timestamp(milliseconds: try int64()) }

    public mutating func identifier<Subject>() throws(Truncated) -> Identifier<Subject> {
        Identifier(high: try uint64(), low: try uint64())
    }

    public mutating func address() throws(Truncated) -> ActorAddress {
        guard let kind = ShardKind(code: try byte()) else { throw Truncated() }
        return ActorAddress(kind: kind, high: try uint64(), low: try uint64())
    }

    public mutating func node() throws(Truncated) -> NodeIdentity {
        NodeIdentity(name: try string(), incarnation: try identifier())
    }

    public mutating func blob() throws(Truncated) -> [UInt8] {
        let count = Int(try uint32())
        guard count <= end - position else { throw Truncated() }
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    public mutating func string() throws(Truncated) -> String {
        let count = Int(try uint32())
        guard count <= end - position else { throw Truncated() }
        defer { position += count }
        return String(decoding: bytes[position..<position + count], as: UTF8.self)
    }

    private mutating func integer<Value: FixedWidthInteger>() throws(Truncated) -> Value {
        let size = MemoryLayout<Value>.size
        guard end - position >= size else { throw Truncated() }
        defer { position += size }
        return bytes.withUnsafeBytes { Value(bigEndian: $0.loadUnaligned(fromByteOffset: position, as: Value.self)) }
    }
}

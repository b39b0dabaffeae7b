import RoostModel

/// Appends the compact encoding that nodes speak: big-endian integers, byte strings behind a 32-bit length.
public struct ByteWriter: Sendable {
    public private(set) var bytes: [UInt8]

    public init(capacity: Int = 64) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    public var count: Int { bytes.count }

    public mutating func append(_ value: UInt8) { bytes.append(value) }

    public mutating func append(_ value: UInt16) { appendInteger(value) }

    public mutating func append(_ value: UInt32) { appendInteger(value) }

    public mutating func append(_ value: UInt64) { appendInteger(value) }

    public mutating func append(_ value: Int64) { appendInteger(UInt64(bitPattern: value)) }

    public mutating func append(_ value: Bool) { bytes.append(value ? 1 : 0) }

    public mutating func append(_ value: Seq) { append(value.value) }

    public mutating func append(_ value: Timestamp) { append(value.milliseconds) }

    public mutating func append<Subject>(_ id: Identifier<Subject>) {
        append(id.high)
        append(id.low)
    }

    public mutating func append(_ address: ActorAddress) {
        append(address.kind.code)
        append(address.high)
        append(address.low)
    }

    public mutating func append(_ node: NodeIdentity) {
        append(node.name)
        append(node.incarnation)
    }

    public mutating func append(_ blob: [UInt8]) {
        append(UInt32(blob.count))
        bytes.append(contentsOf: blob)
    }

    public mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            append(UInt32(utf8.count))
            bytes.append(contentsOf: utf8)
        }
    }

    /// Without a length before it.
    mutating func appendRaw(_ raw: [UInt8]) { bytes.append(contentsOf: raw) }

    /// Overwrites a 16-bit value written before.
    mutating func replace(at position: Int, with value: UInt16) {
        bytes[position] = UInt8(truncatingIfNeeded: value >> 8)
        bytes[position + 1] = UInt8(truncatingIfNeeded: value)
    }

    private mutating func appendInteger<Value: FixedWidthInteger>(_ value: Value) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }
}

extension ShardKind {
    /// Its number on the wire; never reused.
    var code: UInt8 {
        switch self {
        case .conversation: 1
        case .presence: 2
        }
    }

    init?(code: UInt8) {
        switch code {
        case 1: self = .conversation
        case 2: self = .presence
        default: return nil
        }
    }
}

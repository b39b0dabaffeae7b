import RoostModel

/// What a node says of itself every half second.
public struct Heartbeat: Hashable, Sendable {
    public let node: NodeIdentity
    /// The version of the sender's view: whoever has an older one loads it anew.
    public let viewVersion: Int64

    public init(node: NodeIdentity, viewVersion: Int64) {
        self.node = node
        self.viewVersion = viewVersion
    }
}

/// The bytes of heartbeats and view hints.
///
/// All integers are big endian. A heartbeat: `1`, the incarnation's 16 bytes, the view's version (8), then the name in UTF-8 to the
/// end. A hint: `1`, the view's version (8; the greatest number where the sender does not know it, and all should look), the sender's
/// incarnation (16; absent in hints of older releases). The first byte is the form's version: a later release may append fields under `1`
/// only where this one ignores them (hints), and takes another number otherwise.
public enum ClusterWire {
    static let version: UInt8 = 1

    public static func encode(_ heartbeat: Heartbeat) -> [UInt8] {
        var bytes = [version]
        bytes.reserveCapacity(25 + heartbeat.node.name.utf8.count)
        append(heartbeat.node.incarnation.high, to: &bytes)
        append(heartbeat.node.incarnation.low, to: &bytes)
        append(UInt64(bitPattern: heartbeat.viewVersion), to: &bytes)
        bytes.append(contentsOf: heartbeat.node.name.utf8)
        return bytes
    }

    /// Nil for anything else than a heartbeat of a form that this release knows.
    public static func heartbeat(_ bytes: [UInt8]) -> Heartbeat? {
        guard bytes.count > 25, bytes.count <= 25 + 128, bytes[0] == version else { return nil }
        let name = bytes[25...]
        guard name.allSatisfy(isNameByte) else { return nil }
        let version = Int64(bitPattern: integer(bytes, at: 17))
        guard version >= 0 else { return nil }
        let incarnation = IncarnationID(high: integer(bytes, at: 1), low: integer(bytes, at: 9))
        return Heartbeat(
            node: NodeIdentity(name: String(decoding: name, as: UTF8.self), incarnation: incarnation), viewVersion: version)
    }

    /// - Parameter sender: who need not hear of it.
    public static func encode(viewVersion: Int64, from sender: IncarnationID? = nil) -> [UInt8] {
        var bytes = [version]
        append(UInt64(bitPattern: viewVersion), to: &bytes)
        if let sender {
            append(sender.high, to: &bytes)
            append(sender.low, to: &bytes)
        }
        return bytes
    }

    /// Who sent a hint, where it says so.
    public static func hintSender(_ bytes: [UInt8]) -> IncarnationID? {
        guard bytes.count >= 25 else { return nil }
        return IncarnationID(high: integer(bytes, at: 9), low: integer(bytes, at: 17))
    }

    /// Nil for anything else than a hint.
    public static func viewVersion(_ bytes: [UInt8]) -> Int64? {
        guard bytes.count >= 9, bytes.count <= 256, bytes[0] == version else { return nil }
        let version = Int64(bitPattern: integer(bytes, at: 1))
        return version >= 0 ? version : nil
    }

    private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift))) }
    }

    private static func integer(_ bytes: [UInt8], at offset: Int) -> UInt64 {
        bytes[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// As in subjects and ``RoostModel/NodeIdentity/name``.
    static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
        default: false
        }
    }
}

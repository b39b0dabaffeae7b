import ActorRuntime
import RoostModel

/// What nodes tell each other of their online users.
enum RouteMessage {
    /// Users that came online or went offline at the sender, to all nodes.
    case batch(from: NodeIdentity, number: UInt64, online: [UserID], offline: [UserID])
    /// The number of the sender's latest batch, to all nodes, now and then.
    case tip(from: NodeIdentity, number: UInt64)
    /// All online users of the sender, in parts, to all nodes.
    case snapshot(from: NodeIdentity, number: UInt64, online: [UserID], isFirst: Bool, isLast: Bool)
    /// To one node: its batch has arrived.
    case acknowledgement(from: NodeIdentity, number: UInt64)
    /// To one node: please send a snapshot.
    case snapshotRequest(from: NodeIdentity, afterGap: Bool)

    private static let version: UInt8 = 1

    private enum Code {
        static let batch: UInt8 = 1
        static let tip: UInt8 = 2
        static let snapshot: UInt8 = 3
        static let acknowledgement: UInt8 = 4
        static let snapshotRequest: UInt8 = 5
    }

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 128)
        writer.append(Self.version)
        switch self {
        case .batch(let node, let number, let online, let offline):
            writer.append(Code.batch)
            writer.append(node)
            writer.append(number)
            Self.write(online, to: &writer)
            Self.write(offline, to: &writer)
        case .tip(let node, let number):
            writer.append(Code.tip)
            writer.append(node)
            writer.append(number)
        case .snapshot(let node, let number, let online, let isFirst, let isLast):
            writer.append(Code.snapshot)
            writer.append(node)
            writer.append(number)
            Self.write(online, to: &writer)
            writer.append(isFirst)
            writer.append(isLast)
        case .acknowledgement(let node, let number):
            writer.append(Code.acknowledgement)
            writer.append(node)
            writer.append(number)
        case .snapshotRequest(let node, let afterGap):
            writer.append(Code.snapshotRequest)
            writer.append(node)
            writer.append(afterGap)
        }
        return writer.bytes
    }

    /// Nil for what this release does not read.
    init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        do throws(ByteReader.Truncated) {
            guard try reader.byte() == Self.version else { return nil }
            let code = try reader.byte()
            let node = try reader.node()
            switch code {
            case Code.batch:
                self = .batch(
                    from: node, number: try reader.uint64(), online: try Self.users(&reader), offline: try Self.users(&reader))
            case Code.tip:
                self = .tip(from: node, number: try reader.uint64())
            case Code.snapshot:
                self = .snapshot(
                    from: node, number: try reader.uint64(), online: try Self.users(&reader), isFirst: try reader.bool(),
                    isLast: try reader.bool())
            case Code.acknowledgement:
                self = .acknowledgement(from: node, number: try reader.uint64())
            case Code.snapshotRequest:
                self = .snapshotRequest(from: node, afterGap: try reader.bool())
            default:
                return nil
            }
        } catch {
            return nil
        }
    }

    private static func write(_ users: [UserID], to writer: inout ByteWriter) {
        writer.append(UInt32(users.count))
        for user in users { writer.append(user) }
    }

    private static func users(_ reader: inout ByteReader) throws(ByteReader.Truncated) -> [UserID] {
        let count = Int(try reader.uint32())
        var users: [UserID] = []
        users.reserveCapacity(min(count, 4096))
        for _ in 0..<count { users.append(try reader.identifier()) }
        return users
    }
}

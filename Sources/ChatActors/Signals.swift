import ActorRuntime
import Ports
import RoostModel
import Runtime

/// News between nodes that is no message: at most once, with a slower, certain way behind each.
public final class Signals: ClusterSignals, @unchecked Sendable {
    public enum Signal: Sendable, Hashable {
        case deviceRevoked(DeviceID)
        case userChanged(UserID)
        case conversationChanged(ConversationID, for: [UserID])
        case blockChanged(UserID, UserID)
        case userDeleted(UserID, from: ConversationID)
    }

    private static let subject = Subject("roost", "v1", "signal")
    private static let version: UInt8 = 1

    private enum Code {
        static let deviceRevoked: UInt8 = 1
        static let userChanged: UInt8 = 2
        static let conversationChanged: UInt8 = 3
        static let blockChanged: UInt8 = 4
        static let userDeleted: UInt8 = 5
    }

    private let bus: any MessageBus
    private let subscription = Locked<(any BusSubscription)?>(nil)
    private let onSignal: @Sendable (Signal) -> Void

    /// - Parameter onSignal: hears every signal, this node's own too, on any thread.
    public init(bus: any MessageBus, onSignal: @escaping @Sendable (Signal) -> Void) {
        self.bus = bus
        self.onSignal = onSignal
    }

    /// Listens, until the bus stops.
    public func start() throws {
        let heard = try bus.subscribe(to: Self.subject) { [onSignal] message in
            if let signal = Self.decode(message.payload) { onSignal(signal) }
        }
        subscription.withLock { $0 = heard }
    }

    public func deviceRevoked(_ device: DeviceID) {
        // Here at once: the next request with the token may be at the door. A second hearing does nothing.
        onSignal(.deviceRevoked(device))
        spread(.deviceRevoked(device))
    }

    public func userChanged(_ user: UserID) { spread(.userChanged(user)) }

    public func conversationChanged(_ conversation: ConversationID, for members: [UserID]) {
        spread(.conversationChanged(conversation, for: members))
    }

    public func blockChanged(between one: UserID, and other: UserID) { spread(.blockChanged(one, other)) }

    public func userDeleted(_ user: UserID, from conversation: ConversationID) {
        spread(.userDeleted(user, from: conversation))
    }

    private func spread(_ signal: Signal) {
        do throws(BusError) {
            // Our own copy comes back with everybody's.
            try bus.publish(Self.encode(signal), to: Self.subject)
        } catch {
            onSignal(signal)
        }
    }

    static func encode(_ signal: Signal) -> [UInt8] {
        var writer = ByteWriter(capacity: 64)
        writer.append(version)
        switch signal {
        case .deviceRevoked(let device):
            writer.append(Code.deviceRevoked)
            writer.append(device)
        case .userChanged(let user):
            writer.append(Code.userChanged)
            writer.append(user)
        case .conversationChanged(let conversation, let members):
            writer.append(Code.conversationChanged)
            writer.append(conversation)
            writer.append(UInt32(members.count))
            for member in members { writer.append(member) }
        case .blockChanged(let one, let other):
            writer.append(Code.blockChanged)
            writer.append(one)
            writer.append(other)
        case .userDeleted(let user, let conversation):
            writer.append(Code.userDeleted)
            writer.append(user)
            writer.append(conversation)
        }
        return writer.bytes
    }

    /// Nil for what this release does not read.
    static func decode(_ bytes: [UInt8]) -> Signal? {
        var reader = ByteReader(bytes)
        do throws(ByteReader.Truncated) {
            guard try reader.byte() == version else { return nil }
            switch try reader.byte() {
            case Code.deviceRevoked: return .deviceRevoked(try reader.identifier())
            case Code.userChanged: return .userChanged(try reader.identifier())
            case Code.conversationChanged:
                let conversation: ConversationID = try reader.identifier()
                var members: [UserID] = []
                for _ in 0..<(try reader.uint32()) { members.append(try reader.identifier()) }
                return .conversationChanged(conversation, for: members)
            case Code.blockChanged: return .blockChanged(try reader.identifier(), try reader.identifier())
            case Code.userDeleted: return .userDeleted(try reader.identifier(), from: try reader.identifier())
            default: return nil
            }
        } catch {
            return nil
        }
    }
}

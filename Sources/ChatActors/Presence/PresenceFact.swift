import ActorRuntime
import ConversationCore
import RoostModel

/// What a presence actor answers and tells: the state, with a version by which older news is known.
public struct PresenceFact: Sendable {
    public let userID: UserID
    public let state: PresenceState
    public let lastSeenAt: Timestamp?
    public let version: PresenceVersion

    init(userID: UserID, state: PresenceState, lastSeenAt: Timestamp?, version: PresenceVersion) {
        self.userID = userID
        self.state = state
        self.lastSeenAt = lastSeenAt
        self.version = version
    }

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 40)
        writer.append(userID)
        writer.append(state.code)
        writer.append(lastSeenAt?.milliseconds ?? 0)
        writer.append(version.epoch.value)
        writer.append(version.counter)
        return writer.bytes
    }

    public init(_ bytes: [UInt8]) throws(ByteReader.Truncated) {
        var reader = ByteReader(bytes)
        let user: UserID = try reader.identifier()
        let state = PresenceState(code: try reader.byte()) ?? .offline
        let lastSeen = try reader.int64()
        self.init(
            userID: user, state: state, lastSeenAt: lastSeen == 0 ? nil : Timestamp(milliseconds: lastSeen),
            version: PresenceVersion(epoch: Epoch(try reader.int64()), counter: try reader.int64()))
    }
}

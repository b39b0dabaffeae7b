import ActorRuntime
import Ports
import RoostModel

/// What can be asked of a conversation actor. Numbers are wire format: never reused.
enum ConversationVerb: UInt8 {
    case send = 16
    case read = 17
    case delivered = 18
    case typing = 19
    case act = 20
}

/// What can be asked of a presence actor. Numbers are wire format: never reused.
enum PresenceVerb: UInt8 {
    case attach = 16
    case state = 17
    case detach = 18
    case watch = 19
    case unwatch = 20
    case query = 21
}

/// What nodes are told unasked.
enum NoticeTopic {
    static let presence: UInt8 = 1
}

extension SentMessage {
    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 16 + json.count)
        writer.append(isNew)
        writer.append(seq)
        writer.append(json)
        return writer.bytes
    }

    init(_ answer: [UInt8]) throws(ByteReader.Truncated) {
        var reader = ByteReader(answer)
        let isNew = try reader.bool()
        self.init(seq: try reader.seq(), json: try reader.blob(), isNew: isNew)
    }
}

/// The payload of ``ConversationVerb/read`` and ``ConversationVerb/delivered``.
struct PositionRequest {
    let userID: UserID
    let seq: Seq

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 24)
        writer.append(userID)
        writer.append(seq)
        return writer.bytes
    }

    init(userID: UserID, seq: Seq) {
        self.userID = userID
        self.seq = seq
    }

    init(_ payload: [UInt8]) throws(ByteReader.Truncated) {
        var reader = ByteReader(payload)
        self.init(userID: try reader.identifier(), seq: try reader.seq())
    }
}

extension ReadPosition {
    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 16)
        writer.append(readSeq)
        writer.append(deliveredSeq)
        return writer.bytes
    }

    init(_ answer: [UInt8]) throws(ByteReader.Truncated) {
        var reader = ByteReader(answer)
        self.init(readSeq: try reader.seq(), deliveredSeq: try reader.seq())
    }
}

/// The payload of ``ConversationVerb/typing``.
struct TypingRequest {
    let userID: UserID
    let isActive: Bool

    init(userID: UserID, isActive: Bool) {
        self.userID = userID
        self.isActive = isActive
    }

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 17)
        writer.append(userID)
        writer.append(isActive)
        return writer.bytes
    }

    init(_ payload: [UInt8]) throws(ByteReader.Truncated) {
        var reader = ByteReader(payload)
        self.init(userID: try reader.identifier(), isActive: try reader.bool())
    }
}

/// How a session left.
public enum SessionEnding: UInt8, Sendable {
    /// A close frame, a logout, or a close by the server: the user has gone.
    case clean = 0
    /// The line broke; the user may be back in a moment.
    case broken = 1
    /// Nothing came for the whole silence time-out.
    case silent = 2
}

/// The payload of ``PresenceVerb/attach``, ``PresenceVerb/state`` and ``PresenceVerb/detach``.
struct SessionReport {
    let sessionID: SessionID
    let deviceID: DeviceID
    let isBackground: Bool
    let ending: SessionEnding

    init(sessionID: SessionID, deviceID: DeviceID, isBackground: Bool, ending: SessionEnding = .clean) {
        self.sessionID = sessionID
        self.deviceID = deviceID
        self.isBackground = isBackground
        self.ending = ending
    }

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 34)
        writer.append(sessionID)
        writer.append(deviceID)
        writer.append(isBackground)
        writer.append(ending.rawValue)
        return writer.bytes
    }

    init(_ payload: [UInt8]) throws(ByteReader.Truncated) {
        var reader = ByteReader(payload)
        self.init(
            sessionID: try reader.identifier(), deviceID: try reader.identifier(), isBackground: try reader.bool(),
            ending: SessionEnding(rawValue: try reader.byte()) ?? .clean)
    }
}

/// The payload of ``PresenceVerb/watch``.
struct WatchRequest {
    /// What the watching node was told last.
    let known: PresenceState?

    init(known: PresenceState?) { self.known = known }

    func encoded() -> [UInt8] { [known?.code ?? 255] }

    init(_ payload: [UInt8]) {
        known = payload.first.flatMap(PresenceState.init(code:))
    }
}

extension PresenceState {
    /// Its number on the wire; never reused.
    var code: UInt8 {
        switch self {
        case .offline: 0
        case .away: 1
        case .online: 2
        }
    }

    init?(code: UInt8) {
        switch code {
        case 0: self = .offline
        case 1: self = .away
        case 2: self = .online
        default: return nil
        }
    }
}

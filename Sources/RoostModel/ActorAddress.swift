/// The identity of a virtual actor: it always resolves, and the first call wakes it on the owner of its shard.
public struct ActorAddress: Hashable, Sendable, Codable, CustomStringConvertible {
    public let kind: ShardKind
    public let high: UInt64
    public let low: UInt64

    public init(_ conversation: ConversationID) {
        kind = .conversation
        high = conversation.high
        low = conversation.low
    }

    /// The presence of a user.
    public init(_ user: UserID) {
        kind = .presence
        high = user.high
        low = user.low
    }

    public init(kind: ShardKind, high: UInt64, low: UInt64) {
        self.kind = kind
        self.high = high
        self.low = low
    }

    /// Meaningful for conversations.
    public var conversationID: ConversationID { ConversationID(high: high, low: low) }

    /// Meaningful for presence.
    public var userID: UserID { UserID(high: high, low: low) }

    public var shard: ShardID {
        switch kind {
        case .conversation: ShardID(of: conversationID)
        case .presence: ShardID(of: userID)
        }
    }

    /// The same in every process; shards and lanes take different bits of it.
    public var stableHash: UInt64 { conversationID.stableHash }

    /// Which of `count` lanes hosts the actor on any node.
    public func lane(of count: Int) -> Int { Int((stableHash >> 32) % UInt64(count)) }

    public var description: String { "\(kind.rawValue)/\(conversationID)" }

    /// Reads a ``description``; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, let kind = ShardKind(rawValue: String(parts[0])), let id = ConversationID(parts[1]) else {
            return nil
        }
        self.init(kind: kind, high: id.high, low: id.low)
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let address = Self(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an actor address")
        }
        self = address
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// By kind, then by identity.
extension ActorAddress: Comparable {
    public static func < (left: ActorAddress, right: ActorAddress) -> Bool {
        if left.kind != right.kind { return left.kind.rawValue < right.kind.rawValue }
        return (left.high, left.low) < (right.high, right.low)
    }
}

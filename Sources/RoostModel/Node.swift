/// A node in one of its lives.
public struct NodeIdentity: Hashable, Sendable, CustomStringConvertible {
    /// ASCII letters, digits, `-` and `_`; stays over restarts.
    public let name: String
    public let incarnation: IncarnationID

    public init(name: String, incarnation: IncarnationID) {
        self.name = name
        self.incarnation = incarnation
    }

    public var description: String { "\(name)/\(incarnation)" }
}

/// What kind of actor a shard holds.
public enum ShardKind: String, Sendable, CaseIterable {
    case conversation, presence

    /// How many shards there are of this kind, in every cluster, for ever.
    public var count: Int {
        switch self {
        case .conversation: 1024
        case .presence: 256
        }
    }
}

/// One shard of one kind.
public struct ShardID: Hashable, Sendable, CustomStringConvertible {
    public let kind: ShardKind
    public let number: Int

    public init(kind: ShardKind, number: Int) {
        self.kind = kind
        self.number = number
    }

    public init(of conversation: ConversationID) {
        self.init(kind: .conversation, number: Int(conversation.stableHash % UInt64(ShardKind.conversation.count)))
    }

    public init(of user: UserID) {
        self.init(kind: .presence, number: Int(user.stableHash % UInt64(ShardKind.presence.count)))
    }

    public var description: String { "\(kind.rawValue)/\(number)" }
}

extension ShardID {
    /// The shard's place among all shards of all kinds: dense, from 0, the same in every process of a release.
    @inlinable
    public var tableIndex: Int {
        switch kind {
        case .conversation: number
        case .presence: ShardKind.conversation.count + number
        }
    }

    public var isValid: Bool { number >= 0 && number < kind.count }

    /// Every shard, by ``tableIndex``.
    public static let all: [ShardID] = ShardKind.allCases.flatMap { kind in
        (0..<kind.count).map { ShardID(kind: kind, number: $0) }
    }
}

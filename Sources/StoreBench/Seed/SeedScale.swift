import RoostModel

/// How much a seeded database holds. The same scale, seed, time and texts give the same rows.
public struct SeedScale: Sendable {
    public var users: Int
    public var conversations: Int
    public var messages: Int
    public var seed: UInt64
    /// The time of the youngest rows.
    public var now: Timestamp

    /// What the queries are measured on.
    public static let full = (users: 100_000, conversations: 200_000, messages: 1_000_000)

    /// - Parameter fraction: of ``full``; at least a few of everything.
    public init(fraction: Double = 1, seed: UInt64 = 1, now: Timestamp = .now) {
        func part(_ whole: Int) -> Int { max(200, Int(Double(whole) * fraction)) }
        users = part(Self.full.users)
        conversations = part(Self.full.conversations)
        messages = max(part(Self.full.messages), 2 * conversations)
        self.seed = seed
        self.now = now
    }

    /// Public channels, of which the largest has one user in twenty.
    var channels: Int { max(4, conversations / 1000) }
    var groups: Int { conversations / 10 }
}

import LoadCore
import RoostModel

/// A conversation to be filled: who is in it and how much will be in it.
struct SeedConversation {
    let id: ConversationID
    let kind: ConversationKind
    let title: String?
    let history: HistorySetting
    /// Not below 1 but in direct conversations.
    let messageCount: Int
    let createdAt: Timestamp
    let lastActivityAt: Timestamp
    /// Whether the dirty mark is set.
    let isActive: Bool
    /// Numbers of users; those of direct conversations in the order of their ids.
    let members: [Int]
}

/// Makes conversations: nine of ten direct, the rest groups of 3 to 100, a few channels with up to thousands of members. Busy users are
/// in hundreds, most in a handful; a few conversations hold a large part of all messages.
struct SeedConversations {
    private let scale: SeedScale
    private let users: [SeedUser]
    private let popularity: Zipf
    private var pairs = Set<UInt64>()
    private var random: SeededRandom

    init(scale: SeedScale, users: [SeedUser]) {
        self.scale = scale
        self.users = users
        popularity = Zipf(count: users.count, exponent: 0.45)
        random = SeededRandom(seed: scale.seed, stream: 2)
    }

    mutating func make() -> [SeedConversation] {
        let counts = Self.counts(conversations: scale.conversations, messages: scale.messages)
        // The busiest ones first; of those most are channels and groups.
        var kinds = (0..<scale.conversations).map { number -> ConversationKind in
            number < scale.channels ? .channel : number < scale.channels + scale.groups ? .group : .direct
        }
        var rank = 0
        kinds.shuffle(using: &random)
        let busy = min(40, scale.channels)
        let rest = kinds.indices.filter { $0 >= 3 * busy && kinds[$0] == .channel }.prefix(busy)
        for index in rest {
            kinds.swapAt(index, rank)
            rank += 1 + random.index(2)
        }
        var channels = 0
        return kinds.indices.map { index in
            if kinds[index] == .channel { channels += 1 }
            return conversation(kinds[index], count: counts[index], channelRank: channels)
        }
    }

    /// Falling, with the given sum.
    private static func counts(conversations: Int, messages: Int) -> [Int] {
        let weights = Zipf.weights(count: conversations, exponent: 0.8)
        let factor = Double(messages) / weights.reduce(0, +)
        var counts = weights.map { Int($0 * factor) }
        var left = messages - counts.reduce(0, +)
        // What rounding took goes to the quiet ones.
        var index = counts.count - 1
        while left > 0 {
            counts[index] += 1
            left -= 1
            index = index == 0 ? counts.count - 1 : index - 1
        }
        return counts
    }

    private mutating func conversation(_ kind: ConversationKind, count: Int, channelRank: Int) -> SeedConversation {
        let isActive = random.happens(count > 100 ? 0.1 : 0.004)
        let quiet = random.unit()
        let age = isActive ? random.unit() * 600 : 600 + quiet * quiet * 86_400 * 500
        let lastActivityAt = scale.now + .milliseconds(-Int(age * 1000))
        let span = (0.1 + random.unit()) * 86_400 * 30 * min(10, 1 + Double(count) / 100)
        let createdAt = lastActivityAt + .milliseconds(-Int(span * 1000))
        let id = ConversationID(at: createdAt, using: &random)
        let members: [Int]
        switch kind {
        case .direct: members = pair()
        case .group:
            let size = random.unit()
            members = crowd(3 + Int(97 * size * size * size * size * size))
        case .channel: members = crowd(max(3, users.count / 20 / channelRank))
        }
        return SeedConversation(
            id: id, kind: kind, title: kind == .direct ? nil : title(), history: random.happens(0.8) ? .full : .sinceJoined,
            messageCount: kind == .direct ? count : max(1, count), createdAt: createdAt, lastActivityAt: lastActivityAt,
            isActive: isActive && count > 0, members: members)
    }

    private mutating func pair() -> [Int] {
        while true {
            let (a, b) = (popularity.rank(&random), popularity.rank(&random))
            guard a != b, pairs.insert(UInt64(min(a, b)) << 32 | UInt64(max(a, b))).inserted else { continue }
            return users[a].id < users[b].id ? [a, b] : [b, a]
        }
    }

    private mutating func crowd(_ size: Int) -> [Int] {
        var seen = Set<Int>()
        var members: [Int] = []
        while members.count < min(size, max(3, users.count / 4)) {
            let user = popularity.rank(&random)
            if seen.insert(user).inserted { members.append(user) }
        }
        return members
    }

    private static let places = ["Berlin", "Città", "São Paulo", "Прага", "London", "Quito", "Malmö", "東京", "Kyiv", "Nairobi"]
    private static let topics = [
        "Book club", "Familie", "Equipo", "Lauftreff", "Les amis", "Курс", "Board games", "News", "Release planning",
        "Fotografie",
    ]

    private mutating func title() -> String {
        "\(random.element(of: Self.topics)) \(random.element(of: Self.places)) \(random.index(1_000))"
    }
}

import Foundation
import LoadCore
import RoostModel

/// Accounts; one in ten is a guest's.
struct SeedUser {
    let id: UserID
    let email: String?
    let firstName: String?
    let lastName: String?
    let displayName: String
    let createdAt: Timestamp
    let sharesReadReceipts: Bool
    let isListed: Bool
    let lastSeenAt: Timestamp

    private static let firstNames = [
        "Anna", "José", "Łukasz", "Zoë", "Jürgen", "Søren", "Иван", "Ольга", "Chloé", "Mehmet", "Fatima", "Wei", "Yuki", "Priya",
        "Liam",
        "Emma", "Noah", "Olivia", "Mateo", "Sofía", "Björn", "Ingrid", "Ahmed", "Leila", "Nikos", "Eleni", "Tomáš", "Ágnes",
        "Kwame",
        "Amara", "Ravi", "Ana María", "Jean-Luc", "Siobhán", "Giulia", "Marco", "Hanna", "Pedro", "Đorđe", "Mia",
    ]
    private static let syllables = [
        "ba", "ber", "ca", "čer", "da", "del", "do", "fer", "ga", "gol", "ha", "hof", "i", "ja", "ka", "ko", "ki", "la", "lin",
        "ma",
        "mi", "mor", "na", "no", "ol", "pe", "qui", "ra", "ro", "san", "so", "ström", "ta", "tor", "ull", "va", "wag", "xi",
        "yil", "öz",
    ]
    private static let endings = [
        "mann", "sen", "ez", "berg", "er", "ov", "son", "ski", "ín", "ák", "a", "i", "os", "quist", "ić", "ek",
    ]

    private static func surname(_ random: inout SeededRandom) -> String {
        // The square: some are frequent.
        let picks = (0..<2).map { _ in syllables[Int(random.unit() * random.unit() * Double(syllables.count))] }
        return (picks.joined() + random.element(of: endings)).capitalized
    }

    init(number: Int, now: Timestamp, random: inout SeededRandom) {
        createdAt = now + .seconds(-86_400 * (880 + random.index(200)))
        id = UserID(at: createdAt, using: &random)
        let first = random.happens(0.5) ? random.element(of: Self.firstNames) : Self.surname(&random)
        let last = Self.surname(&random)
        if random.happens(0.9) {
            email = "user\(number)@example.com"
            (firstName, lastName) = random.happens(0.8) ? (first, last) : (nil, nil)
            displayName = "\(first) \(last)"
        } else {
            (email, firstName, lastName) = (nil, nil, nil)
            displayName = "\(first) \(number % 100)"
        }
        sharesReadReceipts = random.happens(0.9)
        isListed = random.happens(0.95)
        lastSeenAt = now + .seconds(-random.index(86_400 * 60))
    }

    /// Words of names as the store keeps them: a folded key, and 0 for the display name, 1 for the first, 2 for the last.
    var words: [(folded: String, source: Int)] {
        [displayName, firstName, lastName].enumerated().flatMap { source, name in
            Array(Set(NameFolding.searchKeys(name ?? ""))).sorted().map { ($0, source) }
        }
    }
}

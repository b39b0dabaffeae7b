import ConversationCore
import RoostModel

/// Who types in one conversation: an indicator per typist, forgotten when it has nothing left to say. Few at a time, so a list
/// serves. Pure.
struct Typists {
    private var indicators: [(user: UserID, indicator: TypingIndicator)] = []

    func contains(_ user: UserID) -> Bool { indicators.contains { $0.user == user } }

    var isEmpty: Bool { indicators.isEmpty }

    mutating func set(_ user: UserID, isActive: Bool, at now: Duration) -> [TypingIndicator.Action] {
        update(user, at: now) { isActive ? $0.keystroke(at: now) : $0.stopped() }
    }

    mutating func woke(_ user: UserID, at now: Duration) -> [TypingIndicator.Action] {
        guard contains(user) else { return [] }
        return update(user, at: now) { $0.woke(at: now) }
    }

    private mutating func update(
        _ user: UserID, at now: Duration, _ body: (inout TypingIndicator) -> [TypingIndicator.Action]
    ) -> [TypingIndicator.Action] {
        indicators.removeAll { $0.user != user && $0.indicator.isForgettable(at: now) }
        let index: Int
        if let known = indicators.firstIndex(where: { $0.user == user }) {
            index = known
        } else {
            index = indicators.count
            indicators.append((user, TypingIndicator()))
        }
        return body(&indicators[index].indicator)
    }
}

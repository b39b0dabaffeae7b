import ActorRuntime
import ConversationCore
import EventLoop
import RoostModel
import RoostProtocol

/// Who is shown as typing to one client. The conversation's owner says when it ends; this is for an owner that does not live, or
/// whose word is lost.
struct ShownTyping {
    /// A typist who goes on typing is told of again within the interval, and otherwise ends within the lifetime.
    static let patience: Duration = TypingIndicator.announceInterval + TypingIndicator.lifetime + .seconds(1)

    struct Key: Hashable {
        let conversation: ConversationID
        let user: UserID
    }

    private var timers: [Key: LoopTimer] = [:]

    mutating func started(_ key: Key, _ timer: LoopTimer) { timers.updateValue(timer, forKey: key)?.cancel() }

    /// False where it was not shown.
    mutating func stopped(_ key: Key) -> Bool {
        guard let timer = timers.removeValue(forKey: key) else { return false }
        timer.cancel()
        return true
    }

    /// Takes out those that match.
    mutating func take(where matches: (ConversationID) -> Bool) -> [Key] {
        let keys = timers.keys.filter { matches($0.conversation) }
        for key in keys { _ = stopped(key) }
        return keys
    }

    mutating func clear() { _ = take { _ in true } }
}

extension Session {
    func noteShownTyping(_ delivery: Delivery) {
        guard let user = delivery.subject else { return }
        let key = ShownTyping.Key(conversation: delivery.conversationID, user: user)
        if delivery.kind == .typingStarted {
            let timer = loop.schedule(after: ShownTyping.patience) { [weak self] in
                guard let self, shownTyping.stopped(key) else { return }
                tellTypingStopped(key)
            }
            shownTyping.started(key, timer)
        } else {
            _ = shownTyping.stopped(key)
        }
    }

    /// The owners of some conversations tell no more.
    func endShownTyping(where matches: (ConversationID) -> Bool) {
        for key in shownTyping.take(where: matches) { tellTypingStopped(key) }
    }

    private func tellTypingStopped(_ key: ShownTyping.Key) {
        notify(ServerEvent.typing(conversationID: key.conversation, userID: key.user, isActive: false))
    }
}

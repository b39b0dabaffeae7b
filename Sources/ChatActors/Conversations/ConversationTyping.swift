import ConversationCore
import EventLoop
import RoostModel
import RoostProtocol

/// Who types: never stored, and told to the other members only.
extension ConversationActor {
    func setTyping(_ user: UserID, _ isActive: Bool, _ recipients: [UserID]) {
        perform(typists.set(user, isActive: isActive, at: Self.clock), of: user, recipients)
    }

    func stopTyping(_ user: UserID, _ state: ConversationState) {
        guard typists.contains(user), let recipients = try? state.typingRecipients(of: user) else { return }
        setTyping(user, false, recipients)
    }

    /// Of someone who is a member no longer.
    func endTyping(_ user: UserID) {
        guard typists.contains(user) else { return }
        setTyping(user, false, (state?.memberIDs ?? []).filter { $0 != user })
    }

    private func perform(_ actions: [TypingIndicator.Action], of user: UserID, _ recipients: [UserID]) {
        for action in actions {
            switch action {
            case .announce(let isActive):
                tell(
                    isActive ? .typingStarted : .typingStopped, .zero, about: user, recipients,
                    ServerEvent.typing(conversationID: conversationID, userID: user, isActive: isActive))
            case .scheduleWake(let time):
                lane.loop.schedule(after: time - Self.clock) { [self] in
                    perform(typists.woke(user, at: Self.clock), of: user, (try? state?.typingRecipients(of: user)) ?? [])
                }
            }
        }
    }

    private static var clock: Duration { .nanoseconds(MonotonicTime.now.nanoseconds) }
}

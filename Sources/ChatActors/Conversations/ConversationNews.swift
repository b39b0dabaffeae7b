import ActorRuntime
import ConversationCore
import RoostModel
import RoostProtocol

/// What a conversation tells its members' sessions, after it is durable.
extension ConversationActor {
    func announce(_ event: ConversationEvent, _ json: (Message) -> [UInt8]) {
        switch event {
        case .message(let message, nil): announce(message, json(message), to: state?.memberIDs ?? [])
        case .message(let message, let audience?):
            announce(message, json(message), to: audience.whole)
            if !audience.withoutQuote.isEmpty {
                var message = message
                message.replyTo = nil
                announce(message, message.json(), to: audience.withoutQuote)
            }
            announce(message, nil, to: audience.blank)
        case .hidden(let user, let seq):
            tell(.plain, .zero, [user], ServerEvent.hidden(conversationID: conversationID, seq: seq))
        case .conversation(let users): tell(.conversationChanged, .zero, users, [])
        case .removed(let users):
            for user in users { endTyping(user) }
            tell(.removed, .zero, users, ServerEvent.conversationRemoved(conversationID))
        case .receipt(let receipt):
            tell(
                .plain, .zero, receipt.recipients,
                ServerEvent.receipt(
                    conversationID: conversationID, userID: receipt.userID, readSeq: receipt.readSeq,
                    deliveredSeq: receipt.deliveredSeq))
            tell(
                .plain, .zero, receipt.recipientsWithoutRead,
                ServerEvent.receipt(
                    conversationID: conversationID, userID: receipt.userID, readSeq: nil, deliveredSeq: receipt.deliveredSeq))
        }
    }

    /// - Parameter json: nil for those who may not see the message: for them only the count goes on.
    private func announce(_ message: Message, _ json: [UInt8]?, to recipients: [UserID]) {
        guard !recipients.isEmpty else { return }
        tell(
            .message, message.changeSeq, recipients,
            ServerEvent.message(conversationID: conversationID, seq: message.changeSeq, message: json))
    }

    func tell(
        _ kind: FanoutEvent.Kind, _ seq: Seq, about subject: UserID? = nil, _ recipients: [UserID], _ payload: [UInt8]
    ) {
        guard !recipients.isEmpty else { return }
        context.load.delivered(recipients.count, in: loadSlot)
        context.fanout.send(
            FanoutEvent(
                kind: kind, conversationID: conversationID, seq: seq, subject: subject, recipients: recipients, payload: payload),
            from: lane)
    }
}

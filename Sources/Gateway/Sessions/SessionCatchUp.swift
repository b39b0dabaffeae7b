import Ports
import RoostModel
import RoostProtocol

/// What a session reads from the database for its own user: counted events that it missed, and conversations that changed.
extension Session {
    // MARK: Holes

    func fillHole(in conversation: ConversationID) {
        guard let caller, let last = cursor.last(of: conversation), holesBeingFilled.insert(conversation).inserted else { return }
        services.metrics.holes.increment()
        let services = services
        let generation = generation
        services.executor.run {
            try? await services.backend.conversations.changes(
                of: conversation, for: caller.userID, after: last, limit: Limits.pageMaximum)
        } answer: { [self] result in
            loop.execute {
                guard generation == self.generation else { return }
                self.holeFilled(conversation, after: last, (try? result.get()) ?? nil)
            }
        }
    }

    private func holeFilled(_ conversation: ConversationID, after last: Seq, _ page: ChangesPage?) {
        guard holesBeingFilled.remove(conversation) != nil, case .ready = state else { return }
        guard let page, page.upToSeq > last else { return resync() }
        for value in page.values(after: last) {
            push(
                ServerEvent.message(conversationID: conversation, seq: value.seq, message: value.message?.message.json()))
        }
        let (events, isWhole) = cursor.filled(conversation, upTo: page.upToSeq)
        for event in events { push(event) }
        if !isWhole { fillHole(in: conversation) }
    }

    // MARK: Conversations

    /// Shows the user the conversation as it is for them now.
    func showConversation(_ conversation: ConversationID) {
        guard case .ready(let caller) = state, !isResyncing, views.begin(conversation) else { return }
        readView(of: conversation, caller)
    }

    private func readView(of conversation: ConversationID, _ caller: Caller) {
        let services = services
        services.executor.run {
            try? await services.backend.conversations.conversation(conversation, for: caller.userID)
        } answer: { [self] result in
            loop.execute { self.viewRead(conversation, caller, (try? result.get()) ?? nil) }
        }
    }

    private func viewRead(_ conversation: ConversationID, _ caller: Caller, _ view: ConversationView?) {
        switch views.ended(conversation) {
        case .show:
            // A channel that is only looked at is no news.
            if let view, view.myRole != nil { notify(ServerEvent.conversation(view)) }
        case .readAgain:
            guard case .ready = state else { return }
            readView(of: conversation, caller)
        case .drop: break
        }
    }
}

extension ChangesPage {
    /// Every value of the counter after `last` up to ``upToSeq``, with the message that took it. A value has none where its message was
    /// changed again since, or may not be seen by the reader: the count goes on all the same.
    func values(after last: Seq) -> [(seq: Seq, message: ReadMessage?)] {
        var values: [(seq: Seq, message: ReadMessage?)] = []
        var next = last.next
        func pass(to end: Seq) {
            while next < end {
                values.append((next, nil))
                next = next.next
            }
        }
        for item in items where item.message.changeSeq >= next {
            pass(to: item.message.changeSeq)
            values.append((next, item))
            next = next.next
        }
        pass(to: upToSeq.next)
        return values
    }
}

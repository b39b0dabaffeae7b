import ChatActors
import Ports
import RoostModel
import RoostProtocol

/// What a session does for each kind of frame.
extension Session {
    func perform(_ frame: ClientFrame, _ caller: Caller) {
        let id = frame.id
        switch frame.operation {
        case .hello: answer(id, RoostError(.conflict, "hello was said already"))
        case .send(let conversation, let body): sendMessage(id, conversation, body, caller)
        case .read(let conversation, let seq): move(.read, id, conversation, seq, caller)
        case .delivered(let conversation, let seq): move(.delivered, id, conversation, seq, caller)
        case .typing(let conversation, let isActive): setTyping(id, conversation, isActive, caller)
        case .watch(let users): watch(id, users, caller)
        case .unwatch(let users): unwatch(id, users)
        case .state(let isBackground):
            setBackground(isBackground)
            send(ServerAnswer.empty(id))
        case .token(let token): if renew(token) { send(ServerAnswer.empty(id)) }
        case .ping: send(ServerAnswer.pong(id, serverTime: .now))
        }
    }

    private func sendMessage(_ id: FrameID?, _ conversation: ConversationID, _ body: SendBody, _ caller: Caller) {
        began()
        // The conversation ends the indicator with the message itself.
        typing.remove(conversation)
        if MessageResolver.isWhole(body.body), !sends.isWaiting(in: conversation) {
            return send(id, MessageResolver.message(body, to: conversation, from: caller.userID))
        }
        // What was sent after a message that has to be looked up waits for it, so that the order is the sender's.
        if let first = sends.append(UnresolvedSends.Item(id: id, body: body, caller: caller), to: conversation) {
            resolve(first, in: conversation)
        }
    }

    private func send(_ id: FrameID?, _ message: OutgoingMessage) {
        services.chat.send(message, from: endpoint) { [self] result in
            switch result {
            case .success(let sent): ended(ServerAnswer.sent(id, message: sent.json))
            case .failure(let error): ended(ServerAnswer.failed(id, error))
            }
        }
    }

    private func resolve(_ item: UnresolvedSends.Item, in conversation: ConversationID) {
        let services = services
        services.executor.run { () -> Result<OutgoingMessage, RoostError> in
            do throws(RoostError) {
                let resolver = MessageResolver(backend: services.backend)
                return .success(try await resolver.message(item.body, to: conversation, from: item.caller.userID))
            } catch {
                return .failure(error)
            }
        } answer: { [self] result in
            loop.execute {
                switch result.flatMap({ $0 }) {
                case .success(let message): self.send(item.id, message)
                case .failure(let error): self.ended(ServerAnswer.failed(item.id, error))
                }
                if let next = self.sends.next(in: conversation) { self.resolve(next, in: conversation) }
            }
        }
    }

    private func move(_ kind: PositionKind, _ id: FrameID?, _ conversation: ConversationID, _ seq: Seq, _ caller: Caller) {
        began()
        services.chat.move(kind, of: caller.userID, in: conversation, to: seq, from: endpoint) { [self] result in
            switch result {
            case .failure(let error): ended(ServerAnswer.failed(id, error))
            case .success:
                // Without an id nobody waits for the counts.
                if id == nil { ended(nil) } else { answerCounts(id, conversation, caller) }
            }
        }
    }

    private func answerCounts(_ id: FrameID?, _ conversation: ConversationID, _ caller: Caller) {
        let services = services
        services.executor.run { () -> Result<ConversationCounts?, RoostError> in
            do throws(RoostError) {
                return .success(
                    try await services.backend.ask { () throws(StoreError) in
                        try await services.backend.conversations.counts(of: conversation, for: caller.userID)
                    })
            } catch {
                return .failure(error)
            }
        } answer: { [self] result in
            loop.execute {
                switch result.flatMap({ $0 }) {
                case .success(let counts?): self.ended(ServerAnswer.counts(id, counts))
                case .success(nil): self.ended(ServerAnswer.failed(id, .notFound))
                case .failure(let error): self.ended(ServerAnswer.failed(id, error))
                }
            }
        }
    }

    // MARK: Typing

    private func setTyping(_ id: FrameID?, _ conversation: ConversationID, _ isActive: Bool, _ caller: Caller) {
        began()
        if isActive { typing.insert(conversation) } else { typing.remove(conversation) }
        services.chat.typing(isActive, by: caller.userID, in: conversation, from: endpoint) { [self] result in
            switch result {
            case .success: ended(id == nil ? nil : ServerAnswer.empty(id))
            case .failure(let error):
                typing.remove(conversation)
                ended(ServerAnswer.failed(id, error))
            }
        }
    }

    /// A typist who leaves types no longer.
    func stopTyping(_ caller: Caller) {
        for conversation in typing {
            services.chat.typing(false, by: caller.userID, in: conversation, from: endpoint) { _ in }
        }
        typing = []
    }

    // MARK: Presence

    func attachPresence() {
        guard let caller else { return }
        services.chat.attach(
            sessionID, of: caller.userID, device: caller.deviceID, isBackground: isBackground, from: endpoint)
    }

    func detachPresence(_ caller: Caller, _ ending: SessionEnding) {
        services.chat.detach(sessionID, of: caller.userID, device: caller.deviceID, ending, from: endpoint)
    }

    /// A new owner of the user's presence must hear of this session, and the old owner of a conversation tells no more who types.
    public func ownersChanged(_ changes: OwnerChanges) {
        guard let caller else { return }
        if changes.hasMoved(presenceOf: caller.userID) { attachPresence() }
        endShownTyping { changes.hasMoved($0) }
    }

    /// Something between the nodes was lost: events for this session perhaps, or what its presence's owner knows of it.
    public func mayHaveMissedNews() {
        guard caller != nil else { return }
        attachPresence()
        resync()
    }

    /// Someone that this session watches came or went.
    func presenceChanged(_ presence: Presence) {
        guard case .ready = state, watched.contains(presence.userID) else { return }
        push(ServerEvent.presence(presence))
    }

    /// What the user of this session shares has changed, and with it what they may see of others.
    func recheckWatches() {
        guard let caller, !watched.isEmpty else { return }
        services.watches.recheck(Array(watched), for: self, caller.userID)
    }

    /// The user may not be watched any more: to this client they are as good as gone.
    func watchEnded(_ user: UserID) {
        guard case .ready = state, watched.remove(user) != nil else { return }
        push(ServerEvent.presence(Presence(userID: user, state: .offline, lastSeenAt: nil)))
    }

    private func setBackground(_ isBackground: Bool) {
        guard changeBackground(to: isBackground), let caller else { return }
        services.chat.setBackground(
            isBackground, sessionID, of: caller.userID, device: caller.deviceID, from: endpoint)
    }

    private func watch(_ id: FrameID?, _ users: [UserID], _ caller: Caller) {
        guard watched.union(users).count <= Limits.watchedUsers else { return answer(id, .invalid("userIds", .tooLong)) }
        began()
        // Counted from now on, so that frames sent together share the limit; what was watched before stays whatever comes.
        let new = Set(users).subtracting(watched)
        watched.formUnion(new)
        services.watches.watch(users, for: self, caller) { [self] result in
            let known = Set(((try? result.get()) ?? []).map(\.userID))
            let over = new.filter { !known.contains($0) || !watched.contains($0) || self.caller == nil }
            watched.subtract(over)
            services.watches.drop(self, over)
            switch result {
            case .success(let presence): ended(ServerAnswer.presence(id, presence))
            case .failure(let error): ended(ServerAnswer.failed(id, error))
            }
        }
    }

    private func unwatch(_ id: FrameID?, _ users: [UserID]) {
        let known = watched.intersection(users)
        watched.subtract(known)
        services.watches.drop(self, known)
        send(ServerAnswer.presence(id, []))
    }
}

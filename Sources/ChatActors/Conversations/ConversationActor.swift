import ActorRuntime
import ConversationCore
import Distributed
import EventLoop
import Ports
import RoostModel
import RoostProtocol

/// One conversation: the only writer of its counter. A shell around ``ConversationCore/ConversationState``.
///
/// Calls wait in a mailbox. At the end of a loop turn everything that waits is decided at once and goes into the lane's next commit;
/// when that is durable the callers are answered, and the news is fanned out.
public distributed actor ConversationActor: HostedActor {
    public typealias ActorSystem = RoostActorSystem

    /// Calls that may wait for one conversation; more are told to come back.
    static let mailboxLimit = 2048

    private enum Phase {
        case loading
        case awake(ConversationState)
        /// There is no such conversation, or it could not be read: the lane drops the actor.
        case gone
    }

    nonisolated public var unownedExecutor: UnownedSerialExecutor {
        actorSystem.lane(of: id).loop.asUnownedSerialExecutor()
    }

    let context: ChatLane
    let lane: Lane
    private var phase: Phase = .loading
    private var mailbox: [InboundCall] = []
    private var waiting: [ReplyToken: InboundCall] = [:]
    private var nextToken: UInt64 = 0
    private var isTurnScheduled = false
    /// A batch is on its way to the disk, or its fate is being found out. Everything else can be dropped at once.
    private var isWriting = false
    private var retirement: (@Sendable () -> Void)?
    private var lastUse: Timestamp
    /// When the conversation's row was brought up to date, as far as this actor has done it.
    private var lastSettling: Timestamp
    var typists = Typists()
    /// Where what it does is counted: its place is the same for as long as it is awake.
    let loadSlot: LaneLoad.Slot
    private var rate: ActivityRate

    init(context: ChatLane, lane: Lane, actorSystem: RoostActorSystem) {
        self.actorSystem = actorSystem
        self.context = context
        self.lane = lane
        lastUse = context.now()
        lastSettling = lastUse
        rate = ActivityRate(at: .now)
        loadSlot = context.load.slot(of: lane.endpoint.routing.table.place(of: id))
    }

    var conversationID: ConversationID { id.conversationID }

    // MARK: Calls

    public func receive(_ call: InboundCall) {
        lastUse = context.now()
        switch phase {
        case .gone: lane.answer(call, .notOwner)
        case .loading:
            let isFirst = mailbox.isEmpty
            enqueue(call)
            if isFirst { load() }
        case .awake:
            enqueue(call)
            scheduleTurn()
        }
    }

    private func enqueue(_ call: InboundCall) {
        guard mailbox.count < Self.mailboxLimit else {
            context.metrics.mailboxOverflows.increment()
            return lane.answer(call, .failure(.unavailable))
        }
        mailbox.append(call)
    }

    private func load() {
        context.loader.load(conversationID) { [self] result in
            // Retired meanwhile.
            guard case .loading = phase else { return }
            switch result {
            case .success(let snapshot?): phase = .awake(ConversationState(snapshot, rules: context.settings.rules))
            case .success(nil): leave(answering: .failure(.notFound))
            case .failure(let error): leave(answering: Self.outcome(of: error))
            }
            scheduleTurn()
        }
    }

    private func leave(answering outcome: CallOutcome) {
        phase = .gone
        let calls = mailbox
        mailbox = []
        for call in calls { lane.answer(call, outcome) }
        lane.drop(id)
    }

    // MARK: Turns

    private func scheduleTurn() {
        guard !isTurnScheduled, !mailbox.isEmpty else { return }
        isTurnScheduled = true
        lane.loop.atEndOfTurn { [self] in
            isTurnScheduled = false
            turn()
        }
    }

    /// Decides everything that waits, unless a batch is under way: its end begins the next turn.
    private func turn() {
        guard case .awake(var state) = phase, state.isFree, !mailbox.isEmpty else { return }
        let calls = mailbox
        mailbox = []
        var commands: [ConversationCommand] = []
        commands.reserveCapacity(calls.count)
        for call in calls {
            do throws(ByteReader.Truncated) {
                if let command = try command(of: call, state) { commands.append(command) }
            } catch {
                lane.answer(call, .failure(RoostError(.malformed)))
            }
        }
        guard !commands.isEmpty else { return }
        phase = .gone  // leaves the state unshared while it changes
        let step = state.decide(commands, now: context.now())
        phase = .awake(state)
        take(step)
    }

    /// The command in a call; nil where the call is answered already.
    private func command(of call: InboundCall, _ state: ConversationState) throws(ByteReader.Truncated) -> ConversationCommand? {
        guard let verb = ConversationVerb(rawValue: call.verb) else {
            // A verb of a newer release.
            lane.answer(call, .failure(.unavailable))
            return nil
        }
        switch verb {
        case .send:
            let message = try OutgoingMessage(conversationID: conversationID, call.payload)
            stopTyping(message.senderID, state)
            return .send(
                SendCommand(
                    token: token(for: call), senderID: message.senderID, clientID: message.clientID,
                    fingerprint: message.fingerprint, content: message.content))
        case .read, .delivered:
            let request = try PositionRequest(call.payload)
            let position = PositionCommand(token: token(for: call), userID: request.userID, seq: request.seq)
            return verb == .read ? .read(position) : .delivered(position)
        case .act:
            let request = try ActionRequest(call.payload)
            return .act(ActionCommand(token: token(for: call), userID: request.userID, action: request.action))
        case .typing:
            let request = try TypingRequest(call.payload)
            do throws(RoostError) {
                let recipients = try state.typingRecipients(of: request.userID)
                lane.answer(call, .success([]))
                setTyping(request.userID, request.isActive, recipients)
            } catch {
                lane.answer(call, .failure(error))
            }
            return nil
        }
    }

    private func token(for call: InboundCall) -> ReplyToken {
        nextToken += 1
        let token = ReplyToken(nextToken)
        waiting[token] = call
        return token
    }

    // MARK: Steps

    /// Does what the state machine says: answers, tells, then reads or writes.
    private func take(_ step: ConversationStep) {
        if let missed = step.missed, let members = state?.memberIDs {
            context.announceMissed(conversationID, missed, to: members)
        }
        var encoded: [Seq: [UInt8]] = [:]
        func json(_ message: Message) -> [UInt8] {
            // One message may be told of in several states.
            if let known = encoded[message.changeSeq] { return known }
            let bytes = message.json()
            encoded[message.changeSeq] = bytes
            return bytes
        }
        for reply in step.replies { answer(reply, json) }
        for event in step.events { announce(event, json) }
        switch step.next {
        case .nothing: ended()
        case .commit, .lookUp:
            if retirement != nil {
                // What is not on its way to the disk yet is the next owner's to decide.
                advance { $0.failed(.unavailable) }
            } else {
                perform(step.next)
            }
        // What may have been written told nobody: that is done here and now, also on leaving.
        case .recover: perform(step.next)
        }
    }

    private func perform(_ next: ConversationStep.Next) {
        switch next {
        case .nothing: break
        case .commit(let request): commit(request)
        case .lookUp(let lookup):
            find(lookup) { [self] findings in advance { [now = context.now()] in $0.lookedUp(findings, now: now) } }
        case .recover(let lookup):
            isWriting = true
            context.loader.load(conversationID) { [self] result in
                switch result {
                case .failure(let error): fail(error)
                case .success(let snapshot):
                    find(lookup) { [self] findings in
                        advance { [now = context.now()] in $0.recovered(snapshot, findings, now: now) }
                    }
                }
            }
        }
    }

    private func commit(_ request: CommitRequest) {
        let entry = JournalEntry(
            conversationID: conversationID, messages: request.messages, positions: request.positions, changes: request.changes,
            marksActive: request.marksActive)
        isWriting = true
        context.writer.append(entry) { [self] result in
            switch result {
            case .success(.committed):
                count(request)
                advance { $0.committed() }
            case .success(.conflict): conflicted()
            case .success(.refused): advance { $0.failed(RoostError(.malformed)) }
            case .failure(let error) where error.outcomeUnknown: advance { $0.conflicted() }
            case .failure(let error): fail(error)
            }
        }
    }

    private func count(_ request: CommitRequest) {
        let changes = max(1, request.messages.count)
        rate.happened(changes, at: .now)
        context.load.committed(changes, in: loadSlot)
    }

    /// Another owner was faster. Once may be chance; a rival that keeps winning is the real owner.
    private func conflicted() {
        if case .awake(let state) = phase, state.conflictsInARow >= 4 {
            // What is known of the head is not believed any more.
            return fail(StoreError(.fenced, outcomeUnknown: true))
        }
        advance { $0.conflicted() }
    }

    /// The database did not do what the batch needs: its callers are told to try again, or to look for another owner.
    func fail(_ error: StoreError) {
        answersNotOwner = error.code == .fenced
        advance { $0.failed(.unavailable, outcomeUnknown: error.outcomeUnknown) }
        answersNotOwner = false
        if error.isRetryable { checkLater() }
    }

    /// What was written without our hearing of it has told nobody: once the database is back it is looked at, even if nobody calls.
    private func checkLater() {
        guard !isCheckScheduled, retirement == nil else { return }
        isCheckScheduled = true
        lane.loop.schedule(after: .seconds(1)) { [self] in
            isCheckScheduled = false
            guard case .awake(let state) = phase, state.isFree, retirement == nil else { return }
            advance { [now = context.now()] in $0.decide([], now: now) }
        }
    }

    private var isCheckScheduled = false

    /// While true, failures are answered with `notOwner`, so that callers look for the owner instead of giving up.
    private var answersNotOwner = false

    private func advance(_ body: (inout ConversationState) -> ConversationStep) {
        isWriting = false
        guard case .awake(var state) = phase else { return }
        phase = .gone
        let step = body(&state)
        phase = .awake(state)
        take(step)
    }

    private func ended() {
        if let retirement { return finishRetiring(retirement) }
        if state?.isDeleted == true { return leave(answering: .failure(.notFound)) }
        scheduleTurn()
    }

    var state: ConversationState? {
        if case .awake(let state) = phase { state } else { nil }
    }

    // MARK: Answers

    private func answer(_ reply: ConversationReply, _ json: (Message) -> [UInt8]) {
        guard let call = waiting.removeValue(forKey: reply.token) else { return }
        switch reply.outcome {
        case .message(let message, let isNew):
            lane.answer(call, .success(SentMessage(seq: message.seq, json: json(message), isNew: isNew).encoded()))
        case .position(let position): lane.answer(call, .success(position.encoded()))
        case .done: lane.answer(call, .success([]))
        case .failed(let error):
            let isElsewhere = error.code == .unavailable && (answersNotOwner || retirement != nil)
            lane.answer(call, isElsewhere ? .notOwner : .failure(error))
        }
    }

    // MARK: The lane's questions

    /// A member changed whether read receipts are shared.
    func setSharesReadReceipts(_ shares: Bool, for user: UserID) {
        guard case .awake(var state) = phase else { return }
        phase = .gone
        state.setSharesReadReceipts(shares, for: user)
        phase = .awake(state)
    }

    public func mayPassivate(at now: Timestamp) -> Bool {
        switch phase {
        case .gone: return true
        case .loading: return false
        case .awake(var state):
            guard mailbox.isEmpty, state.isFree else { return false }
            let idle = now - lastUse
            guard idle >= context.settings.settleAfter || now - lastSettling >= context.settings.settleAtLeastEvery else {
                return false
            }
            lastSettling = now
            let settlement = state.beginSettling()
            phase = .awake(state)
            if let settlement { context.settle(settlement) }
            return idle >= context.settings.passivateAfter
        }
    }

    public func retire(_ done: @escaping @Sendable () -> Void) {
        let calls = mailbox
        mailbox = []
        for call in calls { lane.answer(call, .notOwner) }
        switch phase {
        case .gone: done()
        case .awake where isWriting: retirement = done
        // Reads change nothing, and whoever waits for them asks the next owner.
        case .awake, .loading: finishRetiring(done)
        }
    }

    private func finishRetiring(_ done: () -> Void) {
        phase = .gone
        retirement = nil
        for call in waiting.values { lane.answer(call, .notOwner) }
        waiting = [:]
        done()
    }

    private static func outcome(of error: StoreError) -> CallOutcome {
        error.code == .fenced ? .notOwner : .failure(.unavailable)
    }

    // MARK: Inspection

    public var activity: ActorActivity {
        ActorActivity(
            messagesPerSecond: rate.perSecond(at: .now), mailboxDepth: mailbox.count + waiting.count,
            idleSeconds: max(0, (context.now() - lastUse) / .seconds(1)), routes: [])
    }

    public var routes: [String] {
        let members = state?.memberIDs ?? []
        var names = context.fanout.routes.nodes(of: members)
        if members.contains(where: context.fanout.hub.hasSessions), let here = lane.endpoint.routing.identity {
            names.append(here.name)
        }
        return names.sorted()
    }

    /// `describe` → the counter, the members' number, how many calls wait.
    public distributed func perform(_ request: ActorEnvelope) async throws -> ActorEnvelope {
        guard request.verb == "describe" else { throw RoostError(.malformed) }
        return ActorEnvelope(
            verb: request.verb,
            body: [
                "head": String(state?.head.value ?? 0), "members": String(state?.memberIDs.count ?? 0),
                "mailboxDepth": String(mailbox.count + waiting.count),
            ])
    }
}

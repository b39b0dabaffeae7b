import ActorRuntime
import ChatActors
import EdgeServer
import EventLoop
import Ports
import RoostModel
import RoostProtocol

/// One WebSocket of one device: from `hello` to the close. Confined to its connection's loop.
public final class Session: WebSocketHandler, @unchecked Sendable {
    enum State {
        case awaitingHello
        /// The token is good; whether the profile is complete is being asked.
        case checkingProfile
        /// The token is good; other nodes are being told of the user.
        case attaching(Caller)
        case ready(Caller)
        case closed
    }

    let services: SessionServices
    let loop: EventLoop
    let sessionID = SessionID.make()
    /// Until it has closed: answers to what was asked before still come after that, and find nobody.
    private var socket: WebSocketConnection?
    private(set) var state: State = .awaitingHello
    private(set) var isBackground = false
    private(set) var framesInFlight = 0
    private var bucket: TokenBucket
    var cursor = EventCursor()
    var holesBeingFilled: Set<ConversationID> = []
    /// Rises with each resync: what was read for an earlier one is not sent.
    private(set) var generation = 0
    var views = ViewReads()
    private var unreadable = UnreadableFrames()
    private(set) var isResyncing = false
    private var deadline: LoopTimer?
    /// What came while the profile was being checked.
    private var held: [ParsedFrame] = []
    /// Conversations in which the user is shown as typing by this session.
    var typing: Set<ConversationID> = []
    var watched: Set<UserID> = []
    var sends = UnresolvedSends()
    var shownTyping = ShownTyping()

    public init(services: SessionServices, socket: WebSocketConnection) {
        self.services = services
        self.socket = socket
        loop = socket.loop
        bucket = TokenBucket(services.settings.frameRate ?? .init(perSecond: 0, burst: 0), at: .now)
    }

    var endpoint: Endpoint { services.endpoint(on: loop) }

    var caller: Caller? {
        switch state {
        case .awaitingHello, .checkingProfile, .closed: nil
        case .attaching(let caller), .ready(let caller): caller
        }
    }

    // MARK: Opening

    public func opened(_ socket: WebSocketConnection) {
        deadline = loop.schedule(after: services.settings.helloTimeout) { [weak self] in
            self?.helloTimedOut()
        }
    }

    private func helloTimedOut() {
        switch state {
        case .awaitingHello: close(.unauthenticated)
        case .checkingProfile: close(.internalError)
        case .attaching, .ready, .closed: break
        }
    }

    private func hello(_ hello: ClientOperation.Hello) {
        switch services.authenticator.verify(hello.token) {
        case .failure(let error): close(error.code == .tokenExpired ? .tokenExpired : .unauthenticated)
        case .success(let caller):
            isBackground = hello.isBackground
            guard let profiles = services.profiles, !profiles.isKnownComplete(caller.userID) else { return attach(caller) }
            state = .checkingProfile
            services.executor.run {
                () async -> Result<Void, RoostError> in
                do throws(RoostError) { return .success(try await profiles.require(caller.userID)) } catch {
                    return .failure(error)
                }
            } answer: { [self] result in
                loop.execute { self.profileChecked(caller, result.flatMap { $0 }) }
            }
        }
    }

    private func profileChecked(_ caller: Caller, _ result: Result<Void, RoostError>) {
        guard case .checkingProfile = state else { return }
        switch result {
        case .success: attach(caller)
        case .failure(let error): close(error.code == .profileIncomplete ? .profileIncomplete : .internalError)
        }
    }

    private func attach(_ caller: Caller) {
        state = .attaching(caller)
        expire(at: caller.expiresAt)
        if let oldest = services.registry.add(self, of: caller.userID) {
            services.metrics.crowdedOut.increment()
            oldest.loop.execute { oldest.close(.wrongUse) }
        }
        attachPresence()
        services.routes.attach(caller.userID) { [self] in loop.execute { self.attached() } }
        let frames = held
        held = []
        for frame in frames { take(frame) }
    }

    /// Every owner of a conversation sends us the user's events now: what is committed from here on will come.
    private func attached() {
        guard case .attaching(let caller) = state else { return }
        // Between the check of the token and the entry in the registry a revocation would have found nobody.
        guard !services.authenticator.isRevoked(caller.deviceID) else { return close(.revoked) }
        guard !services.registry.isLeaving else { return close(.goingAway) }
        state = .ready(caller)
        services.metrics.ready.increment()
        send(
            ServerEvent.ready(
                Ready(
                    userID: caller.userID, deviceID: caller.deviceID, sessionID: sessionID, node: services.settings.nodeName,
                    serverTime: .now, pingIntervalSeconds: services.settings.pingIntervalSeconds)))
    }

    // MARK: Frames

    public func received(binary: UnsafeRawBufferPointer, _ socket: WebSocketConnection) {
        close(caller == nil ? .unauthenticated : .wrongUse)
    }

    public func received(text: UnsafeRawBufferPointer, _ socket: WebSocketConnection) {
        take(ClientFrame.parse(text.assumingMemoryBound(to: UInt8.self)))
    }

    private func take(_ parsed: ParsedFrame) {
        switch (state, parsed) {
        case (.closed, _): break
        case (.checkingProfile, _): hold(parsed)
        case (.awaitingHello, .frame(let frame)):
            // Anything but a hello, however well formed, is not for strangers.
            guard case .hello(let body) = frame.operation else { return close(.unauthenticated) }
            hello(body)
        case (.awaitingHello, .rejected): close(.unauthenticated)
        case (.attaching(let caller), .frame(let frame)), (.ready(let caller), .frame(let frame)):
            do throws(RoostError) {
                try admitFrame(caller)
                perform(frame, caller)
            } catch {
                services.metrics.refusedFrames.increment()
                answer(frame.id, error)
            }
        case (.attaching, .rejected(let id, let error, let isUnreadable)),
            (.ready, .rejected(let id, let error, let isUnreadable)):
            if isUnreadable, unreadable.count(at: .now) >= services.settings.unreadableFramesPerMinute { return close(.wrongUse) }
            answer(id, error)
        }
    }

    /// Clients need not wait for `ready`; but nothing is done for one who may not be here.
    private func hold(_ parsed: ParsedFrame) {
        guard held.count < services.settings.heldFrames else {
            services.metrics.refusedFrames.increment()
            return close(.wrongUse)
        }
        held.append(parsed)
    }

    private func admitFrame(_ caller: Caller) throws(RoostError) {
        guard framesInFlight < services.settings.framesInFlight else { throw RoostError(.rateLimited) }
        if let rate = services.settings.frameRate, !bucket.take(rate, at: .now) {
            throw RoostError(.rateLimited, retryAfter: bucket.secondsUntilNext(rate))
        }
        try services.limiter.admitFrame(caller)
    }

    /// Counts a frame that is answered later.
    func began() { framesInFlight += 1 }

    /// Sends the answer of a frame that ``began()``.
    func ended(_ answer: [UInt8]?) {
        framesInFlight -= 1
        if let answer { send(answer) }
    }

    func answer(_ id: FrameID?, _ error: RoostError) { send(ServerAnswer.failed(id, error)) }

    /// False where that is how it was.
    func changeBackground(to value: Bool) -> Bool {
        defer { isBackground = value }
        return isBackground != value
    }

    // MARK: Tokens

    /// Takes a fresh token of the same user and device.
    func renew(_ token: String) -> Bool {
        guard case .success(let fresh) = services.authenticator.verify(token), let caller, fresh.userID == caller.userID,
            fresh.deviceID == caller.deviceID
        else {
            close(.unauthenticated)
            return false
        }
        switch state {
        case .attaching: state = .attaching(fresh)
        case .ready: state = .ready(fresh)
        case .awaitingHello, .checkingProfile, .closed: break
        }
        expire(at: fresh.expiresAt)
        return true
    }

    private func expire(at time: Timestamp) {
        deadline?.cancel()
        deadline = loop.schedule(after: max(.zero, time - .now)) { [weak self] in self?.close(.tokenExpired) }
    }

    func closeIfRevoked(_ devices: Set<DeviceID>) {
        guard let caller, devices.contains(caller.deviceID) else { return }
        close(.revoked)
    }

    // MARK: Events

    func deliver(_ delivery: Delivery) {
        // Before `ready` nothing is owed: the client syncs after it.
        guard case .ready = state, !isResyncing else { return }
        switch delivery.kind {
        case .plain: push(delivery)
        case .typingStarted, .typingStopped:
            noteShownTyping(delivery)
            push(delivery)
        case .advanced:
            let (first, last) = (delivery.advancedFrom ?? delivery.seq, delivery.seq)
            if cursor.advanced(delivery.conversationID, from: first, to: last) { fillHole(in: delivery.conversationID) }
        case .removed:
            cursor.forget(delivery.conversationID)
            holesBeingFilled.remove(delivery.conversationID)
            views.forget(delivery.conversationID)
            // Nothing comes after this event, not even that somebody types no longer.
            _ = shownTyping.take { $0 == delivery.conversationID }
            push(delivery)
        case .conversationChanged: showConversation(delivery.conversationID)
        case .message:
            switch cursor.judge(delivery, heldLimit: services.settings.heldEvents) {
            case .send: push(delivery)
            case .skip: break
            case .hold: fillHole(in: delivery.conversationID)
            case .overflow: resync()
            }
        }
    }

    /// An event that is not counted.
    func notify(_ event: [UInt8]) {
        guard case .ready = state, !isResyncing else { return }
        push(event)
    }

    func push(_ delivery: Delivery) {
        guard let socket else { return }
        if socket.outboxBytes > services.settings.eventOutboxBytes || !socket.send(delivery.frame) { outboxFull() }
    }

    /// An event made for this session alone.
    func push(_ event: [UInt8]) {
        guard let socket, socket.isOpen else { return }
        if socket.outboxBytes > services.settings.eventOutboxBytes || !socket.sendText(event) { outboxFull() }
    }

    /// An answer. It finds room where events no longer do; a client that leaves not even that for the answers to its own questions
    /// is too slow.
    func send(_ answer: [UInt8]) {
        if let socket, !socket.sendText(answer), socket.isOpen { tooSlow() }
    }

    /// This session missed something that cannot be given event by event.
    public func resync() {
        guard case .ready = state, !isResyncing else { return }
        services.metrics.resyncs.increment()
        cursor.reset()
        holesBeingFilled = []
        generation += 1
        if let socket, !socket.sendText(ServerEvent.resync()), socket.isOpen { tooSlow() }
    }

    /// The first time the outbox is full the rest of the events is dropped, and `resync` follows once it has drained; a client
    /// that does not even take that is too slow.
    private func outboxFull() {
        guard !isResyncing else { return }
        isResyncing = true
        deadlineForDraining = loop.schedule(after: .seconds(10)) { [weak self] in
            guard let self, isResyncing else { return }
            tooSlow()
        }
    }

    private var deadlineForDraining: LoopTimer?

    public func drained(_ socket: WebSocketConnection) {
        guard isResyncing else { return }
        isResyncing = false
        deadlineForDraining?.cancel()
        resync()
    }

    private func tooSlow() {
        services.metrics.tooSlow.increment()
        close(.tooSlow)
    }

    // MARK: Leaving

    /// Tells the client to go elsewhere.
    public func goAway(afterSeconds seconds: Int) {
        guard caller != nil else { return }
        push(ServerEvent.goaway(afterSeconds: seconds))
    }

    public func close(_ code: CloseCode) {
        socket?.close(code: code.rawValue, reason: code.reason)
    }

    public func closed(_ how: WebSocketClosure, _ socket: WebSocketConnection) {
        deadline?.cancel()
        deadlineForDraining?.cancel()
        self.socket = nil
        guard let caller else {
            state = .closed
            return
        }
        services.registry.remove(self, of: caller.userID)
        stopTyping(caller)
        detachPresence(caller, ending(how))
        services.watches.drop(self, watched)
        shownTyping.clear()
        services.routes.detach(caller.userID)
        state = .closed
    }

    private func ending(_ how: WebSocketClosure) -> SessionEnding {
        switch how {
        case .closeFrame: .clean
        case .broken: .broken
        case .silent: .silent
        case .local(let code):
            // A client that is sent to another node will be back in a moment.
            code == CloseCode.goingAway.rawValue || code == CloseCode.tooSlow.rawValue ? .broken : .clean
        }
    }
}

/// Counts frames that are not acceptable JSON, over a sliding minute.
struct UnreadableFrames {
    private var times: [MonotonicTime] = []

    /// Counts one more; answers how many there were in the last minute.
    mutating func count(at now: MonotonicTime) -> Int {
        times.removeAll { now - $0 > .seconds(60) }
        times.append(now)
        return times.count
    }
}

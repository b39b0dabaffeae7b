import RoostModel

/// A node's whole part in the cluster, as one state machine: joining, its lease, watching the others, leading when it falls to it,
/// handing over shards, and coming back as a new incarnation when it was declared dead.
///
/// The shell calls ``tick(at:)`` every ``ClusterTimings/tick`` and reports events as they come; each call answers what to do now.
/// Times are since any fixed moment of a monotonic clock that goes on while the process is stopped.
public struct MembershipMachine: Sendable {
    enum State: Sendable {
        case outside
        case member(Member)
        /// Left in good order, or displaced: nothing more to do.
        case ended
    }

    public let name: String
    private let timings: ClusterTimings
    private var state = State.outside
    private var isRegistering = false
    private var nextRegistration = Duration.zero
    private var isBusConnected = false
    private var store = StoreHealth()
    /// Incarnations that this process made, the newest last: a registration whose answer was lost may still take effect.
    private var ownIncarnations: [IncarnationID] = []

    public init(name: String, timings: ClusterTimings) {
        self.name = name
        self.timings = timings
    }

    // MARK: What is known

    public var identity: NodeIdentity? { member?.identity }
    public var view: ClusterView? { member?.view }
    /// Until when this node may serve; nil where it may not.
    public var servingDeadline: Duration? { member?.lease.servingDeadline }
    public func leaseAge(at now: Duration) -> Duration? { member?.lease.age(at: now) }
    public var suspects: Set<NodeIdentity> { member?.detector.suspects ?? [] }
    public func isLeading(at now: Duration) -> Bool { member?.leader.term(at: now) != nil }
    public var loads: LoadBook { member?.loads ?? LoadBook() }
    public var isEnded: Bool { if case .ended = state { true } else { false } }

    private var member: Member? { if case .member(let member) = state { member } else { nil } }

    // MARK: Time

    public mutating func tick(at now: Duration) -> [MembershipAction] {
        switch state {
        case .outside:
            // Without the bus a node is of no use, and would only be taken for dead.
            guard !isRegistering, isBusConnected, now >= nextRegistration else { return [] }
            isRegistering = true
            return [.register]
        case .member: return update(at: now) { $0.tick(at: now) }
        case .ended: return []
        }
    }

    // MARK: Joining and leaving

    /// The shell is about to register as `incarnation`.
    public mutating func willRegister(_ incarnation: IncarnationID) {
        ownIncarnations.append(incarnation)
        if ownIncarnations.count > 64 { ownIncarnations.removeFirst() }
    }

    public mutating func registered(_ node: NodeIdentity, startedAt start: Duration, at now: Duration) -> [MembershipAction] {
        isRegistering = false
        guard case .outside = state else { return [] }
        store.answered(at: now, timings)
        state = .member(
            Member(node, timings: timings, store: store, isBusConnected: isBusConnected, registrationStart: start, at: now))
        return [.joined(node)] + update(at: now) { $0.proceed(at: now) }
    }

    public mutating func registrationFailed(at now: Duration) {
        isRegistering = false
        nextRegistration = now + timings.retryInterval
    }

    /// The delegate is ready for this incarnation: say so to the others.
    public mutating func announced(_ node: NodeIdentity, at now: Duration) -> [MembershipAction] {
        update(node, at: now) { $0.announced(at: now) }
    }

    /// The node is about to leave: it leads no more. Its lease goes on until ``left()``.
    public mutating func beginLeaving() {
        guard case .member(var member) = state else { return }
        member.beginLeaving()
        state = .member(member)
    }

    public mutating func left() -> [MembershipAction] {
        let isKnown = member?.view != nil
        state = .ended
        return isKnown ? [.announceView(version: .max)] : []
    }

    // MARK: Events of the bus

    public mutating func bus(isConnected: Bool, at now: Duration) -> [MembershipAction] {
        isBusConnected = isConnected
        return update(at: now) { $0.bus(isConnected: isConnected, at: now) }
    }

    public mutating func received(_ heartbeat: Heartbeat, at now: Duration) -> [MembershipAction] {
        update(at: now) { $0.received(heartbeat, at: now) }
    }

    /// What a node says of its work; this node's own too.
    public mutating func received(_ report: LoadReport, at now: Duration) {
        guard case .member(var member) = state else { return }
        state = .outside
        member.received(report, at: now)
        state = .member(member)
    }

    public mutating func received(hint version: Int64, at now: Duration) -> [MembershipAction] {
        update(at: now) { $0.received(hint: version, at: now) }
    }

    public mutating func probeEnded(_ node: NodeIdentity, of peer: NodeIdentity, answered: Bool, at now: Duration)
        -> [MembershipAction]
    {
        update(node, at: now) { $0.probeEnded(peer, answered: answered, at: now) }
    }

    // MARK: Answers of the store

    public mutating func renewalEnded(
        _ node: NodeIdentity, _ outcome: LeaseMachine.Outcome, startedAt start: Duration, at now: Duration
    ) -> [MembershipAction] {
        if outcome != .failed { noteAnswer(at: now) }
        return update(node, at: now) { member in
            member.lease.renewalEnded(outcome, startedAt: start, at: now)
            return member.proceed(at: now)
        }
    }

    public mutating func versionPolled(_ node: NodeIdentity, _ outcome: StoreOutcome<Int64>, at now: Duration)
        -> [MembershipAction]
    {
        if case .success = outcome { noteAnswer(at: now) }
        return update(node, at: now) { $0.versionPolled(outcome, at: now) }
    }

    public mutating func viewLoaded(
        _ node: NodeIdentity, _ outcome: StoreOutcome<ClusterSnapshot>, startedAt start: Duration, at now: Duration
    ) -> [MembershipAction] {
        if case .success = outcome { noteAnswer(at: now) }
        return update(node, at: now) { $0.viewLoaded(outcome, startedAt: start, at: now) }
    }

    /// - Parameter outcome: the term, or nil where another leads.
    public mutating func leadEnded(
        _ node: NodeIdentity, _ outcome: StoreOutcome<Int64?>, startedAt start: Duration, at now: Duration
    ) -> [MembershipAction] {
        if case .success = outcome { noteAnswer(at: now) }
        return update(node, at: now) { $0.leadEnded(outcome, startedAt: start, at: now) }
    }

    /// - Parameter outcome: false where the term is over.
    public mutating func dutyEnded(_ node: NodeIdentity, _ outcome: StoreOutcome<Bool>, at now: Duration) -> [MembershipAction] {
        if case .success = outcome { noteAnswer(at: now) }
        return update(node, at: now) { $0.dutyEnded(outcome, at: now) }
    }

    public mutating func releaseEnded(
        _ node: NodeIdentity, _ places: [Place], _ outcome: StoreOutcome<Void>, at now: Duration
    ) -> [MembershipAction] {
        if case .success = outcome { noteAnswer(at: now) }
        return update(node, at: now) { $0.releaseEnded(places, outcome, at: now) }
    }

    // MARK: Inside

    private mutating func noteAnswer(at now: Duration) {
        store.answered(at: now, timings)
        guard case .member(var member) = state else { return }
        member.store = store
        state = .member(member)
    }

    /// Runs `body` on the member, if it is still (that of) `node`, and draws the consequences of its end.
    private mutating func update(
        _ node: NodeIdentity? = nil, at now: Duration, _ body: (inout Member) -> [MembershipAction]
    ) -> [MembershipAction] {
        guard case .member(var member) = state, node == nil || member.identity == node else { return [] }
        // No second reference to the member while it changes.
        state = .outside
        let actions = body(&member)
        guard member.isOver else {
            state = .member(member)
            return actions
        }
        if member.isLeaving {
            state = .ended
            return actions
        }
        if let successor = member.successor, !ownIncarnations.contains(successor.incarnation) {
            state = .ended
            return actions + [.displaced(by: successor)]
        }
        nextRegistration = now
        return actions + tick(at: now)
    }
}

/// Whether the store could be asked lately, and so whether an expired lease of another means anything: while nobody could renew,
/// everybody's lease ran out.
struct StoreHealth: Sendable {
    private var lastAnswer: Duration?
    /// Until when expired leases are not believed.
    private(set) var leasesBelievedFrom = Duration.zero
    private var answering = Duration.zero

    /// Since when it has answered without a gap; nil while it does not. This node asks at least once a poll interval.
    func answersSince(at now: Duration, _ timings: ClusterTimings) -> Duration? {
        guard let lastAnswer, now - lastAnswer <= timings.viewPollInterval * 2 else { return nil }
        return answering
    }

    mutating func answered(at now: Duration, _ timings: ClusterTimings) {
        // This node asks at least once a poll interval. A gap shorter than this cannot have cost anyone a lease.
        let harmless = timings.leaseDuration - timings.renewalInterval - timings.viewPollInterval
        if lastAnswer.map({ now - $0 > harmless }) ?? true { leasesBelievedFrom = now + timings.leaseDuration }
        if lastAnswer.map({ now - $0 > timings.viewPollInterval * 2 }) ?? true { answering = now }
        lastAnswer = now
    }
}

import RoostModel

/// One incarnation's part in the cluster, from its registration to its end. See ``MembershipMachine``.
struct Member: Sendable {
    let identity: NodeIdentity
    var lease: LeaseMachine
    private(set) var detector: FailureDetector
    private(set) var leader: LeaderMachine
    private(set) var view: ClusterView?
    /// The process that took this node's name, where one did.
    private(set) var successor: NodeIdentity?
    var store: StoreHealth
    /// What the nodes say of their work.
    private(set) var loads = LoadBook()

    private let timings: ClusterTimings
    private var duties: LeaderDuties
    private let registeredAt: Duration
    private var snapshot: ClusterSnapshot?
    /// When the load that gave `snapshot` began.
    private var snapshotAt = Duration.zero

    private var isAnnounced = false
    private(set) var isLeaving = false
    private var nextHeartbeat = Duration.zero
    private var nextPoll = Duration.zero
    private var isPolling = false
    private var isLoading = false
    private var isLoadWanted = true
    /// Heard of while a load was under way, which may bring it: only if not, another one follows.
    private var rumouredVersion: Int64 = 0
    private var nextLoad = Duration.zero
    private var nextUrgentLoad = Duration.zero
    /// The next view is to be announced: this node changed it.
    private var announcesNextView = true
    private var duty: LeaderDuties.Duty?
    private var nextDuty = Duration.zero
    /// The view on which the last duty was decided: one that changed nothing is not repeated at once.
    private var lastDutyVersion: Int64?
    /// Shards being handed over, under the epoch in which they are owned here.
    private var releasing: [Place: Epoch] = [:]
    private var releasesToRetry: [Place] = []
    private var nextReleaseRetry = Duration.zero

    init(
        _ identity: NodeIdentity, timings: ClusterTimings, store: StoreHealth, isBusConnected: Bool, registrationStart: Duration,
        at now: Duration
    ) {
        self.identity = identity
        self.timings = timings
        self.store = store
        registeredAt = now
        lease = LeaseMachine(timings: timings)
        detector = FailureDetector(timings: timings)
        leader = LeaderMachine(timings: timings)
        duties = LeaderDuties(timings: timings)
        lease.registered(startedAt: registrationStart)
        detector.bus(isConnected: isBusConnected, at: now)
    }

    /// Declared dead, and the view has told whether another process took the name: only a new incarnation can go on.
    private(set) var isOver = false

    // MARK: Time

    mutating func tick(at now: Duration) -> [MembershipAction] {
        let probes = detector.tick(at: now).map { MembershipAction.probe(identity, of: $0) }
        return probes + proceed(at: now)
    }

    /// All that is due now, whatever happened.
    mutating func proceed(at now: Duration) -> [MembershipAction] {
        var actions: [MembershipAction] = []
        if lease.state == .lost {
            isLoadWanted = !isOver
            if !isOver { refreshView(at: now, &actions) }
            return actions
        }
        if lease.shouldRenew(at: now) { actions.append(.renew(identity)) }
        if isAnnounced, now >= nextHeartbeat {
            nextHeartbeat = now + timings.heartbeatInterval
            actions.append(.sendHeartbeat(Heartbeat(node: identity, viewVersion: view?.version ?? 0)))
        }
        refreshView(at: now, &actions)
        if !releasesToRetry.isEmpty, now >= nextReleaseRetry {
            actions.append(.release(identity, releasesToRetry))
            releasesToRetry = []
        }
        if !isLeaving {
            seekLeadership(at: now, &actions)
            performDuty(at: now, &actions)
        }
        return actions
    }

    private mutating func refreshView(at now: Duration, _ actions: inout [MembershipAction]) {
        guard !isLoading, now >= nextLoad else { return }
        if isLoadWanted || (now >= nextUrgentLoad && isLeaseKnowledgeStale(at: now)) {
            isLoading = true
            isLoadWanted = false
            nextUrgentLoad = now + timings.urgentPollInterval
            actions.append(.loadView(identity))
        } else if !isPolling, now >= nextPoll {
            isPolling = true
            nextPoll = now + timings.viewPollInterval
            actions.append(.pollVersion(identity))
        }
    }

    /// Renewals do not change the view's version. What the snapshot says of leases is used up when the first has run out.
    private func isLeaseKnowledgeStale(at now: Duration) -> Bool {
        guard let snapshot else { return false }
        let age = now - snapshotAt
        if leader.term(at: now) == nil { return snapshot.leader != nil && age >= .seconds(snapshot.leaderLeaseRemaining) }
        return snapshot.nodes.contains { $0.state == .up && $0.identity != identity && age >= .seconds($0.leaseRemaining) }
    }

    // MARK: Leading

    private func isSnapshotFresh(at now: Duration) -> Bool { now - snapshotAt <= timings.viewPollInterval }

    private mutating func seekLeadership(at now: Duration, _ actions: inout [MembershipAction]) {
        guard let snapshot else { return }
        let suspects = detector.trustedSuspects(at: now)
        let incumbent = incumbent(snapshot, suspects, at: now)
        let candidates = snapshot.nodes.filter { node in
            node.state == .up && !suspects.contains(node.identity) && node.identity.incarnation != snapshot.leader
        }
        let rank = candidates.filter { $0.identity.name < identity.name }.count
        if let attempt = leader.tick(incumbent, rank: rank, at: now) {
            actions.append(.lead(identity, displacing: attempt.displacing))
        }
    }

    private func incumbent(
        _ snapshot: ClusterSnapshot, _ suspects: Set<NodeIdentity>, at now: Duration
    ) -> LeaderMachine.Incumbent {
        guard let incarnation = snapshot.leader, incarnation != identity.incarnation else { return .vacant(nil) }
        guard let node = snapshot.nodes.first(where: { $0.identity.incarnation == incarnation }), node.state == .up
        else { return .vacant(incarnation) }
        if suspects.contains(node.identity) { return .vacant(incarnation) }
        if snapshot.leaderLeaseRemaining <= 0, isSnapshotFresh(at: now) { return .vacant(incarnation) }
        return .fine
    }

    private mutating func performDuty(at now: Duration, _ actions: inout [MembershipAction]) {
        // A duty is decided on a view loaded after the last one ended, and once the others have had time to be heard.
        guard duty == nil, !isLoading, !isLoadWanted, now - registeredAt >= timings.joinSettling, let snapshot,
            let term = leader.term(at: now), now >= nextDuty || snapshot.version != lastDutyVersion
        else { return }
        guard let next = duties.next(snapshot, by: identity, in: surroundings(snapshot, at: now), at: now) else { return }
        duty = next
        lastDutyVersion = snapshot.version
        actions.append(.perform(identity, next, term: term))
    }

    private func surroundings(_ snapshot: ClusterSnapshot, at now: Duration) -> LeaderDuties.Surroundings {
        var surroundings = LeaderDuties.Surroundings(
            judgement(snapshot, at: now), databaseTime: snapshot.time + (now - snapshotAt))
        surroundings.loads = loads
        surroundings.balancesLoads = timings.balancesLoads
        surroundings.storeAnswersSince = store.answersSince(at: now, timings)
        return surroundings
    }

    private func judgement(_ snapshot: ClusterSnapshot, at now: Duration) -> LeaderDuties.Judgement {
        var judgement = LeaderDuties.Judgement()
        judgement.silent = detector.trustedSuspects(at: now)
        judgement.isCalm = !detector.isAnyoneDoubtful
        let believesLeases = isSnapshotFresh(at: now) && now >= store.leasesBelievedFrom
        for node in snapshot.nodes where node.state == .up {
            if believesLeases, node.leaseRemaining <= 0 { judgement.expired.insert(node.identity) }
            if node.identity == identity || detector.hasHeard(node.identity) { judgement.ready.insert(node.identity) }
        }
        return judgement
    }

    // MARK: Joining and leaving

    mutating func announced(at now: Duration) -> [MembershipAction] {
        isAnnounced = true
        return proceed(at: now)
    }

    mutating func beginLeaving() {
        isLeaving = true
        leader.resign()
    }

    // MARK: The bus

    mutating func bus(isConnected: Bool, at now: Duration) -> [MembershipAction] {
        detector.bus(isConnected: isConnected, at: now)
        if isConnected {
            // Hints may have been lost, and the others wait to hear of us.
            isLoadWanted = true
            nextHeartbeat = now
        }
        return proceed(at: now)
    }

    mutating func received(_ heartbeat: Heartbeat, at now: Duration) -> [MembershipAction] {
        detector.heard(from: heartbeat.node, at: now)
        return received(hint: heartbeat.viewVersion, at: now)
    }

    mutating func received(_ report: LoadReport, at now: Duration) { loads.received(report, at: now) }

    mutating func received(hint version: Int64, at now: Duration) -> [MembershipAction] {
        guard version > view?.version ?? 0 else { return [] }
        if isLoading, version != .max {
            rumouredVersion = max(rumouredVersion, version)
            return []
        }
        isLoadWanted = true
        return proceed(at: now)
    }

    mutating func probeEnded(_ peer: NodeIdentity, answered: Bool, at now: Duration) -> [MembershipAction] {
        detector.probeEnded(peer, answered: answered, at: now)
        return proceed(at: now)
    }

    // MARK: The store

    mutating func versionPolled(_ outcome: StoreOutcome<Int64>, at now: Duration) -> [MembershipAction] {
        isPolling = false
        if case .success(let version) = outcome, version != view?.version { isLoadWanted = true }
        return proceed(at: now)
    }

    mutating func viewLoaded(
        _ outcome: StoreOutcome<ClusterSnapshot>, startedAt start: Duration, at now: Duration
    ) -> [MembershipAction] {
        isLoading = false
        guard case .success(let new) = outcome else {
            isLoadWanted = true
            nextLoad = now + timings.retryInterval
            return proceed(at: now)
        }
        guard new.version >= view?.version ?? 0 else {
            nextLoad = now + timings.retryInterval
            return proceed(at: now)
        }
        let mine = new.nodes.first { $0.identity == identity }
        guard let mine, mine.state == .up else {
            if let other = new.nodes.first(where: { $0.identity.name == identity.name && $0.state == .up }) {
                successor = other.identity
            }
            lease.end()
            isOver = true
            return []
        }
        guard lease.state != .lost else {
            // The renewal knows better than this view.
            nextLoad = now + timings.retryInterval
            return proceed(at: now)
        }
        var actions: [MembershipAction] = []
        if new.version < rumouredVersion { isLoadWanted = true }
        rumouredVersion = 0
        snapshot = new
        snapshotAt = start
        if new.version != view?.version {
            adopt(new, at: now, &actions)
        }
        if announcesNextView {
            announcesNextView = false
            actions.append(.announceView(version: new.version))
        }
        return actions + proceed(at: now)
    }

    private mutating func adopt(_ new: ClusterSnapshot, at now: Duration, _ actions: inout [MembershipAction]) {
        let view = ClusterView(of: identity, snapshot: new, previous: view)
        self.view = view
        detector.watch(view.nodes.map(\.identity).filter { $0 != identity }, at: now)
        if let term = leader.term(at: now), new.leader != identity.incarnation, new.leaderTerm > term { leader.resign() }
        actions.append(.publish(view))
        loads.forget(except: Set(new.nodes.filter { $0.state == .up }.map(\.identity.incarnation)))
        let moving = view.table.moving(from: identity)
        let fresh = moving.filter { releasing[$0.place] != $0.epoch }.map(\.place)
        releasing = Dictionary(moving.map { ($0.place, $0.epoch) }, uniquingKeysWith: { first, _ in first })
        releasesToRetry.removeAll { releasing[$0] == nil }
        if !fresh.isEmpty { actions.append(.release(identity, fresh)) }
    }

    mutating func leadEnded(_ outcome: StoreOutcome<Int64?>, startedAt start: Duration, at now: Duration) -> [MembershipAction] {
        switch outcome {
        case .success(let term):
            let wasLeading = leader.term(at: now) != nil
            leader.attemptEnded(term: term, startedAt: start, at: now)
            if isLeaving { leader.resign() }
            // A new leader is a new view; a refused attempt means that there is one which is not known here.
            if (term != nil) != wasLeading {
                isLoadWanted = true
                announcesNextView = announcesNextView || term != nil
            }
        case .failed: leader.attemptFailed(at: now)
        }
        return proceed(at: now)
    }

    mutating func dutyEnded(_ outcome: StoreOutcome<Bool>, at now: Duration) -> [MembershipAction] {
        let changesView = duty?.changesView ?? true
        duty = nil
        isLoadWanted = true
        nextDuty = now + timings.retryInterval
        switch outcome {
        case .success(true): return (changesView ? changedView() : []) + proceed(at: now)
        case .success(false): leader.resign()
        case .failed: break
        }
        return proceed(at: now)
    }

    mutating func releaseEnded(_ places: [Place], _ outcome: StoreOutcome<Void>, at now: Duration) -> [MembershipAction] {
        switch outcome {
        case .success:
            isLoadWanted = true
            return changedView() + proceed(at: now)
        case .failed:
            releasesToRetry += places.filter { releasing[$0] != nil }
            nextReleaseRetry = now + timings.retryInterval
            return proceed(at: now)
        }
    }

    /// This node has changed the view: the others hear of it at once, and again with the exact version once it is loaded here. Which
    /// version it is now is not known yet: others may have changed it meanwhile, and a number that somebody has would be passed over.
    private mutating func changedView() -> [MembershipAction] {
        announcesNextView = true
        return [.announceView(version: .max)]
    }
}

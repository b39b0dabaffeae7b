import ClusterCore
import Ports
import RoostModel
import Runtime

/// The one loop of a ``ClusterNode``: takes events in order, asks the machine, and sends errands out. Used by one task only.
final class ClusterLoop {
    private let node: ClusterNode
    private let delegate: any ClusterDelegate
    private let delegateQueue: DelegateQueue
    private let errands: ClusterErrands
    private var machine: MembershipMachine
    private var isBusConnected = false
    private var wasServing = false
    private var wasLeading = false
    private var isLeaving = false
    private var isRefreshDue = false
    private var hasEnded = false
    private var isSampling = false
    private var nextSample = Duration.zero
    private var probeSubscription: (any BusSubscription)?
    /// Ends of errands that came while frozen.
    private var held: [ClusterEvent] = []

    init(_ node: ClusterNode, delegate: any ClusterDelegate) {
        self.node = node
        self.delegate = delegate
        delegateQueue = DelegateQueue(node, delegate: delegate)
        errands = ClusterErrands(node)
        machine = MembershipMachine(name: node.options.name, timings: node.options.timings)
    }

    /// Runs until the node has left or was displaced.
    func run() async {
        let (clock, tick, mailbox, delegateQueue) = (node.clock, node.options.timings.tick, node.mailbox, delegateQueue)
        await withDiscardingTaskGroup { group in
            group.addTask { await delegateQueue.run() }
            group.addTask {
                while !Task.isCancelled {
                    // The next sleep begins when this tick has been served, so ticks never pile up.
                    await withCheckedContinuation { continuation in
                        if !mailbox.post(.tick(done: { continuation.resume() })) { continuation.resume() }
                    }
                    try? await clock.sleep(for: tick)
                }
            }
            while !hasEnded, let events = await mailbox.next() {
                for event in events { handle(event, &group) }
            }
            // Ticks that nobody will serve must not keep the ticker from ending.
            mailbox.close()
            while let events = await mailbox.next() {
                for case .tick(let done) in events { done() }
            }
            delegateQueue.close()
            group.cancelAll()
        }
        probeSubscription?.cancel()
        setServing(nil)
        node.setEnded(displacement ?? ClusterError(.ended))
        if let displacement { node.onDisplaced(displacement) }
    }

    private var displacement: ClusterError?

    // MARK: Events

    private func handle(_ event: ClusterEvent, _ group: inout DiscardingTaskGroup) {
        if case .tick(let done) = event, hasEnded || node.isFrozen {
            done()
            return
        }
        if node.isFrozen {
            if case .leave = event {
                node.thaw()
                node.mailbox.post(.leave)
            } else if event.isEndOfErrand {
                held.append(event)
            } else if case .refresh = event {
                isRefreshDue = true
            }
            return
        }
        let now = node.time.now()
        let actions = actions(for: event, at: now, &group)
        for action in actions { perform(action, &group) }
        publishState(at: node.time.now())
        if case .tick(let done) = event { done() }
    }

    private func actions(
        for event: ClusterEvent, at now: Duration, _ group: inout DiscardingTaskGroup
    ) -> [MembershipAction] {
        switch event {
        case .tick:
            sampleLoad(at: now, &group)
            return noticeBus(at: now) + refresh(at: now) + machine.tick(at: now)
        case .heartbeat(let bytes):
            guard let heartbeat = ClusterWire.heartbeat(bytes) else { return malformed() }
            return machine.received(heartbeat, at: now)
        case .hint(let bytes):
            guard let version = ClusterWire.viewVersion(bytes) else { return malformed() }
            if let sender = ClusterWire.hintSender(bytes), sender == machine.identity?.incarnation { return [] }
            return machine.received(hint: version, at: now)
        case .load(let bytes):
            guard let report = ClusterWire.load(bytes) else { return malformed() }
            received(report, at: now)
            return []
        case .loadSampled(let identity, let report):
            isSampling = false
            guard let report, identity == machine.identity else { return [] }
            publish(ClusterWire.encode(report), to: ClusterSubject.load)
            // The bus may be away, and this node's own word need not cross it.
            received(report, at: now)
            return []
        case .probed(let reply):
            reply([1])
            return []
        case .bus(let event): return bus(event, at: now)
        case .registered(let identity, let start):
            node.metrics.joins.increment()
            node.logger.info("joined the cluster", [.node: identity.name, .incarnation: identity.incarnation])
            node.shared.withLock { $0.identity = identity }
            return machine.registered(identity, startedAt: start, at: now)
        case .registrationFailed(let error):
            node.logger.warning("could not join the cluster", [.error: error])
            machine.registrationFailed(at: now)
            if isLeaving { end() }
            return []
        case .announced(let identity):
            guard identity == machine.identity else { return [] }
            answerProbes(of: identity)
            return machine.announced(identity, at: now)
        case .renewed(let identity, let outcome, let start):
            if outcome == .declaredDead, identity == machine.identity {
                node.logger.warning("this node was declared dead", [.incarnation: identity.incarnation])
            }
            return machine.renewalEnded(identity, outcome, startedAt: start, at: now)
        case .polled(let identity, let outcome): return machine.versionPolled(identity, outcome, at: now)
        case .loaded(let identity, let outcome, let start):
            return machine.viewLoaded(identity, outcome, startedAt: start, at: now)
        case .led(let identity, let outcome, let start):
            return machine.leadEnded(identity, outcome, startedAt: start, at: now)
        case .performed(let identity, let duty, let outcome):
            report(duty, outcome)
            return machine.dutyEnded(identity, outcome, at: now)
        case .quiesced(let identity, let places, let start):
            if identity == machine.identity { errands.release(places, closedFor: now - start, by: identity, in: &group) }
            return []
        case .released(let identity, let places, let outcome):
            if case .success = outcome { node.metrics.releasedShards.increment(by: places.count) }
            return machine.releaseEnded(identity, places, outcome, at: now)
        case .probeEnded(let identity, let peer, let answered):
            return machine.probeEnded(identity, of: peer, answered: answered, at: now)
        case .refresh:
            isRefreshDue = true
            return []
        case .leave:
            beginLeaving()
            return []
        case .quiescedToLeave(let identity):
            errands.leave(identity, in: &group)
            return []
        case .left:
            let actions = machine.left()
            end()
            return actions
        case .thaw:
            let events = held
            held = []
            return events.flatMap { event in self.actions(for: event, at: now, &group) }
        }
    }

    /// At most once a tick, however many commands are refused.
    private func refresh(at now: Duration) -> [MembershipAction] {
        guard isRefreshDue else { return [] }
        isRefreshDue = false
        node.isRefreshWanted.store(false, ordering: .relaxed)
        return machine.received(hint: .max, at: now)
    }

    private func sampleLoad(at now: Duration, _ group: inout DiscardingTaskGroup) {
        guard !isSampling, now >= nextSample, let identity = machine.identity, machine.view != nil else { return }
        isSampling = true
        nextSample = now + node.options.timings.loadInterval
        errands.sampleLoad(of: delegate, identity, in: &group)
    }

    private func received(_ report: LoadReport, at now: Duration) {
        machine.received(report, at: now)
        node.shared.withLock { $0.loads = machine.loads }
    }

    private func malformed() -> [MembershipAction] {
        node.metrics.malformed.increment()
        return []
    }

    // MARK: The bus

    private func noticeBus(at now: Duration) -> [MembershipAction] {
        let isConnected = node.bus.state == .connected
        guard isConnected != isBusConnected else { return [] }
        isBusConnected = isConnected
        return machine.bus(isConnected: isConnected, at: now)
    }

    private func bus(_ event: BusEvent, at now: Duration) -> [MembershipAction] {
        switch event {
        case .disconnected: return noticeBus(at: now)
        case .reconnected:
            // However short it was, what was said meanwhile is lost.
            isBusConnected = false
            return machine.bus(isConnected: false, at: now) + noticeBus(at: now)
        case .slowConsumer: return machine.received(hint: .max, at: now)
        }
    }

    // MARK: Leaving

    private func beginLeaving() {
        guard !isLeaving else { return }
        isLeaving = true
        machine.beginLeaving()
        guard let identity = machine.identity else {
            // Not joined, or between two incarnations: nothing to hand over.
            end()
            return
        }
        let places = machine.view?.table.places(ownedBy: identity) ?? []
        node.logger.info("leaving the cluster", [.count: places.count])
        delegateQueue.leave(identity, places)
    }

    private func end() { hasEnded = true }

    // MARK: Actions

    private func perform(_ action: MembershipAction, _ group: inout DiscardingTaskGroup) {
        switch action {
        case .register:
            if isLeaving { return end() }
            guard delegateQueue.isIdle else {
                // The delegate still sees to the incarnation before; until then the new one would be of no use.
                machine.registrationFailed(at: node.time.now())
                return
            }
            let identity = NodeIdentity(name: node.options.name, incarnation: node.makeIncarnation())
            machine.willRegister(identity.incarnation)
            let wasMember = node.shared.withLock { shared in
                defer { shared.identity = nil }
                return shared.identity != nil
            }
            if wasMember { node.metrics.fenced.increment() }
            probeSubscription?.cancel()
            probeSubscription = nil
            errands.register(identity, in: &group)
        case .renew(let identity): errands.renew(identity, in: &group)
        case .pollVersion(let identity): errands.poll(identity, in: &group)
        case .loadView(let identity):
            // A delegate that cannot keep up sees fewer views, not a longer queue of them.
            if delegateQueue.isFull {
                node.mailbox.post(.loaded(identity, .failed, startedAt: node.time.now()))
            } else {
                errands.load(identity, in: &group)
            }
        case .lead(let identity, let displacing): errands.lead(identity, displacing: displacing, in: &group)
        case .perform(let identity, let duty, let term): errands.perform(duty, by: identity, term: term, in: &group)
        case .release(let identity, let places): delegateQueue.quiesce(identity, places)
        case .sendHeartbeat(let heartbeat): publish(ClusterWire.encode(heartbeat), to: ClusterSubject.heartbeat)
        case .announceView(let version):
            publish(ClusterWire.encode(viewVersion: version, from: machine.identity?.incarnation), to: ClusterSubject.view)
        case .probe(let identity, let peer): errands.probe(peer, by: identity)
        case .joined(let identity): delegateQueue.joined(identity)
        case .publish(let view):
            node.shared.withLock { $0.view = view }
            node.metrics.viewVersion.set(Int(view.version))
            node.metrics.liveNodes.set(view.nodes.count)
            node.metrics.ownedShards.set(view.table.records.count { $0.owner == view.identity })
            node.metrics.failoverShards.increment(by: view.gained.count { $0.reason == .failover })
            delegateQueue.view(view)
        case .displaced(let other):
            node.logger.error("another process took this node's name", [.incarnation: other.incarnation])
            displacement = ClusterError(.displaced, detail: other.description)
            end()
        }
    }

    /// A heartbeat or a hint that cannot be sent is like one that gets lost.
    private func publish(_ payload: [UInt8], to subject: Subject) { try? node.bus.publish(payload, to: subject) }

    private func answerProbes(of identity: NodeIdentity) {
        probeSubscription = try? node.bus.subscribe(to: ClusterSubject.probe(identity)) { [weak node] message in
            if let reply = message.reply { node?.offer(.probed(reply: reply)) }
        }
    }

    private func report(_ duty: LeaderDuties.Duty, _ outcome: StoreOutcome<Bool>) {
        guard case .success(true) = outcome else { return }
        switch duty {
        case .declareDead(let victim, let reason, let placements):
            node.metrics.fenceClosed(reason)
            node.logger.warning(
                "declared a node dead",
                [.node: victim.name, .incarnation: victim.incarnation, .reason: reason.rawValue, .count: placements.count])
        case .repair(let placements): node.logger.info("placed shards", [.count: placements.count])
        case .movePins(let pins): node.logger.info("moving pinned actors", [.count: pins.count])
        case .note(_, _, let end?):
            node.logger.info("an operation has ended", [.reason: end.reason ?? end.state.rawValue])
        case .note(_, _, nil): break
        case .beginRebalance(let plan, let reason):
            node.logger.info("evening out", [.reason: reason.rawValue, .count: plan.moves.count])
        case .move(let placements): node.logger.info("moving shards", [.count: placements.count])
        }
    }

    // MARK: State for other threads

    private func publishState(at now: Duration) {
        node.setServing(until: machine.servingDeadline, leaseAge: machine.leaseAge(at: now), at: now)
        setServing(now)
        node.metrics.suspects.set(machine.suspects.count)
        node.shared.withLock { $0.suspects = machine.suspects }
        let isLeading = machine.isLeading(at: now)
        node.metrics.isLeader.set(isLeading ? 1 : 0)
        if isLeading != wasLeading {
            wasLeading = isLeading
            if isLeading { node.logger.info("leading the cluster") } else { node.logger.info("no longer leading the cluster") }
        }
    }

    /// - Parameter now: nil at the end, when nothing is served any more.
    private func setServing(_ now: Duration?) {
        if now == nil { node.setServing(until: nil, leaseAge: nil, at: .zero) }
        let isServing = now.map { now in machine.servingDeadline.map { now < $0 } ?? false } ?? false
        guard isServing != wasServing else { return }
        wasServing = isServing
        node.metrics.isServing.set(isServing ? 1 : 0)
        if !isServing && !hasEnded { node.logger.warning("the lease ran out, serving stops") }
        delegate.servingChanged(isServing)
    }
}

extension ClusterEvent {
    fileprivate var isEndOfErrand: Bool {
        switch self {
        case .registered, .registrationFailed, .announced, .renewed, .polled, .loaded, .led, .performed, .quiesced, .released,
            .loadSampled,
            .probeEnded, .quiescedToLeave, .left, .thaw:
            true
        case .tick, .heartbeat, .hint, .load, .probed, .bus, .refresh, .leave: false
        }
    }
}

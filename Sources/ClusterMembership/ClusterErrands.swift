import ClusterCore
import Ports
import RoostModel
import Runtime
import Synchronization

/// What the loop sends out to the store and to other nodes. Each errand is a child task that posts its end to the mailbox.
final class ClusterErrands: Sendable {
    private let node: ClusterNode
    /// The latest term in which this node looked after the tables as their leader.
    private let mendedTerm = Atomic<Int64>(.min)

    init(_ node: ClusterNode) { self.node = node }

    private var leaseSeconds: Double { node.options.timings.leaseDuration.inSeconds }

    func register(_ identity: NodeIdentity, in group: inout DiscardingTaskGroup) {
        run(in: &group) { [leaseSeconds] node in
            await Self.mend(node)
            let start = node.time.now()
            do throws(StoreError) {
                let options = node.options
                try await node.store.register(
                    identity, lanes: options.lanes, url: options.url, adminURL: options.adminURL, version: options.version,
                    leaseSeconds: leaseSeconds)
                return .registered(identity, startedAt: start)
            } catch {
                return .registrationFailed(error)
            }
        }
    }

    func renew(_ identity: NodeIdentity, in group: inout DiscardingTaskGroup) {
        run(in: &group) { [leaseSeconds] node in
            let start = node.time.now()
            do throws(StoreError) {
                let isAlive = try await node.store.renewLease(identity, leaseSeconds: leaseSeconds)
                return .renewed(identity, isAlive ? .renewed : .declaredDead, startedAt: start)
            } catch {
                let isFenced = error.code == .fenced
                if !isFenced { Self.note(error, "a lease was not renewed", node) }
                return .renewed(identity, isFenced ? .declaredDead : .failed, startedAt: start)
            }
        }
    }

    func poll(_ identity: NodeIdentity, in group: inout DiscardingTaskGroup) {
        ask("the view's version could not be read", in: &group) { node throws(StoreError) in
            do throws(StoreError) {
                return try await node.store.viewVersion()
            } catch  where error.code == .failed {
                await Self.mend(node)
                throw error
            }
        } end: { outcome, _ in
            .polled(identity, outcome)
        }
    }

    func load(_ identity: NodeIdentity, in group: inout DiscardingTaskGroup) {
        ask("the view could not be loaded", in: &group) { node throws(StoreError) in
            let view = try await node.store.view()
            // The leader could not place what has no row.
            if view.shards.count < ShardID.all.count {
                await Self.mend(node)
                throw StoreError(.failed, detail: "shards have no row")
            }
            return view
        } end: { outcome, start in
            .loaded(identity, outcome, startedAt: start)
        }
    }

    func lead(_ identity: NodeIdentity, displacing: IncarnationID?, in group: inout DiscardingTaskGroup) {
        ask("the leadership could not be asked for", in: &group) { [self] node throws(StoreError) in
            let term = try await node.store.lead(identity, displacing: displacing, leaseSeconds: leaseSeconds)
            if let term, mendedTerm.exchange(term, ordering: .relaxed) != term { await Self.mend(node) }
            return term
        } end: { outcome, start in
            .led(identity, outcome, startedAt: start)
        }
    }

    func perform(_ duty: LeaderDuties.Duty, by identity: NodeIdentity, term: Int64, in group: inout DiscardingTaskGroup) {
        ask("a leader's duty failed", in: &group) { node throws(StoreError) in
            switch duty {
            case .declareDead(let victim, _, let placements):
                try await node.store.declareDead(victim.incarnation, placements: placements, term: term)
            case .repair(let placements), .move(let placements): try await node.store.place(placements, term: term)
            case .movePins(let placements): try await node.store.move(placements, term: term)
            case .note(let id, let progress, let end):
                try await node.operations.note(progress, of: id, end: end, term: term)
            case .beginRebalance(let plan, let reason): try await Self.begin(plan, reason, node)
            }
        } end: { outcome, _ in
            .performed(identity, duty, outcome)
        }
    }

    /// A view that has gone on, or an operator's rebalance, is no reason to doubt the leadership.
    private static func begin(
        _ plan: RebalancePlan, _ reason: LeaderDuties.RebalanceReason, _ node: ClusterNode
    ) async throws(StoreError) -> Bool {
        _ = try await node.operations.beginRebalance(
            plan, maxConcurrentMoves: node.options.timings.maximumHandOffs, reason: reason.rawValue, by: "cluster")
        return true
    }

    func release(_ places: [Place], closedFor: Duration, by identity: NodeIdentity, in group: inout DiscardingTaskGroup) {
        ask("shards could not be released", in: &group) { node throws(StoreError) in
            try await node.store.release(places, by: identity, closedFor: closedFor)
        } end: { outcome, _ in
            .released(identity, places, outcome)
        }
    }

    func sampleLoad(of delegate: any ClusterDelegate, _ identity: NodeIdentity, in group: inout DiscardingTaskGroup) {
        run(in: &group) { _ in .loadSampled(identity, await delegate.loadSample()) }
    }

    /// Tried twice: without it the others must find out by themselves.
    func leave(_ identity: NodeIdentity, in group: inout DiscardingTaskGroup) {
        run(in: &group) { node in
            for _ in 0..<2 {
                do throws(StoreError) {
                    try await node.store.leave(identity)
                    break
                } catch {
                    Self.note(error, "the cluster could not be left in good order", node)
                }
            }
            return .left
        }
    }

    func probe(_ peer: NodeIdentity, by identity: NodeIdentity) {
        let mailbox = node.mailbox
        node.bus.request([1], to: ClusterSubject.probe(peer), timeout: node.options.timings.probeTimeout) { result in
            let isAnswered = if case .success = result { true } else { false }
            mailbox.post(.probeEnded(identity, of: peer, answered: isAnswered))
        }
    }

    // MARK: Inside

    /// What cannot be mended is tried again by whoever registers or leads next; meanwhile the node does what it can.
    private static func mend(_ node: ClusterNode) async {
        do throws(StoreError) {
            for note in try await node.store.mend() {
                node.logger.warning("something was wrong in the cluster's tables and was mended", [.subject: note])
            }
        } catch {
            note(error, "the cluster's tables could not be looked after", node)
        }
    }

    private func ask<Value: Sendable>(
        _ complaint: StaticString, in group: inout DiscardingTaskGroup,
        _ work: @escaping @Sendable (ClusterNode) async throws(StoreError) -> Value,
        end: @escaping @Sendable (StoreOutcome<Value>, Duration) -> ClusterEvent
    ) {
        run(in: &group) { node in
            let start = node.time.now()
            do throws(StoreError) {
                return end(.success(try await work(node)), start)
            } catch {
                Self.note(error, complaint, node)
                return end(.failed, start)
            }
        }
    }

    private func run(in group: inout DiscardingTaskGroup, _ work: @escaping @Sendable (ClusterNode) async -> ClusterEvent) {
        let node = node
        node.errandCount.add(1, ordering: .relaxed)
        group.addTask {
            let event = await work(node)
            node.mailbox.post(event)
            node.errandCount.subtract(1, ordering: .relaxed)
        }
    }

    private static func note(_ error: StoreError, _ complaint: StaticString, _ node: ClusterNode) {
        node.metrics.storeErrors.increment()
        switch error.code {
        // The database is away: its own log and the metric say so; a line per attempt would say no more.
        case .unavailable: node.logger.debug(complaint, [.error: error])
        case .fenced, .conflict, .badCursor, .failed: node.logger.warning(complaint, [.error: error])
        }
    }
}

import RoostModel
import TestSupport
import Testing

@testable import ClusterCore

/// A whole cluster in virtual time: machines, a store, a bus, and faults. The same run for the same seed.
final class Simulation {
    /// One process: it ends with a crash, and its successor of the same name is another one.
    final class Process {
        let name: String
        var machine: MembershipMachine
        var isRunning = true
        var pausedUntil = Duration.zero
        /// What the machine has been told of its view, as its actors believe it.
        var view: ClusterView?
        /// Shards whose admission is stopped, under their epoch.
        var quiesced: [ShardID: Epoch] = [:]
        /// The places of the shards that the process would commit for.
        var owned: [Int] = []

        init(name: String, timings: ClusterTimings) {
            self.name = name
            machine = MembershipMachine(name: name, timings: timings)
        }
    }

    private struct Event {
        let at: Duration
        let order: Int
        let process: Process?
        let action: () -> Void
    }

    let timings = ClusterTimings()
    var random: SeededRandom
    private(set) var now = Duration.zero
    private var queue: [Event] = []
    private var order = 0
    var store = SimulatedClusterStore()
    var processes: [String: Process] = [:]
    private var lives: UInt64 = 0

    // Faults.
    var isStoreUp = true
    var isBusUp = true
    /// Names cut off from the store, and from the bus.
    var storeCut: Set<String> = []
    var busCut: Set<String> = []

    /// What the owner of a shard says that it costs; nil while nobody says anything.
    var costs: ((ShardID) -> Double)?

    /// What went wrong; empty in a good run.
    private(set) var violations: [String] = []
    /// When each shard last began to be without a believing, serving, unfenced owner.
    private var orphanedSince: [Duration?]
    private(set) var longestOrphanage = Duration.zero

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        orphanedSince = [Duration?](repeating: .zero, count: ShardID.all.count)
        sample()
    }

    private func sample() {
        check()
        schedule(after: .milliseconds(50)) { self.sample() }
    }

    // MARK: Time

    func schedule(after delay: Duration, for process: Process? = nil, _ action: @escaping () -> Void) {
        order += 1
        push(Event(at: now + delay, order: order, process: process, action: action))
    }

    private func push(_ event: Event) {
        // A binary search keeps the queue sorted, latest first.
        var (low, high) = (0, queue.count)
        while low < high {
            let middle = (low + high) / 2
            if (queue[middle].at, queue[middle].order) > (event.at, event.order) { low = middle + 1 } else { high = middle }
        }
        queue.insert(event, at: low)
    }

    /// Gives other tests of the process a turn now and then: the pool of threads is small.
    func run(for duration: Duration) async {
        let end = now + duration
        var count = 0
        while let event = queue.last, event.at <= end {
            count += 1
            if count.isMultiple(of: 100) { await Task.yield() }
            queue.removeLast()
            now = event.at
            if let process = event.process {
                if !process.isRunning { continue }
                if process.pausedUntil > now {
                    // A stopped process does it when it goes on.
                    push(Event(at: process.pausedUntil, order: event.order, process: process, action: event.action))
                    continue
                }
            }
            event.action()
        }
        now = end
    }

    private func latency(_ milliseconds: ClosedRange<Int>) -> Duration {
        .milliseconds(Int.random(in: milliseconds, using: &random))
    }

    private func begin(_ plan: RebalancePlan, _ reason: LeaderDuties.RebalanceReason) -> Bool {
        _ = store.tables.beginRebalance(
            OperationID(at: store.time.wall, using: &random), plan, maxConcurrentMoves: timings.maximumHandOffs,
            reason: reason.rawValue, by: "cluster", at: store.time)
        return true
    }

    // MARK: Processes

    func start(_ name: String) {
        let process = Process(name: name, timings: timings)
        processes[name] = process
        schedule(after: latency(0...2000), for: process) { self.tellLoad(process) }
        perform(process.machine.bus(isConnected: isBusReachable(name), at: now), process)
        tick(process)
    }

    func crash(_ name: String) {
        processes[name]?.isRunning = false
        processes[name] = nil
    }

    func pause(_ name: String, for duration: Duration) { processes[name]?.pausedUntil = now + duration }

    func leave(_ name: String) {
        guard let process = processes[name], let identity = process.machine.identity else { return }
        process.machine.beginLeaving()
        process.view = nil
        ask(process, failed: {}) {
            self.store.leave(identity)
            return { self.perform(process.machine.left(), process) }
        }
    }

    private func tick(_ process: Process) {
        perform(process.machine.tick(at: now), process)
        schedule(after: timings.tick, for: process) { self.tick(process) }
    }

    private func tellLoad(_ process: Process) {
        if let costs, let view = process.view {
            var report = LoadReport(node: view.identity)
            for shard in view.table.shards(ownedBy: view.identity) { report.shards[shard] = costs(shard) }
            broadcast(from: process.name) { $0.machine.received(report, at: self.now) }
        }
        schedule(after: timings.loadInterval, for: process) { self.tellLoad(process) }
    }

    // MARK: Faults of the bus

    func isBusReachable(_ name: String) -> Bool { isBusUp && !busCut.contains(name) }

    /// Tells every process how it stands with the bus, after a change of the faults.
    func busChanged() {
        for process in processes.values.sorted(by: { $0.name < $1.name }) {
            let isConnected = isBusReachable(process.name)
            schedule(after: latency(1...(isConnected ? 1500 : 50)), for: process) {
                guard self.isBusReachable(process.name) == isConnected else { return }
                self.perform(process.machine.bus(isConnected: isConnected, at: self.now), process)
            }
        }
    }

    private func broadcast(from name: String, _ deliver: @escaping (Process) -> Void) {
        guard isBusReachable(name) else { return }
        for process in processes.values.sorted(by: { $0.name < $1.name }) where isBusReachable(process.name) {
            schedule(after: latency(0...5), for: process) { deliver(process) }
        }
    }

    // MARK: The store

    /// Runs `work` in the store and its result in the process, each after a while; `failed` where the store cannot be reached.
    private func ask(_ process: Process, failed: @escaping () -> Void, _ work: @escaping () -> () -> Void) {
        let isReachable = isStoreUp && !storeCut.contains(process.name)
        schedule(after: latency(0...3)) {
            guard isReachable, self.isStoreUp else {
                self.schedule(after: self.latency(5...500), for: process, failed)
                return
            }
            let version = self.store.version
            let result = work()
            if self.store.version != version { self.check() }
            // The answer may get lost after the work was done.
            let isLost = Int.random(in: 0..<400, using: &self.random) == 0
            self.schedule(after: self.latency(0...(isLost ? 1000 : 10)), for: process, isLost ? failed : result)
        }
    }

    private func perform(_ actions: [MembershipAction], _ process: Process) {
        for action in actions { perform(action, process) }
        // Only these can change who believes what; time does the rest, and is sampled.
        if actions.contains(where: \.changesBelief) { check() }
    }

    private func perform(_ action: MembershipAction, _ process: Process) {
        let start = now
        func report(_ event: (inout MembershipMachine) -> [MembershipAction]) {
            perform(event(&process.machine), process)
        }
        switch action {
        case .register:
            lives += 1
            let identity = node(process.name, life: lives)
            process.machine.willRegister(identity.incarnation)
            ask(process, failed: { process.machine.registrationFailed(at: self.now) }) {
                self.store.register(identity, at: self.now)
                return { report { $0.registered(identity, startedAt: start, at: self.now) } }
            }
        case .renew(let identity):
            ask(process, failed: { report { $0.renewalEnded(identity, .failed, startedAt: start, at: self.now) } }) {
                let isAlive = self.store.renew(identity, at: self.now)
                return {
                    report { $0.renewalEnded(identity, isAlive ? .renewed : .declaredDead, startedAt: start, at: self.now) }
                }
            }
        case .pollVersion(let identity):
            ask(process, failed: { report { $0.versionPolled(identity, .failed, at: self.now) } }) {
                let version = self.store.version
                return { report { $0.versionPolled(identity, .success(version), at: self.now) } }
            }
        case .loadView(let identity):
            ask(process, failed: { report { $0.viewLoaded(identity, .failed, startedAt: start, at: self.now) } }) {
                let snapshot = self.store.snapshot(at: self.now)
                return { report { $0.viewLoaded(identity, .success(snapshot), startedAt: start, at: self.now) } }
            }
        case .lead(let identity, let displacing):
            ask(process, failed: { report { $0.leadEnded(identity, .failed, startedAt: start, at: self.now) } }) {
                let term = self.store.lead(identity, displacing: displacing, at: self.now)
                return { report { $0.leadEnded(identity, .success(term), startedAt: start, at: self.now) } }
            }
        case .perform(let identity, let duty, let term):
            ask(process, failed: { report { $0.dutyEnded(identity, .failed, at: self.now) } }) {
                let isAccepted =
                    switch duty {
                    case .declareDead(let victim, _, let placements): self.store.declareDead(victim, placements, term: term)
                    case .repair(let placements), .move(let placements): self.store.place(placements, term: term)
                    case .movePins(let pins): self.store.move(pins, term: term)
                    case .note(let id, let progress, let end): self.store.note(progress, of: id, end: end, term: term)
                    case .beginRebalance(let plan, let reason): self.begin(plan, reason)
                    }
                return { report { $0.dutyEnded(identity, .success(isAccepted), at: self.now) } }
            }
        case .release(let identity, let places):
            for case .shard(let shard) in places { process.quiesced[shard] = process.view?.table.epoch(of: shard) }
            process.owned.removeAll { process.quiesced[ShardID.all[$0]] != nil }
            schedule(after: latency(0...200), for: process) {
                self.ask(process, failed: { report { $0.releaseEnded(identity, places, .failed, at: self.now) } }) {
                    self.store.release(places, by: identity)
                    return { report { $0.releaseEnded(identity, places, .success(()), at: self.now) } }
                }
            }
        case .sendHeartbeat(let heartbeat):
            broadcast(from: process.name) { peer in self.perform(peer.machine.received(heartbeat, at: self.now), peer) }
        case .announceView(let version):
            broadcast(from: process.name) { peer in
                if peer !== process { self.perform(peer.machine.received(hint: version, at: self.now), peer) }
            }
        case .probe(let identity, let peer):
            let target = processes[peer.name].flatMap { $0.machine.identity == peer ? $0 : nil }
            let isReachable = isBusReachable(process.name) && isBusReachable(peer.name) && target != nil
            let isAnswered = isReachable && target!.pausedUntil <= now
            schedule(after: isAnswered ? latency(1...10) : isReachable ? timings.probeTimeout : latency(1...10), for: process) {
                report { $0.probeEnded(identity, of: peer, answered: isAnswered, at: self.now) }
            }
        case .joined(let identity):
            process.view = nil
            process.quiesced = [:]
            schedule(after: latency(0...20), for: process) { report { $0.announced(identity, at: self.now) } }
        case .publish(let view):
            process.view = view
            process.quiesced = process.quiesced.filter {
                view.table.epoch(of: $0.key) == $0.value && view.table.owner(of: $0.key) == view.identity
            }
            process.owned = view.table.records.indices.filter { index in
                view.table.records[index].owner == view.identity && process.quiesced[ShardID.all[index]] == nil
            }
            if view.ownUse == .draining, view.table.isEmpty(view.identity) {
                // Its clients have two seconds to go.
                schedule(after: .seconds(2), for: process) {
                    self.ask(process, failed: {}) {
                        _ = self.store.tables.endDrain(of: view.identity, at: self.store.time)
                        return {}
                    }
                }
            }
        case .displaced(let other):
            violations.append("\(now): \(process.name) thinks it was displaced by \(other)")
        }
    }

    // MARK: What must hold

    /// Whether the process would commit now for the shards it believes to own, and the store would let it.
    private func canCommit(_ process: Process) -> Bool {
        guard let view = process.view, process.machine.identity == view.identity, process.pausedUntil <= now else { return false }
        return store.isFenceOpen(view.identity) && process.machine.servingDeadline.map { now < $0 } ?? false
    }

    /// At most one owner whose commits the store would take; and how long there was none.
    private func check() {
        let candidates = processes.values.filter { canCommit($0) }
        var owners = [Int](repeating: -1, count: ShardID.all.count)
        for (candidate, process) in candidates.enumerated() {
            for index in process.owned {
                if owners[index] >= 0 {
                    let other = candidates[owners[index]].name
                    violations.append("\(now): \(ShardID.all[index]) has two owners, \(other) and \(process.name)")
                }
                owners[index] = candidate
            }
        }
        for index in owners.indices {
            if owners[index] < 0 {
                if orphanedSince[index] == nil { orphanedSince[index] = now }
            } else if let since = orphanedSince[index] {
                longestOrphanage = max(longestOrphanage, now - since)
                orphanedSince[index] = nil
            }
        }
    }

    /// Shards that nobody serves now, and how long that has lasted.
    var orphans: [Duration] { orphanedSince.compactMap { $0.map { now - $0 } } }

    func forgetOrphanage() { longestOrphanage = .zero }

    /// Runs until every shard is served, at most for `limit`; the time it took, nil where it was not enough.
    func settle(within limit: Duration) async -> Duration? {
        let start = now
        while now - start < limit {
            await run(for: .milliseconds(50))
            check()
            if orphans.isEmpty { return now - start }
        }
        return nil
    }

    var spread: Int {
        ShardKind.allCases.map { kind in
            let counts = processes.values.map { process in
                store.shards.filter { $0.id.kind == kind && $0.owner == process.machine.identity }.count
            }
            return (counts.max() ?? 0) - (counts.min() ?? 0)
        }.max()!
    }

    var isMoving: Bool { store.shards.contains { $0.target != nil } }

    var leaderName: String? {
        processes.values.first { $0.machine.identity?.incarnation == store.leader && $0.machine.isLeading(at: now) }?.name
    }
}

extension MembershipAction {
    fileprivate var changesBelief: Bool {
        switch self {
        case .publish, .release, .joined, .displaced: true
        case .register, .renew, .pollVersion, .loadView, .lead, .perform, .sendHeartbeat, .announceView, .probe: false
        }
    }
}

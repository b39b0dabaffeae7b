import ClusterCore
import MemoryAdapters
import Ports
import RoostModel
import Runtime
import Synchronization
import TestSupport
import Testing

@testable import ClusterMembership

/// The cluster's store in memory, whose database clock is a manual one, and which can be away.
final class TestStore: ClusterStore, OperationStore {
    struct State {
        var store = SimulatedClusterStore()
        var isUp = true
    }

    let state = Locked(State())
    private let time: ElapsedTime

    init(clock: ManualClock) { time = ElapsedTime(clock) }

    private func ask<Value: Sendable>(_ work: (inout SimulatedClusterStore, Duration) -> Value) throws(StoreError) -> Value {
        let now = time.now()
        let value = state.withLock { state -> Value? in state.isUp ? work(&state.store, now) : nil }
        guard let value else { throw StoreError(.unavailable) }
        return value
    }

    func mend() async throws(StoreError) -> [String] { [] }

    func register(_ node: NodeIdentity, lanes: Int, url: String, adminURL: String, version: String, leaseSeconds: Double)
        async throws(StoreError)
    { try ask { $0.register(node, at: $1) } }

    func renewLease(_ node: NodeIdentity, leaseSeconds: Double) async throws(StoreError) -> Bool {
        try ask { $0.renew(node, at: $1) }
    }

    func leave(_ node: NodeIdentity) async throws(StoreError) { try ask { store, _ in store.leave(node) } }
    func viewVersion() async throws(StoreError) -> Int64 { try ask { store, _ in store.version } }
    func view() async throws(StoreError) -> ClusterSnapshot { try ask { $0.snapshot(at: $1) } }

    func lead(_ node: NodeIdentity, displacing: IncarnationID?, leaseSeconds: Double) async throws(StoreError) -> Int64? {
        try ask { store, now in [store.lead(node, displacing: displacing, at: now)] }[0]
    }

    func declareDead(_ incarnation: IncarnationID, placements: [ShardPlacement], term: Int64) async throws(StoreError) -> Bool {
        try ask { store, now in
            guard let victim = store.snapshot(at: now).nodes.first(where: { $0.identity.incarnation == incarnation }) else {
                return false
            }
            return store.declareDead(victim.identity, placements, term: term)
        }
    }

    func place(_ placements: [ShardPlacement], term: Int64) async throws(StoreError) -> Bool {
        try ask { store, _ in store.place(placements, term: term) }
    }

    func move(_ pins: [PinPlacement], term: Int64) async throws(StoreError) -> Bool {
        try ask { store, _ in store.move(pins, term: term) }
    }

    func release(_ places: [Place], by owner: NodeIdentity, closedFor: Duration) async throws(StoreError) {
        try ask { store, _ in store.release(places, by: owner) }
    }
}

/// Operators' wishes in the same tables.
extension TestStore {
    private func act<Value: Sendable>(_ work: (inout ClusterTables, DatabaseTime) -> Value) throws(StoreError) -> Value {
        try ask { store, now in
            store.advance(to: now)
            let time = store.time
            return work(&store.tables, time)
        }
    }

    func setUse(_ use: NodeUse, of node: String, by name: String) async throws(StoreError) -> Bool {
        try act { $0.setUse(use, of: node, at: $1) }
    }

    func beginDrain(of node: String, timeout: Duration?, by name: String) async throws(StoreError) -> OperationOutcome {
        try act { $0.beginDrain(.make(), of: node, timeout: timeout, by: name, at: $1) }
    }

    func endDrain(of node: NodeIdentity) async throws(StoreError) -> Bool { try act { $0.endDrain(of: node, at: $1) } }
    func save(_ plan: RebalancePlan) async throws(StoreError) { try act { tables, _ in tables.save(plan) } }
    func plan(_ id: PlanID) async throws(StoreError) -> RebalancePlan? { try act { tables, _ in [tables.plan(id)] }[0] }

    func beginRebalance(_ plan: RebalancePlan, maxConcurrentMoves: Int, reason: String?, by name: String)
        async throws(StoreError) -> OperationOutcome
    {
        try act {
            $0.beginRebalance(.make(), plan, maxConcurrentMoves: maxConcurrentMoves, reason: reason, by: name, at: $1)
        }
    }

    func pin(_ actor: ActorAddress, to node: String, by name: String) async throws(StoreError) -> OperationOutcome {
        try act { $0.pin(.make(), actor, to: node, by: name, at: $1) }
    }

    func unpin(_ actor: ActorAddress, by name: String) async throws(StoreError) -> OperationRecord? {
        try act { [$0.unpin(.make(), actor, by: name, at: $1)] }[0]
    }

    func operations(cursor: String?, limit: Int) async throws(StoreError) -> Page<OperationRecord> {
        try act { Page(items: $0.snapshot(at: $1).operations, nextCursor: nil) }
    }

    func operation(_ id: OperationID) async throws(StoreError) -> OperationRecord? {
        try act { tables, _ in [tables.operation(id)] }[0]
    }

    func change(_ id: OperationID, _ change: OperationChange, by name: String) async throws(StoreError) -> OperationOutcome {
        try act { $0.change(id, change, at: $1) }
    }

    func note(
        _ progress: OperationProgress, of id: OperationID, end: OperationEnd?, term: Int64
    ) async throws(StoreError) -> Bool { try act { $0.note(progress, of: id, end: end, term: term, at: $1) } }
}

/// Writes down what it is told.
final class Witness: ClusterDelegate {
    enum Call: Equatable, Sendable {
        case joined(NodeIdentity)
        case view(Int64)
        case serving(Bool)
        case quiesce(Int)
    }

    struct State {
        var calls: [Call] = []
        var gained: [GainReason: Int] = [:]
        var isQuiesceStuck = false
        var isStuckNow = false
    }

    let state = Locked(State())
    private let clock: ManualClock

    init(clock: ManualClock) { self.clock = clock }

    var calls: [Call] { state.withLock { $0.calls } }

    func joined(_ identity: NodeIdentity) async { state.withLock { $0.calls.append(.joined(identity)) } }

    func viewChanged(_ view: ClusterView) async {
        state.withLock { state in
            state.calls.append(.view(view.version))
            for shard in view.gained { state.gained[shard.reason, default: 0] += 1 }
        }
    }

    func servingChanged(_ isServing: Bool) { state.withLock { $0.calls.append(.serving(isServing)) } }

    func quiesce(_ places: [Place]) async {
        let isStuck = state.withLock { state in
            state.calls.append(.quiesce(places.count))
            state.isStuckNow = state.isQuiesceStuck
            return state.isQuiesceStuck
        }
        guard isStuck else { return }
        try? await clock.sleep(until: clock.now.advanced(by: .seconds(20)))
        state.withLock { $0.isStuckNow = false }
    }
}

/// Nodes on one store, one bus and one manual clock.
final class TestCluster {
    struct Running {
        let node: ClusterNode
        let witness: Witness
        let bus: DirectBus
        let metrics: Metrics
        let start: Task<Void, any Error>
    }

    let clock = ManualClock()
    let store: TestStore
    let hub: DirectBusHub
    private(set) var running: [String: Running] = [:]
    private var killed: [Running] = []
    private let lives = Locked<UInt64>(0)
    let displaced = Locked<[String]>([])

    init() {
        store = TestStore(clock: clock)
        hub = DirectBusHub(clock: clock)
    }

    func start(_ names: String...) {
        for name in names {
            var options = ClusterNodeOptions(name: name, url: "http://\(name)", adminURL: "", version: "1", lanes: 2)
            options.allowsTestHooks = true
            let bus = DirectBus(hub)
            let metrics = Metrics()
            let (lives, displaced) = (lives, displaced)
            let node = ClusterNode(
                options, store: store, operations: store, bus: bus, clock: clock,
                makeIncarnation: {
                    let life = lives.withLock { life in
                        life += 1
                        return life
                    }
                    return IncarnationID(high: life << 16 | 0x7000, low: 1 << 63)
                }, onDisplaced: { _ in displaced.withLock { $0.append(name) } }, logger: .silent, metrics: metrics)
            let witness = Witness(clock: clock)
            node.attach(witness)
            running[name] = Running(
                node: node, witness: witness, bus: bus, metrics: metrics, start: Task { try await node.start() })
        }
    }

    /// Ends a node as `kill -9` does: nothing it does reaches anyone any more.
    func kill(_ name: String) {
        guard let process = running.removeValue(forKey: name) else { return }
        process.bus.setConnected(false)
        process.node.freeze()
        killed.append(process)
    }

    subscript(name: String) -> Running { running[name]! }

    /// Moves time on by steps of a tick, each once everyone has nothing left to do at this moment.
    func run(_ duration: Duration) async {
        var rest = duration
        while rest > .zero {
            await quiet()
            clock.advance(by: .milliseconds(100))
            rest -= .milliseconds(100)
        }
        await quiet()
    }

    /// Runs until `condition`, at most for `limit` of the manual clock; the time it took, nil where it was not enough.
    func run(until condition: () -> Bool, within limit: Duration) async -> Duration? {
        var elapsed = Duration.zero
        await quiet()
        while !condition() {
            guard elapsed < limit else { return nil }
            await run(.milliseconds(100))
            elapsed += .milliseconds(100)
        }
        return elapsed
    }

    private func quiet() async {
        let processes = Array(running.values) + killed
        var calm = 0
        while calm < 3 {
            let isQuiet = processes.allSatisfy { process in
                process.node.mailbox.isIdle && process.node.errandCount.load(ordering: .relaxed) == 0
                    && (process.node.delegateCallCount.load(ordering: .relaxed) == 0
                        || process.witness.state.withLock { $0.isStuckNow })
            }
            // The tickers sleep; and so does whatever else is known to.
            let stuck = processes.count { $0.witness.state.withLock { $0.isStuckNow } }
            calm = isQuiet && clock.sleeperCount >= processes.count + stuck + hub.timeoutCount ? calm + 1 : 0
            await Task.yield()
        }
    }

    func stopAll() async {
        for process in killed { process.node.thaw() }
        for process in running.values.map({ $0 }) + killed { await stop(process) }
        running = [:]
    }

    func stop(_ name: String) async { await stop(running.removeValue(forKey: name)!) }

    private func stop(_ process: Running) async {
        await process.node.stop()
        process.start.cancel()
    }

    // MARK: What is

    var snapshot: SimulatedClusterStore { store.state.withLock { $0.store } }

    func owned(_ name: String) -> Int {
        guard let identity = running[name]?.node.identity else { return 0 }
        return snapshot.shards.count { $0.owner == identity }
    }

    /// Every shard belongs to a running node that serves and knows it.
    var isWhole: Bool {
        let views = running.values.compactMap { process -> (NodeIdentity, ClusterView)? in
            guard let identity = process.node.identity, process.node.isServing, let view = process.node.currentView else {
                return nil
            }
            return (identity, view)
        }
        return snapshot.shards.allSatisfy { shard in
            views.contains { identity, view in
                shard.owner == identity && view.table.epoch(of: shard.id) == shard.epoch
                    && view.table.owner(of: shard.id) == identity
            }
        }
    }

    var isEven: Bool {
        let counts = running.keys.map { owned($0) }
        return counts.max()! - counts.min()! <= 2 && !snapshot.shards.contains { $0.target != nil }
    }

    var leaderName: String? {
        running.values.first { $0.node.identity != nil && $0.node.identity?.incarnation == snapshot.leader }?.node.options.name
    }

    var followerName: String? {
        let leader = leaderName
        return running.keys.sorted().first { $0 != leader }
    }
}

import ClusterCore
import Ports
import RoostModel
import Runtime
import Synchronization

/// This node's membership: registers it, keeps its lease, tells the others that it lives, follows the view, leads when it falls to
/// it, hands shards over, and comes back as a new incarnation after it was declared dead.
///
/// One loop feeds a ``ClusterCore/MembershipMachine`` and carries out what it decides. Nothing here is on the path of messages:
/// that asks ``isServing`` and the delegate's copy of the view.
public final class ClusterNode: Service {
    public let name = "cluster"
    let options: ClusterNodeOptions
    let store: any ClusterStore
    let operations: any OperationStore
    let bus: any MessageBus
    let clock: any Clock<Duration>
    let time: ElapsedTime
    let makeIncarnation: @Sendable () -> IncarnationID
    let onDisplaced: @Sendable (ClusterError) -> Void
    let logger: Logger
    let metrics: ClusterMetrics

    let mailbox = Mailbox<ClusterEvent>(limit: 4096)
    let shared = Locked(Shared())
    private let renewedAt: LastRenewal
    /// Nanoseconds of `time` until which this node may serve.
    private let servingUntil = Atomic<Int64>(.min)
    private let frozen = Atomic<Bool>(false)
    /// A wish that the loop has not seen to yet: one at a time waits in the mailbox.
    let isRefreshWanted = Atomic<Bool>(false)
    /// Errands of the store under way, for tests that wait for quiet.
    let errandCount = Atomic<Int>(0)
    /// Calls of the delegate under way or waiting.
    let delegateCallCount = Atomic<Int>(0)

    struct Shared {
        var delegate: (any ClusterDelegate)?
        var identity: NodeIdentity?
        var view: ClusterView?
        var loads = LoadBook()
        var suspects: Set<NodeIdentity> = []
        var hasJoined = false
        var end: ClusterError?
        var waiters: [CheckedContinuation<ClusterError?, Never>] = []
        var loop: Task<Void, Never>?
    }

    /// - Parameters:
    ///   - clock: must go on while the process is stopped by a signal, as ``ContinuousClock`` does.
    ///   - makeIncarnation: a new one at each call, greater than those before.
    ///   - onDisplaced: another process has registered this node's name; this one serves no more and should end.
    public init(
        _ options: ClusterNodeOptions, store: any ClusterStore, operations: any OperationStore, bus: any MessageBus,
        clock: any Clock<Duration> = ContinuousClock(),
        makeIncarnation: @escaping @Sendable () -> IncarnationID = { .make() },
        onDisplaced: @escaping @Sendable (ClusterError) -> Void = { _ in }, logger: Logger, metrics: Metrics
    ) {
        self.options = options
        self.store = store
        self.operations = operations
        self.bus = bus
        self.clock = clock
        self.makeIncarnation = makeIncarnation
        self.onDisplaced = onDisplaced
        self.logger = logger.labelled("cluster")
        let time = ElapsedTime(clock)
        self.time = time
        let renewedAt = LastRenewal()
        self.renewedAt = renewedAt
        self.metrics = ClusterMetrics(metrics) { renewedAt.age(at: time.now()) }
    }

    /// Must be called before ``start()``.
    public func attach(_ delegate: any ClusterDelegate) { shared.withLock { $0.delegate = delegate } }

    // MARK: What is known, from any thread

    /// Whether the lease lets this node serve at this moment. A read of the clock and of one atomic.
    public var isServing: Bool {
        if frozen.load(ordering: .relaxed) { return true }
        return time.now().nanoseconds < servingUntil.load(ordering: .relaxed)
    }

    /// The incarnation this node lives as; nil before it has joined, and while it comes back after having been declared dead.
    public var identity: NodeIdentity? { shared.withLock { $0.identity } }

    /// The newest view that was loaded; the delegate may not have seen it yet.
    public var currentView: ClusterView? { shared.withLock { $0.view } }

    /// What the nodes say of their work, and how long ago they said it.
    public var loads: [IncarnationID: (report: LoadReport, age: Duration)] {
        let now = time.now()
        return shared.withLock { $0.loads.entries }.mapValues { ($0.report, now - $0.at) }
    }

    /// What `nodes` say of their work, by incarnation; nil where one has not said it lately, as no plan should rest on that.
    public func freshLoads(of nodes: [NodeIdentity]) -> [IncarnationID: LoadReport]? {
        let now = time.now()
        return shared.withLock { $0.loads }.fresh(nodes, maximumAge: options.timings.loadInterval * 2, at: now)
    }

    /// Nodes that are silent on the bus, as this one hears it.
    public var suspects: Set<NodeIdentity> { shared.withLock { $0.suspects } }

    public var liveNodes: [NodeRecord] { currentView?.nodes ?? [] }

    /// The leading node by the present view, and its term.
    public var leader: (node: NodeIdentity, term: Int64)? {
        guard let view = currentView, let node = view.nodes.first(where: { $0.identity.incarnation == view.leader }) else {
            return nil
        }
        return (node.identity, view.leaderTerm)
    }

    /// Loads the view soon: somebody who knows a newer one refused a command. May be called as often as that happens.
    public func refreshView() {
        if !isRefreshWanted.exchange(true, ordering: .relaxed) { mailbox.post(.refresh) }
    }

    /// Something was done to the cluster's tables through another door: loads the view, and lets the others know.
    public func viewWasChanged() {
        try? bus.publish(ClusterWire.encode(viewVersion: .max, from: identity?.incarnation), to: ClusterSubject.view)
        offer(.hint(ClusterWire.encode(viewVersion: .max)))
    }

    // MARK: Service

    /// Joins, and returns when the delegate has the first view. Waits as long as the bus or the database is away.
    ///
    /// - Throws: ``ClusterError``; `CancellationError` where cancelled before it had joined.
    public func start() async throws {
        let faults = options.faults()
        guard faults.isEmpty else { throw ClusterError(.badOptions, detail: faults.joined(separator: "; ")) }
        guard let delegate = shared.withLock({ $0.delegate }) else { throw ClusterError(.badOptions, detail: "no delegate") }
        let subscriptions = try subscribe()
        let task = Task { [self] in
            await ClusterLoop(self, delegate: delegate).run()
            for subscription in subscriptions { subscription.cancel() }
        }
        shared.withLock { $0.loop = task }
        try await withTaskCancellationHandler {
            if let end = await waitUntilJoined() {
                await task.value
                if Task.isCancelled { throw CancellationError() }
                throw end
            }
        } onCancel: {
            mailbox.post(.leave)
        }
    }

    /// Leaves in good order: what is in flight in this node's shards is finished, then the others take them at once.
    public func stop() async {
        mailbox.post(.leave)
        let loop = shared.withLock { $0.loop }
        await loop?.value
        shared.withLock { $0.delegate = nil }
    }

    /// As ``stop()``, for an owner that goes on serving its sockets for a while.
    public func leave() async { await stop() }

    /// Nil once joined; the reason where this will not happen any more.
    private func waitUntilJoined() async -> ClusterError? {
        await withCheckedContinuation { continuation in
            let answer = shared.withLock { shared -> ClusterError?? in
                if let end = shared.end { return end }
                if shared.hasJoined { return .some(nil) }
                shared.waiters.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func subscribe() throws(BusError) -> [any BusSubscription] {
        bus.observe { [weak self] event in self?.offer(.bus(event)) }
        return [
            try bus.subscribe(to: ClusterSubject.heartbeat) { [weak self] in self?.offer(.heartbeat($0.payload)) },
            try bus.subscribe(to: ClusterSubject.load) { [weak self] in self?.offer(.load($0.payload)) },
            try bus.subscribe(to: ClusterSubject.view) { [weak self] in self?.offer(.hint($0.payload)) },
        ]
    }

    func offer(_ event: ClusterEvent) {
        if !mailbox.offer(event) { metrics.dropped.increment() }
    }

    // MARK: For the loop

    func setServing(until deadline: Duration?, leaseAge: Duration?, at now: Duration) {
        servingUntil.store(deadline?.nanoseconds ?? .min, ordering: .relaxed)
        renewedAt.set(leaseAge.map { now - $0 })
    }

    func setJoined() { resumeWaiters { $0.hasJoined = true } }

    func setEnded(_ error: ClusterError) { resumeWaiters { $0.end = error } }

    private func resumeWaiters(_ change: (inout Shared) -> Void) {
        let (waiters, end) = shared.withLock { shared in
            change(&shared)
            let waiters = shared.waiters
            shared.waiters = []
            return (waiters, shared.end)
        }
        for waiter in waiters { waiter.resume(returning: end) }
    }

    // MARK: Test hooks

    var isFrozen: Bool { frozen.load(ordering: .relaxed) }

    /// Makes this node stand still without knowing it: no renewals, no heartbeats, no new views, and yet it serves as though its
    /// lease were good. The database must then refuse what it commits once the others have declared it dead.
    ///
    /// - Returns: false where test hooks are off, and nothing happens.
    @discardableResult
    public func freeze() -> Bool {
        guard options.allowsTestHooks else { return false }
        logger.warning("frozen by a test hook")
        frozen.store(true, ordering: .relaxed)
        return true
    }

    /// Ends ``freeze()``: the node finds out what happened meanwhile.
    public func thaw() {
        guard frozen.exchange(false, ordering: .relaxed) else { return }
        logger.warning("thawed by a test hook")
        mailbox.post(.thaw)
    }
}

/// When the lease was last renewed, for the metric.
private final class LastRenewal: Sendable {
    private let nanoseconds = Atomic<Int64>(.min)

    func set(_ time: Duration?) { nanoseconds.store(time?.nanoseconds ?? .min, ordering: .relaxed) }

    /// Seconds; -1 without a lease.
    func age(at now: Duration) -> Double {
        let time = nanoseconds.load(ordering: .relaxed)
        return time == .min ? -1 : Double(now.nanoseconds - time) / 1e9
    }
}

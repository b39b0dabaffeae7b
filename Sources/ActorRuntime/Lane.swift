import ClusterCore
import EventLoop
import Ports
import RoostModel
import Runtime

/// A loop that hosts actors. An actor's lane is fixed by its id, so everything about it happens on one thread, in order.
/// Confined to its loop.
public final class Lane: @unchecked Sendable {
    public typealias Factory = (ActorAddress, Lane) -> any HostedActor

    public let endpoint: Endpoint
    /// 0-based among the node's lanes.
    public let index: Int

    private let system: RoostActorSystem
    private let wallClock: @Sendable () -> Timestamp
    private var activations = AwakeActors()
    private var held = HeldCalls()
    /// Where the walk over idle actors goes on.
    private var nextSwept = 0
    private var factories: [ShardKind: Factory] = [:]
    /// Places that are about to move, or that a leaving node gives up: nothing is admitted for them, though the table still names
    /// this node.
    private var closed: [Place: Closing] = [:]

    /// What the table said of a place when it was closed.
    private struct Closing {
        let epoch: Epoch
        let wasMoving: Bool
    }

    public var loop: EventLoop { endpoint.loop }

    init(endpoint: Endpoint, index: Int, system: RoostActorSystem, wallClock: @escaping @Sendable () -> Timestamp) {
        self.endpoint = endpoint
        self.index = index
        self.system = system
        self.wallClock = wallClock
    }

    /// Says how actors of a kind are made. Call before the system starts.
    public func register(_ kind: ShardKind, _ factory: @escaping Factory) {
        factories[kind] = factory
    }

    // MARK: Calls

    /// Hands a call to its actor, waking it first where it sleeps.
    func deliver(_ call: InboundCall) {
        let routing = endpoint.routing
        guard routing.isServing else { return answer(call, .failure(.unavailable)) }
        guard routing.isOwnedHere(call.address) else { return hold(call, routing) }
        guard closed.isEmpty || isAdmitted(call.address, routing), let actor = activation(of: call.address) else {
            return answer(call, .notOwner)
        }
        if call.verb == CommonVerb.perform {
            system.perform(call, on: actor, lane: self)
        } else {
            Self.enter(actor, call)
        }
    }

    /// Whether neither the actor's place nor the actor itself, which may be about to leave its shard, is closed.
    private func isAdmitted(_ address: ActorAddress, _ routing: Routing) -> Bool {
        closed[routing.table.place(of: address)] == nil && closed[.actor(address)] == nil
    }

    /// Keeps a call whose actor is about to arrive, as its caller knows already; refuses any other.
    private func hold(_ call: InboundCall, _ routing: Routing) {
        guard routing.isArriving(call.address) else { return answer(call, .notOwner) }
        let isFirst = held.isEmpty
        guard held.add(call) else { return answer(call, .notOwner) }
        system.metrics.heldCalls.increment()
        guard isFirst else { return }
        loop.schedule(after: HeldCalls.patience) { [self] in
            for call in held.take() { answer(call, .notOwner) }
        }
    }

    /// Answers a call that one of this lane's actors received.
    public func answer(_ call: InboundCall, _ outcome: CallOutcome) {
        endpoint.answer(call, outcome)
    }

    private static func enter(_ actor: some HostedActor, _ call: InboundCall) {
        actor.assumeIsolated { $0.receive(call) }
    }

    // MARK: Activation

    /// The actor at `address`, woken where needed; nil where this node does not know how to make one.
    public func activation(of address: ActorAddress) -> (any HostedActor)? {
        if let actor = activations[address] { return actor }
        guard let factory = factories[address.kind] else { return nil }
        let actor = RoostActorSystem.$activating.withValue(address) { factory(address, self) }
        activations.insert(actor, at: address)
        system.metrics.activations.increment()
        return actor
    }

    /// The actor at `address` if it is awake.
    public func existing(_ address: ActorAddress) -> (any HostedActor)? { activations[address] }

    /// Forgets an actor that found nothing to be; the next call makes it anew.
    public func drop(_ address: ActorAddress) { activations.remove(address) }

    /// Actors of the shard that are awake here, pinned ones too.
    public func awakeCount(in shard: ShardID) -> Int { activations[shard].count }

    public func forEachAwake(in shard: ShardID, _ body: (ActorAddress, any HostedActor) -> Void) {
        for (address, actor) in activations[shard] { body(address, actor) }
    }

    public static func activity(of actor: any HostedActor) -> ActorActivity { open(actor) }

    public static func routes(of actor: any HostedActor) -> [String] { openRoutes(actor) }

    private static func open(_ actor: some HostedActor) -> ActorActivity { actor.assumeIsolated { $0.activity } }

    private static func openRoutes(_ actor: some HostedActor) -> [String] { actor.assumeIsolated { $0.routes } }

    public var activeCount: Int { activations.count }

    public func forEachActive(of kind: ShardKind, _ body: (any HostedActor) -> Void) {
        for shard in ShardID.all where shard.kind == kind {
            for actor in activations[shard].values { body(actor) }
        }
    }

    /// Every actor is asked once in five seconds whether it may go, a few shards at a time: many of them do not hold up the lane.
    private static let sweepInterval: Duration = .milliseconds(100)
    private static let shardsPerSweep = ShardID.all.count / 50 + 1

    func startTimers() {
        loop.schedule(after: Self.sweepInterval) { [self] in
            sweep(Self.shardsPerSweep)
            startTimers()
        }
    }

    /// Drops actors of the next `count` shards that have been idle long enough.
    func sweep(_ count: Int) {
        let now = wallClock()
        for _ in 0..<count {
            let shard = ShardID.all[nextSwept]
            nextSwept = (nextSwept + 1) % ShardID.all.count
            for (address, actor) in activations[shard] where Self.mayPassivate(actor, now) {
                activations.remove(address)
                system.metrics.passivations.increment()
            }
        }
    }

    private static func mayPassivate(_ actor: some HostedActor, _ now: Timestamp) -> Bool {
        actor.assumeIsolated { $0.mayPassivate(at: now) }
    }

    // MARK: Places that come and go

    /// Stops admission to `places` and retires their actors; `done` runs on the lane once the last one has finished. An actor that is
    /// pinned here stays when its shard goes, and one that is about to be pinned elsewhere goes alone.
    func close(_ places: Set<Place>, _ done: @escaping () -> Void) {
        let table = endpoint.routing.table
        var leaving: [ActorAddress: any HostedActor] = [:]
        for place in places {
            closed[place] = Closing(epoch: table.epoch(of: place), wasMoving: table.isMoving(place))
            switch place {
            case .shard(let shard):
                leaving.merge(activations[shard].filter { table.place(of: $0.key) == place }) { first, _ in first }
            case .actor(let address): leaving[address] = activations[address]
            }
        }
        retire(leaving, done)
    }

    /// Drops what this node no longer owns, opens what it was given again or whose move was called off, and lets in who waits for it.
    func routingChanged() {
        let routing = endpoint.routing
        closed = closed.filter { place, closing in
            let isCalledOff = closing.wasMoving && !routing.table.isMoving(place)
            return routing.isOwnedHere(place) && routing.table.epoch(of: place) == closing.epoch && !isCalledOff
        }
        let hasPins = Set(routing.table.pins.keys.map(\.shard))
        for shard in ShardID.all where activations.count > 0 && !activations[shard].isEmpty {
            if hasPins.contains(shard) {
                retire(activations[shard].filter { !routing.isOwnedHere($0.key) }, {})
            } else if !routing.isOwnedHere(shard) {
                retire(activations[shard], {})
            }
        }
        for call in held.take() { deliver(call) }
    }

    /// Retires every actor: this incarnation is over.
    func retireAll(_ done: @escaping () -> Void = {}) {
        for call in held.take() { answer(call, .notOwner) }
        var leaving: [ActorAddress: any HostedActor] = [:]
        for shard in ShardID.all { leaving.merge(activations[shard]) { first, _ in first } }
        retire(leaving, done)
    }

    private func retire(_ leaving: [ActorAddress: any HostedActor], _ done: @escaping () -> Void) {
        guard !leaving.isEmpty else { return done() }
        let countdown = Countdown(leaving.count, done)
        for (address, actor) in leaving {
            activations.remove(address)
            Self.retire(actor) { countdown.signal() }
        }
    }

    private static func retire(_ actor: some HostedActor, _ done: @escaping @Sendable () -> Void) {
        actor.assumeIsolated { $0.retire(done) }
    }
}

/// Runs a closure when a number of things have happened. Confined to one loop.
final class Countdown: @unchecked Sendable {
    private var remaining: Int
    private let done: () -> Void

    init(_ count: Int, _ done: @escaping () -> Void) {
        remaining = count
        self.done = done
    }

    func signal() {
        remaining -= 1
        if remaining == 0 { done() }
    }
}

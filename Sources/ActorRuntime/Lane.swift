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
    private var activations: [ActorAddress: any HostedActor] = [:]
    /// How many of them each shard has, by ``RoostModel/ShardID/tableIndex``.
    private var awakeCounts = [Int32](repeating: 0, count: ShardID.all.count)
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
        guard routing.isOwnedHere(call.address), closed.isEmpty || isAdmitted(call.address, routing), let actor = activation(of: call.address)
        else { return answer(call, .notOwner) }
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
        activations[address] = actor
        awakeCounts[address.shard.tableIndex] += 1
        system.metrics.activations.increment()
        return actor
    }

    /// The actor at `address` if it is awake.
    public func existing(_ address: ActorAddress) -> (any HostedActor)? { activations[address] }

    /// Forgets an actor that found nothing to be; the next call makes it anew.
    public func drop(_ address: ActorAddress) { remove(address) }

    private func remove(_ address: ActorAddress) {
        if activations.removeValue(forKey: address) != nil { awakeCounts[address.shard.tableIndex] -= 1 }
    }

    /// Actors of the shard that are awake here, pinned ones too.
    public func awakeCount(in shard: ShardID) -> Int { Int(awakeCounts[shard.tableIndex]) }

    /// Those that are awake here.
    public var awake: [ActorAddress] { Array(activations.keys) }

    public static func activity(of actor: any HostedActor) -> ActorActivity { open(actor) }

    public static func routes(of actor: any HostedActor) -> [String] { openRoutes(actor) }

    private static func open(_ actor: some HostedActor) -> ActorActivity { actor.assumeIsolated { $0.activity } }

    private static func openRoutes(_ actor: some HostedActor) -> [String] { actor.assumeIsolated { $0.routes } }

    public var activeCount: Int { activations.count }

    public func forEachActive(_ body: (any HostedActor) -> Void) {
        for actor in activations.values { body(actor) }
    }

    func startTimers() {
        loop.schedule(after: .seconds(5)) { [self] in
            sweep()
            startTimers()
        }
    }

    /// Drops actors that have been idle long enough.
    func sweep() {
        let now = wallClock()
        for (address, actor) in activations where Self.mayPassivate(actor, now) {
            remove(address)
            system.metrics.passivations.increment()
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
        for place in places {
            closed[place] = Closing(epoch: table.epoch(of: place), wasMoving: table.isMoving(place))
        }
        retire(where: { places.contains(table.place(of: $0)) || places.contains(.actor($0)) }, done)
    }

    /// Drops what this node no longer owns, and opens what it was given again or whose move was called off.
    func routingChanged() {
        let routing = endpoint.routing
        closed = closed.filter { place, closing in
            let isCalledOff = closing.wasMoving && !routing.table.isMoving(place)
            return routing.isOwnedHere(place) && routing.table.epoch(of: place) == closing.epoch && !isCalledOff
        }
        retire(where: { !routing.isOwnedHere($0) }, {})
    }

    /// Retires every actor: this incarnation is over.
    func retireAll(_ done: @escaping () -> Void = {}) {
        retire(where: { _ in true }, done)
    }

    private func retire(where matches: (ActorAddress) -> Bool, _ done: @escaping () -> Void) {
        let leaving = activations.filter { matches($0.key) }
        guard !leaving.isEmpty else { return done() }
        let countdown = Countdown(leaving.count, done)
        for (address, actor) in leaving {
            remove(address)
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

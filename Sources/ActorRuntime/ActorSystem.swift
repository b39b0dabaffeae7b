import ClusterCore
import Distributed
import EventLoop
import Ports
import RoostModel
import Runtime

/// The distributed actor system of one node: virtual actors on lanes, reached over the message bus.
///
/// `lanes` host actors; further endpoints (one per edge loop) only call them. Two ways lead to an actor. The hot one is
/// ``Endpoint/call(_:verb:payload:timeout:completion:)``: bytes in, bytes out, batched per loop turn. The typed one is Swift's own:
/// resolve an actor and `await` its ``HostedActor/perform(_:)``; it goes the same way underneath.
public final class RoostActorSystem: @unchecked Sendable {
    @TaskLocal static var activating: ActorAddress?

    // Set once, at the end of init.
    public private(set) var lanes: [Lane] = []
    public private(set) var endpoints: [Endpoint] = []
    let metrics: RuntimeMetrics

    private let bus: any MessageBus
    private let logger: Logger
    private let state = Locked(State())
    /// Called, on any thread, when an answer shows that this node's view of the cluster may be old.
    private let onStaleRouting: @Sendable () -> Void
    /// Takes events for sessions on this node, on a thread of the bus or of a lane, in order per conversation.
    private let onEvent: @Sendable (FanoutEvent) -> Void
    private let onNotice: @Sendable (NodeNotice) -> Void

    private struct State {
        var identity: NodeIdentity?
        var subscriptions: [any BusSubscription] = []
    }

    public init(
        laneLoops: [EventLoop], edgeLoops: [EventLoop], bus: any MessageBus, logger: Logger, metrics: Metrics,
        wallClock: @escaping @Sendable () -> Timestamp = { .now },
        onStaleRouting: @escaping @Sendable () -> Void, onEvent: @escaping @Sendable (FanoutEvent) -> Void,
        onNotice: @escaping @Sendable (NodeNotice) -> Void
    ) {
        self.bus = bus
        self.logger = logger
        self.metrics = RuntimeMetrics(metrics)
        self.onStaleRouting = onStaleRouting
        self.onEvent = onEvent
        self.onNotice = onNotice
        let loops = laneLoops + edgeLoops
        endpoints = loops.enumerated().map { index, loop in
            Endpoint(
                index: index, loop: loop, system: self, bus: bus, laneCount: laneLoops.count, endpointCount: loops.count)
        }
        lanes = laneLoops.indices.map { Lane(endpoint: endpoints[$0], index: $0, system: self, wallClock: wallClock) }
    }

    public var identity: NodeIdentity? { state.withLock { $0.identity } }

    /// The lane of an actor on this node.
    public func lane(of address: ActorAddress) -> Lane { lanes[address.lane(of: lanes.count)] }

    var busIsConnected: Bool { bus.state == .connected }

    func routingLooksStale() { onStaleRouting() }

    // MARK: Life

    /// Starts the timers of all loops. Call once, after the lanes know their factories.
    public func start() {
        for endpoint in endpoints { endpoint.loop.execute { endpoint.startTimers() } }
        for lane in lanes { lane.loop.execute { lane.startTimers() } }
    }

    /// Begins a life of this node: listens on its subjects. Actors of an earlier life are retired first.
    public func join(as identity: NodeIdentity) async throws(BusError) {
        await leave()
        var subscriptions: [any BusSubscription] = []
        for endpoint in endpoints {
            let subject = Destination(node: identity, endpoint: endpoint.index).subject
            subscriptions.append(try bus.subscribe(to: subject) { [weak self] in self?.received($0.payload, at: endpoint) })
        }
        // The others must not speak to us before the bus knows that we listen. Where it is away, they cannot.
        try? await bus.synchronize(timeout: .seconds(2))
        let joined = State(identity: identity, subscriptions: subscriptions)
        state.withLock { $0 = joined }
    }

    /// Ends this life: no call is taken any more, and every actor is retired.
    public func leave() async {
        let subscriptions = state.withLock { state in
            defer { state = State() }
            return state.subscriptions
        }
        for subscription in subscriptions { subscription.cancel() }
        await onEachLane { lane, done in lane.retireAll(done) }
    }

    /// Gives every loop the new view of the cluster.
    public func apply(_ routing: Routing) {
        for endpoint in endpoints { endpoint.loop.execute { endpoint.apply(routing) } }
        for lane in lanes { lane.loop.execute { lane.routingChanged() } }
    }

    /// Stops admission to `places` on this node, and returns when their actors have finished and answered.
    public func close(_ places: Set<Place>) async {
        await onEachLane { lane, done in lane.close(places, done) }
    }

    public func busChanged(_ event: BusEvent) {
        for endpoint in endpoints {
            endpoint.loop.execute {
                switch event {
                case .disconnected: endpoint.busDisconnected()
                case .reconnected, .slowConsumer: endpoint.busReconnected()
                }
            }
        }
    }

    /// A node listens again after its connection to the bus broke: calls sent to it meanwhile found nobody, and nothing said so.
    public func peerReturned(_ node: NodeIdentity) {
        for endpoint in endpoints { endpoint.loop.execute { endpoint.resend(to: node) } }
    }

    private func onEachLane(_ body: @escaping @Sendable (Lane, @escaping () -> Void) -> Void) async {
        await withDiscardingTaskGroup { group in
            for lane in lanes {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        lane.loop.execute { body(lane) { continuation.resume() } }
                    }
                }
            }
        }
    }

    // MARK: From the bus

    /// A batch for one of this node's endpoints, on a thread of the bus.
    private func received(_ payload: [UInt8], at endpoint: Endpoint) {
        var calls: [InboundCall] = []
        var replies: [ReplyFrame] = []
        do throws(ByteReader.Truncated) {
            var reader = ByteReader(payload)
            guard let header = try BatchHeader.read(&reader) else { return malformed() }
            while !reader.isAtEnd {
                switch try Frame.read(&reader) {
                case .call(let call):
                    calls.append(
                        InboundCall(
                            address: call.address, verb: call.verb, payload: call.payload, id: call.id,
                            origin: .remote(header.sender, endpoint: header.endpoint)))
                case .reply(let reply): replies.append(reply)
                case .event(let event): onEvent(event)
                case .notice(let notice): onNotice(notice)
                case nil: break
                }
            }
        } catch {
            malformed()
        }
        if !calls.isEmpty, endpoint.index < lanes.count { lanes[endpoint.index].receive(calls) }
        if !replies.isEmpty { endpoint.receive(replies) }
    }

    /// A notice from this node to itself.
    func deliver(_ notice: NodeNotice) { onNotice(notice) }

    private func malformed() {
        metrics.malformedBatches.increment()
        logger.warning("Unreadable bus message dropped")
    }
}

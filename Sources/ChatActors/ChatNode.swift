import ActorRuntime
import ClusterCore
import EventLoop
import Ports
import RoostModel
import Runtime

/// The actors' side of one node: lanes with their journals, the directory of routes, and what a change of the cluster means to them.
public final class ChatNode: @unchecked Sendable {
    public struct Parts: Sendable {
        public var laneLoops: [EventLoop]
        public var edgeLoops: [EventLoop]
        public var bus: any MessageBus
        public var hub: any SessionHub
        public var lastSeen: LastSeenRecorder
        public var settings: ChatSettings
        public var logger: Logger
        public var metrics: Metrics
        public var now: @Sendable () -> Timestamp

        public init(
            laneLoops: [EventLoop], edgeLoops: [EventLoop], bus: any MessageBus,
            hub: any SessionHub, lastSeen: LastSeenRecorder,
            settings: ChatSettings = ChatSettings(), logger: Logger, metrics: Metrics,
            now: @escaping @Sendable () -> Timestamp = { .now }
        ) {
            self.laneLoops = laneLoops
            self.edgeLoops = edgeLoops
            self.bus = bus
            self.hub = hub
            self.lastSeen = lastSeen
            self.settings = settings
            self.logger = logger
            self.metrics = metrics
            self.now = now
        }
    }

    /// What the node's surroundings are told.
    public struct Events: Sendable {
        /// A call reached a node that does not own the actor: somebody's view is old.
        public var staleRouting: @Sendable () -> Void
        /// The database refused a commit of this incarnation.
        public var fenced: @Sendable () -> Void
        /// Sessions of this node may have missed events.
        public var missedEvents: @Sendable () -> Void
        public var presenceChanged: @Sendable (PresenceFact) -> Void

        public init(
            staleRouting: @escaping @Sendable () -> Void, fenced: @escaping @Sendable () -> Void,
            missedEvents: @escaping @Sendable () -> Void, presenceChanged: @escaping @Sendable (PresenceFact) -> Void
        ) {
            self.staleRouting = staleRouting
            self.fenced = fenced
            self.missedEvents = missedEvents
            self.presenceChanged = presenceChanged
        }
    }

    public let system: RoostActorSystem
    public let client: ChatClient
    public let routes: RouteDirectory
    let lanes: [ChatLane]
    private let fanout: Fanout
    private let makeJournal: @Sendable (NodeIdentity, Int, EventLoop) -> LaneJournal
    /// The version of the view that this node's actors go by.
    public var viewVersion: Int64 { currentTable.version }

    /// The shard table as this node's actors know it.
    var currentTable: ShardTable { routing.withLock { $0.table } }

    private let routing = Locked(Routing(identity: nil, table: .empty, live: [], isServing: false))

    /// - Parameter makeJournal: opens the journal of a lane for a life of the node. Called on the lane's loop.
    public init(
        _ parts: Parts, events: Events, makeJournal: @escaping @Sendable (NodeIdentity, _ lane: Int, EventLoop) -> LaneJournal
    ) {
        self.makeJournal = makeJournal
        let metrics = ChatMetrics(parts.metrics)
        let hub = parts.hub
        system = RoostActorSystem(
            laneLoops: parts.laneLoops, edgeLoops: parts.edgeLoops, bus: parts.bus, logger: parts.logger, metrics: parts.metrics,
            wallClock: parts.now, onStaleRouting: events.staleRouting, onEvent: { hub.deliver($0) },
            onNotice: { notice in
                guard notice.topic == NoticeTopic.presence, let fact = try? PresenceFact(notice.payload) else { return }
                events.presenceChanged(fact)
            })
        client = ChatClient(system: system)
        routes = RouteDirectory(
            loop: parts.laneLoops[0], bus: parts.bus, logger: parts.logger, metrics: parts.metrics,
            onMissedEvents: events.missedEvents, onPeerReturned: { [system] in system.peerReturned($0) })
        fanout = Fanout(routes: routes, hub: hub, deliveries: metrics.deliveries)
        lanes = system.lanes.map { [fanout] lane in
            ChatLane(
                lane: lane, fanout: fanout, lastSeen: parts.lastSeen, settings: parts.settings, metrics: metrics,
                logger: parts.logger, now: parts.now, onFenced: events.fenced)
        }
        for context in lanes {
            context.lane.register(.conversation) { [system] _, lane in
                ConversationActor(context: context, lane: lane, actorSystem: system)
            }
            context.lane.register(.presence) { [system] _, lane in
                PresenceActor(context: context, lane: lane, actorSystem: system)
            }
        }
        parts.metrics.gauge("roost_serving", help: "1 while this node's lease lets it serve.") { [routing] in
            routing.withLock { $0.isServing ? 1 : 0 }
        }
    }

    public func start() {
        system.start()
        routes.start()
    }

    // MARK: The cluster

    /// A new life of this node begins.
    public func begin(as identity: NodeIdentity) async throws {
        try await system.join(as: identity)
        for context in lanes {
            context.lane.loop.execute { [makeJournal] in
                context.begin(as: identity, makeJournal(identity, context.lane.index, context.lane.loop))
            }
        }
        update { $0 = Routing(identity: identity, table: .empty, live: [identity], isServing: $0.isServing) }
        routes.apply(identity: identity, live: [identity])
    }

    /// Takes a new view. Answers what now has another owner than before.
    public func apply(_ view: ClusterView) -> OwnerChanges {
        let live = Set(view.nodes.map(\.identity))
        let old = routing.withLock { $0 }
        // Before anybody can be let in.
        for context in lanes {
            context.lane.loop.execute {
                context.gained(view.gained, pins: view.gainedPins, orphans: view.orphanedPins)
            }
        }
        update {
            $0.identity = view.identity
            $0.table = view.table
            $0.live = live
        }
        routes.apply(identity: view.identity, live: live)
        let failedOver = Set(
            view.gained.filter { $0.reason == .failover && $0.shard.kind == .conversation }.map(\.shard.number)
                + view.orphanedPins.filter { $0.kind == .conversation }.map(\.shard.number)
        ).sorted()
        if !failedOver.isEmpty, let first = lanes.first {
            first.lane.loop.execute { first.announceRecent(inShards: failedOver) }
        }
        if !view.departed.isEmpty {
            let departed = Set(view.departed.map(\.incarnation))
            for context in lanes { context.lane.loop.execute { context.nodesDeparted(departed) } }
        }
        return OwnerChanges(old: old.table, new: view.table)
    }

    public func setServing(_ isServing: Bool) {
        update { $0.isServing = isServing }
    }

    /// Stops admission to `places`, and returns once their actors have finished.
    public func close(_ places: [Place]) async {
        await system.close(Set(places))
    }

    /// Ends this life: nothing is written any more.
    public func end() async {
        await system.leave()
        for context in lanes { context.lane.loop.execute { context.end() } }
    }

    public func busChanged(_ event: BusEvent) {
        system.busChanged(event)
        routes.busChanged(event)
    }

    private func update(_ body: (inout Routing) -> Void) {
        let new = routing.withLock { routing in
            body(&routing)
            return routing
        }
        system.apply(new)
    }

    // MARK: Users

    /// Sends an event to all sessions of some users, wherever they are.
    public func tell(_ users: [UserID], about conversation: ConversationID, _ payload: [UInt8]) {
        let context = lanes[ActorAddress(conversation).lane(of: lanes.count)]
        let event = FanoutEvent(kind: .plain, conversationID: conversation, seq: .zero, recipients: users, payload: payload)
        context.lane.loop.execute { [fanout] in fanout.send(event, from: context.lane) }
    }

    /// Tells awake conversations of the user whether read receipts are shared.
    public func setSharesReadReceipts(_ shares: Bool, for user: UserID) {
        for context in lanes {
            context.lane.loop.execute {
                context.lane.forEachActive(of: .conversation) { actor in
                    guard let conversation = actor as? ConversationActor else { return }
                    conversation.assumeIsolated { $0.setSharesReadReceipts(shares, for: user) }
                }
            }
        }
    }
}

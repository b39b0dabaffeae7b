import ActorRuntime
import ChatActors
import ClusterCore
import EdgeServer
import EventLoop
import MemoryAdapters
import Ports
import RoostModel
import RoostProtocol
import Runtime

@testable import Gateway

/// How the nodes of a test are set.
struct TestNodeOptions: Sendable {
    var accessTokenLifetime: Duration = .seconds(900)
    var socketsOfUser: Int?
    var framesOfUser: TokenBucket.Rate?
    var requiresProfile = false
}

/// A whole node in this process: actors, sessions and real sockets, over stores and a bus in memory.
final class TestNode: Sendable {
    let identity: NodeIdentity
    let chat: ChatNode
    let registry: SessionRegistry
    let port: Int
    private let watches: WatchHub
    private let server: EdgeServer
    private let services: [any Service]
    private let loops: [EventLoop]
    private let seen = Locked<ClusterView?>(nil)

    init(_ name: String, database: MemoryDatabase, hub: MemoryBusHub, options: TestNodeOptions) async throws {
        let metrics = Metrics()
        let lane = try EventLoop(name: "lane")
        let edge = try EventLoop(name: "edge")
        loops = [lane, edge]
        for loop in loops { loop.start() }
        let bus = hub.connect(name)
        let accounts = MemoryAccountStore(database)
        let conversations = MemoryConversationStore(database)
        let registry = SessionRegistry(limit: options.socketsOfUser, metrics: metrics)
        let background = BackgroundWork(metrics: metrics)
        let lastSeen = LastSeenRecorder(accounts: accounts)
        let hubOfWatches = Locked<WatchHub?>(nil)
        chat = ChatNode(
            ChatNode.Parts(
                laneLoops: [lane], edgeLoops: [edge], bus: bus, hub: registry,
                lastSeen: lastSeen, logger: .silent, metrics: metrics),
            events: ChatNode.Events(
                staleRouting: {}, fenced: {}, missedEvents: { registry.forEach { $0.resync() } },
                presenceChanged: { fact in hubOfWatches.withLock { $0 }?.received(fact) })
        ) { _, _, loop in LaneJournal(MemoryJournal(database, loop: loop)) {} }
        let authenticator = Authenticator(
            accounts: accounts, accessTokenLifetime: options.accessTokenLifetime, metrics: metrics, logger: .silent,
            onRevoked: { registry.close($0) })
        let handler = Locked<SignalHandler?>(nil)
        let signals = Signals(bus: bus) { signal in handler.withLock { $0 }?.received(signal) }
        let backend = Backend(
            accounts: accounts, contacts: MemoryContactStore(database), conversations: conversations, commands: chat.client,
            presence: chat.client, signals: signals,
            logger: .silent)
        let executor = RequestExecutor(metrics: metrics)
        var limits = RateLimitSettings()
        limits.rates[.frames] = options.framesOfUser
        let profiles = options.requiresProfile ? ProfileGate(backend: backend) : nil
        watches = WatchHub(
            endpoint: chat.system.lanes[0].endpoint, chat: chat.client, backend: backend, executor: executor)
        let sessions = SessionServices(
            backend: backend, authenticator: authenticator, chat: chat.client, system: chat.system, registry: registry,
            routes: chat.routes, watches: watches, executor: executor,
            limiter: RateLimiter(limits, metrics: metrics), profiles: profiles, settings: SessionSettings(nodeName: name),
            metrics: metrics, logger: .silent)
        let passwords = PasswordHasher(cost: .least, metrics: metrics)
        let exporter = AccountExporter(
            backend: backend, store: MemoryExportStore(database), authenticator: authenticator, metrics: metrics)
        let eraser = AccountEraser(
            backend: backend, deletions: MemoryDeletionStore(database), authenticator: authenticator, metrics: metrics,
            logger: .silent)
        let gateway = Gateway(
            backend: backend, authenticator: authenticator, passwords: passwords, eraser: eraser, exporter: exporter,
            executor: executor,
            profiles: profiles,
            isReady: { true }, takesSockets: { !registry.isLeaving },
            metrics: metrics, logger: .silent, makeSession: { Session(services: sessions, socket: $0) })
        server = EdgeServer(configuration: EdgeConfiguration(), loops: [edge], handler: gateway)
        self.registry = registry
        services = [executor, passwords, background, lastSeen, authenticator]
        for service in services { try await service.start() }
        let signalHandler = SignalHandler(
            backend: backend, authenticator: authenticator, registry: registry, watches: watches, background: background,
            setSharesReadReceipts: { [chat] in chat.setSharesReadReceipts($0, for: $1) })
        let (hubForEvents, chatForBus) = (watches, chat)
        hubOfWatches.withLock { $0 = hubForEvents }
        handler.withLock { $0 = signalHandler }
        bus.observe { chatForBus.busChanged($0) }
        try signals.start()
        chat.start()
        identity = NodeIdentity(name: name, incarnation: .make())
        try await MemoryClusterStore(database).register(
            identity, lanes: 1, url: "", adminURL: "", version: "", leaseSeconds: 3_600)
        try await chat.begin(as: identity)
        chat.setServing(true)
        port = try await server.start()
    }

    /// Takes a view, as the membership would give it.
    func apply(_ snapshot: ClusterSnapshot) {
        let view = seen.withLock { seen in
            let view = ClusterView(of: identity, snapshot: snapshot, previous: seen)
            seen = view
            return view
        }
        let changes = chat.apply(view)
        watches.ownersChanged(changes)
        registry.forEach { $0.ownersChanged(changes) }
    }

    func stop() async {
        await server.stop(grace: .zero)
        await chat.end()
        for service in services.reversed() { await service.stop() }
        for loop in loops { await loop.stop() }
    }
}

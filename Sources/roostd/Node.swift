import ActorRuntime
import ChatActors
import ClusterMembership
import ClusterOperations
import EdgeServer
import EventLoop
import Gateway
import NATSBus
import Ports
import PostgresStore
import RoostModel
import Runtime

/// The composition root: makes every part of a node, joins them, and runs them as one group of services.
final class Node: Sendable {
    private let group: ServiceGroup

    init(_ configuration: Configuration, logger: Logger) throws {
        let metrics = Metrics()
        ProcessMetrics.register(in: metrics)
        let name = configuration[NodeSettings.nodeName]
        let loops = try NodeLoops(configuration)

        // Adapters.
        let failure = Locked<ServiceGroup?>(nil)
        let bus = NATSBus(
            NATSBusOptions(url: configuration[NATSBusOptions.urlSetting], name: name), metrics: metrics, logger: logger
        ) { error in failure.withLock { $0 }?.fail("bus", error) }
        let database = PostgresConfiguration(url: configuration[PostgresConfiguration.urlSetting])
        let databaseMetrics = PostgresMetrics(metrics)
        let pool = PostgresPool(
            configuration: database, loop: loops.store, connections: configuration[PostgresConfiguration.connectionsSetting],
            logger: logger.labelled("postgres"), metrics: databaseMetrics)
        let accounts = PostgresAccountStore(pool: pool)
        let conversations = PostgresConversationStore(pool: pool)
        let mail = NodeMail(
            configuration, outbox: PostgresMailOutbox(pool: pool), metrics: metrics, logger: logger)

        // Actors.
        let limits = RateLimitSettings(configuration)
        let registry = SessionRegistry(limit: limits.socketsOfUser, metrics: metrics)
        let background = BackgroundWork(metrics: metrics)
        let lastSeen = LastSeenRecorder(accounts: accounts)
        let links = NodeLinks()
        let rules = NodeSettings.rules(configuration)
        var chatSettings = ChatSettings()
        chatSettings.rules = rules
        let chat = ChatNode(
            ChatNode.Parts(
                laneLoops: loops.lanes, edgeLoops: loops.edges, bus: bus,
                hub: registry, lastSeen: lastSeen, settings: chatSettings,
                logger: logger.labelled("actors"), metrics: metrics),
            events: links.chatEvents(registry)
        ) { identity, lane, loop in
            let journal = PostgresJournal(
                configuration: database, loop: loop, incarnation: identity.incarnation, logger: logger.labelled("journal"),
                metrics: databaseMetrics)
            journal.start()
            return LaneJournal(journal) { journal.stop() }
        }

        // Gateway.
        let authenticator = Authenticator(
            accounts: accounts, accessTokenLifetime: configuration[GatewaySettings.accessTokenSetting], metrics: metrics,
            logger: logger.labelled("auth"), onRevoked: { registry.close($0) })
        let signals = Signals(bus: bus) { links.received($0) }
        let backend = Backend(
            accounts: accounts, contacts: PostgresContactStore(pool: pool), conversations: conversations, commands: chat.client,
            presence: chat.client, signals: signals, rules: rules, logger: logger.labelled("gateway"),
            mailQueued: { mail.drain.nudge() })
        let executor = RequestExecutor(metrics: metrics)
        let limiter = RateLimiter(limits, metrics: metrics)
        let profiles = configuration[GatewaySettings.requireProfileSetting] ? ProfileGate(backend: backend) : nil
        let watches = WatchHub(
            endpoint: chat.system.lanes[0].endpoint, chat: chat.client, backend: backend, executor: executor)
        let sessions = SessionServices(
            backend: backend, authenticator: authenticator, chat: chat.client, system: chat.system, registry: registry,
            routes: chat.routes, watches: watches, executor: executor, limiter: limiter, profiles: profiles,
            settings: SessionSettings(nodeName: name, limits: limits), metrics: metrics,
            logger: logger.labelled("sessions"))
        let signalHandler = SignalHandler(
            backend: backend, authenticator: authenticator, registry: registry, watches: watches, background: background,
            setSharesReadReceipts: { chat.setSharesReadReceipts($0, for: $1) })

        // Membership.
        let clusterStore = PostgresClusterStore(pool: pool)
        let operations = PostgresOperationStore(pool: pool)
        let operators = PostgresOperatorStore(pool: pool)
        let membership = ClusterNode(
            NodeSettings.clusterOptions(configuration, lanes: loops.lanes.count), store: clusterStore,
            operations: operations, bus: bus,
            onDisplaced: { error in failure.withLock { $0 }?.fail("cluster", error) }, logger: logger, metrics: metrics)
        let health = NodeHealth(bus: bus, pool: pool, isServing: { membership.isServing })
        let inspectionWork = BackgroundWork(limit: 64, metrics: metrics)
        let inspection = ActorInspection(bus: bus, chat: chat, work: inspectionWork)
        let drain = NodeDrain(
            health: health, registry: registry, operations: operations, announce: { membership.viewWasChanged() },
            logger: logger.labelled("drain"))
        membership.attach(
            ClusterBridge(
                chat: chat, registry: registry, watches: watches, drain: drain, inspection: inspection,
                logger: logger.labelled("cluster")))
        links.connect(watches: watches, signals: signalHandler, refreshView: { membership.refreshView() })
        bus.observe { chat.busChanged($0) }

        let passwords = PasswordHasher(metrics: metrics)
        let exporter = AccountExporter(
            backend: backend, store: PostgresExportStore(pool: pool), authenticator: authenticator, metrics: metrics)
        let eraser = AccountEraser(
            backend: backend, deletions: PostgresDeletionStore(pool: pool), authenticator: authenticator, metrics: metrics,
            logger: logger.labelled("accounts"))
        var gatewaySettings = GatewaySettings(configuration)
        gatewaySettings.version = NodeSettings.version
        let gateway = Gateway(
            backend: backend, authenticator: authenticator, passwords: passwords, eraser: eraser, exporter: exporter,
            executor: executor,
            settings: gatewaySettings, limiter: limiter, profiles: profiles,
            isReady: { health.isReady }, takesSockets: { !registry.isLeaving }, metrics: metrics,
            logger: logger.labelled("gateway"), makeSession: { Session(services: sessions, socket: $0) })
        let admin = AdminGateway(
            token: configuration[NodeSettings.adminToken], executor: executor, isReady: { health.isReady }, metrics: metrics,
            logger: logger.labelled("admin"),
            hooks: configuration[NodeSettings.testHooks]
                ? AdminTestHooks(freeze: { membership.freeze() }, thaw: { membership.thaw() }) : nil,
            users: AdminUsers(
                backend: backend, operators: operators, authenticator: authenticator, eraser: eraser,
                exporter: exporter),
            cluster: AdminCluster(
                inspector: ClusterConsole(membership: membership, store: clusterStore, inspection: inspection),
                operations: operations, operators: operators, backend: backend))

        let publicListener = Listener(
            "gateway", host: NodeSettings.host, port: NodeSettings.port, configuration, loops: loops.edges,
            handler: gateway, metrics: metrics, logger: logger)
        group = ServiceGroup(
            [
                loops, bus, ClosureService("postgres", start: { pool.start() }, stop: { await pool.stop() }),
                mail.threads, mail.drain,
                ClosureService("signals", start: { try signals.start() }), executor, passwords, background, inspectionWork,
                lastSeen,
                authenticator,
                SearchPreparer(conversations: conversations, metrics: metrics, logger: logger.labelled("search")),
                ClosureService("actors", start: { chat.start() }, stop: { await chat.end() }),
                eraser,
                Listener(
                    "admin", host: NodeSettings.adminHost, port: NodeSettings.adminPort, configuration, loops: [loops.store],
                    handler: admin, metrics: metrics, logger: logger),
                publicListener,
                membership,
                DrainService(
                    health: health, registry: registry, stopAccepting: { await publicListener.stopAccepting() }),
                drain,
            ], shutdownTimeout: configuration[RuntimeSettings.shutdownTimeout], logger: logger)
        failure.withLock { $0 = group }
    }

    func run() async throws { try await group.run() }
}

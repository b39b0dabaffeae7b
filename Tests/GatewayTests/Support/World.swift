import EdgeServer
import EventLoop
import Locks
import MemoryAdapters
import Ports
import RoostModel
import RoostProtocol
import Runtime

@testable import Gateway

/// A gateway over stores in memory, with a clock that the test moves.
final class World: Sendable {
    let database = MemoryDatabase()
    let accounts: MemoryAccountStore
    let presence = FakePresence()
    let signals = FakeSignals()
    let metrics = Metrics()
    let time: Locked<Int64>
    let isReady = Locked(true)
    let authenticator: Authenticator
    let gateway: Gateway
    static let adminToken = "operators"
    let admin: AdminGateway
    let eraser: AccountEraser
    let inspector = FakeInspector()
    let backend: Backend
    private let lane: EventLoop
    private let executor: RequestExecutor
    private let passwords: PasswordHasher

    /// - Parameter limits: of what one client may ask, by the clock that ``advance(by:)`` moves.
    init(
        settings: GatewaySettings = GatewaySettings(), limits: RateLimitSettings = RateLimitSettings(),
        requiresProfile: Bool = false
    ) async throws {
        accounts = MemoryAccountStore(database)
        let time = Locked(systemWallClock())
        self.time = time
        authenticator = Authenticator(
            accounts: accounts, now: { time.withLock { $0 } }, metrics: metrics, logger: .silent)
        executor = RequestExecutor(metrics: metrics)
        passwords = PasswordHasher(cost: .least, threads: 2, metrics: metrics)
        lane = try EventLoop(name: "lane")
        lane.start()
        let node = NodeIdentity(name: "node1", incarnation: .make())
        try await MemoryClusterStore(database).register(
            node, lanes: 1, url: "", adminURL: "", version: "", leaseSeconds: 3_600)
        let commands = JournalCommands(database, loop: lane, fence: JournalFence(incarnation: node.incarnation, lane: 0))
        backend = Backend(
            accounts: accounts, contacts: MemoryContactStore(database), conversations: MemoryConversationStore(database),
            commands: commands, presence: presence,
            signals: signals, logger: .silent)
        let isReady = isReady
        eraser = AccountEraser(
            backend: backend, deletions: MemoryDeletionStore(database), authenticator: authenticator, metrics: metrics,
            logger: .silent)
        let exporter = AccountExporter(
            backend: backend, store: MemoryExportStore(database), authenticator: authenticator, metrics: metrics)
        let users = AdminUsers(
            backend: backend, operators: MemoryOperatorStore(database), authenticator: authenticator, eraser: eraser,
            exporter: exporter)
        admin = AdminGateway(
            token: Self.adminToken, executor: executor, isReady: { true }, metrics: metrics, logger: .silent, users: users,
            cluster: AdminCluster(
                inspector: inspector, operations: MemoryOperationStore(database), operators: MemoryOperatorStore(database),
                backend: backend))
        gateway = Gateway(
            backend: backend, authenticator: authenticator, passwords: passwords, eraser: eraser, exporter: exporter,
            executor: executor,
            settings: settings,
            limiter: RateLimiter(
                limits, now: { MonotonicTime(nanoseconds: time.withLock { $0 } * 1_000_000) }, metrics: metrics),
            profiles: requiresProfile ? ProfileGate(backend: backend) : nil,
            isReady: { isReady.withLock { $0 } }, metrics: metrics, logger: .silent, makeSession: { _ in SilentSession() })
        try await passwords.start()
        try await authenticator.start()
        try await executor.start()
    }

    func advance(by duration: Duration) { time.withLock { $0 += Int64(duration / .milliseconds(1)) } }

    func stop() async {
        await executor.stop()
        await authenticator.stop()
        await passwords.stop()
        await lane.stop()
    }
}

private final class SilentSession: WebSocketHandler {
    func received(text: UnsafeRawBufferPointer, _ socket: WebSocketConnection) {}
    func received(binary: UnsafeRawBufferPointer, _ socket: WebSocketConnection) {}
    func closed(_ how: WebSocketClosure, _ socket: WebSocketConnection) {}
}

/// How a test reaches the gateway: the same bodies run against the router alone and over sockets.
enum Transport: CaseIterable, Sendable { case router, sockets }

/// Runs `body` with a fresh gateway.
func withGateway(
    _ transport: Transport, settings: GatewaySettings = GatewaySettings(), limits: RateLimitSettings = RateLimitSettings(),
    requiresProfile: Bool = false, _ body: (World, any TestClient) async throws -> Void
) async throws {
    let world = try await World(settings: settings, limits: limits, requiresProfile: requiresProfile)
    switch transport {
    case .router:
        try await body(world, RouterClient(gateway: world.gateway))
    case .sockets:
        let loop = try EventLoop(name: "edge")
        loop.start()
        let server = EdgeServer(configuration: EdgeConfiguration(), loops: [loop], handler: world.gateway)
        let client = SocketClient(port: try await server.start())
        try await client.start()
        try await body(world, client)
        await client.stop()
        await server.stop(grace: .seconds(1))
        await loop.stop()
    }
    await world.stop()
}

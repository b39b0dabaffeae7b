import ActorRuntime
import ChatActors
import EventLoop
import Ports
import RoostModel
import Runtime

/// What all sessions of a node share.
public final class SessionServices: Sendable {
    let backend: Backend
    let authenticator: Authenticator
    let chat: ChatClient
    let registry: SessionRegistry
    let routes: RouteDirectory
    let watches: WatchHub
    let executor: RequestExecutor
    let limiter: RateLimiter
    let profiles: ProfileGate?
    let settings: SessionSettings
    let metrics: SessionMetrics
    let logger: Logger
    private let endpoints: [(loop: EventLoop, endpoint: Endpoint)]

    /// - Parameters:
    ///   - system: its endpoints include one for every edge loop.
    ///   - profiles: nil where profiles need not be complete.
    public init(
        backend: Backend, authenticator: Authenticator, chat: ChatClient, system: RoostActorSystem, registry: SessionRegistry,
        routes: RouteDirectory, watches: WatchHub, executor: RequestExecutor, limiter: RateLimiter = .off,
        profiles: ProfileGate? = nil,
        settings: SessionSettings,
        metrics: Metrics, logger: Logger
    ) {
        self.backend = backend
        self.authenticator = authenticator
        self.chat = chat
        self.registry = registry
        self.routes = routes
        self.watches = watches
        self.executor = executor
        self.limiter = limiter
        self.profiles = profiles
        self.settings = settings
        self.metrics = SessionMetrics(metrics)
        self.logger = logger
        endpoints = system.endpoints.map { ($0.loop, $0) }
    }

    /// The endpoint of an edge loop.
    func endpoint(on loop: EventLoop) -> Endpoint {
        guard let found = endpoints.first(where: { $0.loop === loop }) else { preconditionFailure("not a loop of this node") }
        return found.endpoint
    }
}

public struct SessionSettings: Sendable {
    public var nodeName: String
    /// From the opening of the socket to a good hello.
    public var helloTimeout: Duration = .seconds(10)
    public var pingIntervalSeconds = 25
    /// Client frames whose answers are not sent yet; more are refused with `rateLimited`.
    public var framesInFlight = 1024
    /// The frame that is the so-manieth within a minute not to be acceptable JSON closes the socket.
    public var unreadableFramesPerMinute = 10
    /// Events that may wait in a session while a hole is filled; more make a resync.
    public var heldEvents = 256
    /// Client frames that may wait for the check of the profile; more are wrong use.
    public var heldFrames = 32

    /// Bytes that may wait for a client before it is sent no more events, and then a `resync`.
    public var eventOutboxBytes = 1 << 20
    /// Bytes that may wait at all: room for the answers to what a client asked without waiting.
    public static let outboxBytes = 4 << 20
    /// Client frames; nil without a limit.
    var frameRate: TokenBucket.Rate?

    public init(nodeName: String, limits: RateLimitSettings = RateLimitSettings()) {
        self.nodeName = nodeName
        frameRate = limits.frames
    }
}

struct SessionMetrics: Sendable {
    let ready: Counter
    let holes: Counter
    let resyncs: Counter
    let tooSlow: Counter
    let refusedFrames: Counter
    let crowdedOut: Counter

    init(_ metrics: Metrics) {
        ready = metrics.counter("roost_sessions_ready_total", help: "Sessions that said a good hello.")
        holes = metrics.counter(
            "roost_session_holes_total", help: "Holes in a session's events that were filled from the database.")
        resyncs = metrics.counter("roost_session_resyncs_total", help: "Times a session was told to sync.")
        tooSlow = metrics.counter("roost_sessions_too_slow_total", help: "Sessions closed because their outbox stayed full.")
        crowdedOut = metrics.counter(
            "roost_sessions_crowded_out_total", help: "Sessions closed because their user opened too many others.")
        refusedFrames = metrics.counter(
            "roost_session_frames_refused_total", help: "Client frames refused because there were too many.")
    }
}

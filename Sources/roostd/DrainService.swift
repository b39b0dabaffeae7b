import Gateway
import Runtime

/// The first to stop: says "not ready", and sends the clients elsewhere while everything still works.
final class DrainService: Service {
    let name = "drain"
    /// Clients spread their return over this time.
    private static let seconds = 2

    private let health: NodeHealth
    private let registry: SessionRegistry
    private let clock: any Clock<Duration>
    private let stopAccepting: @Sendable () async -> Void

    /// - Parameter stopAccepting: closes the public listener; its connections go on.
    init(
        health: NodeHealth, registry: SessionRegistry, stopAccepting: @escaping @Sendable () async -> Void,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.health = health
        self.registry = registry
        self.stopAccepting = stopAccepting
        self.clock = clock
    }

    func start() async throws {}

    func stop() async {
        health.beginDrain()
        await stopAccepting()
        registry.leave(afterSeconds: Self.seconds)
        // Clients leave within that time; whoever does not is closed.
        for _ in 0..<(Self.seconds * 20) where registry.count > 0 {
            guard (try? await clock.sleep(for: .milliseconds(50))) != nil else { break }
        }
        registry.forEach { $0.close(.goingAway) }
    }
}

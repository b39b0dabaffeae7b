import Ports
import RoostModel
import Runtime

/// Makes and checks tokens. Access tokens are stateless: checking one is a MAC and a look into the cache of revoked devices, on any
/// thread, so it works while the database is away.
public final class Authenticator: Service {
    public let name = "authenticator"
    public let accessTokenLifetime: Duration
    public let refreshTokenLifetime: Duration
    /// How long a spent refresh token still answers with its successor.
    public static let refreshGrace: Duration = .seconds(10)

    private static let pollInterval: Duration = .seconds(1)
    private static let retryInterval: Duration = .milliseconds(500)

    private struct Secrets {
        let access: AccessTokenCodec
        let refresh: RefreshTokens
    }

    private let accounts: any AccountStore
    private let now: WallClock
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let onRevoked: @Sendable ([DeviceID]) -> Void
    private let secrets = Locked<Secrets?>(nil)
    private let revoked: Locked<RevocationCache>
    private let polling = Locked<Task<Void, Never>?>(nil)
    private let pollFailures: Counter

    /// - Parameters:
    ///   - now: the wall clock that tokens are dated by.
    ///   - clock: for the waits between polls.
    ///   - onRevoked: hears of each revoked device once, from whichever way it came first: their sockets have to be closed.
    public init(
        accounts: any AccountStore, accessTokenLifetime: Duration = .seconds(900),
        refreshTokenLifetime: Duration = .seconds(60 * 86_400), now: @escaping WallClock = systemWallClock,
        clock: any Clock<Duration> = ContinuousClock(), metrics: Metrics, logger: Logger,
        onRevoked: @escaping @Sendable ([DeviceID]) -> Void = { _ in }
    ) {
        self.accounts = accounts
        self.accessTokenLifetime = accessTokenLifetime
        self.refreshTokenLifetime = refreshTokenLifetime
        self.now = now
        self.clock = clock
        self.logger = logger
        self.onRevoked = onRevoked
        let revoked = Locked(RevocationCache(tokenLifetime: accessTokenLifetime))
        self.revoked = revoked
        pollFailures = metrics.counter(
            "roost_revocation_poll_failures_total", help: "Times the store could not be asked for revoked devices.")
        metrics.gauge("roost_revoked_devices", help: "Devices whose access tokens are refused.") {
            Double(revoked.withLock { $0.count })
        }
    }

    public var currentTime: Timestamp { Timestamp(milliseconds: now()) }

    /// Gets the cluster's secrets and the recent revocations, waiting for a database that is away.
    public func start() async throws {
        while true {
            do {
                let loaded = try await loadSecrets()
                secrets.withLock { $0 = loaded }
                break
            } catch {
                guard error.isRetryable else { throw error }
            }
            try await clock.sleep(for: Self.retryInterval)
        }
        let lastPoll = await poll(since: nil)
        let task = Task { [weak self] in
            var lastPoll = lastPoll
            while !Task.isCancelled {
                guard let self, (try? await clock.sleep(for: Self.pollInterval)) != nil else { return }
                lastPoll = await poll(since: lastPoll)
            }
        }
        polling.withLock { $0 = task }
    }

    public func stop() async {
        let task = polling.withLock { polling in
            let task = polling
            polling = nil
            return task
        }
        task?.cancel()
        await task?.value
    }

    /// Who the token stands for, or `unauthenticated` (not ours, or of a revoked device) or `tokenExpired`. Any thread.
    public func verify(_ token: String) -> Result<Caller, RoostError> {
        guard let secrets = secrets.withLock({ $0 }) else { return .failure(.unavailable) }
        guard let caller = secrets.access.decode(token) else { return .failure(RoostError(.unauthenticated)) }
        if isRevoked(caller.deviceID) { return .failure(RoostError(.unauthenticated, "the device was logged out")) }
        if caller.expiresAt <= currentTime { return .failure(RoostError(.tokenExpired)) }
        return .success(caller)
    }

    public func isRevoked(_ device: DeviceID) -> Bool { revoked.withLock { $0.contains(device) } }

    /// Refuses the device's access tokens on this node from now on.
    public func revoke(_ device: DeviceID) { revoke([device]) }

    func issueAccessToken(for user: UserID, device: DeviceID, isGuest: Bool) throws(RoostError) -> (text: String, caller: Caller)
    {
        guard let secrets = secrets.withLock({ $0 }) else { throw .unavailable }
        let issuedAt = currentTime
        let caller = Caller(
            userID: user, deviceID: device, isGuest: isGuest, issuedAt: issuedAt, expiresAt: issuedAt + accessTokenLifetime)
        return (secrets.access.encode(caller), caller)
    }

    func refreshTokens() throws(RoostError) -> RefreshTokens {
        guard let secrets = secrets.withLock({ $0 }) else { throw .unavailable }
        return secrets.refresh
    }

    private func loadSecrets() async throws(StoreError) -> Secrets {
        let access = try await accounts.clusterSecret(named: "access-token")
        let refresh = try await accounts.clusterSecret(named: "refresh-token")
        return Secrets(access: AccessTokenCodec(key: access), refresh: RefreshTokens(key: refresh))
    }

    private func revoke(_ devices: [DeviceID]) {
        let time = currentTime
        let news = revoked.withLock { $0.insert(devices, at: time) }
        if !news.isEmpty { onRevoked(news) }
    }

    /// - Returns: when this poll began, or `lastPoll` where it failed: the next one then covers its time too.
    private func poll(since lastPoll: Timestamp?) async -> Timestamp? {
        let time = currentTime
        let start = revoked.withLock { $0.pollStart(lastPoll: lastPoll, now: time) }
        do {
            revoke(try await accounts.revocations(since: start))
            return time
        } catch {
            pollFailures.increment()
            logger.debug("revocations not read", [.error: error])
            return lastPoll
        }
    }
}

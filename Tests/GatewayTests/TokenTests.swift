import MemoryAdapters
import Ports
import RoostModel
import Runtime
import TestSupport
import Testing

@testable import Gateway

@Suite struct TokenTests {
    private let key = [UInt8](repeating: 7, count: 32)
    private let caller = Caller(
        userID: .make(), deviceID: .make(), isGuest: true, issuedAt: Timestamp(milliseconds: 1_000),
        expiresAt: Timestamp(milliseconds: 901_000))

    @Test func accessTokensSayWhatWasPutIn() {
        let codec = AccessTokenCodec(key: key)
        #expect(codec.decode(codec.encode(caller)) == caller)
        #expect(codec.encode(caller) != codec.encode(caller))
    }

    @Test func noBitOfATokenCanBeChanged() {
        let codec = AccessTokenCodec(key: key)
        let token = Array(codec.encode(caller).utf8)
        for index in token.indices {
            var changed = token
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(codec.decode(String(decoding: changed, as: UTF8.self)) == nil, "\(index)")
        }
        #expect(codec.decode(String(decoding: token.dropLast(), as: UTF8.self)) == nil)
        #expect(codec.decode(String(decoding: token, as: UTF8.self) + "=") == nil)
        #expect(AccessTokenCodec(key: [UInt8](repeating: 8, count: 32)).decode(String(decoding: token, as: UTF8.self)) == nil)
    }

    @Test func aRefreshTokenHasOneSuccessorAndNoneWithoutTheKey() throws {
        let tokens = RefreshTokens(key: key)
        let first = tokens.make()
        let read = try #require(SecretToken(first.text))
        #expect(read.hash == first.hash)
        #expect(tokens.successor(of: read) == tokens.successor(of: first))
        #expect(tokens.successor(of: first) != first && tokens.make() != first)
        #expect(RefreshTokens(key: [UInt8](repeating: 8, count: 32)).successor(of: first) != tokens.successor(of: first))
        for bad in ["", "x", first.text + "A", String(first.text.dropLast()) + "=", String(repeating: "*", count: 43)] {
            #expect(SecretToken(bad) == nil, "\(bad)")
        }
    }

    @Test func revocationsAreForgottenWhenNoTokenCanLiveAnyMore() {
        var cache = RevocationCache(tokenLifetime: .seconds(900))
        let (start, device) = (Timestamp(milliseconds: 1_000_000), DeviceID.make())
        #expect(cache.insert([device], at: start) == [device])
        #expect(cache.insert([device], at: start + .seconds(1)).isEmpty)
        _ = cache.insert([], at: start + .seconds(959))
        #expect(cache.contains(device))
        _ = cache.insert([], at: start + .seconds(970))
        #expect(!cache.contains(device) && cache.count == 0)
    }

    @Test func pollsOverlapAndReachBackNoFurtherThanATokenLives() {
        let cache = RevocationCache(tokenLifetime: .seconds(900))
        let now = Timestamp(milliseconds: 10_000_000)
        #expect(cache.pollStart(lastPoll: nil, now: now) == now + .seconds(-960))
        #expect(cache.pollStart(lastPoll: now + .seconds(-1), now: now) == now + .seconds(-61))
        #expect(cache.pollStart(lastPoll: now + .seconds(-5_000), now: now) == now + .seconds(-960))
    }
}

@Suite struct AuthenticatorTests {
    private let database = MemoryDatabase()
    private var accounts: MemoryAccountStore { MemoryAccountStore(database) }
    private let clock = ManualClock()

    private func makeGuest() async throws -> NewDevice {
        let user = User(id: .make(), email: nil, displayName: "Eve", createdAt: .now)
        let device = NewDevice(
            id: .make(), userID: user.id, name: nil, platform: nil, refreshToken: TokenHash([1]), createdAt: .now,
            expiresAt: .now + .seconds(60))
        try await accounts.createUser(user, passwordHash: nil, device: device)
        return device
    }

    private func poll(times: Int = 1) async {
        for _ in 0..<times {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
        }
        await clock.waitForSleepers()
    }

    @Test func revocationsOfOtherNodesArriveByPollAndAreToldOnce() async throws {
        let heard = Locked<[DeviceID]>([])
        let authenticator = Authenticator(
            accounts: accounts, clock: clock, metrics: Metrics(), logger: .silent,
            onRevoked: { devices in heard.withLock { $0 += devices } })
        try await authenticator.start()
        let device = try await makeGuest()
        let token = try authenticator.issueAccessToken(for: device.userID, device: device.id, isGuest: true)
        #expect(authenticator.verify(token.text) == .success(token.caller))

        _ = try await accounts.revokeDevice(device.id, of: device.userID, at: .now)
        await poll(times: 3)
        #expect(heard.withLock { $0 } == [device.id])
        #expect(authenticator.verify(token.text) == .failure(RoostError(.unauthenticated, "the device was logged out")))
        // The signal comes late, or again.
        authenticator.revoke(device.id)
        #expect(heard.withLock { $0.count } == 1)
        await authenticator.stop()
    }

    @Test func itServesOnWhileTheDatabaseIsAwayAndMissesNothingAfterwards() async throws {
        let time = Locked(systemWallClock())
        let authenticator = Authenticator(
            accounts: accounts, now: { time.withLock { $0 } }, clock: clock, metrics: Metrics(), logger: .silent)
        try await authenticator.start()
        let device = try await makeGuest()
        let token = try authenticator.issueAccessToken(for: device.userID, device: device.id, isGuest: false)
        database.setAvailable(false)
        await poll()
        time.withLock { $0 += 300_000 }
        await poll(times: 3)
        #expect(authenticator.verify(token.text) == .success(token.caller))
        // Revoked, by the database's clock, long before the last of the polls that failed.
        database.setAvailable(true)
        _ = try await accounts.revokeDevice(device.id, of: device.userID, at: .now)
        await poll()
        #expect(authenticator.isRevoked(device.id))
        await authenticator.stop()
    }

    @Test func itWaitsForADatabaseThatIsAwayAtTheStart() async throws {
        database.setAvailable(false)
        let authenticator = Authenticator(accounts: accounts, clock: clock, metrics: Metrics(), logger: .silent)
        async let start: Void = authenticator.start()
        await clock.waitForSleepers()
        guard case .failure(let error) = authenticator.verify("x") else {
            Issue.record("a token was accepted without a secret")
            return
        }
        #expect(error.code == .unavailable)
        database.setAvailable(true)
        clock.advance(by: .seconds(1))
        try await start
        await authenticator.stop()
    }

    @Test func allNodesShareTheSecrets() async throws {
        let nodes = [1, 2].map { _ in
            Authenticator(accounts: accounts, clock: clock, metrics: Metrics(), logger: .silent)
        }
        for node in nodes { try await node.start() }
        let token = try nodes[0].issueAccessToken(for: .make(), device: .make(), isGuest: false)
        #expect(nodes[1].verify(token.text) == .success(token.caller))
        for node in nodes { await node.stop() }
    }
}

@Suite struct PasswordHasherTests {
    @Test func passwordsAreSaltedAndChecked() async throws {
        let hasher = PasswordHasher(cost: .least, metrics: Metrics())
        try await hasher.start()
        let hash = try await hasher.hash("correct horse")
        #expect(hash.hasPrefix("$argon2id$"))
        #expect(try await hasher.hash("correct horse") != hash)
        #expect(try await hasher.verify("correct horse", against: hash))
        #expect(try await !hasher.verify("correct horsf", against: hash))
        #expect(try await !hasher.verify("correct horse", against: nil))
        #expect(try await !hasher.verify("correct horse", against: "damaged"))
        await hasher.stop()
    }

    @Test func tooManyAtOnceAreRefused() async throws {
        let hasher = PasswordHasher(cost: .init(passes: 2, memoryBytes: 4 << 20), queueLimit: 2, metrics: Metrics())
        try await hasher.start()
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<20 { group.addTask { (try? await hasher.hash("x")) != nil } }
            return await group.reduce(into: (done: 0, refused: 0)) { if $1 { $0.done += 1 } else { $0.refused += 1 } }
        }
        #expect(outcomes.done >= 3 && outcomes.refused > 0)
        await hasher.stop()
    }
}

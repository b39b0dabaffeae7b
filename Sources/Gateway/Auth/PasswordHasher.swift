import CSodium
import RoostModel
import Runtime

/// argon2id through libsodium, on threads of its own: a hash takes tens of milliseconds and 19 MiB.
///
/// What waits is bounded; beyond that callers get `unavailable` at once.
public final class PasswordHasher: Service {
    /// The second of the settings that OWASP's password storage sheet gives for argon2id: 19 MiB, two passes.
    public struct Cost: Sendable {
        public var passes: UInt64
        public var memoryBytes: Int

        public init(passes: UInt64 = 2, memoryBytes: Int = 19 << 20) {
            self.passes = passes
            self.memoryBytes = memoryBytes
        }

        /// The least that libsodium takes: for tests.
        public static let least = Cost(passes: 1, memoryBytes: 8192)
    }

    public let name = "passwords"
    private let cost: Cost
    private let threads: WorkerThreads
    private let refused: Counter
    /// Of a random password: what unknown emails are checked against, so that they take as long as known ones.
    private let decoy = Locked<String?>(nil)

    public init(cost: Cost = Cost(), threads: Int = 1, queueLimit: Int = 256, metrics: Metrics) {
        self.cost = cost
        let pool = WorkerThreads(name: "passwords", threads: threads, queueLimit: queueLimit)
        self.threads = pool
        refused = metrics.counter(
            "roost_password_hashes_refused_total", help: "Password checks refused because too many were waiting.")
        metrics.gauge("roost_password_hashes_waiting", help: "Password checks that wait or run.") { Double(pool.load) }
    }

    public func start() async throws {
        Sodium.prepare()
        try await threads.start()
        let hash = try await hash(Sodium.base64URL(Sodium.randomBytes(16)))
        decoy.withLock { $0 = hash }
    }

    public func stop() async { await threads.stop() }

    /// The string form of `crypto_pwhash_str`, which names its own salt and cost.
    func hash(_ password: String) async throws(RoostError) -> String {
        let cost = cost
        return try await run {
            var output = [CChar](repeating: 0, count: Int(crypto_pwhash_STRBYTES))
            var password = password
            let failed = password.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { bytes in
                    crypto_pwhash_str(&output, bytes.baseAddress!, UInt64(bytes.count), cost.passes, cost.memoryBytes)
                }
            }
            guard failed == 0 else { throw PasswordHasherError.outOfMemory }
            return String(decoding: output.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// - Parameter hash: nil where there is no such account: takes as long, and is false.
    func verify(_ password: String, against hash: String?) async throws(RoostError) -> Bool {
        guard let candidate = hash ?? decoy.withLock({ $0 }) else { throw .unavailable }
        let matches = try await run {
            var password = password
            return password.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { bytes in
                    crypto_pwhash_str_verify(candidate, bytes.baseAddress!, UInt64(bytes.count)) == 0
                }
            }
        }
        return matches && hash != nil
    }

    private func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws(RoostError) -> Value {
        do {
            return try await threads.run(work)
        } catch {
            refused.increment()
            throw .unavailable
        }
    }
}

private enum PasswordHasherError: Error { case outOfMemory }

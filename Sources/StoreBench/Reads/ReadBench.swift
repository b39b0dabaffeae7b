import EventLoop
import LoadCore
import Ports
import PostgresStore
import RoostModel
import Runtime

/// Measures what people's requests ask of the stores, one call after another or several at once.
public struct ReadBench: Sendable {
    /// One kind of call; `number` chooses whom and what it is about.
    struct Case: Sendable {
        let name: String
        /// What has to be there before, for each number.
        var prepare: @Sendable (_ number: Int) async throws -> Void = { _ in }
        /// After all that, and before the first call.
        var begin: @Sendable () throws -> Void = {}
        let call: @Sendable (_ number: Int) async throws -> Void

        init(_ name: String, _ call: @escaping @Sendable (_ number: Int) async throws -> Void) {
            self.name = name
            self.call = call
        }
    }

    public struct Outcome: Sendable {
        public let name: String
        public let latencies: LatencyHistogram
        public let seconds: Double

        /// A row of a table in Markdown.
        public var row: String {
            func milliseconds(_ quantile: Double) -> String { Figures.short(Double(latencies.value(at: quantile)) / 1000) }
            let rate = Figures.short(Double(latencies.count) / seconds)
            return "| \(name) | \(milliseconds(0.5)) | \(milliseconds(0.99)) | \(rate) |"
        }
    }

    public static let header = ["| call | median, ms | p99, ms | calls/s |", "| --- | ---: | ---: | ---: |"]

    private let url: String
    private let calls: Int
    private let concurrency: Int

    /// - Parameters:
    ///   - calls: of each kind.
    ///   - concurrency: calls in flight, each on a connection of its own.
    public init(url: String, calls: Int, concurrency: Int) {
        self.url = url
        self.calls = calls
        self.concurrency = concurrency
    }

    /// Tells of each kind of call as it is done.
    public func run(_ report: (Outcome) -> Void) async throws {
        let samples = try ReadSamples(PlainDatabase(url), count: min(calls, 2_000))
        let loop = try EventLoop(name: "postgres")
        loop.start()
        let configuration = PostgresConfiguration(url: url)
        let pool = PostgresPool(configuration: configuration, loop: loop, connections: concurrency)
        pool.start()
        try await pool.waitUntilAvailable()
        let journal = try await JournalReader(configuration: configuration)
        for kind in ReadCases(samples, pool: pool, journal: journal, url: url).all { report(try await measure(kind)) }
        await journal.stop()
        await pool.stop()
        await loop.stop()
    }

    private func measure(_ kind: Case) async throws -> Outcome {
        for number in 0..<calls { try await kind.prepare(number) }
        try kind.begin()
        // What runs first on a connection is planned anew, and finds fewer pages in memory.
        for number in 0..<(12 * concurrency) { try await kind.call(number) }
        let began = MonotonicTime.now
        let latencies = try await withThrowingTaskGroup(of: LatencyHistogram.self) { group in
            for worker in 0..<concurrency {
                group.addTask {
                    var latencies = LatencyHistogram()
                    for number in stride(from: worker, to: calls, by: concurrency) {
                        let start = MonotonicTime.now
                        try await kind.call(number)
                        latencies.record(MonotonicTime.now - start)
                    }
                    return latencies
                }
            }
            return try await group.reduce(into: LatencyHistogram()) { $0.merge($1) }
        }
        let seconds = Double((MonotonicTime.now - began).nanoseconds) / 1e9
        return Outcome(name: kind.name, latencies: latencies, seconds: seconds)
    }
}

/// A journal lane that only reads, for callers that await.
final class JournalReader: @unchecked Sendable {
    private let loop: EventLoop
    private let journal: PostgresJournal

    init(configuration: PostgresConfiguration) async throws {
        loop = try EventLoop(name: "lane")
        journal = PostgresJournal(configuration: configuration, loop: loop, incarnation: .make())
        loop.start()
        await journal.connect(on: loop)
    }

    func stop() async {
        loop.execute { [self] in journal.stop() }
        await loop.stop()
    }

    private func call<Value>(
        _ body: @escaping @Sendable (PostgresJournal, @escaping (Result<Value, StoreError>) -> Void) -> Void
    ) async throws {
        let failure = await withCheckedContinuation { (continuation: CheckedContinuation<StoreError?, Never>) in
            loop.run { [self] in
                body(journal) { result in
                    switch result {
                    case .success: continuation.resume(returning: nil)
                    case .failure(let error): continuation.resume(returning: error)
                    }
                }
            }
        }
        if let failure { throw failure }
    }

    func load(_ id: ConversationID) async throws { try await call { $0.load([id], completion: $1) } }

    func targets(_ keys: [TargetKey]) async throws { try await call { $0.targets(keys, completion: $1) } }

    func stored(_ keys: [MessageKey]) async throws { try await call { $0.storedMessages(keys, completion: $1) } }
}

import ChatModel
import Runtime
import Testing

/// Random operations over three whole nodes, held against a plain model of what chats must do.
///
/// `ROOST_TEST_SEED` replays one run, `ROOST_TEST_OPERATIONS` says how long each is.
@Suite struct ModelTests {
    private static let environment = Configuration.processEnvironment()

    @Test func everyAnswerListCountAndEventAgreesWithTheModel() async throws {
        let operations = Self.environment["ROOST_TEST_OPERATIONS"].flatMap { Int($0) } ?? 1_500
        let given = Self.environment["ROOST_TEST_SEED"].flatMap { UInt64($0) }
        let seeds = given.map { [$0] } ?? [1, 2, UInt64.random(in: 3...1 << 40)]
        for seed in seeds {
            print("model: seed \(seed), \(operations) operations")
            try await withCluster(3) { cluster in
                cluster.spread(version: 2)
                let options = ModelRun.Options(
                    nodes: cluster.nodes.map { "http://127.0.0.1:\($0.port)" }, seed: seed, operations: operations)
                let run = try ModelRun(options, loop: cluster.clientLoop)
                let start = ContinuousClock.now
                try await run.run()
                print("model: seed \(seed): \(run.summary) in \(ContinuousClock.now - start)")
            }
        }
    }

    @Test func whatIsDoneAtTheSameTimeAgreesInTheEnd() async throws {
        let operations = Self.environment["ROOST_TEST_OPERATIONS"].flatMap { Int($0) } ?? 300
        let seed = Self.environment["ROOST_TEST_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...1 << 40)
        print("concurrent: seed \(seed), \(operations) operations of each user")
        try await withCluster(3) { cluster in
            cluster.spread(version: 2)
            let run = try ConcurrentRun(
                nodes: cluster.nodes.map { "http://127.0.0.1:\($0.port)" }, seed: seed, operations: operations,
                loop: cluster.clientLoop)
            let start = ContinuousClock.now
            let summary = try await run.run()
            print("concurrent: seed \(seed): \(summary) in \(ContinuousClock.now - start)")
        }
    }
}

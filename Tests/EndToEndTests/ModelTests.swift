import ChatModel
import EventLoop
import Foundation
import Testing

extension EndToEnd {
    /// Random operations through three nodes, against a plain model of what chats must do: Tests/ChatModel.
    ///
    /// `ROOST_TEST_SEED` replays one run, `ROOST_TEST_OPERATIONS` says how long it is.
    @Suite struct Model {
        private static let environment = ProcessInfo.processInfo.environment

        @Test func everyAnswerListCountAndEventAgreesWithTheModel() async throws {
            let operations = Self.environment["ROOST_TEST_OPERATIONS"].flatMap { Int($0) } ?? (Limits.isLong ? 30_000 : 1_200)
            let seed = Self.environment["ROOST_TEST_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...1 << 40)
            print("model: seed \(seed), \(operations) operations")
            let cluster = try await Cluster.shared()
            let start = ContinuousClock.now
            try await withLoop { loop in
                let options = ModelRun.Options(nodes: try cluster.nodes().map(\.url), seed: seed, operations: operations)
                let run = try ModelRun(options, loop: loop)
                try await run.run()
                print("model: seed \(seed): \(run.summary) in \(ContinuousClock.now - start)")
            }
        }

        @Test func whatIsDoneAtTheSameTimeAgreesInTheEnd() async throws {
            let operations = Self.environment["ROOST_TEST_OPERATIONS"].flatMap { Int($0) } ?? (Limits.isLong ? 5_000 : 300)
            let seed = Self.environment["ROOST_TEST_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...1 << 40)
            print("concurrent: seed \(seed), \(operations) operations of each user")
            let cluster = try await Cluster.shared()
            let start = ContinuousClock.now
            try await withLoop { loop in
                let run = try ConcurrentRun(
                    nodes: try cluster.nodes().map(\.url), seed: seed, operations: operations, loop: loop)
                let summary = try await run.run()
                print("concurrent: seed \(seed): \(summary) in \(ContinuousClock.now - start)")
            }
        }

        private func withLoop(_ body: (EventLoop) async throws -> Void) async throws {
            let loop = try EventLoop(name: "client")
            loop.start()
            do {
                try await body(loop)
            } catch {
                await loop.stop()
                throw error
            }
            await loop.stop()
        }
    }
}

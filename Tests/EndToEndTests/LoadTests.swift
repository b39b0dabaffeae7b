import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// The load tester, which compares both ends, while something dies.
    @Suite struct UnderLoad {
        @Test func aNodeKilledUnderThreeHundredMessagesASecondFromTwoHundredClients() async throws {
            let cluster = try await Cluster.shared()
            let report = try await cluster.load(seconds: Limits.isLong ? 60 : 20) {
                try cluster.signal(SIGKILL, node: 3)
                try await Task.sleep(for: .seconds(7))
                try await cluster.node("start", "node3")
            }
            // The median of those that had to wait for another owner at all.
            let recovery = report["recovery"]
            print("kill -9 under roost-load: all \(recovery["all"].text), waiting \(recovery["overOneSecond"].text)")
            let worst = try #require(recovery["all"]["worstSeconds"].double)
            #expect(recovery["overOneSecond"]["medianSeconds"].double ?? 0 < 4 && worst < 8)
            #expect(try await cluster.conversationsWithHoles() == [])
        }

        @Test func natsRestartedUnderLoad() async throws {
            let cluster = try await Cluster.shared()
            let report = try await cluster.load(seconds: 15) { try await cluster.service("restart", "nats") }
            print("NATS restarted under roost-load: \(report["recovery"]["all"].text)")
        }

        @Test(.enabled(if: Limits.isLong, "takes a minute"))
        func postgresStoppedForTwentySecondsUnderLoad() async throws {
            let cluster = try await Cluster.shared()
            let report = try await cluster.load(seconds: 60) {
                try await cluster.service("stop", "postgres")
                try await Task.sleep(for: .seconds(20))
                try await cluster.service("start", "postgres")
            }
            print("PostgreSQL stopped for 20 s under roost-load: \(report["recovery"]["all"].text)")
        }
    }
}

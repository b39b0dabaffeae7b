import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// The load tester, which compares both ends, while something dies.
    @Suite struct UnderLoad {
        @Test func aNodeKilledUnderThreeHundredMessagesASecondFromTwoHundredClients() async throws {
            let cluster = try await Cluster.shared()
            let report = try await load(cluster, seconds: Limits.isLong ? 60 : 20) {
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
            let report = try await load(cluster, seconds: 15) { try await cluster.service("restart", "nats") }
            print("NATS restarted under roost-load: \(report["recovery"]["all"].text)")
        }

        @Test(.enabled(if: Limits.isLong, "takes a minute"))
        func postgresStoppedForTwentySecondsUnderLoad() async throws {
            let cluster = try await Cluster.shared()
            let report = try await load(cluster, seconds: 60) {
                try await cluster.service("stop", "postgres")
                try await Task.sleep(for: .seconds(20))
                try await cluster.service("start", "postgres")
            }
            print("PostgreSQL stopped for 20 s under roost-load: \(report["recovery"]["all"].text)")
        }

        /// Runs the load tester, does harm while it runs, and expects that nothing was lost, doubled or out of order.
        ///
        /// - Returns: its report.
        private func load(_ cluster: Cluster, seconds: Int, while harm: () async throws -> Void) async throws -> JSON {
            let name = UUID().uuidString
            let log = "\(try Cluster.testDirectory())/load-\(name).log"
            let file = "\(try Cluster.testDirectory())/load-\(name).json"
            let tester = try ChildProcess(
                [
                    try cluster.program("roost-load"), "pairs", "--cluster", "\(cluster.data)/cluster.json", "--clients", "200",
                    "--rate", "300",
                    "--seconds", "\(seconds)", "--settle", "30", "--json", file, "--quiet",
                ], log: log)
            defer { tester.signal(SIGKILL) }
            @Sendable func output() -> String { (try? String(contentsOf: URL(filePath: log), encoding: .utf8)) ?? "" }
            try await eventually("the load runs", within: .seconds(60)) {
                output().contains(#""event":"started""#) || !tester.isRunning
            }
            try await Task.sleep(for: .seconds(3))
            try await harm()
            let status = await tester.waitForExit()
            let report = try? JSON(Data(contentsOf: URL(filePath: file)))
            #expect(status == 0, "\(output().suffix(4_000))")
            return try #require(report)
        }
    }
}

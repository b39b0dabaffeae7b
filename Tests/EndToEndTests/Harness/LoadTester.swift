import Foundation
import TestSupport
import Testing

extension Cluster {
    /// Runs the load tester, does something while it runs, and expects that nothing was lost, doubled or out of order.
    ///
    /// - Returns: its report.
    func load(
        clients: Int = 200, rate: Int = 300, seconds: Int, while body: () async throws -> Void
    ) async throws -> JSON {
        let name = UUID().uuidString
        let log = "\(try Cluster.testDirectory())/load-\(name).log"
        let file = "\(try Cluster.testDirectory())/load-\(name).json"
        let tester = try ChildProcess(
            [
                try program("roost-load"), "pairs", "--cluster", "\(data)/cluster.json", "--clients", "\(clients)",
                "--rate", "\(rate)", "--seconds", "\(seconds)", "--settle", "30", "--json", file, "--quiet",
            ], log: log)
        defer { tester.signal(SIGKILL) }
        @Sendable func output() -> String { (try? String(contentsOf: URL(filePath: log), encoding: .utf8)) ?? "" }
        try await eventually("the load runs", within: .seconds(60)) {
            output().contains(#""event":"started""#) || !tester.isRunning
        }
        try await Task.sleep(for: .seconds(3))
        try await body()
        let status = await tester.waitForExit()
        let report = try? JSON(Data(contentsOf: URL(filePath: file)))
        #expect(status == 0, "\(output().suffix(4_000))")
        return try #require(report)
    }
}

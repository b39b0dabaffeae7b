import Foundation
import TestSupport

/// Commands run for their output.
enum Shell {
    /// - Parameter arguments: the program and its arguments.
    /// - Returns: what it printed, errors included.
    /// - Throws: ``Failure`` with that, unless it exits with 0.
    @discardableResult
    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        let log = "\(try Cluster.testDirectory())/command-\(UUID().uuidString).log"
        defer { unlink(log) }
        let status = await (try ChildProcess(arguments, log: log, environment: environment)).waitForExit()
        let output = (try? String(decoding: Data(contentsOf: URL(filePath: log)), as: UTF8.self)) ?? ""
        if status != 0 { throw Failure("\(arguments.joined(separator: " ")) ended with \(status): \(output)") }
        return output
    }
}

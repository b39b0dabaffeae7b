import EventLoop
import Foundation
import TestSupport

/// A cluster of a test's own, made by the launcher, on free ports, in the folder that `cluster/test` clears away.
final class Cluster: Sendable {
    struct Node: Sendable {
        let name: String
        let url: String
        let adminURL: String
        /// Nil while it is stopped by command.
        let pid: pid_t?
    }

    /// Where `cluster/test` wants whatever tests leave; without it the tests of this target are left out.
    static let directory = ProcessInfo.processInfo.environment["ROOST_TEST_DIRECTORY"]
    static let isEnabled = directory != nil

    static func testDirectory() throws -> String {
        guard let directory else { throw Failure("ROOST_TEST_DIRECTORY is not set; run cluster/test") }
        return directory
    }

    /// Three nodes that most tests share; they are all up, and healthy, when a test begins and when it ends.
    static func shared() async throws -> Cluster {
        let cluster = try await sharedTask.value
        try await cluster.up()
        return cluster
    }
    private static let sharedTask = Task { try await Cluster(name: "shared", nodes: 3) }

    /// The checkout.
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    /// `ROOST_TEST_BINARIES` names a folder with other programs than those that are built for release.
    private static let programs = ProcessInfo.processInfo.environment["ROOST_TEST_BINARIES"].map { ["--bin", $0] } ?? []

    let data: String
    let settings: [String: String]

    /// - Parameter settings: `ROOST_…` variables beside those of all tests.
    init(name: String, nodes: Int, settings: [String: String] = [:]) async throws {
        data = "\(try Self.testDirectory())/\(name)"
        self.settings = ["ROOST_RATE_LIMITS": "off", "ROOST_TEST_HOOKS": "on"].merging(settings) { $1 }
        try await Shell.run(
            ["\(Self.root)/cluster/up", "--data", data, "--nodes", "\(nodes)", "--port", "\(try Self.freePorts(nodes))"]
                + Self.programs, environment: self.settings)
    }

    /// The first of several free ports in a row, below those that outgoing connections take.
    private static func freePorts(_ count: Int) throws -> Int {
        for _ in 0..<200 {
            let first = Int.random(in: 10_000..<14_900)
            if !(first..<first + count).contains(where: { Loopback.accepts(port: $0) }) { return first }
        }
        throw Failure("no free ports")
    }

    /// Starts whatever does not run, and waits until all nodes are ready.
    func up() async throws {
        try await Shell.run(["\(Self.root)/cluster/up", "--data", data] + Self.programs, environment: settings)
    }

    func down() async throws { try await Shell.run(["\(Self.root)/cluster/down", "--data", data, "--wipe"]) }

    /// - Parameter settings: `ROOST_…` variables for this node alone, until it is started again.
    func node(_ verb: String, _ name: String, settings: [String: String] = [:]) async throws {
        try await Shell.run(["\(Self.root)/cluster/node", verb, name, "--data", data], environment: settings)
    }

    func service(_ verb: String, _ name: String) async throws {
        try await Shell.run(["\(Self.root)/cluster/service", verb, name, "--data", data])
    }

    /// The path of one of the programs that the nodes were started from.
    func program(_ name: String) throws -> String {
        let build = try String(contentsOf: URL(filePath: "\(data)/bin/current"), encoding: .utf8)
        return "\(data)/bin/\(build.trimmingCharacters(in: .newlines))/\(name)"
    }

    // MARK: What cluster.json says now

    func file() throws -> JSON { try JSON(Data(contentsOf: URL(filePath: "\(data)/cluster.json"))) }

    func nodes() throws -> [Node] {
        try file()["nodes"].items.map { node in
            guard let name = node["name"].string, let url = node["url"].string, let adminURL = node["adminUrl"].string else {
                throw Failure("not as in the contract: \(node)")
            }
            return Node(name: name, url: url, adminURL: adminURL, pid: node["pid"].int.map { pid_t($0) })
        }
    }

    /// The URL of the node of that number, from 1; 0 is the last one, and numbers beyond that begin again.
    func url(_ number: Int) throws -> String {
        let nodes = try nodes()
        return nodes[(number + nodes.count - 1) % nodes.count].url
    }

    /// Sends a signal to a node: SIGKILL, SIGSTOP, SIGCONT.
    func signal(_ number: Int32, node: Int) throws {
        guard let pid = try nodes()[node - 1].pid else { throw Failure("node \(node) does not run") }
        kill(pid, number)
    }

    func isReady(_ number: Int) async throws -> Bool {
        (try? await HTTP.call("GET", url(number), "/readyz", patience: 5))?.status == 200
    }

    // MARK: The operators' listener

    /// A hook for tests: `freeze`, `thaw`.
    func hook(_ name: String, node: Int) async throws {
        let token = try file()["adminToken"].string
        _ = try await HTTP.call("POST", nodes()[node - 1].adminURL, "/admin/v1/test/\(name)", token: token).expect(200, 202, 204)
    }

    /// The sum of a metric over its labels.
    func metric(_ name: String, node: Int) async throws -> Double {
        let answer = try await HTTP.call("GET", nodes()[node - 1].adminURL, "/metrics").expect(200)
        return String(decoding: answer.bytes, as: UTF8.self).split(separator: "\n")
            .filter { $0.hasPrefix(name + " ") || $0.hasPrefix(name + "{") }
            .reduce(0) { $0 + ($1.split(separator: " ").last.flatMap { Double($0) } ?? 0) }
    }

    // MARK: The database

    /// Rows of fields, as text.
    func query(_ statement: String) async throws -> [[String]] {
        guard let url = try file()["postgres"]["url"].string else { throw Failure("no database in cluster.json") }
        let output = try await Shell.run(["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", statement])
        return output.split(separator: "\n").map { $0.split(separator: "|", omittingEmptySubsequences: false).map(String.init) }
    }

    /// The ids of accounts that nobody uses, for lists and groups that are to be long.
    func extras(_ count: Int) async throws -> [String] {
        try await query(
            """
            INSERT INTO users (id, email, display_name, folded_name, created_at)
            SELECT gen_random_uuid(), gen_random_uuid() || '@extras.example', 'Extra ' || n, 'extra ' || n, now()
            FROM generate_series(1, \(count)) n RETURNING id
            """
        ).map { $0[0] }
    }

    /// The number of the node that owns a conversation's shard.
    func owner(of chat: String) async throws -> Int {
        let rows = try await query(
            """
            SELECT n.name FROM conversations c JOIN shards s ON s.kind = 0 AND s.number = c.shard
            JOIN cluster_nodes n ON n.incarnation = s.owner WHERE c.id = '\(chat)'
            """)
        guard let number = rows.first?.first.flatMap({ Int($0.dropFirst("node".count)) }) else {
            throw Failure("no owner: \(rows)")
        }
        return number
    }

    /// The conversations whose counter has a hole or a value twice, among new messages and changes: there must be none.
    ///
    /// (A message that was changed several times holds only the last value, so those are left out of what must be dense.)
    func conversationsWithHoles() async throws -> [String] {
        try await query(
            """
            SELECT conversation_id FROM messages GROUP BY conversation_id
            HAVING count(*) FILTER (WHERE change_seq > seq) = 0 AND (count(*) <> max(seq) OR min(seq) <> 1)
            """
        ).map { $0[0] }
    }
}

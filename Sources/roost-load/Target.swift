import LoadCore
import RoostClient

/// One node under load.
struct Target: Sendable {
    let name: String
    let host: String
    let port: Int
    let pid: Int?

    /// `http://HOST:PORT`, the host a numeric address; nil for anything else.
    init?(name: String, url: String, pid: Int?) {
        guard url.hasPrefix("http://") else { return nil }
        let authority = url.dropFirst("http://".count).prefix { $0 != "/" }
        guard let colon = authority.lastIndex(of: ":"), let port = Int(authority[authority.index(after: colon)...]),
            (1...65_535).contains(port)
        else { return nil }
        self.name = name
        let host = String(authority[..<colon])
        // The sockets here take numeric addresses only.
        self.host = host == "localhost" ? "127.0.0.1" : host
        self.port = port
        self.pid = pid
    }
}

/// Why the load cannot be run at all: exit code 3.
struct LoadFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The nodes, and the processes beside them as far as they are known.
struct Surroundings: Sendable {
    let targets: [Target]
    let cluster: ClusterFile?

    static func read(_ options: LoadOptions) throws -> Surroundings {
        var cluster: ClusterFile?
        if let path = options.clusterFile {
            guard let text = Output.read(path), let file = ClusterFile(json: text) else {
                throw LoadFault("\(path) is no cluster.json with nodes in it")
            }
            cluster = file
        }
        let named = options.nodes.enumerated().map { Target(name: "node \($0 + 1)", url: $1, pid: nil) }
        let known = cluster?.nodes.map { Target(name: $0.name, url: $0.url, pid: $0.pid) } ?? []
        // Nodes given by hand win over those of the file, which then tells the processes only.
        let targets = named.isEmpty ? known : named
        guard !targets.isEmpty, targets.allSatisfy({ $0 != nil }) else {
            throw LoadFault("a node's URL is not http://ADDRESS:PORT")
        }
        return Surroundings(targets: targets.compactMap { $0 }, cluster: cluster)
    }
}

import RoostProtocol

/// `DIR/cluster.json`, as the launcher writes it: the nodes and the processes beside them.
public struct ClusterFile: Equatable, Sendable {
    public struct Node: Equatable, Sendable {
        public let name: String
        public let url: String
        public let pid: Int?
    }

    public var nodes: [Node] = []
    public var natsURL: String?
    public var natsPID: Int?
    public var postgresURL: String?
    public var postgresPID: Int?

    public init(nodes: [Node]) { self.nodes = nodes }

    /// Nil when the text is not JSON or names no node.
    public init?(json text: String) {
        var file = ClusterFile(nodes: [])
        let isObject = Array(text.utf8).withUnsafeBufferPointer { buffer in
            try? JSONReader.readMembers(of: buffer) { key, value in
                if key.equals("nodes") {
                    value.forEachElement { if let node = Node($0) { file.nodes.append(node) } }
                } else if key.equals("nats") {
                    value.forEachMember { name, field in
                        if name.equals("url") { file.natsURL = field.string }
                        if name.equals("pid") { file.natsPID = field.integer.map(Int.init) }
                    }
                } else if key.equals("postgres") {
                    value.forEachMember { name, field in
                        if name.equals("url") { file.postgresURL = field.string }
                        if name.equals("pid") { file.postgresPID = field.integer.map(Int.init) }
                    }
                }
            }
        }
        guard isObject == true, !file.nodes.isEmpty else { return nil }
        self = file
    }
}

extension ClusterFile.Node {
    init?(_ json: JSONSlice) {
        var name = ""
        var url: String?
        var pid: Int?
        json.forEachMember { key, value in
            if key.equals("name") { name = value.string ?? "" }
            if key.equals("url") { url = value.string }
            if key.equals("pid") { pid = value.integer.map(Int.init) }
        }
        guard let url else { return nil }
        self.init(name: name, url: url, pid: pid)
    }
}

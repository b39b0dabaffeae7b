/// What idle sockets cost.
public struct IdleReport: Sendable, Equatable {
    public struct Node: Sendable, Equatable {
        public let name: String
        public var sockets: Int
        /// Resident bytes of the process before the accounts were made, after that, and with the sockets; nil where the process is
        /// not known.
        public let before: Int?
        public let withAccounts: Int?
        public let after: Int?

        public init(name: String, sockets: Int, before: Int?, withAccounts: Int?, after: Int?) {
            self.name = name
            self.sockets = sockets
            self.before = before
            self.withAccounts = withAccounts
            self.after = after
        }

        /// From before the accounts: memory that making them left free, and that the sockets took, counts as the sockets'.

        public var bytesPerSocket: Double? {
            guard let before, let after, sockets > 0 else { return nil }
            return Double(after - before) / Double(sockets)
        }
    }

    public let clients: Int
    /// Until all had been greeted.
    public var openSeconds: Double = 0
    /// At the end.
    public var alive = 0
    /// Sockets that broke meanwhile.
    public var breaks = 0
    public var nodes: [Node] = []

    public init(clients: Int) { self.clients = clients }

    /// Of all nodes whose memory is known.
    public var bytesPerSocket: Double? {
        let known = nodes.filter { $0.bytesPerSocket != nil }
        let sockets = known.reduce(0) { $0 + $1.sockets }
        guard sockets > 0 else { return nil }
        return Double(known.reduce(0) { $0 + ($1.after ?? 0) - ($1.before ?? 0) }) / Double(sockets)
    }

    public var isClean: Bool { alive == clients && breaks == 0 }
    public var greetingsPerSecond: Double { openSeconds > 0 ? Double(clients) / openSeconds : 0 }

    public var json: JSONText {
        .object([
            ("command", .string("idle")), ("clients", .int(clients)), ("alive", .int(alive)), ("breaks", .int(breaks)),
            ("clean", .bool(isClean)), ("openSeconds", .double(openSeconds)), ("greetingsPerSecond", .double(greetingsPerSecond)),
            ("bytesPerSocket", bytesPerSocket.map { .double($0) } ?? .null),
            (
                "nodes",
                .array(
                    nodes.map { node in
                        .object([
                            ("name", .string(node.name)), ("sockets", .int(node.sockets)),
                            ("residentBytesBefore", node.before.map { .int($0) } ?? .null),
                            ("residentBytesWithAccounts", node.withAccounts.map { .int($0) } ?? .null),
                            ("residentBytesAfter", node.after.map { .int($0) } ?? .null),
                            ("bytesPerSocket", node.bytesPerSocket.map { .double($0) } ?? .null),
                        ])
                    })
            ),
        ])
    }

    public var summary: String {
        let cost = bytesPerSocket.map { "\(Figures.short($0)) bytes a socket" } ?? "memory unknown (no --cluster)"
        let each = nodes.map { node in
            "  \(node.name): \(node.sockets) sockets"
                + (node.bytesPerSocket.map { ", \(Figures.short($0)) bytes each" } ?? "")
        }
        return "idle: \(clients) sockets opened at \(Figures.short(greetingsPerSecond))/s, \(alive) alive at the end, "
            + "\(breaks) broke; \(cost)\n" + each.joined(separator: "\n") + (each.isEmpty ? "" : "\n")
    }
}

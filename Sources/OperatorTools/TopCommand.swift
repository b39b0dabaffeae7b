import RoostProtocol

/// `roostctl top`: nodes, loads and hand-offs, drawn anew every second.
public struct TopCommand: Sendable {
    let client: AdminClient
    let console: Console
    let sleep: @Sendable (Duration) async throws -> Void

    public init(
        client: AdminClient, console: Console,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.client = client
        self.console = console
        self.sleep = sleep
    }

    func run(_ invocation: Invocation) async throws {
        let seconds = try invocation.number("interval", in: 1...60) ?? 1
        let isOnce = invocation.has("once") || !console.isTerminal
        repeat {
            let screen = try await screen()
            if console.isJSON {
                console.json(screen.json)
            } else {
                // From the top of a cleared screen, so that nothing flickers below.
                console.print((isOnce ? "" : "\u{1B}[H\u{1B}[2J") + screen.text)
            }
            if !isOnce { try await sleep(.seconds(seconds)) }
        } while !isOnce && !Task.isCancelled
    }

    private func screen() async throws -> (text: String, json: JSONValue) {
        let nodes = try await client.call("GET", "nodes").items
        let operations = try await client.call("GET", "operations?limit=50").items
        let running = operations.filter { ["running", "paused"].contains($0.text("state")) }
        let actors = try await client.call("GET", "actors?sort=load&limit=10").items
        let shards = try await client.call("GET", "shards").items
        let moving = shards.filter { $0["target"]?.string != nil }
        let json = JSONValue.object([
            "nodes": .array(nodes), "operations": .array(running), "actors": .array(actors), "moving": .array(moving),
        ])
        var text = ClusterCommands.nodeTable(nodes).text(console.style)
        let loads = nodes.filter { $0.text("state") == "up" }.compactMap { $0["load"]?.double }
        if let most = loads.max(), most > 0 {
            let uneven = most * Double(loads.count) / loads.reduce(0, +)
            text += console.style.faint("max/mean load ") + Figures.decimals(uneven, 2)
            text += console.style.faint("   moving now ") + "\(moving.count)\n"
        }
        for operation in running { text += ClusterCommands.progressLine(operation) + "\n" }
        var table = Table(("BUSIEST", .left), ("NODE", .left), ("MSG/S", .right), ("MAILBOX", .right))
        for actor in actors {
            table.add(
                "\(actor.text("kind"))/\(actor.text("id"))", actor.text("node"), actor.figure("messagesPerSecond", 2),
                actor.count("mailboxDepth"))
        }
        return (text + "\n" + table.text(console.style), json)
    }
}

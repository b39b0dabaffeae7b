import RoostProtocol

/// What `roostctl` does with nodes, actors and plans.
public struct ClusterCommands: Sendable {
    let client: AdminClient
    let console: Console
    /// Waits between two looks.
    let sleep: @Sendable (Duration) async throws -> Void
    private static let lookInterval: Duration = .milliseconds(300)

    public init(
        client: AdminClient, console: Console,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.client = client
        self.console = console
        self.sleep = sleep
    }

    // MARK: Nodes

    func nodes() async throws(AdminFault) {
        let answer = try await client.call("GET", "nodes")
        if console.isJSON { return console.json(answer) }
        console.print(Self.nodeTable(answer.items).text(console.style))
    }

    static func nodeTable(_ nodes: [JSONValue]) -> Table {
        var table = Table(
            ("NODE", .left), ("STATE", .left), ("LEADER", .left), ("PLACES", .right), ("LOAD", .right), ("SESSIONS", .right),
            ("CONVERSATIONS", .right), ("PRESENCES", .right), ("MSG/S", .right), ("P99 MS", .right), ("MEMORY", .right),
            ("VERSION", .left))
        for node in nodes {
            table.add(
                node.text("name"), node.text("state"), node["isLeader"]?.bool == true ? "yes" : "", node.count("places"),
                node.figure("load"), node.count("sessions"), node["actors"]?.count("conversation") ?? "-",
                node["actors"]?.count("presence") ?? "-", node.figure("messagesPerSecond"),
                node.figure("commitMillisecondsP99"), Figures.bytes(node["residentBytes"]?.double), node.text("version"))
        }
        return table
    }

    func setUse(_ verb: String, _ node: String) async throws(AdminFault) {
        let answer = try await client.call("POST", "nodes/\(Self.escape(node))/\(verb)")
        if console.isJSON { return console.json(answer) }
        console.line("\(node) is \(console.style.state(answer.text("state")))")
    }

    func drain(_ node: String, _ invocation: Invocation) async throws {
        var body: [String: JSONValue] = [:]
        if let timeout = try invocation.number("timeout", in: 1...86_400) { body["timeoutSeconds"] = .number(timeout) }
        let path = "nodes/\(Self.escape(node))/drain"
        if invocation.has("dry-run") {
            body["dryRun"] = .bool(true)
            return show(plan: try await client.call("POST", path, .object(body)))
        }
        try await follow(try await client.call("POST", path, .object(body)), invocation)
    }

    // MARK: Actors

    func actors(_ invocation: Invocation) async throws {
        var query: [String] = []
        for name in ["node", "kind", "sort"] {
            if let value = invocation.options[name] { query.append("\(name)=\(Self.escape(value))") }
        }
        let limit = try invocation.number("limit", in: 1...100_000) ?? 20
        var (items, missing, cursor): ([JSONValue], [JSONValue], String?) = ([], [], nil)
        repeat {
            let page = query + ["limit=\(min(200, limit - items.count))"] + (cursor.map { ["cursor=\($0)"] } ?? [])
            let answer = try await client.call("GET", "actors?\(page.joined(separator: "&"))")
            items += answer.items
            missing = answer["missing"]?.array ?? []
            cursor = answer["nextCursor"]?.string
        } while cursor != nil && items.count < limit
        if console.isJSON {
            return console.json(.object(["items": .array(items), "missing": .array(missing)]))
        }
        var table = Table(
            ("ACTOR", .left), ("NODE", .left), ("MSG/S", .right), ("MAILBOX", .right), ("IDLE S", .right), ("WHY", .left),
            ("SINCE", .left))
        for actor in items {
            table.add(
                "\(actor.text("kind"))/\(actor.text("id"))", actor.text("node"), actor.figure("messagesPerSecond", 2),
                actor.count("mailboxDepth"), actor.figure("idleSeconds", 0), actor.text("reason"), actor.text("since"))
        }
        console.print(table.text(console.style))
        let names = missing.compactMap(\.string)
        if !names.isEmpty { console.line(console.style.warning("no answer from \(names.joined(separator: ", "))")) }
    }

    func actor(_ address: String) async throws {
        let actor = try await client.call("GET", "actors/\(try Self.address(address))")
        if console.isJSON { return console.json(actor) }
        let routes = (actor["routes"]?.array ?? []).compactMap(\.string).joined(separator: ", ")
        let rows = [
            ("actor", "\(actor.text("kind"))/\(actor.text("id"))"),
            ("state", actor["active"]?.bool == true ? "awake" : "asleep"),
            ("node", actor.text("node")), ("since", "\(actor.text("since")), by \(actor.text("reason"))"),
            ("shard", actor.count("shard")), ("epoch", actor.count("epoch")),
            ("messages/s", actor.figure("messagesPerSecond", 2)), ("mailbox", actor.count("mailboxDepth")),
            ("idle", "\(actor.figure("idleSeconds", 0)) s"), ("routes", routes.isEmpty ? "-" : routes),
        ]
        for (name, value) in rows {
            let padding = String(repeating: " ", count: 12 - name.count)
            console.line(console.style.faint(name) + padding + value)
        }
    }

    func pin(_ address: String, _ node: String, _ invocation: Invocation) async throws {
        let path = "actors/\(try Self.address(address))/pin"
        try await follow(try await client.call("PUT", path, .object(["node": .string(node)])), invocation)
    }

    func unpin(_ address: String, _ invocation: Invocation) async throws {
        let operation = try await client.call("DELETE", "actors/\(try Self.address(address))/pin")
        if operation.isNull {
            if !console.isJSON { console.line("\(address) was not pinned") }
            return
        }
        try await follow(operation, invocation)
    }

    func pins() async throws(AdminFault) {
        let answer = try await client.call("GET", "pins")
        if console.isJSON { return console.json(answer) }
        var table = Table(("ACTOR", .left), ("WANTED", .left), ("NODE", .left), ("MOVING", .left), ("SINCE", .left))
        for pin in answer.items {
            table.add(
                "\(pin.text("kind"))/\(pin.text("id"))", pin.text("wanted"), pin.text("owner"),
                pin["isMoving"]?.bool == true ? "yes" : "", pin.text("since"))
        }
        console.print(table.text(console.style))
    }

    // MARK: Rebalancing

    func rebalance(_ verb: String, _ id: String?, _ invocation: Invocation) async throws {
        switch verb {
        case "plan":
            var body: [String: JSONValue] = ["dryRun": .bool(true)]
            if let moves = try invocation.number("max-moves", in: 1...100_000) { body["maxMoves"] = .number(moves) }
            show(plan: try await client.call("POST", "rebalance", .object(body)))
        case "apply":
            var body: [String: JSONValue] = [:]
            if let id { body["planId"] = .string(id) }
            if let moves = try invocation.number("max-moves", in: 1...100_000) { body["maxMoves"] = .number(moves) }
            if let moves = try invocation.number("max-concurrent-moves", in: 1...64) {
                body["maxConcurrentMoves"] = .number(moves)
            }
            try await follow(try await client.call("POST", "rebalance", .object(body)), invocation)
        case "watch": try await follow(try await operation(id), Invocation())
        case "pause", "resume", "cancel":
            let known = try await operation(id)
            let answer = try await client.call("POST", "operations/\(known.text("id"))/\(verb)")
            if console.isJSON { return console.json(answer) }
            console.line("\(answer.text("kind")) \(answer.text("id")) is \(console.style.state(answer.text("state")))")
        default: throw UsageFault("rebalance \(verb) is unknown: plan, apply, watch, pause, resume or cancel")
        }
    }

    func operations(_ invocation: Invocation) async throws {
        let limit = try invocation.number("limit", in: 1...200) ?? 20
        let answer = try await client.call("GET", "operations?limit=\(limit)")
        if console.isJSON { return console.json(answer) }
        var table = Table(
            ("OPERATION", .left), ("KIND", .left), ("OF", .left), ("STATE", .left), ("DONE", .right), ("FAILED", .right),
            ("PAUSE MS", .right), ("BY", .left), ("STARTED", .left), ("REASON", .left))
        for operation in answer.items {
            table.add(
                operation.text("id"), operation.text("kind"),
                operation["actor"]?.string ?? operation.text("node"), operation.text("state"),
                "\(operation.count("movesDone"))/\(operation.count("movesPlanned"))", operation.count("movesFailed"),
                operation.figure("longestPauseMilliseconds"), operation.text("startedBy"), operation.text("startedAt"),
                operation.text("reason"))
        }
        console.print(table.text(console.style))
    }

    /// The one of that id, or the newest that has not ended.
    private func operation(_ id: String?) async throws(AdminFault) -> JSONValue {
        if let id { return try await client.call("GET", "operations/\(Self.escape(id))") }
        let running = try await client.call("GET", "operations?limit=50").items.first { operation in
            ["running", "paused"].contains(operation.text("state"))
        }
        guard let running else { throw AdminFault(ExitCode.notFound, "nothing is under way") }
        return running
    }

    /// Watches an operation to its end, unless told not to wait.
    private func follow(_ started: JSONValue, _ invocation: Invocation) async throws {
        var operation = started
        let id = operation.text("id")
        if !invocation.has("no-wait") {
            while ["running", "paused"].contains(operation.text("state")) {
                console.progress(Self.progressLine(operation))
                try await sleep(Self.lookInterval)
                operation = try await client.call("GET", "operations/\(id)")
            }
            console.endProgress()
        }
        if console.isJSON { console.json(operation) } else { console.line(Self.summary(operation, console.style)) }
        if operation.text("state") == "failed" {
            throw AdminFault(ExitCode.failed, "\(operation.text("kind")) failed: \(operation.text("reason"))")
        }
    }

    static func progressLine(_ operation: JSONValue) -> String {
        let (done, all) = (Int(operation["movesDone"]?.integer ?? 0), Int(operation["movesPlanned"]?.integer ?? 0))
        let blocked = (operation["blockedBy"]?.array ?? []).compactMap(\.string)
        let tail = blocked.isEmpty ? "" : "  blocked: \(blocked.joined(separator: "; "))"
        return "\(operation.text("kind")) \(operation.text("state"))  \(Figures.bar(done, of: all))  \(done)/\(all)\(tail)"
    }

    static func summary(_ operation: JSONValue, _ style: Style) -> String {
        var text =
            "\(operation.text("kind")) \(operation.text("id")) \(style.state(operation.text("state"))): "
            + "\(operation.count("movesDone")) of \(operation.count("movesPlanned")) moves"
        if operation["movesFailed"]?.integer ?? 0 > 0 { text += ", \(operation.count("movesFailed")) not possible" }
        if operation["longestPauseMilliseconds"]?.double != nil {
            text += ", longest pause \(operation.figure("longestPauseMilliseconds")) ms"
        }
        if let reason = operation["reason"]?.string { text += " (\(reason))" }
        for blocker in (operation["blockedBy"]?.array ?? []).compactMap(\.string) { text += "\n  blocked: \(blocker)" }
        return text
    }

    private func show(plan: JSONValue) {
        if console.isJSON { return console.json(plan) }
        let moves = plan["moves"]?.array ?? []
        console.line("plan \(plan.text("id")), of view \(plan.count("viewVersion")): \(moves.count) moves")
        var loads = Table(("NODE", .left), ("LOAD NOW", .right), ("LOAD THEN", .right))
        let after = plan["after"]?.array ?? []
        for before in plan["before"]?.array ?? [] {
            let then = after.first { $0.text("node") == before.text("node") }
            loads.add(before.text("node"), before.figure("load"), then?.figure("load") ?? "-")
        }
        console.print(loads.text(console.style))
        guard !moves.isEmpty else { return }
        var table = Table(("MOVE", .left), ("FROM", .left), ("TO", .left), ("LOAD", .right), ("PAUSE MS", .right))
        for move in moves.prefix(20) {
            let place =
                move["shard"]?.integer.map { "shard \(move.text("kind"))/\($0)" } ?? "\(move.text("kind"))/\(move.text("id"))"
            table.add(
                place, move.text("from"), move.text("to"), move.figure("load", 2), move.figure("expectedPauseMilliseconds"))
        }
        console.print(table.text(console.style))
        if moves.count > 20 { console.line(console.style.faint("and \(moves.count - 20) more; --json shows all")) }
    }

    // MARK: Paths

    /// - Throws: ``UsageFault``.
    static func address(_ text: String) throws(UsageFault) -> String {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, ["conversation", "presence"].contains(parts[0]), !parts[1].isEmpty else {
            throw UsageFault("\(text) is no actor: conversation/ID or presence/ID is")
        }
        return "\(parts[0])/\(escape(String(parts[1])))"
    }

    /// Percent-encodes all but unreserved characters (RFC 3986 §2.3).
    static func escape(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: return String(UnicodeScalar(byte))
            default:
                let digits = Array("0123456789ABCDEF")
                return "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }.joined()
    }
}

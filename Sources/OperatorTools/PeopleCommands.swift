import RoostProtocol

/// What `roostctl` does with accounts, and who did what.
public struct PeopleCommands: Sendable {
    let client: AdminClient
    let console: Console

    public init(client: AdminClient, console: Console) {
        self.client = client
        self.console = console
    }

    func list(_ query: String?, _ invocation: Invocation) async throws {
        let limit = try invocation.number("limit", in: 1...200) ?? 20
        let words = query.map { "&query=\(ClusterCommands.escape($0))" } ?? ""
        let answer = try await client.call("GET", "users?limit=\(limit)\(words)")
        if console.isJSON { return console.json(answer) }
        var table = Table(
            ("USER", .left), ("NAME", .left), ("EMAIL", .left), ("STATE", .left), ("CREATED", .left), ("LAST SEEN", .left))
        for user in answer.items {
            let state = user["deletedAt"]?.string != nil ? "deleted" : user["suspendedAt"]?.string != nil ? "suspended" : "live"
            table.add(
                user.text("id"), user.text("displayName"), user.text("email"), state, user.text("createdAt"),
                user.text("lastSeenAt"))
        }
        console.print(table.text(console.style))
    }

    func act(_ verb: String, _ user: String, _ invocation: Invocation) async throws {
        let path = "users/\(ClusterCommands.escape(user))"
        switch verb {
        case "suspend", "unsuspend", "logout": _ = try await client.call("POST", "\(path)/\(verb)")
        case "delete": _ = try await client.call("DELETE", path)
        case "export":
            let answer = try await client.raw("GET", "\(path)/export")
            return console.print(answer.text + "\n")
        default: throw UsageFault("users \(verb) is unknown: list, suspend, unsuspend, logout, delete or export")
        }
        if console.isJSON { return console.json(.object(["user": .string(user), "done": .string(verb)])) }
        console.line("\(verb): done")
    }

    func audit(_ invocation: Invocation) async throws {
        let limit = try invocation.number("limit", in: 1...200) ?? 20
        let answer = try await client.call("GET", "audit?limit=\(limit)")
        if console.isJSON { return console.json(answer) }
        var table = Table(("AT", .left), ("WHO", .left), ("DID", .left), ("TO", .left))
        for entry in answer.items {
            table.add(entry.text("at"), entry.text("operator"), entry.text("action"), entry.text("subject"))
        }
        console.print(table.text(console.style))
    }
}

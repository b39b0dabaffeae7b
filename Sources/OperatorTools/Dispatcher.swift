/// Runs one command against a cluster.
public struct Dispatcher: Sendable {
    private let cluster: ClusterCommands
    private let people: PeopleCommands
    private let top: TopCommand

    public init(client: AdminClient, console: Console) {
        cluster = ClusterCommands(client: client, console: console)
        people = PeopleCommands(client: client, console: console)
        top = TopCommand(client: client, console: console)
    }

    /// - Throws: ``UsageFault``, ``AdminFault``.
    public func run(_ invocation: Invocation) async throws {
        let words = invocation.words
        switch words.first {
        case "nodes": try await cluster.nodes()
        case "top": try await top.run(invocation)
        case "actors": try await cluster.actors(invocation)
        case "actor": try await cluster.actor(try argument(words, 1, "KIND/ID"))
        case "move", "pin":
            try await cluster.pin(try argument(words, 1, "KIND/ID"), try argument(words, 2, "NODE"), invocation)
        case "unpin": try await cluster.unpin(try argument(words, 1, "KIND/ID"), invocation)
        case "pins": try await cluster.pins()
        case "cordon", "uncordon": try await cluster.setUse(words[0], try argument(words, 1, "NODE"))
        case "drain": try await cluster.drain(try argument(words, 1, "NODE"), invocation)
        case "rebalance":
            let verb = try argument(words, 1, "plan, apply, watch, pause, resume or cancel")
            try await cluster.rebalance(verb, words.count > 2 ? words[2] : nil, invocation)
        case "operations": try await cluster.operations(invocation)
        case "users": try await users(invocation)
        case "audit": try await people.audit(invocation)
        case let word?: throw UsageFault("\(word) is unknown; roostctl --help lists the commands")
        case nil: throw UsageFault("a command is missing; roostctl --help lists them")
        }
    }

    private func users(_ invocation: Invocation) async throws {
        let words = invocation.words
        let verb = words.count > 1 ? words[1] : "list"
        if verb == "list" { return try await people.list(words.count > 2 ? words[2] : nil, invocation) }
        try await people.act(verb, try argument(words, 2, "USER"), invocation)
    }

    private func argument(_ words: [String], _ index: Int, _ name: String) throws(UsageFault) -> String {
        guard words.indices.contains(index), !words[index].isEmpty else {
            throw UsageFault("\(words[0]) needs \(name)")
        }
        return words[index]
    }
}

import RoostClient
import RoostProtocol
import TestSupport

/// One of those who do things at the same time.
struct ConcurrentUser: Sendable {
    let index: Int
    let id: String
    let token: String
    let clients: [HTTPClient]

    struct Acknowledged: Sendable {
        let user: Int
        let room: String
        let clientID: String
        let seq: Int
    }

    struct Report: Sendable {
        var operations = 0
        var refused = 0
        var acknowledged: [Acknowledged] = []
    }

    func call(_ method: String, _ path: String, _ body: JSONValue? = nil, node: Int = 0) async throws -> ModelRun.Answer {
        let response = try await clients[node % clients.count].json(method, path, body?.line, token: token)
        let json = response.body.isEmpty ? .null : try JSONValue(response.body)
        guard response.status < 500 else { throw ModelFault("\(method) \(path): \(response.status) \(json.line)") }
        return ModelRun.Answer(status: response.status, code: json["code"]?.string, json: json, bytes: response.body)
    }

    func play(_ rooms: [ConcurrentRun.Room], seed: UInt64, operations: Int) async throws -> Report {
        var random = SeededRandom(seed: seed &* 31 &+ UInt64(index))
        let own = rooms.filter { $0.members.contains(index) }
        var report = Report()
        while report.operations < operations {
            report.operations += 1
            let room = own[random.below(random.chance(70) ? 2 : own.count)]
            let number = report.operations
            // The first only watches and marks as read, so that nothing is hidden from them.
            let answer =
                index == 0
                ? try await mark(room, &random) : try await act(room, rooms[1].id, number, &random, &report.acknowledged)
            if answer.status >= 400 { report.refused += 1 }
        }
        return report
    }

    private func act(
        _ room: ConcurrentRun.Room, _ channel: String, _ number: Int, _ random: inout SeededRandom,
        _ acknowledged: inout [Acknowledged]
    ) async throws -> ModelRun.Answer {
        let path = "/v1/conversations/\(room.id)"
        let node = random.below(clients.count)
        // Others' messages too: most of what is tried there is refused.
        let near = max(1, (acknowledged.last { $0.room == room.id }?.seq ?? 5) + random.below(7) - 4)
        switch random.below(100) {
        case ..<45:
            var fields: [String: JSONValue] = [
                "clientId": .string("c\(number)"), "type": .string("text"), "text": .string("\(index): \(number)"),
            ]
            if random.chance(20) { fields["replyTo"] = .number("\(near)") }
            let answer = try await call("POST", "\(path)/messages", .object(fields), node: node)
            guard answer.status == 201, let seq = answer.json["seq"]?.int else { return answer }
            acknowledged.append(Acknowledged(user: index, room: room.id, clientID: "c\(number)", seq: seq))
            guard random.chance(15) else { return answer }
            let again = try await call("POST", "\(path)/messages", .object(fields), node: node + 1)
            // Whoever has left the channel meanwhile asks in vain; nobody does that here but this user.
            guard again.status == 200, again.json["seq"]?.int == seq else { throw ModelFault("\(seq) again: \(again.json.line)") }
            return again
        case ..<60:
            return try await call("PATCH", "\(path)/messages/\(near)", .object(["text": .string("new \(number)")]), node: node)
        case ..<66: return try await call("DELETE", "\(path)/messages/\(near)?scope=everyone", node: node)
        case ..<70: return try await call("DELETE", "\(path)/messages/\(near)?scope=me", node: node)
        case ..<84:
            let emoji = random.chance(50) ? "%F0%9F%91%8D" : "%F0%9F%98%82"
            return try await call(random.chance(60) ? "PUT" : "DELETE", "\(path)/messages/\(near)/reactions/\(emoji)", node: node)
        case ..<94: return try await mark(room, &random)
        case ..<96: return try await call("PATCH", "\(path)/settings", .object(["pinned": .bool(random.chance(50))]), node: node)
        // Only where they can come back.
        case ..<98: return try await call("DELETE", "/v1/conversations/\(channel)/members/\(id)", node: node)
        default: return try await call("POST", "/v1/conversations/\(channel)/join", node: node)
        }
    }

    private func mark(_ room: ConcurrentRun.Room, _ random: inout SeededRandom) async throws -> ModelRun.Answer {
        let verb = random.chance(70) ? "read" : "delivered"
        return try await call(
            "POST", "/v1/conversations/\(room.id)/\(verb)", .object(["seq": .number("\(random.below(400))")]),
            node: random.below(clients.count))
    }

    // MARK: At the end

    /// Everything, page by page; nothing for those who are not there.
    func history(_ room: String) async throws -> [JSONValue] {
        var items: [JSONValue] = []
        while true {
            let after = items.last?["seq"]?.int ?? 0
            let page = try await call("GET", "/v1/conversations/\(room)/messages?after=\(after)&limit=200")
            guard page.status == 200 else { return items }
            items += page.json["items"]?.array ?? []
            if page.json["hasMoreAfter"] != .bool(true) { return items }
        }
    }

    /// What is unread and mentions one, counted again.
    func checkCounts(_ room: String) async throws {
        let view = try await call("GET", "/v1/conversations/\(room)").json
        guard view["myRole"]?.isNull == false, let read = view["readSeq"]?.int else { return }
        let unread = try await history(room).filter { message in
            message["seq"]!.int! > read && message["senderId"] != .string(id) && message["type"] != .string("system")
                && message["deletedAt"]?.isNull == true
        }
        let mentions = unread.filter { $0["mentions"]?.array?.contains(.string(id)) == true }
        guard view["unreadCount"]?.int == min(999, unread.count), view["mentionCount"]?.int == min(999, mentions.count) else {
            throw ModelFault("user \(index) in \(room): counted again \(unread.count), \(mentions.count) of \(view.line)")
        }
    }

    /// Catching up from the beginning gives the history.
    func checkChanges(_ room: String) async throws {
        var replica = Replica()
        var upTo = 0
        while true {
            let page = try await call("GET", "/v1/conversations/\(room)/changes?after=\(upTo)&limit=200")
            guard page.status == 200 else { return }
            for item in page.json["items"]?.array ?? [] { replica.apply(change: item, in: room) }
            upTo = page.json["upToSeq"]?.int ?? 0
            if page.json["hasMore"] == .bool(false) { break }
        }
        let history = try await history(room)
        let known = replica.messages[room, default: [:]]
        for message in history where known[message["seq"]!.int!]?.line != Replica.withoutStatus(message).line {
            throw ModelFault("user \(index): by changes \(known[message["seq"]!.int!]?.line ?? "nothing"), not \(message.line)")
        }
        guard known.count == history.count else { throw ModelFault("\(known.count) by changes, \(history.count) in the history") }
    }
}

import RoostClient
import RoostProtocol

/// What a user of a run has in their hands.
struct Person {
    let token: String
    /// What their application keeps, brought up to date by `sync` and `changes` only.
    var replica = Replica()
    /// By chat: which joining the copy is of. Clients know it by the removal, or by `joinedAt`.
    var joined: [Int: Int] = [:]

    /// A new user, and what the model knows of them. The index makes their email one that is told from all others in any bytes.
    static func make(_ index: Int, isGuest: Bool, over http: HTTPClient, mark: String) async throws -> (Person, World.Account) {
        let email = isGuest ? nil : "zex\(index)xez\(mark)@x.example"
        let name = "Person \(index)"
        var fields: [String: JSONValue] = ["displayName": .string(name)]
        if let email {
            fields["email"] = .string(email)
            fields["password"] = .string("correct horse battery")
        }
        let path = isGuest ? "/v1/auth/anonymous" : "/v1/auth/register"
        let response = try await http.json("POST", path, JSONValue.object(fields).line)
        let json = try? JSONValue(response.body)
        guard response.status == 201, let id = json?["user"]?["id"]?.string, let token = json?["accessToken"]?.string else {
            throw ModelFault("no account: \(response.status) \(response.text)")
        }
        return (Person(token: token), World.Account(id: id, isGuest: isGuest, email: email, name: name))
    }
}

/// An application's own copy of its user's chats: as docs/protocol.md tells clients to keep one.
struct Replica {
    var token: String?
    /// By the chat's id.
    var chats: [String: JSONValue] = [:]
    var messages: [String: [Int: JSONValue]] = [:]
    var upTo: [String: Int] = [:]

    mutating func forget(_ chat: String) {
        messages[chat] = nil
        upTo[chat] = nil
    }

    mutating func apply(change message: JSONValue, in chat: String) {
        guard let seq = message["seq"]?.int else { return }
        messages[chat, default: [:]][seq] = Self.withoutStatus(message)
        for (other, quoting) in messages[chat] ?? [:] {
            guard case .object(var outer) = quoting, case .object(var quote)? = outer["replyTo"], quote["seq"]?.int == seq else {
                continue
            }
            quote["text"] = message["text"]?.string.map { .string(String($0.prefix(300))) }
            quote["isDeleted"] = .bool(message["deletedAt"]?.isNull == false)
            outer["replyTo"] = .object(quote)
            messages[chat]?[other] = .object(outer)
        }
    }

    /// How far a message got changes without the message, and the order of what came in one millisecond is nobody's business.
    static func withoutStatus(_ message: JSONValue) -> JSONValue {
        guard case .object(var members) = message else { return message }
        members["status"] = nil
        members["seenByCount"] = nil
        members["reactions"] = message["reactions"]?.array.map { reactions in
            let sorted = reactions.map { reaction -> JSONValue in
                let users = reaction["userIds"]?.array?.sorted { $0.line < $1.line } ?? []
                return .object(["emoji": reaction["emoji"] ?? .null, "userIds": .array(users)])
            }
            return .array(sorted.sorted { $0.line < $1.line })
        }
        return .object(members)
    }

    mutating func hide(_ seq: Int, in chat: String) {
        messages[chat]?[seq] = nil
        for (other, quoting) in messages[chat] ?? [:] {
            guard case .object(var outer) = quoting, outer["replyTo"]?["seq"]?.int == seq else { continue }
            outer["replyTo"] = .null
            messages[chat]?[other] = .object(outer)
        }
    }
}

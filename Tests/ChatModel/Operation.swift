import RoostModel
import RoostProtocol

/// What one user does once.
struct Operation {
    let user: Int
    let act: Act

    enum Act {
        case openDirect(with: Int)
        case createGroup(title: String, members: [Int], history: HistorySetting)
        case createChannel(title: String, about: String?)
        case join(Int)
        case removeMember(Int, Int)
        case addMembers(Int, [Int])
        case setRole(Int, Int, MemberRole)
        case update(Int, title: String?, about: String??, history: HistorySetting?)
        case deleteChat(Int)
        case changeSettings(Int, pinned: Bool?, archived: Bool?, mutedUntil: String??)
        case send(Int, clientID: String, Body)
        case edit(Int, Int, text: String)
        case deleteForAll(Int, Int)
        case hide(Int, Int)
        /// `emoji` as it is written, `full` as it is shown; nil where it is none.
        case react(Int, Int, emoji: String, full: String?, isPut: Bool)
        case read(Int, Int)
        case delivered(Int, Int)
        case typing(Int, Bool)
        case rename(String)
        case shareReads(Bool)
        case block(Int, Bool)
        case getChat(Int)
        case getHistory(Int, HistoryQuery, limit: Int)
        case getChanges(Int, after: Int, limit: Int)
        case getReceipts(Int, Int)
    }

    enum HistoryQuery {
        case newest
        case before(Int)
        case after(Int)
        case around(Int)
    }

    /// Whether it takes something from somebody's sight, or changes who is in a chat: what came before is settled first.
    var isDrastic: Bool {
        switch act {
        case .join, .removeMember, .addMembers, .deleteChat, .deleteForAll, .edit, .hide, .createGroup, .createChannel,
            .openDirect,
            .shareReads, .block:
            true
        case .update(_, _, _, let history): history != nil
        case .setRole, .changeSettings, .send, .react, .read, .delivered, .typing, .rename, .getChat, .getHistory, .getChanges,
            .getReceipts:
            false
        }
    }

    /// Whether it can be asked over a socket.
    var hasSocketForm: Bool {
        switch act {
        case .send, .read, .delivered, .typing: true
        case .openDirect, .createGroup, .createChannel, .join, .removeMember, .addMembers, .setRole, .update, .deleteChat,
            .changeSettings, .edit, .deleteForAll, .hide, .react, .rename, .shareReads, .block, .getChat, .getHistory,
            .getChanges,
            .getReceipts:
            false
        }
    }
}

/// A call over HTTP.
struct Call {
    var method: String
    var path: String
    var body: JSONValue?
}

extension Operation {
    func call(_ world: World) -> Call {
        func chat(_ index: Int, _ rest: String = "") -> String { "/v1/conversations/\(world.id(ofChat: index))\(rest)" }
        func ids(_ users: [Int]) -> JSONValue { .array(users.map { .string(world.id(ofUser: $0)) }) }
        switch act {
        case .openDirect(let other):
            return Call(
                method: "POST", path: "/v1/conversations",
                body: .object(["kind": .string("direct"), "userId": .string(world.id(ofUser: other))]))
        case .createGroup(let title, let members, let history):
            return Call(
                method: "POST", path: "/v1/conversations",
                body: .object([
                    "kind": .string("group"), "title": .string(title), "memberIds": ids(members),
                    "history": .string(history.rawValue),
                ]))
        case .createChannel(let title, let about):
            return Call(
                method: "POST", path: "/v1/conversations",
                body: .object(["kind": .string("channel"), "title": .string(title), "about": .optional(about)]))
        case .join(let index): return Call(method: "POST", path: chat(index, "/join"))
        case .removeMember(let index, let member):
            return Call(method: "DELETE", path: chat(index, "/members/\(world.id(ofUser: member))"))
        case .addMembers(let index, let members):
            return Call(method: "POST", path: chat(index, "/members"), body: .object(["userIds": ids(members)]))
        case .setRole(let index, let member, let role):
            return Call(
                method: "PATCH", path: chat(index, "/members/\(world.id(ofUser: member))"),
                body: .object(["role": .string(role.rawValue)]))
        case .update(let index, let title, let about, let history):
            var fields: [String: JSONValue] = [:]
            if let title { fields["title"] = .string(title) }
            if let about { fields["about"] = .optional(about) }
            if let history { fields["history"] = .string(history.rawValue) }
            return Call(method: "PATCH", path: chat(index), body: .object(fields))
        case .deleteChat(let index): return Call(method: "DELETE", path: chat(index))
        case .changeSettings(let index, let pinned, let archived, let mutedUntil):
            var fields: [String: JSONValue] = [:]
            if let pinned { fields["pinned"] = .bool(pinned) }
            if let archived { fields["archived"] = .bool(archived) }
            if let mutedUntil { fields["mutedUntil"] = .optional(mutedUntil) }
            return Call(method: "PATCH", path: chat(index, "/settings"), body: .object(fields))
        case .send(let index, let clientID, let body):
            return Call(method: "POST", path: chat(index, "/messages"), body: .object(body.fields(clientID, world)))
        case .edit(let index, let seq, let text):
            return Call(method: "PATCH", path: chat(index, "/messages/\(seq)"), body: .object(["text": .string(text)]))
        case .deleteForAll(let index, let seq):
            return Call(method: "DELETE", path: chat(index, "/messages/\(seq)?scope=everyone"))
        case .hide(let index, let seq): return Call(method: "DELETE", path: chat(index, "/messages/\(seq)?scope=me"))
        case .react(let index, let seq, let emoji, _, let isPut):
            let encoded = emoji.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
            return Call(method: isPut ? "PUT" : "DELETE", path: chat(index, "/messages/\(seq)/reactions/\(encoded)"))
        case .read(let index, let seq):
            return Call(method: "POST", path: chat(index, "/read"), body: .object(["seq": .number("\(seq)")]))
        case .delivered(let index, let seq):
            return Call(method: "POST", path: chat(index, "/delivered"), body: .object(["seq": .number("\(seq)")]))
        case .typing: preconditionFailure("typing is said over a socket")
        case .rename(let name): return Call(method: "PATCH", path: "/v1/me", body: .object(["displayName": .string(name)]))
        case .shareReads(let shares):
            return Call(
                method: "PATCH", path: "/v1/me", body: .object(["settings": .object(["shareReadReceipts": .bool(shares)])]))
        case .block(let other, let isPut):
            return Call(method: isPut ? "PUT" : "DELETE", path: "/v1/blocks/\(world.id(ofUser: other))")
        case .getChat(let index): return Call(method: "GET", path: chat(index))
        case .getHistory(let index, let query, let limit):
            let range =
                switch query {
                case .newest: ""
                case .before(let seq): "before=\(seq)&"
                case .after(let seq): "after=\(seq)&"
                case .around(let seq): "around=\(seq)&"
                }
            return Call(method: "GET", path: chat(index, "/messages?\(range)limit=\(limit)"))
        case .getChanges(let index, let after, let limit):
            return Call(method: "GET", path: chat(index, "/changes?after=\(after)&limit=\(limit)"))
        case .getReceipts(let index, let seq): return Call(method: "GET", path: chat(index, "/messages/\(seq)/receipts"))
        }
    }

    /// The frame of an operation that has one.
    func frame(_ world: World, id: String) -> JSONValue {
        var fields: [String: JSONValue] = ["id": .string(id)]
        switch act {
        case .send(let index, let clientID, let body):
            fields.merge(body.fields(clientID, world)) { $1 }
            fields["op"] = .string("send")
            fields["conversationId"] = .string(world.id(ofChat: index))
        case .read(let index, let seq), .delivered(let index, let seq):
            if case .read = act { fields["op"] = .string("read") } else { fields["op"] = .string("delivered") }
            fields["conversationId"] = .string(world.id(ofChat: index))
            fields["seq"] = .number("\(seq)")
        case .typing(let index, let isActive):
            fields["op"] = .string("typing")
            fields["conversationId"] = .string(world.id(ofChat: index))
            fields["active"] = .bool(isActive)
        case .openDirect, .createGroup, .createChannel, .join, .removeMember, .addMembers, .setRole, .update, .deleteChat,
            .changeSettings, .edit, .deleteForAll, .hide, .react, .rename, .shareReads, .block, .getChat, .getHistory,
            .getChanges,
            .getReceipts:
            preconditionFailure("only over HTTP")
        }
        return .object(fields)
    }
}

extension Body {
    func fields(_ clientID: String, _ world: World) -> [String: JSONValue] {
        var fields: [String: JSONValue] = ["clientId": .string(clientID)]
        if let forward {
            fields["forward"] = .object([
                "conversationId": .string(world.id(ofChat: forward[0])), "seq": .number("\(forward[1])"),
            ])
            return fields
        }
        fields["type"] = .string("text")
        if let text { fields["text"] = .string(text) }
        if let replyTo { fields["replyTo"] = .number("\(replyTo)") }
        if !mentions.isEmpty { fields["mentions"] = .array(mentions.map { .string(world.id(ofUser: $0)) }) }
        return fields
    }
}

extension JSONValue {
    static func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
}

import TestSupport

/// A table of rights as it is written down: a line of roles, and lines of a method, a path and a cell for each role.
struct RightsTable {
    struct Row {
        let method: String
        let path: String
        let cells: [(role: String, expected: String)]

        /// As `/openapi.json` has it, without the names of what stands in the path.
        var route: String {
            if path == "search" { return "GET /v1/search/messages" }
            let plain = String(path.prefix { $0 != "?" && $0 != "#" })
            let whole = plain.hasPrefix("/v1/") ? plain : "/v1/conversations/{}\(plain == "/" ? "" : plain)"
            return "\(method) \(RightsTable.withoutNames(whole.replacing("👍", with: "{}")))"
        }
    }

    static func withoutNames(_ path: String) -> String {
        var inName = false
        return String(
            path.filter { character in
                if character == "}" { inName = false }
                defer { if character == "{" { inName = true } }
                return !inName
            })
    }

    let rows: [Row]

    init(_ text: String) {
        let lines = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        let roles = lines[0]
        rows = lines.dropFirst().map { words in
            precondition(words.count == roles.count + 2, "not a row of \(roles.count) cells: \(words)")
            return Row(method: words[0], path: words[1], cells: Array(zip(roles, words[2...])))
        }
    }
}

/// The people of the table of rights, one for each role, and the conversations in which they try what they can.
final class RightsWorld: Sendable {
    /// Where one role tries its luck.
    struct Place: Sendable {
        let chat: String
        let own: Int
        let others: Int
        /// Another member.
        let other: String
    }

    private let cluster: Cluster
    /// Whom most of the direct conversations are with; in the directory.
    private let host: Person
    private let people: [String: Person]
    private let sockets: [String: Socket]
    private let directs: [String: String]
    /// The messages of the orphan's conversation, in which nothing more can be said.
    private let orphaned: Place
    private let extra: String

    init() async throws {
        cluster = try await Cluster(name: "rights", nodes: 3)
        let cluster = cluster
        var people: [String: Person] = [:]
        for (number, role) in ["host", "admin", "member", "blocked", "blocker", "former", "stranger", "orphan", "user"]
            .enumerated()
        {
            people[role] = try await Person.registered(role, of: cluster, node: number % 3 + 1)
        }
        people["guest"] = try await Person.guest("guest", of: cluster, node: 2)
        people["suspended"] = try await Person.registered("suspended", of: cluster, node: 2)
        // The last node gives tokens that live for a second only.
        try await cluster.node("restart", "node3", settings: ["ROOST_ACCESS_TOKEN_SECONDS": "1"])
        people["expired"] = try await Person.registered("expired", of: cluster, node: 3)
        func person(_ role: String) throws -> Person {
            guard let person = people[role] else { throw Failure("nobody is \(role)") }
            return person
        }
        host = try person("host")
        extra = try await cluster.extras(1)[0]

        var directs: [String: String] = [:]
        for role in ["member", "guest", "blocked", "blocker", "suspended", "expired"] {
            directs[role] = try await host.chat(with: person(role))
        }
        directs["stranger"] = directs["member"]
        let leaver = try await Person.guest("leaver", of: cluster)
        let (orphan, chat) = (try person("orphan"), try await leaver.chat(with: person("orphan")))
        orphaned = Place(
            chat: chat, own: try await orphan.say("own", in: chat), others: try await leaver.say("others", in: chat),
            other: leaver.id)
        _ = try await leaver.call("DELETE", "/v1/me", [:]).expect(204)
        for role in ["admin", "host"] { _ = try await person(role).call("PUT", "/v1/blocks/\(person("blocked").id)").expect(204) }
        self.directs = directs

        var sockets: [String: Socket] = [:]
        for role in people.keys where !["suspended", "expired"].contains(role) {
            sockets[role] = try await Socket.connect(person(role))
        }
        self.sockets = sockets
        _ = try await cluster.operate("POST", "users/\(person("suspended").id)/suspend").expect(200, 204)
        for role in ["suspended", "expired"] {
            for node in 1...3 {
                let tried = try person(role).at(node)
                try await eventually("\(role) on node \(node)") { try await tried.call("GET", "/v1/me").status == 401 }
            }
        }
        self.people = people
    }

    func end() async throws { try await cluster.down() }

    private func person(_ role: String) throws -> Person {
        guard let person = people[role] else { throw Failure("nobody is \(role)") }
        return person
    }

    // MARK: Scenes

    func groupScene() async throws -> [String: Place] {
        try await scene(person("admin").group("Rights", [], ["memberIds": .strings(memberIDs())]))
    }

    func channelScene() async throws -> [String: Place] {
        let chat = try await person("admin").channel("Rights")
        _ = try await person("admin").add(memberIDs(), to: chat).expect(200)
        return try await scene(chat)
    }

    private func memberIDs() throws -> [String] {
        try ["member", "guest", "blocked", "former", "suspended", "expired"].map { try person($0).id }
    }

    private func scene(_ chat: String) async throws -> [String: Place] {
        var own: [String: Int] = [:]
        for role in ["admin", "member", "guest", "blocked", "former"] { own[role] = try await person(role).say(role, in: chat) }
        _ = try await person("admin").remove(person("former").id, from: chat).expect(204)
        var places: [String: Place] = [:]
        for role in ["admin", "member", "guest", "blocked", "former", "stranger", "suspended", "expired"] {
            let others = own[role == "admin" ? "member" : "admin"] ?? 0
            places[role] = Place(chat: chat, own: own[role] ?? others, others: others, other: try person("expired").id)
        }
        return places
    }

    /// Direct conversations stay; there are new messages in them.
    func directScene() async throws -> [String: Place] {
        var places = ["orphan": orphaned]
        _ = try await host.call("DELETE", "/v1/blocks/\(person("blocked").id)").expect(204)
        _ = try await person("blocker").call("DELETE", "/v1/blocks/\(host.id)").expect(204)
        for role in ["member", "guest", "blocked", "blocker"] {
            let chat = directs[role] ?? ""
            places[role] = Place(
                chat: chat, own: try await person(role).say(role, in: chat), others: try await host.say("host", in: chat),
                other: host.id)
        }
        _ = try await host.call("PUT", "/v1/blocks/\(person("blocked").id)").expect(204)
        _ = try await person("blocker").call("PUT", "/v1/blocks/\(host.id)").expect(204)
        for role in ["stranger", "suspended", "expired"] {
            places[role] = Place(chat: directs[role] ?? "", own: 1, others: 2, other: host.id)
        }
        return places
    }

    // MARK: Attempts

    /// The answer as a cell of the table.
    func attempt(_ row: RightsTable.Row, by role: String, _ place: Place) async throws -> String {
        let person = try person(role)
        if row.method == "OP" {
            guard let socket = sockets[role], let fields = Routes.operations.first(where: { $0.op == row.path })?.fields else {
                throw Failure("cannot do \(row.path) as \(role)")
            }
            let unique: JSON = ["conversationId": .string(place.chat), "clientId": .string(Person.uniqueWord())]
            return Self.cell(try await socket.request(row.path, fields.adding(unique)))
        }
        if row.path == "search" {
            return Self.cell(try await person.call("GET", "/v1/search/messages?query=host&conversationId=\(place.chat)"))
        }
        let path = row.path.replacing("{own}", with: "\(place.own)").replacing("{others}", with: "\(place.others)")
            .replacing("{self}", with: person.id).replacing("{other}", with: place.other).replacing("👍", with: "👍".escaped)
        let isWhole = path == "/"
        return Self.cell(try await person.call(row.method, in: place.chat, isWhole ? "" : path, body(row, person)))
    }

    private func body(_ row: RightsTable.Row, _ person: Person) -> JSON? {
        switch (row.method, row.path) {
        case ("PATCH", "/"): ["title": .string(Person.uniqueWord())]
        case ("PATCH", "/settings"): ["pinned": true]
        case ("POST", "/members"): ["userIds": [.string(extra)]]
        case ("PATCH", "/members/{other}"): ["role": "admin"]
        case ("POST", "/messages"): ["clientId": .string(Person.uniqueWord()), "type": "text", "text": "hi"]
        case ("PATCH", _): ["text": .string(Person.uniqueWord())]
        case ("POST", "/read"), ("POST", "/delivered"): ["seq": 1]
        default: nil
        }
    }

    /// What leaves those who do it another account, or none.
    private static let spending: Set = ["/v1/auth/logout", "/v1/auth/link", "/v1/auth/password/change"]

    private func token(_ role: String, isSpent: Bool) async throws -> String {
        switch (isSpent, role) {
        case (true, "user"): try await Person.registered("user", of: cluster).token
        case (true, "guest"): try await Person.guest("guest", of: cluster).token
        default: try person(role).token
        }
    }

    /// What is not about one conversation. `nobody` has no token.
    func attemptElsewhere(_ row: RightsTable.Row, by role: String) async throws -> String {
        let parts = row.path.split(separator: "#")
        let path = parts[0].replacing("{id}", with: host.id).replacing("{email}", with: (host.email ?? "").escaped)
        var body: JSON?
        switch (row.method, parts.last.map(String.init) ?? "") {
        case ("PATCH", "/v1/me"): body = ["about": "me"]
        case ("POST", "/v1/contacts"): body = ["userId": .string(host.id)]
        case ("PATCH", _): body = ["nickname": "H"]
        case ("PUT", "/v1/devices/current/push"): body = ["provider": "fcm", "token": .string(Person.uniqueWord())]
        case (_, "/v1/auth/link"): body = ["email": .string(Person.uniqueEmail()), "password": .string(Person.password)]
        case (_, "/v1/auth/password/change"):
            body = ["currentPassword": .string(Person.password), "newPassword": "another good one"]
        case (_, "direct"): body = ["kind": "direct", "userId": .string(extra)]
        case (_, "group"): body = ["kind": "group", "title": "T", "memberIds": []]
        case (_, "channel"): body = ["kind": "channel", "title": "T"]
        case ("DELETE", "/v1/me"): body = role == "guest" ? [:] : ["password": .string(Person.password)]
        default: break
        }
        let token = role == "nobody" ? nil : try await self.token(role, isSpent: Self.spending.contains(String(path)))
        return Self.cell(try await HTTP.call(row.method, cluster.url(1), String(path), token: token, body: body))
    }

    private static func cell(_ answer: Answer) -> String { cell(answer.status, answer.code) }

    private static func cell(_ answer: JSON) -> String {
        if answer["ok"] == true { return "200" }
        return cell(answer["error"]["status"].int ?? 0, answer["error"]["code"].string)
    }

    private static func cell(_ status: Int, _ code: String?) -> String {
        switch code {
        case nil, "unauthenticated", "notFound": "\(status)"
        case let code?: "\(status):\(code)"
        }
    }
}

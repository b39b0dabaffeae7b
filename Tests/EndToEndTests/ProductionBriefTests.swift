import Foundation
import TestSupport
import Testing

extension EndToEnd.Briefs {
    /// Seconds for which a sender may delete for everyone; a day where nothing is set.
    private static let window = 10

    @Test(
        "(e) Production: complete profiles, directory, groups with admins, all that is done to messages, sync, account deletion")
    func briefEProduction() async throws {
        let cluster = try await Cluster(
            name: "production", nodes: 3,
            settings: ["ROOST_REQUIRE_PROFILE": "on", "ROOST_DELETE_WINDOW_SECONDS": "\(Self.window)"])
        let word = Person.uniqueWord()
        let ada = try await profile(of: cluster, word)
        let ben = try await complete("Zoë \(word)", of: cluster, node: 2)
        let cem = try await complete("Cem \(word)", of: cluster, node: 3)

        // The directory: by the beginning of any word, without case and accents, with presence.
        let bens = try await Socket.connect(ben)
        for (query, expected) in [("zoe", [ben.id]), ("ZOË", [ben.id]), ("oe", []), (word, [cem.id, ben.id])] {
            let found = try await ada.pages("/v1/users?query=\(query.escaped)").filter {
                [ben.id, cem.id].contains($0["id"].string)
            }
            #expect(found.ids == expected, "\(query)")
        }
        try await eventually("Zoë is shown as online") {
            try await ada.pages("/v1/users?query=\(word)").first { $0["id"] == .string(ben.id) }?["presence"]["state"] == "online"
        }

        let group = try await admins(ada, ben, cem)
        let old = try await ada.say("too old to delete", in: group)
        let written = ContinuousClock.now
        try await messages(ada, ben, cem, group, bens)
        try await offline(ada, ben, cem, group)

        // The window is the server's, counted from when it stored the message.
        try await Task.sleep(until: written + .seconds(Self.window + 1))
        _ = try await ada.setRole("admin", of: ben.id, in: group).expect(200)
        _ = try await ada.setRole("member", of: ada.id, in: group).expect(200)
        #expect(try await ada.delete(old, in: group, for: "everyone").expect(409).code == "deleteWindowClosed")
        #expect(try await ada.message(old, in: group)["text"] == "too old to delete")
        _ = try await ben.delete(old, in: group, for: "everyone").expect(200)
        #expect(try await cem.message(old, in: group)["text"] == "", "an admin may at any time")

        try await deletion(ada, ben, cem, group)
        try await cluster.down()
    }

    /// Somebody whose profile was demanded until it was complete.
    private func profile(of cluster: Cluster, _ word: String) async throws -> Person {
        let ada = try await Person.registered("Ada \(word)", of: cluster)
        let guest = try await Person.guest("Guest", of: cluster)
        func isShutOut(_ person: Person) async throws {
            for (method, path) in [
                ("GET", "/v1/users"), ("GET", "/v1/conversations"), ("POST", "/v1/conversations"), ("GET", "/v1/sync"),
                ("GET", "/v1/channels"), ("GET", "/v1/presence?userIds=\(person.id)"), ("GET", "/v1/contacts"),
            ] {
                let answer = try await person.call(method, path, method == "POST" ? ["kind": "channel", "title": "T"] : nil)
                #expect(answer.status == 403 && answer.code == "profileIncomplete", "\(method) \(path): \(answer)")
            }
            let socket = try await Socket.open(cluster.url(2))
            try await socket.send(["op": "hello", "token": .string(person.token)])
            #expect(try await socket.closed() == 4_004)
            for path in ["/v1/me", "/v1/devices"] { _ = try await person.call("GET", path).expect(200) }
        }
        try await isShutOut(guest)
        let parts: [JSON] = [
            ["firstName": "Ada"], ["lastName": "L"], ["phone": "+49 30 1234"], ["photoMediaId": .string(try await ada.picture())],
        ]
        for part in parts {
            try await isShutOut(ada)
            #expect(try await ada.change(part)["profileCompleted"] == .bool(part == parts.last))
        }
        for node in 1...3 {
            try await eventually("node \(node) lets her in") {
                try await ada.at(node).call("GET", "/v1/conversations").status == 200
            }
        }
        #expect(try await ada.change(["phone": nil])["profileCompleted"] == true, "never back")
        return ada
    }

    private func complete(_ name: String, of cluster: Cluster, node: Int) async throws -> Person {
        let person = try await Person.registered(name, of: cluster, node: node)
        try await person.change(
            ["firstName": "F", "lastName": "L", "phone": "12345", "photoMediaId": .string(try await person.picture())])
        return person
    }

    /// A group at its limit, and one of three with two admins.
    private func admins(_ ada: Person, _ ben: Person, _ cem: Person) async throws -> String {
        let extras = try await ada.cluster.extras(100)
        let full: JSON = ["memberIds": .strings(Array(extras.prefix(99)))]
        let large = try await ada.group("Large", [], full)
        #expect(try await ada.at(3).conversation(large)["memberCount"] == 100)
        #expect(try await ada.members(large).count == 100)
        #expect(try await ada.add([ben.id], to: large).expect(409).code == "memberLimit")
        let tooMany: JSON = ["kind": "group", "title": "T", "memberIds": .strings(extras)]
        #expect(try await ada.call("POST", "/v1/conversations", tooMany).expect(409).code == "memberLimit")

        let group = try await ada.group("Team", [ben])
        #expect(try await ben.add([cem.id], to: group).expect(403).code == "forbidden")
        _ = try await ada.setRole("admin", of: ben.id, in: group).expect(200)
        _ = try await ben.add([cem.id], to: group).expect(200)
        _ = try await ada.setRole("member", of: ben.id, in: group).expect(200)
        #expect(try await ben.remove(cem.id, from: group).expect(403).code == "forbidden")
        let roles = try await cem.members(group).map { [$0["userId"], $0["role"]] }
        #expect(roles == [[.string(ada.id), "admin"], [.string(ben.id), "member"], [.string(cem.id), "member"]])
        return group
    }

    /// Reply, forward, reactions, seen by, unread, deletion for oneself and for everyone.
    private func messages(_ ada: Person, _ ben: Person, _ cem: Person, _ group: String, _ bens: Socket) async throws {
        try await ben.mark("read", group, 999)
        let question = try await ada.say("Who comes?", in: group)
        let answer = try await cem.send(
            ["text": "I do", "replyTo": .int(question), "mentions": [.string(ben.id)]], to: group
        ).expect(201).json
        #expect(answer["replyTo"]["text"] == "Who comes?" && answer["replyTo"]["senderId"] == .string(ada.id))
        let row = try await ben.conversation(group)
        #expect(row["unreadCount"] == 2 && row["mentionCount"] == 1)

        // Forwarded, pictures too, and alive on its own.
        let direct = try await ada.chat(with: cem)
        let photo = try await ada.picture()
        let shown = try #require(
            try await ada.send(["type": "image", "mediaId": .string(photo), "text": "here"], to: direct).expect(201).json["seq"]
                .int)
        let copy = try await cem.forward(shown, of: direct, to: group).expect(201).json
        #expect(copy["forwarded"] == true && copy["media"]["id"] == .string(photo) && copy["senderId"] == .string(cem.id))
        _ = try await ada.delete(shown, in: direct, for: "everyone").expect(200)
        let copySeq = try #require(copy["seq"].int)
        #expect(try await ben.message(copySeq, in: group)["media"]["id"] == .string(photo))
        #expect(try await ben.forward(shown, of: direct, to: group).expect(422).json["errors"][0]["code"] == "unknown")

        _ = try await ben.react("👍", to: question, in: group).expect(200)
        _ = try await cem.at(1).react("👍", to: question, in: group).expect(200)
        let reactions = try await ada.message(question, in: group)["reactions"]
        #expect(reactions[0]["emoji"] == "👍" && Set(reactions[0]["userIds"].items) == [.string(ben.id), .string(cem.id)])

        try await ben.mark("read", group, question)
        func seen() async throws -> [JSON] {
            let message = try await ada.message(question, in: group)
            return [message["seenByCount"], message["status"]]
        }
        // Cem has read it as well: he answered, but did not say so.
        #expect(try await seen()[0] == 1)
        try await cem.mark("read", group, question)
        #expect(try await seen() == [2, "read"])
        let receipts = try await ada.call("GET", in: group, "/messages/\(question)/receipts").expect(200).json
        #expect(Set(receipts["seenBy"].items.map { $0["userId"] }) == [.string(ben.id), .string(cem.id)])

        _ = try await ben.delete(copySeq, in: group, for: "me").expect(204)
        #expect(try await ben.message(copySeq, in: group).isNull)
        #expect(try await !cem.message(copySeq, in: group).isNull)

        // Cem is no admin, but quick enough.
        let slip = try await cem.say("slip of the tongue", in: group)
        try await bens.message("slip of the tongue", in: group)
        _ = try await cem.delete(slip, in: group, for: "everyone").expect(200)
        let tombstone = try await bens.event("message") {
            $0["message"]["seq"] == .int(slip) && !$0["message"]["deletedAt"].isNull
        }
        #expect(tombstone["message"]["text"] == "")
        for person in [ada, ben, cem] { #expect(try await person.search("slip").isEmpty) }
        #expect(
            try await ben.conversation(group)["unreadCount"] == 1, "the reply, and neither the hidden one nor the deleted one")
    }

    /// What a phone that was away catches up with.
    private func offline(_ ada: Person, _ ben: Person, _ cem: Person, _ group: String) async throws {
        let other = try await ada.group("Other", [cem])
        let doomed = try await ada.say("doomed", in: group)
        let draft = try await ada.say("draft", in: group)
        let before = try await cem.sync()
        let position = try #require(before.conversations[group]?["lastSeq"].int)
        #expect(before.conversations[other] != nil)

        _ = try await ada.edit(draft, in: group, "final").expect(200)
        _ = try await ada.delete(doomed, in: group, for: "everyone").expect(200)
        try await ben.say("while you were away", in: group)
        _ = try await ada.remove(cem.id, from: other).expect(204)
        _ = try await cem.at(2).delete(doomed, in: group, for: "me").expect(204)

        let after = try await cem.sync(since: before.token)
        #expect(after.removed == [other])
        #expect(after.hidden == [["conversationId": .string(group), "seq": .int(doomed)]])
        #expect(after.conversations[group]?["lastMessage"]["text"] == "while you were away")
        let changes = try await cem.changes(group, after: position)["items"].items
        #expect(changes.texts == ["final", "while you were away"], "each once, as it is now, without the hidden one")
        #expect(try await ada.changes(group, after: position)["items"].items.texts == ["final", "", "while you were away"])
    }

    private func deletion(_ ada: Person, _ ben: Person, _ cem: Person, _ group: String) async throws {
        let direct = try await ada.chat(with: ben)
        let left = try await ada.say("what I said stays", in: group)
        try await ada.say("goodbye", in: direct)
        let reacted = try await ben.say("react to me", in: group)
        _ = try await ada.react("🎉", to: reacted, in: group).expect(200)
        let adas = try await Socket.connect(ada.at(3))
        let cems = try await Socket.connect(cem)
        #expect(try await ada.call("DELETE", "/v1/me", ["password": "not this"]).expect(403).code == "wrongPassword")
        _ = try await ada.call("DELETE", "/v1/me", ["password": .string(Person.password)]).expect(204)

        #expect(try await adas.closed() == 4_003)
        _ = try await cems.event("user") { $0["user"]["id"] == .string(ada.id) && $0["user"]["isDeleted"] == true }
        #expect(try await cem.members(group).compactMap { $0["userId"].string } == [ben.id, cem.id])
        #expect(try await cem.message(left, in: group)["text"] == "what I said stays")
        #expect(try await cem.message(reacted, in: group)["reactions"] == [])
        let shown = try await ben.call("GET", "/v1/users/\(ada.id)").expect(200).json
        #expect(shown["isDeleted"] == true && shown["displayName"] == "Deleted account" && shown["photo"].isNull)
        #expect(try await ben.history(direct).texts == ["goodbye"])
        #expect(try await ben.conversation(direct)["isReadOnly"] == true)
        #expect(try await ben.post("hello?", to: direct).expect(403).code == "readOnly")
        let again = try await Person.registered("Ada again", of: ada.cluster, email: try #require(ada.email))
        #expect(again.id != ada.id, "the email is free")
    }
}

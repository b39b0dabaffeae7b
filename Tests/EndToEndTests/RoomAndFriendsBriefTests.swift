import Foundation
import TestSupport
import Testing

extension EndToEnd.Briefs {
    @Test("(c) Anonymous login, one public room, the last 25 messages, typing that never shows yourself")
    func briefCAnonymousRoom() async throws {
        let cluster = try await Cluster.shared()
        let word = Person.uniqueWord()
        let room = try await Person.registered("Host", of: cluster).channel("Room \(word)")
        var visitors: [Person] = []
        for (name, node) in [("Ann", 1), ("Bo", 2), ("Cy", 3)] {
            let visitor = try await Person.guest(name, of: cluster, node: node)
            let found = try await visitor.pages("/v1/channels?query=\(word)")
            #expect(found.ids == [room])
            _ = try await visitor.join(room).expect(200)
            visitors.append(visitor)
        }
        let (ann, bo, cy) = (visitors[0], visitors[1], visitors[2])

        for number in 1...30 { try await visitors[number % 3].say("\(number)", in: room) }
        for visitor in visitors {
            let page = try await visitor.call("GET", in: room, "/messages?limit=25").expect(200).json
            #expect(page["items"].items.texts == (6...30).map(String.init))
            #expect(page["hasMoreBefore"] == true && page["hasMoreAfter"] == false)
        }
        let names = try await cy.members(room).compactMap { $0["displayName"].string }
        #expect(Set(names) == ["Host", "Ann", "Bo", "Cy"])

        // Ann has two tabs, on two nodes.
        let anns = [try await Socket.connect(ann), try await Socket.connect(ann.at(3))]
        let bos = try await Socket.connect(bo)
        let cys = try await Socket.connect(cy)
        let sockets = anns + [bos, cys]
        _ = try await anns[0].post("live", to: room)
        for socket in sockets { try await socket.message("live", in: room) }

        func typing(_ person: Person, _ active: Bool) -> @Sendable (JSON) -> Bool {
            { $0["conversationId"] == .string(room) && $0["userId"] == .string(person.id) && $0["active"] == .bool(active) }
        }
        let start: JSON = ["conversationId": .string(room), "active": true]
        _ = try await anns[0].request("typing", start)
        for socket in [bos, cys] { _ = try await socket.event("typing", where: typing(ann, true)) }
        _ = try await bos.request("typing", start)
        for socket in anns + [cys] { _ = try await socket.event("typing", where: typing(bo, true)) }
        // It ends with the message.
        _ = try await anns[0].post("there", to: room)
        for socket in [bos, cys] { _ = try await socket.event("typing", where: typing(ann, false)) }
        _ = try await bos.request("typing", ["conversationId": .string(room), "active": false])
        for socket in anns + [cys] { _ = try await socket.event("typing", where: typing(bo, false)) }
        for socket in sockets { try await socket.settle() }
        #expect(anns.flatMap { $0.events("typing") }.allSatisfy { $0["userId"] == .string(bo.id) }, "nobody is shown themselves")
        #expect(bos.events("typing").allSatisfy { $0["userId"] == .string(ann.id) })
        for socket in sockets { #expect(socket.messages(room).ofPeople.texts == ["live", "there"]) }
    }

    @Test("(d) Friends: added by email with a live check, one conversation, own nickname and photo, delete with a swipe")
    func briefDFriends() async throws {
        let cluster = try await Cluster.shared()
        let ann = try await Person.registered("Ann", of: cluster, node: 1)
        let ben = try await Person.registered("Ben", of: cluster, node: 2)
        let email = try #require(ben.email)

        // Checked while it is typed: nothing until the last letter.
        func lookup(_ email: String, by person: Person) async throws -> Answer {
            try await person.call("GET", "/v1/users/lookup?email=\(email.escaped)")
        }
        for length in [1, 5, email.count - 1] {
            #expect(try await lookup(String(email.prefix(length)), by: ann.at(length)).expect(404).code == "notFound")
        }
        for spelling in [email, email.uppercased(), " \(email) "] {
            let found = try await lookup(spelling, by: ann).expect(200).json
            #expect(found["id"] == .string(ben.id) && found["displayName"] == "Ben" && found["email"].isNull)
        }

        let photo = try await ann.picture()
        let added = try await ann.call(
            "POST", "/v1/contacts",
            ["email": .string(email.uppercased()), "nickname": " Benny ", "photoMediaId": .string(photo)]
        ).expect(201).json
        #expect(added["user"]["id"] == .string(ben.id) && added["email"] == .string(email))
        #expect(added["nickname"] == "Benny" && added["photo"]["id"] == .string(photo))
        func adding(_ body: JSON) async throws -> Answer { try await ann.at(2).call("POST", "/v1/contacts", body) }
        #expect(try await adding(["email": .string(email)]).expect(409).code == "alreadyContact")
        #expect(try await adding(["userId": .string(ben.id)]).expect(409).code == "alreadyContact")
        #expect(try await adding(["email": .string(ann.email ?? "")]).expect(422).code == "cannotAddSelf")
        let unknown = try await adding(["email": .string(Person.uniqueEmail())]).expect(422)
        #expect(unknown.json["errors"] == [["field": "email", "code": "unknown"]])

        // Nickname and photo are Ann's own.
        #expect(try await ben.pages("/v1/contacts").isEmpty)
        let himself = try await ben.call("GET", "/v1/me").expect(200).json
        #expect(himself["displayName"] == "Ben" && himself["photo"].isNull)
        for node in 1...3 {
            let contacts = try await ann.at(node).pages("/v1/contacts")
            #expect(contacts.map { $0["nickname"] } == ["Benny"] && contacts[0]["user"]["displayName"] == "Ben")
        }
        let changed = try await ann.call("PATCH", "/v1/contacts/\(ben.id)", ["nickname": nil]).expect(200).json
        #expect(changed["nickname"].isNull && changed["photo"]["id"] == .string(photo), "absent leaves, null clears")

        // Both add each other and begin to write: one conversation.
        _ = try await ben.call("POST", "/v1/contacts", ["email": .string(ann.email ?? "")]).expect(201)
        async let anns = ann.chat(with: ben)
        async let bens = ben.chat(with: ann)
        let chats = try await [anns, bens]
        let chat = chats[0]
        #expect(chats[1] == chat)
        for person in [ann, ben] { #expect(try await person.pages("/v1/conversations").ids == [chat]) }

        try await swipes(ann, ben, chat)
    }

    /// A message, the chat, and the friend are swiped away.
    private func swipes(_ ann: Person, _ ben: Person, _ chat: String) async throws {
        let phone = try await Socket.connect(ann.at(3))
        let first = try await ben.say("one", in: chat)
        let second = try await ben.say("two", in: chat)
        _ = try await ann.delete(second, in: chat, for: "me").expect(204)
        let hidden = try await phone.event("hidden")
        #expect(hidden["conversationId"] == .string(chat) && hidden["seq"] == .int(second))
        for node in 1...3 {
            #expect(try await ann.at(node).history(chat).texts == ["one"])
            let row = try await ann.at(node).conversation(chat)
            #expect(row["lastMessage"]["seq"] == .int(first) && row["unreadCount"] == 1)
        }
        #expect(try await ben.history(chat).texts == ["one", "two"], "only for herself")

        _ = try await ann.call("PATCH", in: chat, "/settings", ["archived": true]).expect(200)
        #expect(try await ann.pages("/v1/conversations").isEmpty)
        #expect(try await ann.pages("/v1/conversations?archived=true").ids == [chat])
        try await ben.say("three", in: chat)
        #expect(try await ann.pages("/v1/conversations").ids == [chat], "what he writes brings it back")

        _ = try await ann.call("DELETE", "/v1/contacts/\(ben.id)").expect(204)
        #expect(try await ann.call("DELETE", "/v1/contacts/\(ben.id)").expect(404).code == "notFound")
        #expect(try await ann.at(2).pages("/v1/contacts").isEmpty)
        #expect(try await ben.pages("/v1/contacts").count == 1)
        #expect(try await ann.history(chat).texts == ["one", "three"], "the chat stays")
    }
}

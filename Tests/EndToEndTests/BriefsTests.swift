import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// The five briefs that Roost is built for, each played by its users on three nodes. The fifth is in `ProductionBriefTests.swift`.
    @Suite struct Briefs {
        @Test("(a) A course's app: accounts, one chat per pair, ticks, presence and its privacy, every rule on the server")
        func briefACourseApp() async throws {
            let cluster = try await Cluster.shared()
            let word = Person.uniqueWord()
            let ada = try await Person.registered("Ada \(word)", of: cluster, node: 1)
            let ben = try await Person.registered("Ben \(word)", of: cluster, node: 2)
            let eve = try await Person.registered("Eve \(word)", of: cluster, node: 3)

            // The list of users: names, and nobody's address.
            for node in 1...3 {
                let page = try await ada.at(node).call("GET", "/v1/users?query=\(word)").expect(200)
                #expect(Set(page.json["items"].items.ids) == [ben.id, eve.id])
                #expect(!page.text.contains("@"))
            }
            // One chat per pair, whoever asks.
            let chat = try await ada.chat(with: ben)
            #expect(try await ben.chat(with: ada) == chat)

            // Sent, delivered, read.
            let adas = try await Socket.connect(ada)
            let sent = try await adas.post("Homework?", to: chat)
            #expect(sent["result"]["message"]["seq"] == 1)
            func status() async throws -> String? { try await ada.message(1, in: chat)["status"].string }
            #expect(try await status() == "sent")
            let bens = try await Socket.connect(ben)
            #expect(try await ben.conversation(chat)["unreadCount"] == 1)
            for (op, expected) in [("delivered", "delivered"), ("read", "read")] {
                let answer = try await bens.request(op, ["conversationId": .string(chat), "seq": 1])
                #expect(answer["result"]["unreadCount"] == .int(op == "read" ? 0 : 1))
                let receipt = try await adas.event("receipt") { $0["readSeq"] == .int(op == "read" ? 1 : 0) }
                #expect(receipt["userId"] == .string(ben.id) && receipt["deliveredSeq"] == 1)
                #expect(try await status() == expected)
            }

            // Presence, with last seen.
            _ = try await adas.request("watch", ["userIds": [.string(ben.id)]])
            try bens.close()
            _ = try await adas.event("presence") { $0["presence"]["state"] == "offline" && !$0["presence"]["lastSeenAt"].isNull }
            try adas.close()
            // The time is stored a second's worth at a time.
            for (person, other) in [(ada, ben), (ben, ada)] {
                try await eventually("seen lately") { try await !other.presence(of: person)["lastSeenAt"].isNull }
            }
            // Who keeps it to himself is shown nobody's either; the others still see each other.
            try await ben.change(["settings": ["shareLastSeen": false]])
            for node in 1...3 {
                for (person, other) in [(ada, ben), (ben, ada), (ben, eve)] {
                    try await eventually("it is not shown") {
                        try await other.at(node).presence(of: person)["lastSeenAt"].isNull
                    }
                    #expect(try await other.at(node).presence(of: person)["state"] == "offline")
                }
                #expect(try await eve.at(node).presence(of: ada)["lastSeenAt"].string != nil)
            }

            // So with receipts.
            try await ada.change(["settings": ["shareReadReceipts": false]])
            let second = try await ben.say("Tomorrow", in: chat)
            #expect(try await ada.mark("read", chat, second)["unreadCount"] == 0)
            #expect(try await ben.message(second, in: chat)["status"] == "delivered")
            func readSeq(of person: Person, seenBy other: Person) async throws -> JSON? {
                try await other.conversation(chat)["members"].items.first { $0["userId"] == .string(person.id) }?["readSeq"]
            }
            #expect(try await readSeq(of: ada, seenBy: ben) == .null)
            #expect(try await readSeq(of: ben, seenBy: ada) == .null)

            try await rulesOfTheCourseApp(ada, ben, eve, chat)
        }

        /// Whatever a client leaves unchecked.
        private func rulesOfTheCourseApp(_ ada: Person, _ ben: Person, _ eve: Person, _ chat: String) async throws {
            let url = try ada.cluster.url(2)
            #expect(try await HTTP.call("GET", url, "/v1/conversations/\(chat)").expect(401).code == "unauthenticated")
            for (method, path) in [("GET", ""), ("GET", "/messages"), ("POST", "/read"), ("POST", "/messages")] {
                let body: JSON? = method == "GET" ? nil : ["clientId": "e", "type": "text", "text": "let me in", "seq": 1]
                #expect(try await eve.call(method, in: chat, path, body).expect(404).code == "notFound")
            }
            let forged = try await ada.send(["text": "as Ben", "senderId": .string(ben.id)], to: chat).expect(201)
            #expect(forged.json["senderId"] == .string(ada.id), "the token says who sends")
            #expect(try await ben.edit(1, in: chat, "changed").expect(403).code == "forbidden")
            #expect(try await ben.delete(1, in: chat, for: "everyone").expect(403).code == "forbidden")
            #expect(try await ada.post(" \n", to: chat).expect(422).code == "emptyMessage")
            let alone = try await ada.call("POST", "/v1/conversations", ["kind": "direct", "userId": .string(ada.id)])
            #expect(try alone.expect(422).code == "cannotChatWithSelf")
            func account(_ path: String, _ password: JSON) async throws -> String? {
                let body: JSON = ["email": .string(ada.email ?? ""), "password": password]
                return try await HTTP.call("POST", url, "/v1/auth/\(path)", body: body).code
            }
            #expect(try await account("register", "correct horse") == "emailTaken")
            #expect(try await account("register", "short") == "weakPassword")
            #expect(try await account("login", "wrong password") == "invalidCredentials")
            #expect(try await ben.history(chat).texts == ["Homework?", "Tomorrow", "as Ben"])
        }

        @Test("(b) A list of public channels, each with its thread and pictures")
        func briefBPublicChannels() async throws {
            let cluster = try await Cluster.shared()
            let word = Person.uniqueWord()
            let founder = try await Person.registered("Founder", of: cluster, node: 1)
            let visitor = try await Person.guest("Visitor", of: cluster, node: 2)
            let other = try await Person.registered("Other", of: cluster, node: 3)
            let swift = try await founder.channel("Swift \(word)", ["about": "The language"])
            let music = try await founder.at(2).channel("Musik \(word)")

            // Anyone finds them, and reads nothing before joining.
            for node in 1...3 {
                let found = try await visitor.at(node).pages("/v1/channels?query=\(word)&limit=1")
                #expect(found.map { $0["title"].string } == ["Musik \(word)", "Swift \(word)"])
                for channel in found { #expect(channel["myRole"].isNull && channel["lastMessage"].isNull) }
            }
            try await founder.say("First", in: swift)
            let visitors = try await Socket.connect(visitor.at(3))
            #expect(try await visitor.call("GET", in: swift, "/messages").expect(403).code == "notMember")
            #expect(try await visitor.post("hello?", to: swift).expect(403).code == "notMember")

            for person in [visitor, other, visitor.at(3)] { _ = try await person.join(swift).expect(200) }
            let joined = try await visitors.event("conversation") { $0["conversation"]["id"] == .string(swift) }
            #expect(joined["conversation"]["myRole"] == "member")
            #expect(try await other.conversation(swift)["memberCount"] == 3)

            // The thread, live on every node and in order.
            let others = try await Socket.connect(other.at(1))
            try await visitor.say("Hello", in: swift)
            try await other.say("Welcome", in: swift)
            for socket in [visitors, others] { try await socket.message("Welcome", in: swift) }
            #expect(visitors.messages(swift).ofPeople.texts == ["Hello", "Welcome"])
            #expect(try await visitor.history(swift).ofPeople.texts == ["First", "Hello", "Welcome"])

            // Pictures: one's own, and only when they are ready.
            let picture = try await founder.picture()
            let fields: JSON = ["type": "image", "mediaId": .string(picture), "text": "A diagram"]
            let sent = try await founder.send(fields, to: swift).expect(201).json
            #expect(sent["type"] == "image" && sent["media"]["id"] == .string(picture) && sent["media"]["kind"] == "image")
            for socket in [visitors, others] {
                let shown = try await socket.message("A diagram", in: swift)["media"]
                #expect(shown["id"] == .string(picture) && shown["width"] == 640 && shown["url"].string != nil)
            }
            let stolen = try await visitor.send(fields, to: swift).expect(422)
            #expect(stolen.json["errors"] == [["field": "mediaId", "code": "unknown"]])
            let early: JSON = ["type": "image", "mediaId": .string(try await founder.picture(state: 0))]
            #expect(try await founder.send(early, to: swift).expect(409).code == "mediaNotReady")

            // The channel's own looks; who may change them, and who may make one.
            let photo = try await founder.picture()
            _ = try await founder.call("PATCH", in: swift, "", ["photoMediaId": .string(photo)]).expect(200)
            _ = try await others.event("conversation") { $0["conversation"]["photo"]["id"] == .string(photo) }
            #expect(try await other.call("PATCH", in: swift, "", ["title": "Mine"]).expect(403).code == "forbidden")
            let own = try await visitor.call("POST", "/v1/conversations", ["kind": "channel", "title": "Mine"])
            #expect(try own.expect(403).code == "guestNotAllowed")

            // The other channel has heard nothing of all that.
            #expect(try await founder.conversation(music)["lastSeq"] == 1)
            #expect(try await visitor.call("GET", in: music, "/messages").expect(403).code == "notMember")

            _ = try await visitor.remove(visitor.id, from: swift).expect(204)
            _ = try await visitors.event("conversation") { $0["removed"] == true && $0["conversationId"] == .string(swift) }
            #expect(try await visitor.call("GET", in: swift, "/messages").expect(403).code == "notMember")
            #expect(try await visitor.conversation(swift)["memberCount"] == 2, "it is still found")
        }
    }
}

import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Texts that are none, in every field of every route; and names made to look like others.
    @Suite struct HostileTexts {
        @Test func nulAndLoneSurrogatesAreRefusedInEveryField() async throws {
            let cluster = try await Cluster.shared()
            let alice = try await Person.registered("Alice", of: cluster, node: 1)
            let bob = try await Person.registered("Bob", of: cluster, node: 2)
            let chat = try await alice.group("Group", [bob])
            let listener = try await Socket.connect(bob.at(1))
            let seq = try await alice.say("before", in: chat)
            _ = try await alice.call("POST", "/v1/contacts", ["userId": .string(bob.id)]).expect(201)
            let here = "/v1/conversations/\(chat)"
            // TEXT stands where the broken text goes.
            let requests: [(String, String, String)] = [
                ("POST", "/v1/auth/register", #"{"email":"TEXT@x.example","password":"correct horse"}"#),
                ("POST", "/v1/auth/register", #"{"email":"a@x.example","password":"correct TEXT"}"#),
                ("POST", "/v1/auth/register", #"{"email":"a@x.example","password":"correct horse","displayName":"TEXT"}"#),
                ("POST", "/v1/auth/login", #"{"email":"TEXT","password":"correct horse"}"#),
                ("POST", "/v1/auth/anonymous", #"{"displayName":"TEXT"}"#),
                ("POST", "/v1/auth/anonymous", #"{"device":{"name":"TEXT"}}"#),
                ("PATCH", "/v1/me", #"{"displayName":"TEXT"}"#), ("PATCH", "/v1/me", #"{"firstName":"TEXT"}"#),
                ("PATCH", "/v1/me", #"{"lastName":"TEXT"}"#), ("PATCH", "/v1/me", #"{"about":"TEXT"}"#),
                ("PATCH", "/v1/me", #"{"phone":"TEXT"}"#),
                ("POST", "/v1/contacts", #"{"email":"TEXT"}"#),
                ("PATCH", "/v1/contacts/\(bob.id)", #"{"nickname":"TEXT"}"#),
                ("POST", "/v1/conversations", #"{"kind":"group","title":"TEXT","memberIds":[]}"#),
                ("POST", "/v1/conversations", #"{"kind":"channel","title":"T","about":"TEXT"}"#),
                ("PATCH", here, #"{"title":"TEXT"}"#), ("PATCH", here, #"{"about":"TEXT"}"#),
                ("POST", "\(here)/messages", #"{"clientId":"a","type":"text","text":"TEXT"}"#),
                ("POST", "\(here)/messages", #"{"clientId":"TEXT","type":"text","text":"a"}"#),
                ("PATCH", "\(here)/messages/\(seq)", #"{"text":"TEXT"}"#),
                // In a field that nobody reads, and as the name of one.
                ("PATCH", "/v1/me", #"{"other":"TEXT","about":"fine"}"#), ("PATCH", "/v1/me", #"{"TEXT":1,"about":"fine"}"#),
            ]
            let texts = [#"a\u0000b"#, #"\ud83d"#, #"\ude00\ud83d"#, #"a\udfff"#]
            for (method, path, template) in requests {
                for text in texts {
                    let body = Data(template.replacing("TEXT", with: text).utf8)
                    let answer = try await alice.call(method, path, raw: body)
                    #expect(answer.status == 400 && answer.code == "malformed", "\(method) \(path) \(text): \(answer)")
                }
            }
            for broken in ["%00", "a%00b", "%FF", "%C0%80", "%ED%A0%80", "%ED%B8%80%ED%A0%BD", "%", "%zz"] {
                for path in [
                    "/v1/users?query=", "/v1/channels?query=", "/v1/search/messages?query=", "/v1/users/lookup?email=",
                    "/v1/conversations?cursor=", "/v1/sync?since=", "/v1/presence?userIds=", "\(here)/messages/\(seq)/reactions/",
                ] {
                    let method = path.hasSuffix("reactions/") ? "PUT" : "GET"
                    let request = """
                        \(method) \(path)\(broken) HTTP/1.1\r\nHost: x\r\nConnection: close\r
                        Authorization: Bearer \(alice.token)\r\nContent-Length: 0\r\n\r\n
                        """
                    let answer = try await TCPSocket.exchange(Array(request.utf8), with: cluster.url(1))
                    #expect(answer.status == 400 && answer.text.contains(#""malformed""#), "\(path)\(broken): \(answer.text)")
                }
            }
            let socket = try await Socket.connect(alice)
            for text in texts {
                let frame = #"{"op":"send","id":"1","conversationId":"\#(chat)","clientId":"a","type":"text","text":"\#(text)"}"#
                try socket.send(opcode: 1, Array(frame.utf8))
            }
            try await eventually("each is answered") { socket.complaints.count == texts.count }
            #expect(socket.complaints.allSatisfy { $0["error"]["code"] == "malformed" })

            // Others notice nothing, and nothing was done.
            try await alice.say("after", in: chat)
            try await listener.message("after", in: chat)
            #expect(listener.closeCode == nil && listener.messages(chat).texts == ["before", "after"])
            #expect(try await alice.conversation(chat)["title"] == "Group")
            let me = try await alice.call("GET", "/v1/me").expect(200).json
            #expect(me["displayName"] == "Alice" && me["about"].isNull)
        }

        @Test func namesAreShownAsTheyRead() async throws {
            let cluster = try await Cluster.shared()
            let alice = try await Person.registered("Alice", of: cluster)
            let bob = try await Person.registered("Bob", of: cluster, node: 2)
            _ = try await alice.call("POST", "/v1/contacts", ["userId": .string(bob.id)]).expect(201)
            let chat = try await alice.group("Group", [bob])
            let spellings: [(given: String, shown: String)] = [
                ("  Ann\u{202E}eirA \n", "AnneirA"), ("A\u{200B}d\u{2060}a\u{FEFF}", "Ada"),
                ("one\r\ntwo\tthree", "one two three"),
                ("Zoe\u{308}", "Zoë"), ("\u{2066}Bea\u{2069}", "Bea"), ("👩\u{200D}👩\u{200D}👧", "👩\u{200D}👩\u{200D}👧"),
            ]
            for (given, shown) in spellings {
                #expect(try await alice.change(["displayName": .string(given)])["displayName"] == .string(shown))
                let title = try await alice.call("PATCH", in: chat, "", ["title": .string(given)]).expect(200).json["title"]
                #expect(title == .string(shown))
                let nickname = try await alice.call("PATCH", "/v1/contacts/\(bob.id)", ["nickname": .string(given)]).expect(200)
                #expect(nickname.json["nickname"] == .string(shown))
            }
            for given in ["", " \n ", "\u{200B}\u{2060}", "\u{202E}", "\u{AD}"] {
                for answer in [
                    try await alice.call("PATCH", "/v1/me", ["displayName": .string(given)]),
                    try await alice.call("PATCH", in: chat, "", ["title": .string(given)]),
                ] {
                    #expect(try answer.expect(422).code == "validationFailed", "\(Array(given.unicodeScalars))")
                }
            }
            let family = String(repeating: "👩\u{200D}👩\u{200D}👧", count: 80)
            #expect(try await alice.change(["displayName": .string(family)])["displayName"] == .string(family), "80 graphemes")
            let long = try await alice.call("PATCH", "/v1/me", ["displayName": .string(family + "x")]).expect(422)
            #expect(long.json["errors"] == [["field": "displayName", "code": "tooLong"]])
            _ = try await alice.call("PATCH", in: chat, "", ["title": .string(String(repeating: "é", count: 120))]).expect(200)
            _ = try await alice.call("PATCH", in: chat, "", ["title": .string(String(repeating: "é", count: 121))]).expect(422)
        }
    }
}

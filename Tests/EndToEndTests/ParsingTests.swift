import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Text and parsing; ids that are none.
    @Suite struct Parsing {
        @Test func nulIsRefusedWhereverItStands() async throws {
            let (alice, _, chat) = try await pair()
            let messages = "/v1/conversations/\(chat)/messages"
            for body in [
                #"{"clientId":"n","type":"text","text":"a\u0000b"}"#, #"{"clientId":"n\u0000","type":"text","text":"a"}"#,
            ] {
                #expect(try await alice.call("POST", messages, raw: Data(body.utf8)).expect(400).code == "malformed")
            }
            #expect(
                try await alice.call("PATCH", "/v1/me", raw: Data(#"{"displayName":"a\u0000"}"#.utf8)).expect(400).code
                    == "malformed")
            #expect(try await alice.call("GET", "/v1/users?query=a%00").expect(400).code == "malformed")
            #expect(try await alice.history(chat).isEmpty)
        }

        @Test func brokenTextIsAnErrorAndOthersNoticeNothing() async throws {
            let (alice, bob, chat) = try await pair()
            let listener = try await Socket.connect(bob.at(1))
            let messages = "/v1/conversations/\(chat)/messages"
            let bodies: [Data] = [
                Data(#"{"clientId":"s","type":"text","text":"\ud800"}"#.utf8),
                Data(#"{"clientId":"s","type":"text","text":"\udc00\ud800"}"#.utf8),
                Data(#"{"clientId":"s","type":"text","text":""#.utf8) + Data([0xFF, 0xFE]) + Data(#""}"#.utf8),
                Data(#"{"clientId":"s","type":"text","text":""#.utf8) + Data([0xC0, 0x80]) + Data(#""}"#.utf8),
                Data(#"{"clientId":"s","type":"text","text":""#.utf8) + Data([0xED, 0xA0, 0x80]) + Data(#""}"#.utf8),
                Data("{".utf8), Data("[]".utf8), Data("null".utf8), Data(),
                Data(#"{"clientId":1,"type":"text","text":"a"}"#.utf8),
                Data(#"{"clientId":"s","type":"text","text":"a"} x"#.utf8),
                Data((String(repeating: "[", count: 5_000) + String(repeating: "]", count: 5_000)).utf8),
                Data(
                    #"{"clientId":"s","type":"text","text":"a","x":\#(String(repeating: "[", count: 40) + String(repeating: "]", count: 40))}"#
                        .utf8),
            ]
            for body in bodies {
                let answer = try await alice.call("POST", messages, raw: body)
                #expect(
                    answer.status == 400 && answer.code == "malformed",
                    "\(String(decoding: body.prefix(60), as: UTF8.self)): \(answer)")
                #expect(answer.headers["content-type"]?.hasPrefix("application/problem+json") == true)
                #expect(answer.headers["x-request-id"] != nil)
            }
            let blank = try await alice.call("POST", messages, ["clientId": "b", "type": "text", "text": " \n\t\u{2003}"]).expect(
                422)
            #expect(blank.code == "emptyMessage")
            let long = try await alice.call(
                "POST", messages, ["clientId": "l", "type": "text", "text": .string(String(repeating: "a", count: 10_001))])
            #expect(try long.expect(422).json["errors"][0]["code"] == "tooLong")
            let huge = try await alice.call("POST", messages, raw: Data(repeating: 0x20, count: 70_000))
            #expect(try huge.expect(413).code == "tooLarge")
            _ = try await alice.post("still here", to: chat).expect(201)
            try await listener.message("still here", in: chat)
            #expect(listener.messages(chat).count == 1 && listener.closeCode == nil)
        }

        @Test func framesThatAreWrongInThemselvesAreAnswered() async throws {
            let (alice, bob, chat) = try await pair()
            let listener = try await Socket.connect(bob)
            let socket = try await Socket.connect(alice)
            #expect(try await socket.request("nonsense")["ok"] == false)
            #expect(try await socket.request("hello", ["token": .string(alice.token)])["ok"] == false)
            #expect(try await socket.request("send", ["conversationId": .string(chat)])["error"]["code"] == "validationFailed")
            #expect(try await socket.request("read", ["conversationId": .string(chat), "seq": "1"])["ok"] == false)
            try await socket.send(["op": "nonsense"])
            try await eventually("an error without an id") { socket.complaints.count == 1 }
            try socket.send(opcode: 1, Array(#"{"op":"ping","id":"\ud800"}"#.utf8))
            try await eventually("malformed") { socket.complaints.count == 2 }
            #expect(socket.complaints.last?["error"]["code"] == "malformed")
            try await socket.settle()
            for _ in 0..<9 { try socket.send(opcode: 1, Array("{".utf8)) }
            #expect(try await socket.closed() == 4_000, "the tenth within a minute")

            let binary = try await Socket.connect(alice)
            try binary.send(opcode: 2, [1, 2, 3])
            #expect(try await binary.closed() == 4_000)
            let invalid = try await Socket.connect(alice)
            try invalid.send(opcode: 1, [0x22, 0xFF, 0x22])
            #expect(try await invalid.closed() == 1_007)
            let large = try await Socket.connect(alice)
            try large.send(opcode: 1, [UInt8](repeating: 0x20, count: 70_000))
            #expect(try await large.closed() == 1_009)
            let rude = try await Socket.open(alice.cluster.url(1))
            try await rude.send(["op": "ping", "id": "1"])
            #expect(try await rude.closed() == 4_001, "anything before the hello")

            _ = try await alice.post("still here", to: chat).expect(201)
            try await listener.message("still here", in: chat)
        }

        @Test func idsThatAreNoneDeliverNothingElsewhere() async throws {
            let (alice, bob, chat) = try await pair()
            let listener = try await Socket.connect(bob)
            let socket = try await Socket.connect(alice)
            let url = try alice.cluster.url(1)
            for id in [
                "*", ">", "a.b", "", " ", "..", "roost.v1", "\(chat) ", chat.uppercased() + "x", "%2A", "%3E", "%20", "%2e%2e",
                "a%2Fb",
            ] {
                for path in ["messages", "read", ""] {
                    let body = #"{"clientId":"i","type":"text","text":"astray","seq":1}"#
                    let request = """
                        POST /v1/conversations/\(id)/\(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r
                        Authorization: Bearer \(alice.token)\r\nContent-Type: application/json\r
                        Content-Length: \(body.utf8.count)\r\n\r\n\(body)
                        """
                    let answer = try await TCPSocket.exchange(Array(request.utf8), with: url)
                    #expect([400, 404, 405].contains(answer.status), "\(id) \(path): \(answer.text)")
                }
                let plain = id.removingPercentEncoding ?? id
                for op in ["send", "typing", "read", "delivered"] {
                    let answer = try await socket.request(
                        op,
                        [
                            "conversationId": .string(plain), "clientId": "i", "type": "text", "text": "astray", "active": true,
                            "seq": 1,
                        ])
                    #expect(answer["ok"] == false, "\(op) \(plain): \(answer)")
                    #expect(["notFound", "validationFailed"].contains(answer["error"]["code"].string ?? ""))
                }
                let watched = try await socket.request("watch", ["userIds": [.string(plain)]])
                #expect(watched["ok"] == false || watched["result"]["presence"].items.isEmpty)
            }
            _ = try await alice.post("the only one", to: chat).expect(201)
            try await listener.message("the only one", in: chat)
            try await listener.settle()
            #expect(listener.messages(chat).texts == ["the only one"])
            #expect(listener.events("typing").isEmpty)
        }
    }
}

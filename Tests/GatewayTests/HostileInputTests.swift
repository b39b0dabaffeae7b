import RoostModel
import Testing

@testable import Gateway

/// Whatever comes in, the answer is one of the contract's errors: never a 5xx, a crash or silence.
@Suite struct HostileInputTests {
    static let bodies: [String] = [
        "", "{", "[]", "null", "1", "\"text\"", "{}x", "{\"email\":}", "{'a':1}", "\u{FEFF}{}", "{\"a\":1,}", "nul", "-",
        "{\"a\":01}",
        String(repeating: "[", count: 10_000), String(repeating: "{\"a\":", count: 5_000),
        "{\"x\":" + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}",
        #"{"text":"\u0000","clientId":"a","type":"text","email":"a\u0000@x.example","kind":"\u0000"}"#,
        #"{"text":"\ud800","clientId":"a","type":"text"}"#, #"{"text":"\udc00\ud800","clientId":"a","type":"text"}"#,
        #"{"text":"\uZZZZ"}"#, #"{"seq":1e999}"#, #"{"seq":-1}"#, #"{"seq":1.5}"#, #"{"seq":"1"}"#,
        #"{"seq":99999999999999999999}"#,
        #"{"seq":9223372036854775807}"#, #"{"seq":-9223372036854775808}"#,
        #"{"email":[],"password":{},"displayName":1,"device":"x"}"#,
        #"{"email":"a@x.example","password":"12345678","device":{"name":{}}}"#,
        #"{"kind":{},"userId":[]}"#, #"{"kind":"direct","userId":">"}"#, #"{"kind":"direct","userId":"a.b"}"#,
        #"{"kind":"direct","userId":" "}"#, #"{"kind":"direct","userId":""}"#, #"{"kind":"__proto__","constructor":1}"#,
        #"{"clientId":"","type":"text","text":"x"}"#, #"{"clientId":null,"type":null,"text":null}"#,
        #"{"clientId":"a","type":"text","text":"x","forward":{"conversationId":"x","seq":1}}"#,
        #"{"clientId":"a","type":"text","text":"x","mentions":["a",1]}"#,
        #"{"clientId":"a","type":"text","text":"x","replyTo":"1"}"#,
        #"{"settings":[]}"#, #"{"settings":null}"#, #"{"settings":{"shareLastSeen":null}}"#,
        #"{"phone":"'; DROP TABLE users; --"}"#,
        #"{"firstName":"\u202e\u2066","about":"\#(String(repeating: "\u{0301}", count: 2_000))"}"#,
        #"{"refreshToken":"\#(String(repeating: "A", count: 43))"}"#, #"{"refreshToken":"../../etc/passwd"}"#,
        #"{"photoMediaId":"*"}"#, #"{"email":"\#(String(repeating: "a", count: 300))@x.example","password":"12345678"}"#,
        #"{"email":"a@\#(String(repeating: "x", count: 300))","password":"\#(String(repeating: "p", count: 2_000))"}"#,
    ]

    static let identifiers = [
        "*", ">", "a.b", "%20", "%2F", "%2e%2e", "%00", "%FF", "%ED%A0%80", "%", "%zz", "0", "-1", "null",
        "018F0000-0000-7000-8000-00000000000A", "018f0000-0000-7000-8000-00000000000", "{018f0000-0000-7000-8000-00000000000a}",
        "018f0000000070008000000000000000", "%F0%9F%98%80", String(repeating: "a", count: 2_000),
    ]

    private func check(_ answer: Answer, _ what: String) {
        #expect((200..<500).contains(answer.status), "\(what): \(answer.status)")
        if answer.status >= 400 {
            #expect(answer.code != nil && answer.header("Content-Type") == "application/problem+json", "\(what)")
            #expect(answer.header("X-Request-Id") != nil, "\(what)")
        }
    }

    @Test(arguments: Transport.allCases) func bodiesOfEveryKind(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            let bob = try await client.register("bob@x.example")
            let chat = try await client.openDirect(bob, with: try await client.guest())
            let targets = [
                ("POST", "/v1/auth/register"), ("POST", "/v1/auth/login"), ("POST", "/v1/auth/anonymous"),
                ("POST", "/v1/auth/refresh"),
                ("PATCH", "/v1/me"), ("POST", "/v1/conversations"), ("POST", "/v1/conversations/\(chat)/messages"),
                ("POST", "/v1/conversations/\(chat)/read"), ("POST", "/v1/conversations/\(chat)/delivered"),
            ]
            for (method, path) in targets {
                for body in Self.bodies {
                    check(try await client.call(method, path, token: bob.token, body), "\(method) \(path) \(body.prefix(60))")
                }
                for bytes in [
                    [0xFF, 0xFE], [0x7B, 0x22, 0xC0, 0x80, 0x22, 0x3A, 0x31, 0x7D], [UInt8](repeating: 0, count: 100),
                ] as [[UInt8]] {
                    let answer = try await client.send(
                        method, path, headers: [("Content-Type", "application/json"), ("Authorization", "Bearer \(bob.token)")],
                        body: bytes)
                    #expect(answer.status == 400 && answer.code == "malformed", "\(method) \(path)")
                }
            }
            // Nothing of it has hurt.
            #expect(try await client.call("GET", "/v1/me", token: bob.token).status == 200)
        }
    }

    @Test(arguments: Transport.allCases) func identifiersOfEveryKind(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            let bob = try await client.register("bob@x.example")
            for id in Self.identifiers {
                for (method, path, body) in [
                    ("GET", "/v1/users/\(id)", nil), ("DELETE", "/v1/devices/\(id)", nil),
                    ("GET", "/v1/conversations/\(id)", nil),
                    ("GET", "/v1/conversations/\(id)/members", nil), ("GET", "/v1/conversations/\(id)/messages", nil),
                    ("GET", "/v1/conversations/\(id)/messages/\(id)/receipts", nil),
                    ("GET", "/v1/conversations/\(id)/changes", nil),
                    ("POST", "/v1/conversations/\(id)/read", #"{"seq":1}"#),
                    ("POST", "/v1/conversations/\(id)/messages", #"{"clientId":"a","type":"text","text":"x"}"#),
                ] as [(String, String, String?)] {
                    let answer = try await client.call(method, path, token: bob.token, body)
                    #expect(answer.status == 404 || answer.status == 400, "\(method) \(path): \(answer.status)")
                    check(answer, "\(method) \(path)")
                }
            }
        }
    }

    @Test(arguments: Transport.allCases) func seqsAndQueriesOfEveryKind(_ transport: Transport) async throws {
        try await withGateway(transport) { _, client in
            let bob = try await client.register("bob@x.example")
            let chat = try await client.openDirect(bob, with: try await client.guest())
            for seq in ["0", "-1", "x", "1.0", "01", "+1", "9223372036854775807", "9223372036854775808", "%31%00"] {
                let answer = try await client.call("GET", "/v1/conversations/\(chat)/messages/\(seq)/receipts", token: bob.token)
                #expect(answer.status == 404 || answer.status == 400, "\(seq)")
            }
            for query in [
                "limit=%00", "cursor=%00", "query=%00", "query=%FF", "query=%ED%A0%80", "cursor=%", "limit=%zz", "since=%00",
            ] {
                for path in ["/v1/users", "/v1/conversations", "/v1/sync", "/v1/conversations/\(chat)/messages"] {
                    let answer = try await client.call("GET", "\(path)?\(query)", token: bob.token)
                    #expect(answer.status == 400 && answer.code == "malformed", "\(path) \(query)")
                }
            }
            for query in [
                "query=\(String(repeating: "x", count: 500))", "cursor=\(String(repeating: "x", count: 4_000))", "archived=x",
                "query=%25%5C_'%22", "before=9223372036854775807", "after=9223372036854775807", "around=9223372036854775807",
                "&&=&a", "limit",
            ] {
                for path in [
                    "/v1/users", "/v1/conversations", "/v1/sync", "/v1/conversations/\(chat)/messages",
                    "/v1/conversations/\(chat)/changes",
                ] {
                    check(try await client.call("GET", "\(path)?\(query)", token: bob.token), "\(path) \(query.prefix(40))")
                }
            }
        }
    }
}

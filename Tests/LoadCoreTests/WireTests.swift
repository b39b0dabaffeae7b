import RoostModel
import Testing

@testable import LoadCore

@Suite struct WireTests {
    private let run = LoadText(run: "r1f", bytes: 64, seed: 1)
    private let conversation = ConversationID("0192f0a0-0000-7000-8000-000000000001")!

    private func parse(_ text: String) -> LoadFrame {
        Array(text.utf8).withUnsafeBufferPointer { LoadFrame.parse($0, run: run) }
    }

    private func event(_ seq: Int, _ message: String) -> String {
        "{\"event\":\"message\",\"conversationId\":\"\(conversation)\",\"seq\":\(seq),\"message\":\(message)}"
    }

    private func message(_ key: SendKey, seq: Int, text: String? = nil) -> String {
        let text = text ?? String(decoding: run.text(key), as: UTF8.self)
        return """
            {"conversationId":"\(conversation)","seq":\(seq),"changeSeq":\(seq),"clientId":"\(run.clientID(key))","senderId":"x",\
            "replyTo":{"seq":99,"text":"no"},"type":"text","text":\(JSONText.string(text).text),"mentions":[],"editedAt":null}
            """
    }

    @Test func aMessageEventWhateverTheOrderOfItsFields() {
        let key = SendKey(pair: 3, side: 1, number: 31)
        let expected = LoadFrame.message(
            conversation: conversation, seq: 12, message: StoredMessage(seq: 12, changeSeq: 12, key: key, isIntact: true))
        #expect(parse(event(12, message(key, seq: 12))) == expected)
        let body = message(key, seq: 12)
        #expect(
            parse(" {\"message\" : \(body) ,\"seq\":12, \"conversationId\":\"\(conversation)\",\"event\":\"message\"} ")
                == expected)
    }

    @Test func aGarbledTextIsNotIntact() {
        let key = SendKey(pair: 3, side: 1, number: 2)
        let expected = StoredMessage(seq: 1, changeSeq: 1, key: key, isIntact: false)
        #expect(
            parse(event(1, message(key, seq: 1, text: "other")))
                == .message(conversation: conversation, seq: 1, message: expected))
    }

    @Test func aNullMessageKeepsItsPlace() {
        #expect(parse(event(4, "null")) == .message(conversation: conversation, seq: 4, message: nil))
    }

    @Test func answers() {
        let body = message(SendKey(pair: 0, side: 0, number: 0), seq: 5)
        #expect(parse("{\"id\":17,\"ok\":true,\"result\":{\"message\":\(body)}}") == .accepted(id: 17, seq: 5))
        #expect(parse("{\"id\":3,\"ok\":true,\"result\":{}}") == .accepted(id: 3, seq: nil))
        #expect(
            parse("{\"id\":18,\"ok\":false,\"error\":{\"status\":503,\"code\":\"unavailable\"}}")
                == .refused(id: 18, code: "unavailable"))
        #expect(parse("{\"id\":null,\"ok\":false,\"error\":{\"code\":\"malformed\"}}") == .refused(id: nil, code: "malformed"))
    }

    @Test func otherEvents() {
        #expect(parse("{\"event\":\"ready\",\"node\":\"node1\"}") == .ready)
        #expect(parse("{\"event\":\"resync\"}") == .resync)
        #expect(parse("{\"event\":\"goaway\",\"afterSeconds\":20}") == .goaway(afterSeconds: 20))
        #expect(parse("{\"event\":\"fromTheFuture\",\"seq\":1}") == .other)
    }

    @Test(arguments: ["", "{", "[]", "{}", "{\"event\":\"message\"}", "{\"ok\":true,\"result\":{}}", "nonsense"])
    func whatCannotBeRead(_ text: String) {
        #expect(parse(text) == .unreadable)
    }

    @Test func textsKeepTheirLengthAndAreTheirKeysOwn() {
        for number in 0..<64 {
            let key = SendKey(pair: 12, side: 0, number: number)
            let text = run.text(key)
            #expect(text.count >= 64)
            #expect(number % 16 == 15 || text.count == 64)
            #expect(String(validating: text, as: UTF8.self) != nil)
            #expect(text != run.text(SendKey(pair: 12, side: 1, number: number)))
        }
    }

    @Test func clientIDsAreReadBackAndOthersAreNot() {
        func read(_ id: String) -> SendKey? {
            Array(id.utf8).withUnsafeBufferPointer { run.key(fromClientID: $0) }
        }
        let key = SendKey(pair: 99, side: 1, number: 1_234_567)
        #expect(read(run.clientID(key)) == key)
        #expect(run.clientID(key).count <= Limits.clientIDCharacters)
        let others = [
            "", "r1f", "r1f.", "r1f.1.0", "r1f.1.2.3", "r1f.1.0.", "r1f.1.0.x", "r2f.1.0.3", "r1f.1.0.3.4", "r1f.99999999999.0.1",
        ]
        for id in others { #expect(read(id) == nil) }
    }

    @Test func pages() {
        let key = SendKey(pair: 0, side: 0, number: 15)
        let items = "[\(message(key, seq: 1)),\(message(key, seq: 2))]"
        let history = MessagePage(
            Array("{\"items\":\(items),\"hasMoreBefore\":false,\"hasMoreAfter\":true,\"lastSeq\":9}".utf8), run: run)
        #expect(history?.items.map(\.seq) == [1, 2])
        #expect(history?.items.allSatisfy { $0.isIntact && $0.key == key } == true)
        #expect(history?.hasMore == true)
        #expect(history?.end == 9)
        let changes = MessagePage(Array("{\"items\":[],\"upToSeq\":2,\"hasMore\":false}".utf8), run: run)
        #expect(changes?.items.isEmpty == true)
        #expect(changes?.end == 2)
        #expect(MessagePage(Array("{\"code\":\"notFound\"}".utf8), run: run) == nil)
    }

    @Test func theClusterFile() {
        let file = ClusterFile(
            json: """
                {"nodes":[{"name":"node1","url":"http://127.0.0.1:8080","adminUrl":"x","pid":11},{"name":"node2","url":"http://b"}],
                "nats":{"url":"nats://127.0.0.1:1","pid":12},"postgres":{"url":"postgres://x","pid":13},"adminToken":"t"}
                """)
        #expect(file?.nodes.map(\.name) == ["node1", "node2"])
        #expect(file?.nodes.map(\.pid) == [11, nil])
        #expect(file?.natsPID == 12)
        #expect(file?.postgresPID == 13)
        #expect(file?.postgresURL == "postgres://x")
        #expect(ClusterFile(json: "{\"nodes\":[]}") == nil)
        #expect(ClusterFile(json: "nonsense") == nil)
    }
}

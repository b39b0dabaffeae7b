import RoostModel
import Testing

@testable import RoostProtocol

@Suite struct ClientFrameTests {
    private func parse(_ text: String) -> ParsedFrame { ClientFrame.parse(Array(text.utf8)) }

    private func rejection(_ text: String) throws -> (id: FrameID?, error: RoostError, isUnreadable: Bool) {
        guard case .rejected(let id, let error, let isUnreadable) = parse(text) else {
            throw Unexpected()
        }
        return (id, error, isUnreadable)
    }

    private struct Unexpected: Error {}

    static let operations: [ClientOperation] = [
        .hello(.init(token: "t\"ok", clientName: "web", clientVersion: "1.0", isBackground: true)),
        .hello(.init(token: "t")),
        .send(conversationID: Sample.conversation, SendBody(clientID: "c-1", text: "Grüße\n世界 \u{1F600}")),
        .read(conversationID: Sample.conversation, seq: Seq(9)),
        .delivered(conversationID: Sample.conversation, seq: Seq(.max)),
        .typing(conversationID: Sample.conversation, isActive: true),
        .watch([Sample.alice, Sample.bob]), .unwatch([]), .state(isBackground: false), .token("new"), .ping,
    ]

    @Test(arguments: operations) func whatAClientWritesTheServerReads(_ operation: ClientOperation) {
        let frame = ClientFrame(id: FrameID(12), operation: operation)
        #expect(ClientFrame.parse(frame.json()) == .frame(frame))
    }

    @Test(arguments: [#""a""#, #""\u0041\"\n""#, "-1.50e+3", "0", #""😀""#, "123456789012345678901234567890"])
    func theIDIsEchoedAsWritten(_ id: String) throws {
        guard case .frame(let frame) = parse(#"{"op":"ping","id":\#(id)}"#) else { throw Unexpected() }
        #expect(Sample.text(ServerAnswer.empty(frame.id)) == #"{"id":\#(id),"ok":true,"result":{}}"#)
    }

    @Test func theErrorCarriesTheIDWhereverItStands() throws {
        let rejected = try rejection(#"{"op":"read","conversationId":7,"id":"z"}"#)
        #expect(rejected.id == FrameID(json: #""z""#))
        #expect(rejected.error.code == .malformed)
        #expect(!rejected.isUnreadable)
    }

    @Test(arguments: [
        "", "{", "nonsense", "[1]", #"{"op":"ping"}x"#, #"{"op":"ping","id":"\u0000"}"#, #"{"op":"ping","id":"\ud800"}"#,
        #"{"op":"ping","id":"\udc00\ud800"}"#, "{\"op\":\"\u{0}\"}", #"{"op":"ping",}"#, #"{'op':"ping"}"#, #"{"a":01}"#,
        String(repeating: "[", count: 40_000),
        #"{"a":"# + String(repeating: "[", count: 32) + String(repeating: "]", count: 32) + "}",
    ]) func textThatIsNoJSONObjectIsUnreadable(_ text: String) throws {
        let rejected = try rejection(text)
        #expect(rejected.id == nil)
        #expect(rejected.error.code == .malformed)
        #expect(rejected.isUnreadable)
    }

    @Test func nestingUpToTheLimitIsRead() {
        let inner = String(repeating: "[", count: 31) + String(repeating: "]", count: 31)
        #expect(parse(#"{"op":"ping","x":\#(inner)}"#) == .frame(ClientFrame(id: nil, operation: .ping)))
    }

    static let conversation = Sample.conversation.description

    @Test(arguments: [
        (#"{"id":1}"#, RoostError.invalid("op", .required)),
        (#"{"id":1,"op":"dance"}"#, .invalid("op", .unknown)),
        (#"{"id":1,"op":"read","seq":1}"#, .invalid("conversationId", .required)),
        (#"{"id":1,"op":"read","conversationId":"*","seq":1}"#, .notFound),
        (#"{"id":1,"op":"read","conversationId":"","seq":1}"#, .notFound),
        (#"{"id":1,"op":"read","conversationId":"\#(conversation)"}"#, .invalid("seq", .required)),
        (#"{"id":1,"op":"read","conversationId":"\#(conversation)","seq":-1}"#, .invalid("seq", .invalid)),
        (#"{"id":1,"op":"read","conversationId":"\#(conversation)","seq":1.5}"#, .invalid("seq", .invalid)),
        (#"{"id":1,"op":"typing","conversationId":"\#(conversation)"}"#, .invalid("active", .required)),
        (
            #"{"id":1,"op":"send","conversationId":"\#(conversation)","clientId":"c","type":"text","text":" \n\u200b"}"#,
            .init(.emptyMessage)
        ),
        (#"{"id":1,"op":"send","conversationId":"\#(conversation)","clientId":"c","type":"text"}"#, .invalid("text", .required)),
        (
            #"{"id":1,"op":"send","conversationId":"\#(conversation)","clientId":"c","type":"system","text":"x"}"#,
            .invalid("type", .invalid)
        ),
        (
            #"{"id":1,"op":"send","conversationId":"\#(conversation)","clientId":"","type":"text","text":"x"}"#,
            .invalid("clientId", .required)
        ),
        (#"{"id":1,"op":"send","conversationId":"\#(conversation)","type":"text","text":"x"}"#, .invalid("clientId", .required)),
        (#"{"id":1,"op":"watch"}"#, .invalid("userIds", .required)),
        (#"{"id":1,"op":"hello"}"#, .invalid("token", .required)),
    ]) func aBadFieldIsNamed(_ text: String, _ error: RoostError) throws {
        let rejected = try rejection(text)
        #expect(rejected.id == FrameID(1))
        #expect(rejected.error == error)
    }

    @Test func bigAndOddNumbersAreSeqs() {
        for (written, seq) in [
            ("1e30", Int64.max), ("5.0", 5), ("5e2", 500), ("9223372036854775807", .max), ("99999999999999999999", .max),
        ] {
            let text = #"{"op":"read","conversationId":"\#(Sample.conversation)","seq":\#(written)}"#
            #expect(
                parse(text) == .frame(ClientFrame(id: nil, operation: .read(conversationID: Sample.conversation, seq: Seq(seq)))))
        }
    }

    @Test func theLastDuplicateCounts() {
        #expect(parse(#"{"op":7,"op":"ping","id":[],"id":3}"#) == .frame(ClientFrame(id: FrameID(3), operation: .ping)))
        #expect(parse(#"{"\u006fp":"ping"}"#) == .frame(ClientFrame(id: nil, operation: .ping)))
    }

    @Test func anOverlongIDIsNotEchoed() throws {
        let rejected = try rejection(#"{"op":"ping","id":"\#(String(repeating: "x", count: 127))"}"#)
        #expect(rejected.id == nil)
        #expect(rejected.error == .invalid("id", .tooLong))
    }

    @Test func textsAreNormalisedAndBounded() throws {
        func body(_ text: String) throws -> SendBody {
            var writer = JSONWriter()
            writer.object {
                $0.member("clientId", "c")
                $0.member("type", "text")
                $0.member("text", text)
            }
            return try SendBody.parse(writer.bytes)
        }
        #expect(Array(try body("e\u{301}").text.utf8) == Array("\u{E9}".utf8))
        #expect(try body(String(repeating: "a", count: 10_000)).text.utf8.count == 10_000)
        #expect(throws: RoostError.invalid("text", .tooLong)) { try body(String(repeating: "a", count: 10_001)) }
        #expect(throws: RoostError.invalid("text", .tooLong)) { try body(String(repeating: "\u{1F600}", count: 8193)) }
    }
}

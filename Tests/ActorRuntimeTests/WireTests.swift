import RoostModel
import Testing

@testable import ActorRuntime

@Suite struct WireTests {
    private let node = NodeIdentity(name: "node1", incarnation: .make())

    private func batch(_ frames: [Frame]) -> [UInt8] {
        var writer = ByteWriter()
        BatchHeader(sender: node, endpoint: 3).write(to: &writer)
        for frame in frames { frame.write(to: &writer) }
        return writer.bytes
    }

    @Test func framesComeBackAsTheyWere() throws {
        let conversation = ConversationID.make()
        let event = FanoutEvent(
            kind: .message, conversationID: conversation, seq: Seq(9), recipients: [.make(), .make()], payload: [1, 2, 3])
        let bytes = batch([
            .call(CallFrame(id: 5, address: ActorAddress(conversation), verb: 16, payload: [4])),
            .reply(ReplyFrame(id: 6, outcome: .failure(RoostError(.notFound, "why")))), .event(event),
            .notice(NodeNotice(topic: 1, payload: [8])),
        ])
        var reader = ByteReader(bytes)
        let header = try #require(try BatchHeader.read(&reader))
        #expect(header.sender == node && header.endpoint == 3)
        guard case .call(let call)? = try Frame.read(&reader), case .reply(let reply)? = try Frame.read(&reader),
            case .event(let read)? = try Frame.read(&reader), case .notice(let notice)? = try Frame.read(&reader)
        else {
            Issue.record("wrong frames")
            return
        }
        #expect(call.id == 5 && call.address == ActorAddress(conversation) && call.verb == 16 && call.payload == [4])
        guard case .failure(let error) = reply.outcome else {
            Issue.record("wrong outcome")
            return
        }
        #expect(reply.id == 6 && error == RoostError(.notFound, "why"))
        #expect(read.recipients == event.recipients && read.payload == event.payload && read.seq == event.seq)
        #expect(notice.topic == 1 && notice.payload == [8])
        #expect(reader.isAtEnd)
    }

    @Test func aFrameOfANewerReleaseIsSkipped() throws {
        var writer = ByteWriter()
        writer.append(UInt8(200))
        writer.append([1, 2, 3])
        Frame.reply(ReplyFrame(id: 1, outcome: .notOwner)).write(to: &writer)
        var reader = ByteReader(writer.bytes)
        let unknown = try Frame.read(&reader)
        guard case nil = unknown else {
            Issue.record("an unknown frame was read as something")
            return
        }
        guard case .reply? = try Frame.read(&reader) else {
            Issue.record("the frame after an unknown one is lost")
            return
        }
    }

    /// Bytes of the first release, frozen: a rolling upgrade reads them.
    @Test func theFirstReleasesCallStillDecodes() throws {
        let frozen: [UInt8] = [
            1, 0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 5, 1, 0, 1, 2, 3, 4, 5, 0x76, 7, 0x88, 9, 10, 11, 12, 13, 14, 15, 16, 0, 0, 0, 0,
        ]
        var reader = ByteReader(frozen)
        guard case .call(let call)? = try Frame.read(&reader) else {
            Issue.record("not a call")
            return
        }
        #expect(call.id == 5 && call.verb == 16 && call.payload.isEmpty)
        #expect(call.address.conversationID.description == "00010203-0405-7607-8809-0a0b0c0d0e0f")
        let envelope = try EnvelopeCoding.decode([1] + Array(#"{"verb":"describe","body":{},"later":1}"#.utf8))
        #expect(envelope == ActorEnvelope(verb: "describe"))
    }

    @Test func anyTruncationIsAnErrorAndNeverACrash() {
        let bytes = batch([
            .event(
                FanoutEvent(
                    kind: .message, conversationID: .make(), seq: Seq(1), recipients: [.make()], payload: [1, 2, 3, 4]))
        ])
        for length in 0..<bytes.count {
            #expect(throws: ByteReader.Truncated.self) {
                var reader = ByteReader(Array(bytes[..<length]))
                _ = try BatchHeader.read(&reader)
                _ = try Frame.read(&reader)
            }
        }
    }

    @Test func randomBytesNeverCrash() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<5000 {
            let count = Int.random(in: 0..<200, using: &random)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            var reader = ByteReader(bytes)
            while !reader.isAtEnd { guard (try? Frame.read(&reader)) != nil else { break } }
        }
    }
}

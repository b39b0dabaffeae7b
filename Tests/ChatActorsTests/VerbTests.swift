import ConversationCore
import Ports
import RoostModel
import Testing

@testable import ChatActors

@Suite struct VerbTests {
    @Test func payloadsComeBackAsTheyWere() throws {
        let conversation = ConversationID.make()
        let message = OutgoingMessage(conversationID: conversation, senderID: .make(), clientID: "c-1", text: "grüße 👋🏽")
        #expect(try OutgoingMessage(conversationID: conversation, message.encoded()) == message)
        let sent = SentMessage(seq: Seq(7), json: Array("{}".utf8), isNew: false)
        let read = try SentMessage(sent.encoded())
        #expect(read.seq == sent.seq && read.json == sent.json && read.isNew == sent.isNew)
        let position = ReadPosition(readSeq: Seq(1), deliveredSeq: Seq(2))
        #expect(try ReadPosition(position.encoded()) == position)
        let fact = PresenceFact(
            userID: .make(), state: .away, lastSeenAt: nil, version: PresenceVersion(epoch: Epoch(2), counter: 3))
        let known = try PresenceFact(fact.encoded())
        #expect(known.userID == fact.userID && known.state == .away && known.lastSeenAt == nil && known.version == fact.version)
    }

    @Test func signalsComeBackAndForeignOnesAreIgnored() {
        let signals: [Signals.Signal] = [
            .deviceRevoked(.make()), .userChanged(.make()), .conversationChanged(.make(), for: [.make(), .make()]),
        ]
        for signal in signals {
            #expect(Signals.decode(Signals.encode(signal)) == signal)
            #expect(Signals.decode(Array(Signals.encode(signal).dropLast())) == nil)
        }
        #expect(Signals.decode([1, 99]) == nil)
        #expect(Signals.decode([2, 1]) == nil)
    }
}

@Suite struct TypistsTests {
    @Test func eachTypistHasAnIndicatorAndIsForgottenInTheEnd() {
        var typists = Typists()
        let (ann, bob) = (UserID.make(), UserID.make())
        #expect(typists.set(ann, isActive: true, at: .zero).contains(.announce(isActive: true)))
        #expect(typists.set(bob, isActive: true, at: .seconds(1)).contains(.announce(isActive: true)))
        #expect(typists.woke(ann, at: .seconds(6)) == [.announce(isActive: false)])
        #expect(typists.woke(bob, at: .seconds(7)) == [.announce(isActive: false)])
        _ = typists.set(bob, isActive: false, at: .seconds(20))
        #expect(!typists.contains(ann))
    }
}

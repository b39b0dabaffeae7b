import RoostModel
import TestSupport

@testable import RoostProtocol

enum Sample {
    static let time = Timestamp(milliseconds: 1_796_058_000_123)
    static let conversation = ConversationID("01936d3e-0000-7000-8000-0000000000c1")!
    static let alice = UserID("01936d3e-0000-7000-8000-00000000000a")!
    static let bob = UserID("01936d3e-0000-7000-8000-00000000000b")!
    static let device = DeviceID("01936d3e-0000-7000-8000-0000000000d1")!
    static let session = SessionID("01936d3e-0000-7000-8000-0000000000e1")!

    static func message(seq: Int64 = 7, text: String = "Grüße, \"世界\"\n\u{1F469}\u{200D}\u{1F680} \\ \u{0001}") -> Message {
        Message(
            conversationID: conversation, seq: Seq(seq), changeSeq: Seq(seq), clientID: "c-1", senderID: alice, kind: .text,
            text: text, createdAt: time)
    }

    static let view = ConversationView(
        id: conversation, kind: .direct, title: nil,
        members: [
            Member(userID: alice, displayName: "Alice", role: .member, joinedAt: time, readSeq: Seq(7), deliveredSeq: Seq(7)),
            Member(userID: bob, displayName: "Bob", role: .member, joinedAt: time, readSeq: nil, deliveredSeq: Seq(7)),
        ], memberCount: 2, lastSeq: Seq(7), lastMessage: message(), readSeq: Seq(7), deliveredSeq: Seq(7), unreadCount: 0,
        mentionCount: 0, myRole: .member, lastActivityAt: time, createdAt: time, isReadOnly: false)

    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

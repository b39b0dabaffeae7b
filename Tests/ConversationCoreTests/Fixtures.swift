import RoostModel
import TestSupport

@testable import ConversationCore

let conversation = ConversationID(high: 1, low: 1)
let alice = UserID(high: 1, low: 10)
let bob = UserID(high: 1, low: 11)
let stranger = UserID(high: 1, low: 99)
let noon = Timestamp(milliseconds: 1_796_040_000_000)

func member(
    _ id: UserID, role: MemberRole = .member, joinedAt: Timestamp = noon, since: Int64 = 0, read: Int64 = 0, delivered: Int64 = 0,
    shares: Bool = true
) -> ConversationSnapshot.Member {
    .init(
        userID: id, role: role, joinedAt: joinedAt, sinceSeq: Seq(since), readSeq: Seq(read), deliveredSeq: Seq(delivered),
        sharesReadReceipts: shares)
}

func snapshot(
    head: Int64 = 0, members: [ConversationSnapshot.Member] = [member(bob), member(alice)], isActive: Bool = false,
    isReadOnly: Bool = false, lastMessageAt: Timestamp? = nil
) -> ConversationSnapshot {
    ConversationSnapshot(
        id: conversation, kind: .direct, head: Seq(head), members: members, isActive: isActive, isReadOnly: isReadOnly,
        lastMessageAt: lastMessageAt)
}

func send(_ token: UInt64, _ clientID: String, _ text: String = "hi", from sender: UserID = alice) -> ConversationCommand {
    send(token, clientID, MessageContent(text: text), from: sender)
}

/// The fingerprint is that of a body with this text and this quote.
func send(
    _ token: UInt64, _ clientID: String, _ content: MessageContent, from sender: UserID = alice
) -> ConversationCommand {
    .send(
        SendCommand(
            token: ReplyToken(token), senderID: sender, clientID: clientID,
            fingerprint: fingerprint(content.text, replyTo: content.replyTo), content: .success(content)))
}

func fingerprint(_ text: String, replyTo: Seq? = nil) -> Int64 {
    MessageBody.original(.init(text: text, replyTo: replyTo)).fingerprint
}

func read(_ token: UInt64, _ seq: Int64, by user: UserID = bob) -> ConversationCommand {
    .read(PositionCommand(token: ReplyToken(token), userID: user, seq: Seq(seq)))
}

func delivered(_ token: UInt64, _ seq: Int64, by user: UserID = bob) -> ConversationCommand {
    .delivered(PositionCommand(token: ReplyToken(token), userID: user, seq: Seq(seq)))
}

func message(
    _ seq: Int64, _ clientID: String, _ text: String = "hi", from sender: UserID = alice, at time: Timestamp = noon
) -> Message {
    Message(
        conversationID: conversation, seq: Seq(seq), changeSeq: Seq(seq), clientID: clientID, senderID: sender, kind: .text,
        text: text, fingerprint: fingerprint(text), createdAt: time)
}

func key(_ clientID: String, _ sender: UserID = alice) -> MessageKey {
    MessageKey(conversationID: conversation, senderID: sender, clientID: clientID)
}

func position(_ token: UInt64, read: Int64, delivered: Int64) -> ConversationReply {
    ConversationReply(
        token: ReplyToken(token), outcome: .position(ReadPosition(readSeq: Seq(read), deliveredSeq: Seq(delivered))))
}

func stored(_ token: UInt64, _ message: Message, isNew: Bool) -> ConversationReply {
    ConversationReply(token: ReplyToken(token), outcome: .message(message, isNew: isNew))
}

func failure(_ token: UInt64, _ code: ErrorCode) -> ConversationReply {
    ConversationReply(token: ReplyToken(token), outcome: .failed(RoostError(code)))
}

extension Lookup {
    static func keys(_ keys: MessageKey...) -> Lookup { Lookup(keys: keys) }
    static func seqs(_ seqs: Int64...) -> Lookup { Lookup(seqs: seqs.map { Seq($0) }) }
}

extension Findings {
    static func messages(_ messages: Message...) -> Findings {
        Findings(
            messages: Dictionary(uniqueKeysWithValues: messages.map { (key($0.clientID, $0.senderID), $0) }))
    }

    static func targets(_ targets: MessageTarget...) -> Findings {
        Findings(targets: Dictionary(uniqueKeysWithValues: targets.map { ($0.message.seq, $0) }))
    }
}

extension ConversationStep {
    var commit: CommitRequest? { if case .commit(let request) = next { request } else { nil } }
}

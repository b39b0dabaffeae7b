import RoostModel
import Testing

@testable import RoostProtocol

@Suite struct ServerFrameTests {
    @Test func aMessageHasExactlyTheContractsKeys() throws {
        let expected = """
            {"conversationId":"01936d3e-0000-7000-8000-0000000000c1","seq":7,"changeSeq":7,"clientId":"c-1",\
            "senderId":"01936d3e-0000-7000-8000-00000000000a","type":"text","text":"a\\"b","media":null,"replyTo":null,\
            "forwarded":false,"mentions":[],"reactions":[],"editedAt":null,"deletedAt":null,\
            "createdAt":"2026-11-30T17:00:00.123Z","system":null}
            """
        #expect(Sample.text(Sample.message(text: "a\"b").json()) == expected)
        var writer = JSONWriter()
        writer.message(Sample.message(text: "a\"b"), delivery: .init(status: .delivered, seenByCount: 0))
        #expect(Sample.text(writer.bytes) == expected.dropLast() + #","status":"delivered","seenByCount":0}"#)
    }

    @Test func messagesComeBackIdentical() throws {
        var edited = Sample.message()
        edited.editedAt = Sample.time
        edited.deletedAt = Sample.time
        edited.changeSeq = Seq(.max)
        for message in [Sample.message(), edited, Sample.message(text: "")] {
            #expect(try Message.decode(message.json()) == message)
        }
    }

    @Test func eventsComeBack() throws {
        func decode(_ bytes: [UInt8]) throws -> ServerFrame { try ServerFrame.decode(bytes) }
        let (conversation, bob) = (Sample.conversation, Sample.bob)
        let ready = Ready(userID: bob, deviceID: Sample.device, sessionID: Sample.session, node: "node1", serverTime: Sample.time)
        guard case .ready(ready) = try decode(ServerEvent.ready(ready)) else { throw Unexpected() }
        guard case .message(conversation, Seq(7), Sample.message()?) = try decode(ServerEvent.message(Sample.message())) else {
            throw Unexpected()
        }
        let hidden = ServerEvent.message(conversationID: conversation, seq: Seq(8), message: nil as [UInt8]?)
        guard case .message(conversation, Seq(8), nil) = try decode(hidden) else { throw Unexpected() }
        let receipt = ServerEvent.receipt(conversationID: conversation, userID: bob, readSeq: nil, deliveredSeq: Seq(3))
        guard case .receipt(conversation, bob, nil, Seq(3)) = try decode(receipt) else { throw Unexpected() }
        let typing = ServerEvent.typing(conversationID: conversation, userID: bob, isActive: true)
        guard case .typing(conversation, bob, true) = try decode(typing) else { throw Unexpected() }
        let presence = Presence(userID: bob, state: .offline, lastSeenAt: Sample.time)
        guard case .presence(presence) = try decode(ServerEvent.presence(presence)) else { throw Unexpected() }
        guard case .conversation(Sample.view) = try decode(ServerEvent.conversation(Sample.view)) else { throw Unexpected() }
        guard case .conversationRemoved(conversation) = try decode(ServerEvent.conversationRemoved(conversation)) else {
            throw Unexpected()
        }
        guard case .resync = try decode(ServerEvent.resync()) else { throw Unexpected() }
        guard case .goaway(10) = try decode(ServerEvent.goaway(afterSeconds: 10)) else { throw Unexpected() }
        guard case .unknown("reaction") = try decode(Array(#"{"event":"reaction","x":1}"#.utf8)) else { throw Unexpected() }
    }

    private struct Unexpected: Error {}

    private func answer(_ bytes: [UInt8]) throws -> (FrameID?, Result<AnswerResult, Problem>) {
        guard case .answer(let id, let result) = try ServerFrame.decode(bytes) else { throw Unexpected() }
        return (id, result)
    }

    @Test func answersComeBack() throws {
        let id = FrameID(json: #""x\n""#)
        let sent = try answer(ServerAnswer.sent(id, message: Sample.message().json()))
        #expect(sent.0 == id)
        #expect(try sent.1.get().message() == Sample.message())
        let counts = ConversationCounts(readSeq: Seq(1), deliveredSeq: Seq(2), unreadCount: 3, mentionCount: 0)
        #expect(try answer(ServerAnswer.counts(id, counts)).1.get().counts() == counts)
        #expect(try answer(ServerAnswer.pong(nil, serverTime: Sample.time)).1.get().serverTime() == Sample.time)
        let presence = [Presence(userID: Sample.bob, state: .away, lastSeenAt: nil)]
        #expect(try answer(ServerAnswer.presence(id, presence)).1.get().presence() == presence)
        let error = RoostError(.validationFailed, fields: [FieldFault("text", .tooLong)])
        let failed = try answer(ServerAnswer.failed(nil, error, requestID: "r-1"))
        #expect(failed.0 == nil)
        guard case .failure(let problem) = failed.1 else { throw Unexpected() }
        #expect(problem.errorCode == .validationFailed && problem.status == 422 && problem.requestID == "r-1")
        #expect(problem.fields == error.fields && !problem.isRetryable)
        guard case .failure(let away) = try answer(ServerAnswer.failed(id, .unavailable)).1 else { throw Unexpected() }
        #expect(away.isRetryable && away.retryAfterSeconds == 1)
    }

    @Test func restAnswersComeBack() throws {
        func bytes(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
            var writer = JSONWriter()
            body(&writer)
            return writer.bytes
        }
        let read = ReadMessage(message: Sample.message(), delivery: .init(status: .read, seenByCount: 1))
        let history = HistoryPage(items: [read], hasMoreBefore: true, hasMoreAfter: false, lastSeq: Seq(9))
        #expect(try HistoryPage.decode(bytes { $0.historyPage(history) }) == history)
        let changes = ChangesPage(items: [ReadMessage(message: Sample.message(), delivery: nil)], upToSeq: Seq(9), hasMore: true)
        #expect(try ChangesPage.decode(bytes { $0.changesPage(changes) }) == changes)
        let receipts = MessageReceipts(status: .sent, deliveredTo: [.init(userID: Sample.bob, at: Sample.time)], seenBy: [])
        #expect(try MessageReceipts.decode(bytes { $0.receipts(receipts) }) == receipts)
        let page = Page(items: [Sample.view], nextCursor: "c")
        let pageBack = try Page<ConversationView>.decode(bytes { $0.page(page) { $0.conversation($1, caller: Sample.alice) } })
        #expect(pageBack.items == page.items && pageBack.nextCursor == "c")
        let sync = try SyncPage.decode(
            bytes {
                $0.syncPage(
                    SyncPage(conversations: [Sample.view], removed: [Sample.conversation], token: "t", hasMore: false),
                    caller: Sample.bob)
            })
        #expect(
            sync.conversations == [Sample.view] && sync.removed == [Sample.conversation] && sync.token == "t" && !sync.hasMore)
        var user = User(id: Sample.alice, email: "a@x.example", displayName: "Alice", phone: "+1", createdAt: Sample.time)
        user.settings.shareReadReceipts = false
        let session = AuthSession(
            user: user, deviceID: Sample.device, accessToken: "a", accessTokenExpiresAt: Sample.time, refreshToken: "r")
        let sessionBack = try AuthSession.decode(bytes { $0.session(session) })
        #expect(sessionBack.user == user && sessionBack.deviceID == Sample.device && sessionBack.refreshToken == "r")
    }

    @Test func othersSeeNeitherEmailNorPhone() throws {
        let user = User(
            id: Sample.alice, email: "alice@x.example", displayName: "Alice", firstName: "Al", about: "hi", phone: "+12345",
            createdAt: Sample.time)
        var deleted = user
        deleted.isDeleted = true
        let shown = Sample.text(JSONWriter.encoded { $0.user(user, presence: nil) })
        #expect(!shown.contains("x.example") && !shown.contains("+12345") && shown.contains("Alice"))
        let gone = Sample.text(JSONWriter.encoded { $0.user(deleted, presence: nil) })
        #expect(
            !gone.contains("Al\"") && !gone.contains("Alice") && !gone.contains("hi\"") && gone.contains("\"isDeleted\":true"))
    }

    @Test func theStatusOfTheLastMessageIsOfAllOthers() {
        func status(read: Int64?, delivered: Int64, caller: UserID = Sample.alice) -> ReadMessage.Delivery? {
            var view = Sample.view
            view.members[1].readSeq = read.map { Seq($0) }
            view.members[1].deliveredSeq = Seq(delivered)
            return view.deliveryOfLastMessage(for: caller)
        }
        #expect(status(read: 0, delivered: 6) == .init(status: .sent, seenByCount: 0))
        #expect(status(read: nil, delivered: 7) == .init(status: .delivered, seenByCount: 0))
        #expect(status(read: 7, delivered: 7) == .init(status: .read, seenByCount: 1))
        #expect(status(read: 7, delivered: 7, caller: Sample.bob) == nil)
    }

    @Test func theStatusOfAChannelsLastMessageIsTold() throws {
        let view = ConversationView(
            id: Sample.conversation, kind: .channel, title: "T", members: [], memberCount: 900, lastSeq: Seq(8),
            lastMessage: Sample.message(), readSeq: Seq(7), deliveredSeq: Seq(7), unreadCount: 0, mentionCount: 0,
            myRole: .member,
            lastActivityAt: Sample.time, createdAt: Sample.time, isReadOnly: false)
        var known = view
        known.lastMessageDelivery = .init(status: .delivered, seenByCount: 12)
        func shown(_ view: ConversationView, _ caller: UserID?) -> String {
            Sample.text(JSONWriter.encoded { $0.conversation(view, caller: caller) })
        }
        #expect(shown(known, Sample.alice).contains(#""status":"delivered","seenByCount":12"#))
        // Not over the socket, and not where it is not known.
        #expect(!shown(known, nil).contains("seenByCount"))
        #expect(!shown(view, Sample.alice).contains("seenByCount"))
    }

    @Test func whoeverJoinedLaterDoesNotCountForTheLastMessage() {
        func member(_ id: UserID, joined: Timestamp, read: Int64) -> Member {
            Member(userID: id, displayName: "", role: .member, joinedAt: joined, readSeq: Seq(read), deliveredSeq: Seq(read))
        }
        func status(_ kind: ConversationKind) -> ReadMessage.Delivery? {
            let later = Sample.time + .seconds(1)
            return ConversationView(
                id: Sample.conversation, kind: kind, title: "T",
                members: [
                    member(Sample.alice, joined: Sample.time, read: 7), member(Sample.bob, joined: later, read: 8),
                ], memberCount: 2, lastSeq: Seq(8), lastMessage: Sample.message(), readSeq: Seq(7), deliveredSeq: Seq(7),
                unreadCount: 0, mentionCount: 0, myRole: .member, lastActivityAt: later, createdAt: Sample.time, isReadOnly: false
            ).deliveryOfLastMessage(for: Sample.alice)
        }
        #expect(status(.group) == .init(status: .sent, seenByCount: 0))
        #expect(status(.direct) == .init(status: .read, seenByCount: 1))
    }
}

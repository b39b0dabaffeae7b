import MemoryAdapters
import RoostClient
import RoostModel
import RoostProtocol
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct SessionTests {
    private func text(_ clientID: String, _ text: String = "hello") -> SendBody { SendBody(clientID: clientID, text: text) }

    // MARK: Sending

    @Test func aSendIsAnsweredAndReachesEverySessionOfBothOnEveryNode() async throws {
        try await withCluster(2) { cluster in
            let (ann, bob, chat) = try await cluster.pair()
            let here = try await cluster.session(ann, at: 0)
            let elsewhere = try await cluster.session(ann, at: 1)
            let other = try await cluster.session(bob, at: 1)
            await elsewhere.send(.send(conversationID: chat, text("one")), id: 1)
            let sent = try await elsewhere.answer(to: 1).get().message()
            #expect(sent.seq == Seq(1) && sent.text == "hello" && sent.senderID == ann.user.id)
            for socket in [here, other] { #expect(try await socket.messageSeq() == Seq(1)) }
        }
    }

    @Test func pipelinedSendsKeepTheirOrder() async throws {
        try await withCluster(2) { cluster in
            let (ann, bob, chat) = try await cluster.pair()
            let sender = try await cluster.session(ann, at: 1)
            let receiver = try await cluster.session(bob, at: 0)
            for index in 0..<200 { await sender.send(.send(conversationID: chat, text("\(index)", "\(index)")), id: index) }
            for index in 0..<200 {
                let received: Message = try await receiver.first { frame in
                    guard case .message(_, _, let message) = frame else { return nil }
                    return message
                }
                #expect(received.text == "\(index)" && received.seq == Seq(Int64(index + 1)))
            }
        }
    }

    @Test func theSameClientIDIsStoredOnceThroughAnyNode() async throws {
        try await withCluster(2) { cluster in
            let (ann, _, chat) = try await cluster.pair()
            let first = try await cluster.session(ann, at: 0)
            let second = try await cluster.session(ann, at: 1)
            await first.send(.send(conversationID: chat, text("a")), id: 1)
            #expect(try await first.answer(to: 1).get().message().seq == Seq(1))
            await second.send(.send(conversationID: chat, text("a")), id: 1)
            #expect(try await second.answer(to: 1).get().message().seq == Seq(1))
            await second.send(.send(conversationID: chat, text("a", "another")), id: 2)
            guard case .failure(let problem) = try await second.answer(to: 2) else { throw Unexpected("stored twice") }
            #expect(problem.code == ErrorCode.clientIdReused.rawValue)
        }
    }

    @Test func strangersAndMadeUpConversationsAnswerAlike() async throws {
        try await withCluster(1) { cluster in
            let (_, _, chat) = try await cluster.pair()
            let stranger = try await cluster.session(try await cluster.anonymous())
            for (id, conversation) in [(1, chat), (2, ConversationID.make())] {
                for operation: ClientOperation in [
                    .send(conversationID: conversation, text("x")), .read(conversationID: conversation, seq: Seq(1)),
                    .delivered(conversationID: conversation, seq: Seq(1)),
                    .typing(conversationID: conversation, isActive: true),
                ] {
                    await stranger.send(operation, id: id)
                    guard case .failure(let problem) = try await stranger.answer(to: id) else { throw Unexpected("allowed") }
                    #expect(problem.code == ErrorCode.notFound.rawValue)
                }
            }
        }
    }

    // MARK: Faults of the database

    @Test func anAnswerThatComesAfterTheSocketClosedFindsNobody() async throws {
        try await withCluster(1) { cluster in
            let (ann, bob, chat) = try await cluster.pair()
            let gone = try await cluster.session(ann)
            let stays = try await cluster.session(bob)
            cluster.database.stallCommits()
            await gone.send(.send(conversationID: chat, text("a")), id: 1)
            try await eventually("the commit waits") { cluster.database.stalledCommits == 1 }
            await gone.channel.abort()
            try await eventually("the session is gone") { cluster.nodes[0].registry.count == 1 }
            cluster.database.releaseCommits()
            // The message is stored, and the node lives to tell the other side.
            #expect(try await stays.messageSeq() == Seq(1))
        }
    }

    @Test(arguments: [true, false]) func aCommitWithoutAnAnswerIsLookedUp(wasStored: Bool) async throws {
        try await withCluster(1) { cluster in
            let (ann, bob, chat) = try await cluster.pair()
            let sender = try await cluster.session(ann)
            let receiver = try await cluster.session(bob)
            cluster.database.breakNextCommit(stored: wasStored)
            await sender.send(.send(conversationID: chat, text("a")), id: 1)
            #expect(try await sender.answer(to: 1).get().message().seq == Seq(1))
            #expect(try await receiver.messageSeq() == Seq(1))
            await sender.send(.send(conversationID: chat, text("b")), id: 2)
            #expect(try await sender.answer(to: 2).get().message().seq == Seq(2))
        }
    }

    @Test func withoutTheDatabaseASendFailsAsRetryableAndWorksAfterwards() async throws {
        try await withCluster(1) { cluster in
            let (ann, _, chat) = try await cluster.pair()
            let sender = try await cluster.session(ann)
            cluster.database.setAvailable(false)
            await sender.send(.send(conversationID: chat, text("a")), id: 1)
            guard case .failure(let problem) = try await sender.answer(to: 1) else { throw Unexpected("stored") }
            #expect(problem.code == ErrorCode.unavailable.rawValue)
            cluster.database.setAvailable(true)
            await sender.send(.send(conversationID: chat, text("a")), id: 2)
            #expect(try await sender.answer(to: 2).get().message().seq == Seq(1))
        }
    }

    // MARK: Owners that change

    @Test func sendsGoOnWhenTheOwnerChanges() async throws {
        try await withCluster(2) { cluster in
            let (ann, bob, chat) = try await cluster.pair()
            let sender = try await cluster.session(ann, at: 0)
            let receiver = try await cluster.session(bob, at: 1)
            await sender.send(.send(conversationID: chat, text("a")), id: 1)
            _ = try await sender.answer(to: 1).get()
            cluster.own(1, version: 2)
            await sender.send(.send(conversationID: chat, text("b")), id: 2)
            #expect(try await sender.answer(to: 2).get().message().seq == Seq(2))
            #expect(try await receiver.messageSeq() == Seq(1))
            #expect(try await receiver.messageSeq() == Seq(2))
        }
    }

    @Test func aHoleIsFilledFromTheDatabase() async throws {
        try await withCluster(2) { cluster in
            let (ann, bob, chat) = try await cluster.pair()
            let sender = try await cluster.session(ann, at: 0)
            let receiver = try await cluster.session(bob, at: 1)
            func say(_ number: Int) async throws {
                await sender.send(.send(conversationID: chat, text("\(number)")), id: number)
                _ = try await sender.answer(to: number).get()
            }
            try await say(1)
            #expect(try await receiver.messageSeq() == Seq(1))
            cluster.hub.setFilter { $0.receiver == "node2" ? .drop : .deliver }
            try await say(2)
            try await say(3)
            cluster.hub.setFilter(nil)
            try await say(4)
            for seq in 2...4 { #expect(try await receiver.messageSeq() == Seq(Int64(seq))) }
        }
    }

    // MARK: The life of a session

    @Test func whoeverDoesNotSayHelloProperlyIsClosed() async throws {
        try await withCluster(1) { cluster in
            let user = try await cluster.anonymous()
            let ping = try await cluster.socket()
            await ping.send(.ping, id: 1)
            #expect(await ping.closeCode() == CloseCode.unauthenticated.rawValue)
            let forged = try await cluster.socket()
            await forged.send(.hello(.init(token: user.accessToken + "x")))
            #expect(await forged.closeCode() == CloseCode.unauthenticated.rawValue)
            let binary = try await cluster.session(user)
            await binary.channel.send(binary: [1])
            #expect(await binary.closeCode() == CloseCode.wrongUse.rawValue)
        }
    }

    @Test func logoutClosesTheDevicesSocketsOnEveryNodeAndNoOthers() async throws {
        try await withCluster(2) { cluster in
            let (ann, bob, _) = try await cluster.pair()
            let one = try await cluster.session(ann, at: 0)
            let two = try await cluster.session(ann, at: 1)
            let other = try await cluster.session(bob, at: 1)
            let response = try await cluster.request("POST", "/v1/auth/logout", nil, token: ann.accessToken)
            #expect(response.status == 204)
            #expect(await one.closeCode() == CloseCode.revoked.rawValue)
            #expect(await two.closeCode() == CloseCode.revoked.rawValue)
            await other.send(.ping, id: 1)
            _ = try await other.answer(to: 1).get()
        }
    }

    @Test func anExpiredTokenClosesItsSocket() async throws {
        try await withCluster(1, accessTokenLifetime: .seconds(10)) { cluster in
            let session = try await cluster.session(try await cluster.anonymous())
            #expect(await session.closeCode() == CloseCode.tokenExpired.rawValue)
        }
    }

    @Test func badFramesAreAnsweredAndTheTenthUnreadableOneCloses() async throws {
        try await withCluster(1) { cluster in
            let session = try await cluster.session(try await cluster.anonymous())
            await session.channel.send(#"{"op":"dance","id":"x"}"#)
            await session.channel.send(#"{"op":"read","id":7}"#)
            for _ in 0..<9 { await session.channel.send("{") }
            var codes: [String] = []
            for _ in 0..<11 {
                guard case .answer(_, .failure(let problem))? = try await session.next() else { throw Unexpected("no answer") }
                codes.append(problem.code)
            }
            #expect(codes == ["validationFailed", "validationFailed"] + Array(repeating: "malformed", count: 9))
            await session.channel.send("{")
            #expect(await session.closeCode() == CloseCode.wrongUse.rawValue)
        }
    }

    // MARK: Presence and typing

    @Test func watchersSeeOnlineAwayAndOffline() async throws {
        try await withCluster(2) { cluster in
            let (ann, bob, _) = try await cluster.pair()
            let watcher = try await cluster.session(ann, at: 0)
            func state() async throws -> PresenceState {
                try await watcher.first { if case .presence(let presence) = $0 { presence.state } else { nil } }
            }
            await watcher.send(.watch([bob.user.id]), id: 1)
            _ = try await watcher.answer(to: 1).get()
            let session = try await cluster.session(bob, at: 1)
            #expect(try await state() == .online)
            await session.send(.state(isBackground: true))
            #expect(try await state() == .away)
            await session.channel.close()
            #expect(try await state() == .offline)
        }
    }

    @Test func typingReachesTheOtherSideOnlyAndEndsWithTheMessage() async throws {
        try await withCluster(2) { cluster in
            let (ann, bob, chat) = try await cluster.pair()
            let typist = try await cluster.session(ann, at: 0)
            let other = try await cluster.session(bob, at: 1)
            func typing() async throws -> Bool {
                try await other.first { if case .typing(_, _, let isActive) = $0 { isActive } else { nil } }
            }
            await typist.send(.typing(conversationID: chat, isActive: true))
            #expect(try await typing())
            await typist.send(.send(conversationID: chat, text("a")), id: 1)
            #expect(try await !typing())
            // The typist's own socket had the answer and the message, and nothing of the typing.
            var frames = 0
            while frames < 2, let frame = try await typist.next() {
                if case .typing = frame { throw Unexpected("told the typist") }
                frames += 1
            }
        }
    }

    @Test func typingEndsWhereItIsShownWhenTheOwnerDiesWithIt() async throws {
        try await withCluster(2) { cluster in
            let (ann, bob, chat) = try await cluster.pair()
            let typist = try await cluster.session(ann, at: 0)
            let other = try await cluster.session(bob, at: 1)
            func typing() async throws -> Bool {
                try await other.first { if case .typing(_, _, let isActive) = $0 { isActive } else { nil } }
            }
            await typist.send(.typing(conversationID: chat, isActive: true))
            #expect(try await typing())
            // The owner says nothing any more; only the new view tells.
            cluster.hub.setFilter { $0.receiver == "node2" ? .drop : .deliver }
            cluster.own(1, version: 2, up: [1])
            #expect(try await !typing())
        }
    }

    @Test func whatIsNoLongerSharedIsNoLongerTold() async throws {
        try await withCluster(2) { cluster in
            let (ann, bob, _) = try await cluster.pair()
            let watcher = try await cluster.session(ann, at: 0)
            await watcher.send(.watch([bob.user.id]), id: 1)
            _ = try await watcher.answer(to: 1).get()
            func comeAndGo() async throws -> Presence {
                let session = try await cluster.session(bob, at: 1)
                await session.channel.close()
                return try await watcher.first { frame in
                    guard case .presence(let presence) = frame, presence.state == .offline else { return nil }
                    return presence
                }
            }
            #expect(try await comeAndGo().lastSeenAt != nil)
            let response = try await cluster.request(
                "PATCH", "/v1/me", #"{"settings":{"shareLastSeen":false}}"#, token: bob.accessToken, at: 1)
            #expect(response.status == 200)
            // The news takes a moment to reach the watcher's node; the test's time limit is its bound.
            while try await comeAndGo().lastSeenAt != nil { try Task.checkCancellation() }
        }
    }

    @Test func manyLargeSendsAtOnceAreAllAnswered() async throws {
        try await withCluster(1) { cluster in
            let (ann, _, chat) = try await cluster.pair()
            let sender = try await cluster.session(ann)
            let long = String(repeating: "x", count: 9000)
            for index in 0..<200 { await sender.send(.send(conversationID: chat, text("\(index)", long)), id: index) }
            for index in 0..<200 {
                let sent = try await sender.answer(to: index).get().message()
                #expect(sent.seq == Seq(Int64(index + 1)))
            }
        }
    }

    @Test func aNodeThatLeavesTakesNoNewSessions() async throws {
        try await withCluster(1) { cluster in
            let session = try await cluster.session(try await cluster.anonymous())
            cluster.nodes[0].registry.leave(afterSeconds: 1)
            let seconds = try await session.first { if case .goaway(let seconds) = $0 { seconds } else { nil } }
            #expect(seconds == 1)
            let refusal = await #expect(throws: WebSocketOpenError.self) { try await cluster.socket() }
            #expect(refusal?.closure == .refused(status: 503))
        }
    }

    @Test func watchesSentTogetherShareTheLimit() async throws {
        try await withCluster(1) { cluster in
            let session = try await cluster.session(try await cluster.anonymous())
            for id in 1...2 {
                await session.send(.watch((0..<300).map { _ in UserID.make() }), id: id)
            }
            // The refusal needs no look into the store, so it comes first.
            guard case .failure(let problem) = try await session.answer(to: 2) else { throw Unexpected("600 watched") }
            #expect(problem.code == ErrorCode.validationFailed.rawValue)
            _ = try await session.answer(to: 1).get()
            // Nobody of the first was to be seen, so there is room again.
            await session.send(.watch((0..<500).map { _ in UserID.make() }), id: 3)
            _ = try await session.answer(to: 3).get()
        }
    }
}

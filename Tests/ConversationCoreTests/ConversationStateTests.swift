import RoostModel
import Testing

@testable import ConversationCore

@Suite struct ConversationStateTests {
    @Test func aBatchTakesDenseNumbersAndAnswersAfterTheCommit() throws {
        var state = ConversationState(snapshot(head: 4))
        let step = state.decide([send(1, "a"), send(2, "b", from: bob), send(3, "c")], now: noon)
        #expect(step.replies.isEmpty && step.events.isEmpty)
        let request = try #require(step.commit)
        #expect(request.messages == [message(5, "a"), message(6, "b", from: bob), message(7, "c")])
        #expect(request.marksActive)
        #expect(!state.isFree)
        #expect(state.head == Seq(4))
        let done = state.committed()
        #expect(done.replies == zip(1..., request.messages).map { stored($0, $1, isNew: true) })
        #expect(done.events == request.messages.map { .message($0, nil) })
        #expect(state.head == Seq(7))
        #expect(state.isFree)
    }

    @Test func strangersLearnNothing() throws {
        var state = ConversationState(snapshot(head: 4))
        let step = state.decide(
            [send(1, "a", from: stranger), read(2, 1, by: stranger), delivered(3, 1, by: stranger)], now: noon)
        #expect(step.replies == [failure(1, .notFound), failure(2, .notFound), failure(3, .notFound)])
        #expect(step.next == .nothing)
        #expect(throws: RoostError(.notFound)) { try state.typingRecipients(of: stranger) }
        #expect(try state.typingRecipients(of: alice) == [bob])
        #expect(!state.isMember(stranger))
    }

    @Test func aReadOnlyConversationStillMovesPositions() throws {
        var state = ConversationState(snapshot(head: 4, isReadOnly: true))
        // What is refused now may have been sent before.
        #expect(state.decide([send(1, "a"), read(2, 3)], now: noon).next == .lookUp(Lookup(keys: [key("a")])))
        let step = state.lookedUp(Findings(), now: noon)
        #expect(step.replies == [failure(1, .readOnly)])
        #expect(try #require(step.commit).positions.map(\.readSeq) == [Seq(3)])
    }

    @Test func timeNeverRunsBackwards() throws {
        var state = ConversationState(snapshot(head: 1, lastMessageAt: noon + .seconds(60)))
        let request = try #require(state.decide([send(1, "a")], now: noon).commit)
        #expect(request.messages[0].createdAt == noon + .seconds(60))
        _ = state.committed()
        #expect(
            try #require(state.decide([send(2, "b")], now: noon + .seconds(61)).commit).messages[0].createdAt == noon
                + .seconds(61))
    }

    // MARK: Positions

    @Test func positionsCoalesceToTheMaximumAndAreCutToTheCounter() throws {
        var state = ConversationState(snapshot(head: 10))
        let step = state.decide([delivered(1, 7), read(2, 5), read(3, 3), read(4, .max, by: alice)], now: noon)
        let request = try #require(step.commit)
        #expect(
            request.positions == [
                PositionChange(userID: bob, readSeq: Seq(5), deliveredSeq: Seq(7), at: noon),
                PositionChange(userID: alice, readSeq: Seq(10), deliveredSeq: Seq(10), at: noon),
            ])
        #expect(!request.marksActive)
        let done = state.committed()
        #expect(
            done.replies == [
                position(1, read: 5, delivered: 7), position(2, read: 5, delivered: 7), position(3, read: 5, delivered: 7),
                position(4, read: 10, delivered: 10),
            ])
        #expect(done.events.count == 2)
    }

    @Test func aPositionThatIsNoNewsIsNotWritten() {
        var state = ConversationState(snapshot(head: 10, members: [member(alice), member(bob, read: 5, delivered: 8)]))
        let step = state.decide([read(1, 5), read(2, 3), delivered(3, 8)], now: noon)
        #expect(step.next == .nothing)
        #expect(step.events.isEmpty)
        #expect(
            step.replies == [
                position(1, read: 5, delivered: 8), position(2, read: 5, delivered: 8), position(3, read: 5, delivered: 8),
            ])
    }

    private func receipt(_ state: inout ConversationState, _ command: ConversationCommand) throws -> ConversationEvent.Receipt {
        _ = state.decide([command], now: noon)
        let events = state.committed().events
        guard case .receipt(let receipt) = try #require(events.first), events.count == 1 else { throw Unexpected() }
        return receipt
    }

    private struct Unexpected: Error {}

    @Test func receiptsReachAllWhereBothShare() throws {
        var state = ConversationState(snapshot(head: 10))
        let receipt = try receipt(&state, read(1, 4))
        #expect(receipt.recipients == [alice, bob])
        #expect(receipt.recipientsWithoutRead == [])
        #expect(receipt.readSeq == Seq(4))
    }

    @Test(arguments: [(true, false), (false, true), (false, false)])
    func readPositionsAreHiddenWhereOneSideDoesNotShare(_ reader: Bool, _ other: Bool) throws {
        var state = ConversationState(snapshot(head: 10, members: [member(alice, shares: other), member(bob, shares: reader)]))
        let first = try receipt(&state, delivered(1, 4))
        #expect(first.recipients == [bob])
        #expect(first.recipientsWithoutRead == [alice])
        let second = try receipt(&state, read(2, 4))
        #expect(second.recipients == [bob])
        #expect(second.recipientsWithoutRead == [])
    }

    @Test func aChangedSettingCountsFromThenOn() throws {
        var state = ConversationState(snapshot(head: 10))
        state.setSharesReadReceipts(false, for: alice)
        #expect(try receipt(&state, read(1, 4)).recipients == [bob])
    }

    // MARK: Repetitions

    @Test func aRepetitionInTheSameBatchWaitsForTheFirst() throws {
        var state = ConversationState(snapshot())
        let request = try #require(
            state.decide([send(1, "a"), send(2, "a"), send(3, "a", "other"), send(4, "a", from: bob)], now: noon).commit)
        #expect(request.messages == [message(1, "a"), message(2, "a", from: bob)])
        #expect(
            state.committed().replies == [
                stored(1, message(1, "a"), isNew: true), stored(2, message(1, "a"), isNew: false), failure(3, .clientIdReused),
                stored(4, message(2, "a", from: bob), isNew: true),
            ])
    }

    @Test(arguments: [true, false])
    func whatWouldBeRefusedNowMayHaveBeenSentBefore(_ isReadOnly: Bool) throws {
        var state = ConversationState(snapshot(isReadOnly: isReadOnly))
        let content = MessageContent(text: "hi", mentions: isReadOnly ? [] : [stranger])
        func again(_ token: UInt64) -> ConversationCommand {
            .send(
                SendCommand(
                    token: ReplyToken(token), senderID: alice, clientID: "a", fingerprint: fingerprint("hi"),
                    content: .success(content)))
        }
        #expect(state.decide([again(1)], now: noon).next == .lookUp(Lookup(keys: [key("a")])))
        let found = state.lookedUp(Findings(messages: [key("a"): message(1, "a")]), now: noon)
        #expect(found.replies == [stored(1, message(1, "a"), isNew: false)])
        _ = state.decide([again(2)], now: noon)
        let error: RoostError = isReadOnly ? RoostError(.readOnly) : .invalid("mentions", .unknown)
        #expect(
            state.lookedUp(Findings(), now: noon).replies
                == [ConversationReply(token: ReplyToken(2), outcome: .failed(error))])
    }

    @Test func aRecentRepetitionIsLookedUpBeforeAnythingElse() throws {
        var state = ConversationState(snapshot())
        _ = state.decide([send(1, "a")], now: noon)
        _ = state.committed()
        let step = state.decide([send(2, "b"), send(3, "a"), send(4, "a", "other"), send(5, "c")], now: noon)
        #expect(step.next == .lookUp(.keys(key("a"))))
        #expect(!state.isFree)
        let found = state.lookedUp(.messages(message(1, "a")), now: noon)
        #expect(found.replies == [stored(3, message(1, "a"), isNew: false), failure(4, .clientIdReused)])
        #expect(found.events.isEmpty)
        #expect(try #require(found.commit).messages == [message(2, "b"), message(3, "c")])
    }

    @Test func aFalseAlarmIsAppendedInItsOldPlace() throws {
        var state = ConversationState(snapshot())
        _ = state.decide([send(1, "a")], now: noon)
        _ = state.committed()
        _ = state.decide([send(2, "a"), send(3, "b")], now: noon)
        #expect(try #require(state.lookedUp(Findings(), now: noon).commit).messages == [message(2, "a"), message(3, "b")])
    }

    @Test func anEditedOrDeletedOriginalAnswersAsItIsNow() {
        var state = ConversationState(snapshot())
        _ = state.decide([send(1, "a")], now: noon)
        _ = state.conflicted()
        var edited = message(1, "a")
        edited.text = "something else"
        edited.editedAt = noon
        #expect(
            state.recovered(snapshot(head: 1), .messages(edited), now: noon).replies == [stored(1, edited, isNew: true)])
    }

    // MARK: Conflicts and lost answers

    @Test func afterAConflictTheRestIsDecidedAnewInOrder() throws {
        var state = ConversationState(snapshot())
        _ = state.decide([send(1, "a"), read(2, 0), send(3, "b"), send(4, "a")], now: noon)
        let conflict = state.conflicted()
        #expect(conflict.next == .recover(.keys(key("a"), key("b"))))
        #expect(conflict.replies.isEmpty)
        #expect(state.conflictsInARow == 1)
        let step = state.recovered(snapshot(head: 3), now: noon)
        #expect(step.missed == Seq(1)...Seq(3))
        #expect(try #require(step.commit).messages == [message(4, "a"), message(5, "b")])
        #expect(state.committed().replies.map(\.token.value) == [1, 3, 4])
        #expect(state.conflictsInARow == 0)
    }

    @Test func whatIsFoundAfterALostAnswerIsAnsweredAndFannedOut() throws {
        var state = ConversationState(snapshot())
        _ = state.decide([send(1, "a"), send(2, "b"), read(3, 0)], now: noon)
        _ = state.conflicted()
        let step = state.recovered(snapshot(head: 2), .messages(message(2, "b"), message(1, "a")), now: noon)
        #expect(step.replies == [stored(1, message(1, "a"), isNew: true), stored(2, message(2, "b"), isNew: true)])
        #expect(step.events == [.message(message(1, "a"), nil), .message(message(2, "b"), nil)])
        #expect(step.missed == Seq(1)...Seq(2))
        #expect(step.next == .nothing)
        #expect(state.head == Seq(2))
        #expect(state.isFree)
    }

    @Test func aPositionStoredByALostWriteIsStillNews() {
        var state = ConversationState(snapshot(head: 5))
        _ = state.decide([read(1, 4)], now: noon)
        _ = state.conflicted()
        let step = state.recovered(
            snapshot(head: 5, members: [member(alice), member(bob, read: 4, delivered: 4)]), now: noon)
        #expect(step.replies == [position(1, read: 4, delivered: 4)])
        #expect(step.missed == nil)
        #expect(
            step.events == [
                .receipt(
                    .init(
                        userID: bob, readSeq: Seq(4), deliveredSeq: Seq(4), recipients: [alice, bob], recipientsWithoutRead: []))
            ])
        #expect(step.next == .nothing)
    }

    @Test func anOldMessageFoundAfterAConflictIsNotAnnouncedAgain() {
        var state = ConversationState(snapshot(head: 9))
        _ = state.decide([send(1, "old")], now: noon)
        _ = state.conflicted()
        let step = state.recovered(snapshot(head: 9), .messages(message(3, "old")), now: noon)
        #expect(step.replies == [stored(1, message(3, "old"), isNew: false)])
        #expect(step.events.isEmpty && step.missed == nil)
    }

    @Test func aConversationThatIsGoneAnswersNotFound() {
        var state = ConversationState(snapshot())
        _ = state.decide([send(1, "a"), send(2, "b")], now: noon)
        _ = state.conflicted()
        let step = state.recovered(nil, now: noon)
        #expect(step.replies == [failure(1, .notFound), failure(2, .notFound)])
        #expect(step.next == .nothing)
    }

    @Test func aCertainFailureLeavesAllAsItWas() throws {
        var state = ConversationState(snapshot(head: 3))
        _ = state.decide([send(1, "a"), read(2, 3)], now: noon)
        #expect(state.failed(.unavailable).replies == [failure(1, .unavailable), failure(2, .unavailable)])
        #expect(try #require(state.decide([send(3, "a")], now: noon).commit).messages == [message(4, "a")])
    }

    @Test func afterAnUncertainFailureTheSnapshotIsReadFirst() throws {
        var state = ConversationState(snapshot())
        _ = state.decide([send(1, "a")], now: noon)
        #expect(state.failed(.unavailable, outcomeUnknown: true).replies == [failure(1, .unavailable)])
        #expect(state.isFree)
        #expect(state.beginSettling() == nil)
        #expect(state.decide([send(2, "b")], now: noon).next == .recover(.keys(key("b"))))
        #expect(state.failed(.unavailable).replies == [failure(2, .unavailable)])
        #expect(state.decide([], now: noon).next == .recover(Lookup()))
        let step = state.recovered(snapshot(head: 1), now: noon)
        #expect(step.missed == Seq(1)...Seq(1))
        #expect(step.next == .nothing)
        #expect(state.failed(.unavailable) == ConversationStep())
    }

    @Test func aFailedLookUpFailsTheBatchOnly() {
        var state = ConversationState(snapshot())
        _ = state.decide([send(1, "a")], now: noon)
        _ = state.committed()
        _ = state.decide([send(2, "a")], now: noon)
        #expect(state.failed(.unavailable).replies == [failure(2, .unavailable)])
        #expect(state.decide([send(3, "b")], now: noon).commit?.messages == [message(2, "b")])
    }

    // MARK: The dirty mark

    @Test func theMarkIsSetOnceAndClearedByItsHead() throws {
        var state = ConversationState(snapshot(isActive: false))
        #expect(state.beginSettling() == nil)
        _ = state.decide([send(1, "a")], now: noon)
        #expect(state.beginSettling() == nil)
        _ = state.committed()
        #expect(state.decide([send(2, "b")], now: noon).commit?.marksActive == false)
        _ = state.committed()
        #expect(state.beginSettling() == SettleEntry(conversationID: conversation, head: Seq(2), lastActivityAt: noon))
        #expect(state.beginSettling() == nil)
        // Whether or not the settling has reached the store: the next message marks again.
        #expect(state.decide([send(3, "c")], now: noon).commit?.marksActive == true)
    }

    @Test func aMarkThatWasFoundIsNotRelied() {
        var state = ConversationState(snapshot(head: 1, isActive: true, lastMessageAt: noon))
        #expect(state.decide([send(1, "a")], now: noon).commit?.marksActive == true)
    }

    @Test func theRingForgetsTheOldest() {
        var recent = RecentClientIDs()
        for index in 0..<40 { recent.insert(sender: alice, clientID: "c\(index)") }
        #expect((24..<40).allSatisfy { recent.mayContain(sender: alice, clientID: "c\($0)") })
        #expect(!(0..<24).contains { recent.mayContain(sender: alice, clientID: "c\($0)") })
        #expect(!recent.mayContain(sender: bob, clientID: "c39"))
    }

    @Test func aQuietConversationIsSmall() { #expect(MemoryLayout<ConversationState>.size <= 192) }
}

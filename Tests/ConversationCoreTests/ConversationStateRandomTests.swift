import RoostModel
import Testing

@testable import ConversationCore

/// Random commands against a store that conflicts, loses answers, is away and has a rival owner. Whatever happens: numbers are
/// dense, nothing answered is lost or stored twice, a sender's order holds, and everyone gets exactly one answer.
@Suite struct ConversationStateRandomTests {
    /// What PostgreSQL does for one conversation.
    private struct Store {
        var messages: [Message] = []
        var positions: [UserID: (read: Seq, delivered: Seq)] = [:]

        var head: Seq { Seq(Int64(messages.count)) }

        func find(_ key: MessageKey) -> Message? {
            messages.first { $0.senderID == key.senderID && $0.clientID == key.clientID }
        }

        func find(_ lookup: Lookup) -> Findings {
            var findings = Findings()
            for key in lookup.keys { findings.messages[key] = find(key) }
            return findings
        }

        /// The two unique indexes.
        mutating func commit(_ request: CommitRequest) -> Bool {
            var expected = head
            for message in request.messages {
                expected = expected.next
                let taken = find(key(message.clientID, message.senderID)) != nil
                guard message.seq == expected, !taken else { return false }
            }
            messages += request.messages
            for change in request.positions {
                let old = positions[change.userID] ?? (.zero, .zero)
                positions[change.userID] = (max(old.read, change.readSeq), max(old.delivered, change.deliveredSeq))
            }
            return true
        }

        var snapshot: ConversationSnapshot {
            let members = [alice, bob].map { id in
                member(id, read: positions[id]?.read.value ?? 0, delivered: positions[id]?.delivered.value ?? 0)
            }
            return ConversationCoreTests.snapshot(head: head.value, members: members, lastMessageAt: messages.last?.createdAt)
        }
    }

    private enum Fate: CaseIterable { case fine, fineAgain, fineOnceMore, lostAnswer, lostCommit, away, rival, givesUp }

    @Test(arguments: 1...60 as ClosedRange<UInt64>) func invariantsHold(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var store = Store()
        var state = ConversationState(store.snapshot)
        var asked: [UInt64: SendCommand] = [:]
        var answers: [UInt64: ConversationReply.Outcome] = [:]
        var announced: Set<Seq> = []
        var token: UInt64 = 0
        var commandTokens: Set<UInt64> = []
        var clock = noon
        var rivals = 0

        func note(_ step: ConversationStep) {
            for reply in step.replies {
                #expect(answers.updateValue(reply.outcome, forKey: reply.token.value) == nil, "two answers")
            }
            for case .message(let message, _) in step.events {
                #expect(store.messages.contains(message), "announced before it was stored")
                announced.insert(message.seq)
            }
            if let missed = step.missed {
                for value in missed.lowerBound.value...missed.upperBound.value { announced.insert(Seq(value)) }
            }
        }

        func rivalCommits() {
            rivals += 1
            var request = CommitRequest()
            request.messages = [
                message(store.head.value + 1, "rival-\(rivals)", from: bob, at: store.messages.last?.createdAt ?? noon)
            ]
            let stored = store.commit(request)
            #expect(stored)
        }

        for _ in 0..<80 {
            clock = clock + .milliseconds(Int.random(in: -500...1000, using: &random))
            var commands: [ConversationCommand] = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                token += 1
                let user = Bool.random(using: &random) ? alice : bob
                switch Int.random(in: 0..<10, using: &random) {
                case 0: commands.append(read(token, Int64.random(in: 0...store.head.value + 3, using: &random), by: user))
                case 1: commands.append(delivered(token, Int64.random(in: 0...store.head.value + 3, using: &random), by: user))
                case 2: commands.append(send(token, "x", from: stranger))
                case 3, 4:
                    // A repetition of an earlier send, sometimes with another body.
                    guard let earlier = asked.values.sorted(by: { $0.token.value < $1.token.value }).randomElement(using: &random)
                    else { continue }
                    let text = Int.random(in: 0..<4, using: &random) == 0 ? "other" : text(of: earlier)
                    commands.append(send(token, earlier.clientID, text, from: earlier.senderID))
                default: commands.append(send(token, "c\(token)", "text \(token)", from: user))
                }
            }
            commandTokens.formUnion(commands.map(\.token.value))
            for case .send(let send) in commands { asked[send.token.value] = send }
            if Int.random(in: 0..<12, using: &random) == 0 { rivalCommits() }
            var step = state.decide(commands, now: clock)
            note(step)
            while step.next != .nothing {
                let fate = Fate.allCases.randomElement(using: &random)!
                switch step.next {
                case .nothing: break
                case .lookUp(let lookup):
                    if fate == .away {
                        step = state.failed(.unavailable)
                    } else {
                        step = state.lookedUp(store.find(lookup), now: clock)
                    }
                case .recover(let lookup):
                    if fate == .away {
                        step = state.failed(.unavailable)
                    } else {
                        let snapshot = store.snapshot
                        if fate == .rival { rivalCommits() }
                        step = state.recovered(snapshot, store.find(lookup), now: clock)
                    }
                case .commit(let request):
                    switch fate {
                    case .fine, .fineAgain, .fineOnceMore: step = store.commit(request) ? state.committed() : state.conflicted()
                    case .lostAnswer:
                        _ = store.commit(request)
                        step = state.conflicted()
                    case .lostCommit: step = state.conflicted()
                    case .away: step = state.failed(.unavailable)
                    case .rival:
                        rivalCommits()
                        step = store.commit(request) ? state.committed() : state.conflicted()
                    case .givesUp:
                        _ = store.commit(request)
                        step = state.failed(.unavailable, outcomeUnknown: true)
                    }
                }
                note(step)
            }
            #expect(state.isFree)
        }
        // The last recovery: nothing may stay unannounced.
        var step = state.decide([], now: clock)
        while step.next != .nothing {
            step = state.recovered(store.snapshot, now: clock)
            note(step)
        }

        #expect(Set(answers.keys) == commandTokens)
        #expect(store.messages.map(\.seq.value) == Array(1...Int64(store.messages.count)))
        #expect(Set(store.messages.map { key($0.clientID, $0.senderID) }).count == store.messages.count)
        #expect(zip(store.messages, store.messages.dropFirst()).allSatisfy { $0.createdAt <= $1.createdAt })
        #expect(announced.count >= store.messages.count - rivals)
        for (token, send) in asked {
            switch try #require(answers[token]) {
            case .message(let message, _):
                #expect(store.messages.contains(message))
                #expect(message.text == text(of: send) && message.clientID == send.clientID && message.senderID == send.senderID)
            case .failed(let error):
                let expected: [ErrorCode] =
                    send.senderID == stranger ? [.notFound, .unavailable] : [.unavailable, .clientIdReused]
                #expect(expected.contains(error.code))
            case .done: Issue.record("nobody asked for anything like this")
            case .position: Issue.record("a send was answered with a position")
            }
        }
        // A sender's messages stand in the order in which they were first asked for, except where that was answered as failed.
        for sender in [alice, bob] {
            var seen: Set<String> = []
            let inOrder = asked.values.filter { $0.senderID == sender }.sorted { $0.token.value < $1.token.value }.compactMap {
                send -> Seq? in
                guard seen.insert(send.clientID).inserted, case .message(let message, _)? = answers[send.token.value] else {
                    return nil
                }
                return message.seq
            }
            #expect(inOrder == inOrder.sorted())
            #expect(!inOrder.isEmpty)
        }
    }
}

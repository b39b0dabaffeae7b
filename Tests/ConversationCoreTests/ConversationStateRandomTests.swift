import RoostModel
import TestSupport
import Testing

@testable import ConversationCore

/// Random commands against a store that conflicts, loses answers, is away and has a rival owner. Whatever happens: numbers are
/// dense, nothing answered is lost or stored twice, a sender's order holds, and everyone gets exactly one answer.
@Suite struct ConversationStateRandomTests {
    @Test(arguments: 1...60 as ClosedRange<UInt64>) func aDirectConversation(seed: UInt64) throws {
        var run = RandomRun(seed: seed, store: StoredConversation(kind: .direct, members: [member(alice), member(bob)]))
        try run.go(rounds: 80) { $0.isMessage }
        try run.checkAnswers()
    }

    @Test(arguments: 1...60 as ClosedRange<UInt64>, [HistorySetting.full, .sinceJoined])
    func aGroup(seed: UInt64, history: HistorySetting) throws {
        var run = RandomRun(
            seed: seed,
            store: StoredConversation(kind: .group, members: [member(alice, role: .admin), member(bob)], history: history))
        try run.go(rounds: 80) { _ in true }
        try run.checkAnswers()
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>) func aChannel(seed: UInt64) throws {
        var run = RandomRun(
            seed: seed, store: StoredConversation(kind: .channel, members: [member(alice, role: .admin)]))
        try run.go(rounds: 80) { _ in true }
        try run.checkAnswers()
    }
}

extension ConversationAction {
    /// Whether it is about a message, and not about the conversation.
    fileprivate var isMessage: Bool {
        switch self {
        case .edit, .deleteForEveryone, .hide, .react, .unreact: true
        case .addMembers, .join, .removeMember, .setRole, .update, .delete, .refresh: false
        }
    }
}

/// One conversation's life.
private struct RandomRun {
    private enum Fate: CaseIterable { case fine, fineAgain, fineOnceMore, lostAnswer, lostCommit, away, rival, givesUp }

    static let people = (10..<16).map { UserID(high: 1, low: $0) }
    static let rules = ConversationRules(deleteWindow: .seconds(30), groupMembers: 4, channelMembers: 5, reactions: 3)

    var random: SeededRandom
    var store: StoredConversation
    var state: ConversationState
    var clock = noon
    var token: UInt64 = 0
    var rivals = 0
    var commands: [UInt64: ConversationCommand] = [:]
    var answers: [UInt64: ConversationReply.Outcome] = [:]
    /// Values of the counter that the world was told of.
    var announced: Set<Seq> = []
    /// Whether the state knows of everything that was written.
    var isCurrent = true

    init(seed: UInt64, store: StoredConversation) {
        random = SeededRandom(seed: seed)
        self.store = store
        state = ConversationState(store.snapshot!, rules: Self.rules)
    }

    mutating func go(rounds: Int, where isWanted: (ConversationAction) -> Bool) throws {
        for _ in 0..<rounds where !store.isDeleted {
            clock = clock + .milliseconds(Int.random(in: -500...1000, using: &random))
            var batch: [ConversationCommand] = []
            for _ in 0..<Int.random(in: 1...7, using: &random) {
                token += 1
                batch.append(command(isWanted))
            }
            for command in batch { commands[command.token.value] = command }
            if Int.random(in: 0..<12, using: &random) == 0 { rivalCommits() }
            var step = state.decide(batch, now: clock)
            note(step)
            while step.next != .nothing { step = answer(step.next) }
            #expect(state.isFree)
            if isCurrent, !store.isDeleted { checkFacts() }
        }
        // The last recovery: nothing may stay unannounced.
        var step = state.decide([.act(ActionCommand(token: ReplyToken(0), userID: alice, action: .refresh))], now: clock)
        note(step)
        while case .recover(let lookup) = step.next {
            step = state.recovered(store.snapshot, store.findings(lookup), now: clock)
            note(step)
        }
        if !store.isDeleted {
            checkFacts()
            #expect(announced == Set((0..<store.head.value).map { Seq($0 + 1) }))
        }
    }

    private mutating func answer(_ next: ConversationStep.Next) -> ConversationStep {
        let fate = Fate.allCases.randomElement(using: &random)!
        let step: ConversationStep
        switch next {
        case .nothing: preconditionFailure("there is nothing to answer")
        case .lookUp(let lookup):
            step = fate == .away ? state.failed(.unavailable) : state.lookedUp(store.findings(lookup), now: clock)
        case .recover(let lookup):
            if fate == .away {
                step = state.failed(.unavailable)
            } else {
                let snapshot = store.snapshot
                if fate == .rival { rivalCommits() } else { isCurrent = true }
                step = state.recovered(snapshot, store.findings(lookup), now: clock)
            }
        case .commit(let request):
            let (before, head) = (store, state.head)
            switch fate {
            case .fine, .fineAgain, .fineOnceMore, .rival:
                if fate == .rival { rivalCommits() }
                if store.commit(request) {
                    step = state.committed()
                    checkEvents(step, from: head, before)
                } else {
                    isCurrent = false
                    step = state.conflicted()
                }
            case .lostAnswer:
                if store.commit(request) { isCurrent = false }
                step = state.conflicted()
            case .lostCommit: step = state.conflicted()
            case .away: step = state.failed(.unavailable)
            case .givesUp:
                if store.commit(request) { isCurrent = false }
                step = state.failed(.unavailable, outcomeUnknown: true)
            }
        }
        note(step)
        return step
    }

    private mutating func note(_ step: ConversationStep) {
        for reply in step.replies {
            #expect(answers.updateValue(reply.outcome, forKey: reply.token.value) == nil, "two answers")
        }
        for case .message(let message, _) in step.events { announced.insert(message.changeSeq) }
        if let missed = step.missed {
            for value in missed.lowerBound.value...missed.upperBound.value { announced.insert(Seq(value)) }
        }
    }

    private mutating func rivalCommits() {
        guard !store.isDeleted else { return }
        rivals += 1
        isCurrent = false
        var request = CommitRequest()
        request.messages = [
            message(store.head.value + 1, "rival-\(rivals)", from: bob, at: store.messages.last?.createdAt ?? noon)
        ]
        let stored = store.commit(request)
        #expect(stored)
    }

    // MARK: Commands

    private mutating func command(_ isWanted: (ConversationAction) -> Bool) -> ConversationCommand {
        let user = Self.people.prefix(store.kind == .direct ? 3 : 6).randomElement(using: &random)!
        switch Int.random(in: 0..<20, using: &random) {
        case 0: return read(token, Int64.random(in: 0...store.head.value + 3, using: &random), by: user)
        case 1: return delivered(token, Int64.random(in: 0...store.head.value + 3, using: &random), by: user)
        case 2, 3: return repetition() ?? sending(user)
        case 4..<9: return sending(user)
        default:
            let action = action(of: user)
            return isWanted(action)
                ? .act(ActionCommand(token: ReplyToken(token), userID: user, action: action)) : sending(user)
        }
    }

    private mutating func sending(_ user: UserID) -> ConversationCommand {
        var content = MessageContent(text: "text \(token)")
        if Int.random(in: 0..<3, using: &random) == 0 { content.replyTo = anySeq() }
        if Int.random(in: 0..<3, using: &random) == 0 { content.mentions = [Self.people.randomElement(using: &random)!] }
        return send(token, "c\(token)", content, from: user)
    }

    /// Of an earlier send, sometimes with another body.
    private mutating func repetition() -> ConversationCommand? {
        let sends = commands.values.compactMap { if case .send(let send) = $0 { send } else { nil } }
            .sorted { $0.token.value < $1.token.value }
        guard let earlier = sends.randomElement(using: &random), case .success(var content) = earlier.content else { return nil }
        if Int.random(in: 0..<4, using: &random) == 0 { content.text = "other" }
        return send(token, earlier.clientID, content, from: earlier.senderID)
    }

    private mutating func anySeq() -> Seq { Seq(Int64.random(in: 0...store.head.value + 1, using: &random)) }

    private mutating func action(of user: UserID) -> ConversationAction {
        let other = Self.people.randomElement(using: &random)!
        let emoji = ["👍", "❤️", "🚀", "🐓"].randomElement(using: &random)!
        return switch Int.random(in: 0..<40, using: &random) {
        case 0..<6: .edit(anySeq(), text: Bool.random(using: &random) ? "edited \(token)" : "same")
        case 6..<10: .deleteForEveryone(anySeq())
        case 10..<13: .hide(anySeq())
        case 13..<20: .react(anySeq(), emoji: emoji)
        case 20..<24: .unreact(anySeq(), emoji: emoji)
        case 24..<27: .addMembers(Array(Self.people.shuffled(using: &random).prefix(2)))
        case 27..<29: .join
        case 29..<32: .removeMember(Bool.random(using: &random) ? user : other)
        case 32..<35: .setRole(other, Bool.random(using: &random) ? .admin : .member)
        case 35..<37: .update(ConversationUpdate(title: "Title \(token % 3)", about: .some(token % 2 == 0 ? nil : "About")))
        case 37: .update(ConversationUpdate(history: Bool.random(using: &random) ? .full : .sinceJoined))
        case 38: Int.random(in: 0..<20, using: &random) == 0 ? .delete : .refresh
        default: .refresh
        }
    }

    // MARK: Checks

    /// What is known is what is stored, and what is stored is allowed.
    private func checkFacts() {
        let stored = ConversationFacts(store.snapshot!)
        #expect(state.head == stored.head && state.memberIDs == stored.members.ids)
        #expect(state.facts.title == stored.title && state.facts.about == stored.about && state.facts.history == stored.history)
        for (known, there) in zip(state.facts.members.entries, stored.members.entries) {
            #expect(known.role == there.role && known.sinceSeq == there.sinceSeq && known.joinedAt == there.joinedAt)
            #expect(known.readSeq == there.readSeq && known.deliveredSeq == there.deliveredSeq)
            #expect(there.readSeq <= stored.head && there.deliveredSeq >= there.readSeq)
        }
        #expect(store.kind == .direct || stored.members.hasAdmin)
        #expect(!stored.members.entries.isEmpty && stored.members.count <= Self.rules.memberLimit(of: store.kind))
        #expect(store.messages.allSatisfy { $0.reactions.count <= Self.rules.reactions })
        #expect(Set(store.messages.map(\.seq)).count == store.messages.count)
    }

    /// What is told of a commit: every value once and in order, and to each no more than they may see.
    private func checkEvents(_ step: ConversationStep, from head: Seq, _ before: StoredConversation) {
        guard !store.isDeleted else { return }
        var told: [Message] = []
        for case .message(let message, let audience) in step.events {
            told.append(message)
            guard let audience else {
                #expect(message.changeSeq == message.seq && message.replyTo == nil)
                // Some may have hidden it a moment later.
                #expect(store.members.allSatisfy { store.history == .full || $0.sinceSeq <= message.seq })
                continue
            }
            let all = audience.whole + audience.withoutQuote + audience.blank
            #expect(Set(all).count == all.count)
            // Of those who neither came nor went meanwhile, under a setting that stayed.
            guard before.history == store.history else { continue }
            for user in before.memberIDs {
                let (old, new) = (before.joining(of: user), store.joining(of: user))
                guard old == new else { continue }
                #expect(all.contains(user))
                let isOld = message.seq <= head
                if isOld, !before.sees(user, message.seq) { #expect(audience.blank.contains(user)) }
                if store.sees(user, message.seq) { #expect(!audience.blank.contains(user)) }
                if let quote = message.replyTo, quote.seq <= head, !before.sees(user, quote.seq) {
                    #expect(!audience.whole.contains(user))
                }
            }
        }
        #expect(told.map(\.changeSeq.value) == Array(head.value + 1..<state.head.value + 1))
    }

    mutating func checkAnswers() throws {
        answers[0] = nil
        #expect(Set(answers.keys) == Set(commands.keys))
        guard !store.isDeleted else { return }
        for (token, command) in commands {
            let outcome = try #require(answers[token])
            guard case .send(let send) = command, case .message(let message, _) = outcome else { continue }
            let stored = try #require(store.message(message.seq))
            #expect(stored.senderID == send.senderID && stored.clientID == send.clientID)
            #expect(stored.createdAt == message.createdAt && stored.changeSeq >= message.changeSeq)
            if stored.changeSeq == stored.seq { #expect(try stored.text == send.content.get().text) }
        }
        let sent = store.messages.filter { !$0.clientID.isEmpty }
        #expect(Set(sent.map { key($0.clientID, $0.senderID) }).count == sent.count)
        // A sender's messages stand in the order in which they were first asked for, except where that was answered as failed.
        for sender in Self.people {
            var seen: Set<String> = []
            let inOrder = commands.sorted { $0.key < $1.key }.compactMap { token, command -> Seq? in
                guard case .send(let send) = command, send.senderID == sender, seen.insert(send.clientID).inserted,
                    case .message(let message, _)? = answers[token]
                else { return nil }
                return message.seq
            }
            #expect(inOrder == inOrder.sorted())
        }
    }
}

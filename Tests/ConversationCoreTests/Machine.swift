import RoostModel
import Testing

@testable import ConversationCore

let carol = UserID(high: 1, low: 12)
let dave = UserID(high: 1, low: 13)

func act(_ token: UInt64, _ action: ConversationAction, by user: UserID = alice) -> ConversationCommand {
    .act(ActionCommand(token: ReplyToken(token), userID: user, action: action))
}

func done(_ token: UInt64) -> ConversationReply { ConversationReply(token: ReplyToken(token), outcome: .done) }

func refusal(_ token: UInt64, _ error: RoostError) -> ConversationReply {
    ConversationReply(token: ReplyToken(token), outcome: .failed(error))
}

func audience(
    whole: [UserID] = [], withoutQuote: [UserID] = [], blank: [UserID] = []
) -> ConversationEvent.Audience {
    var audience = ConversationEvent.Audience()
    (audience.whole, audience.withoutQuote, audience.blank) = (whole, withoutQuote, blank)
    return audience
}

/// A conversation with a store that does what it is asked.
struct Machine {
    var state: ConversationState
    var store: StoredConversation
    let rules: ConversationRules
    var now = noon

    init(_ store: StoredConversation, rules: ConversationRules = ConversationRules()) {
        self.store = store
        self.rules = rules
        state = ConversationState(store.snapshot!, rules: rules)
    }

    /// A group that Alice made; the others are plain members.
    static func group(
        _ others: UserID..., history: HistorySetting = .full, rules: ConversationRules = ConversationRules()
    ) -> Machine {
        Machine(
            StoredConversation(
                kind: .group, members: [member(alice, role: .admin)] + others.map { member($0) }, history: history),
            rules: rules)
    }

    static func channel(_ members: ConversationSnapshot.Member..., rules: ConversationRules = ConversationRules()) -> Machine {
        Machine(StoredConversation(kind: .channel, members: members), rules: rules)
    }

    static func direct() -> Machine {
        Machine(StoredConversation(kind: .direct, members: [member(alice), member(bob)]))
    }

    struct Outcome {
        var replies: [ConversationReply] = []
        var events: [ConversationEvent] = []
        var requests: [CommitRequest] = []

        /// In order.
        var messages: [Message] { events.compactMap { if case .message(let message, _) = $0 { message } else { nil } } }
        var values: [Int64] { messages.map(\.changeSeq.value) }
        var audiences: [ConversationEvent.Audience?] {
            events.compactMap { if case .message(_, let audience) = $0 { .some(audience) } else { nil } }
        }
        var others: [ConversationEvent] { events.filter { if case .message = $0 { false } else { true } } }
    }

    @discardableResult
    mutating func run(_ commands: ConversationCommand...) -> Outcome { run(commands) }

    /// One batch, to its end.
    @discardableResult
    mutating func run(_ commands: [ConversationCommand]) -> Outcome {
        var outcome = Outcome()
        take(state.decide(commands, now: now), &outcome)
        return outcome
    }

    /// One batch that is stored, but whose answer is lost; then it is found again.
    mutating func runWithLostAnswer(_ commands: ConversationCommand...) -> Outcome {
        var outcome = Outcome()
        var step = state.decide(commands, now: now)
        if case .lookUp(let lookup) = step.next { step = state.lookedUp(store.findings(lookup), now: now) }
        if let request = step.commit {
            let isStored = store.commit(request)
            #expect(isStored)
            step = state.conflicted()
        }
        take(step, &outcome)
        return outcome
    }

    mutating func take(_ first: ConversationStep, _ outcome: inout Outcome) {
        var step = first
        while true {
            outcome.replies += step.replies
            outcome.events += step.events
            switch step.next {
            case .nothing: return
            case .lookUp(let lookup): step = state.lookedUp(store.findings(lookup), now: now)
            case .recover(let lookup): step = state.recovered(store.snapshot, store.findings(lookup), now: now)
            case .commit(let request):
                outcome.requests.append(request)
                let isStored = store.commit(request)
                step = isStored ? state.committed() : state.conflicted()
            }
        }
    }

    /// Sends a plain text and answers its number.
    @discardableResult
    mutating func say(_ text: String = "hi", by user: UserID = alice, replyTo: Seq? = nil) -> Seq {
        let token = UInt64.random(in: 1_000...UInt64.max)
        let outcome = run(send(token, "c\(token)", MessageContent(text: text, replyTo: replyTo), from: user))
        guard case .message(let message, _)? = outcome.replies.first?.outcome else {
            Issue.record("not sent: \(outcome.replies)")
            return .zero
        }
        return message.seq
    }

    /// The error code that an action is answered with; nil where it is done.
    mutating func code(_ action: ConversationAction, by user: UserID = alice) -> ErrorCode? {
        let head = store.head
        let outcome = run(act(1, action, by: user))
        #expect(outcome.replies.count == 1)
        switch outcome.replies.first?.outcome {
        case .failed(let error):
            #expect(outcome.requests.isEmpty && outcome.events.isEmpty && store.head == head)
            return error.code
        case .done: return nil
        case .message, .position, nil:
            Issue.record("no answer to an action")
            return nil
        }
    }
}

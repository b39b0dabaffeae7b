import RoostModel

/// What a conversation is: as committed, or as a batch on its way will make it.
struct ConversationFacts {
    var kind: ConversationKind
    /// The counter.
    var head: Seq
    var members: MemberTable
    var isReadOnly: Bool
    var isBlocked: Bool
    /// What a group or channel is shown as, apart: most conversations are direct and have none, and there are many of them.
    private var face: Face?
    var history: HistorySetting
    var isDeleted = false

    init(_ snapshot: ConversationSnapshot) {
        kind = snapshot.kind
        head = snapshot.head
        members = MemberTable(snapshot.members)
        isReadOnly = snapshot.isReadOnly
        isBlocked = snapshot.isBlocked
        switch snapshot.kind {
        case .direct: face = nil
        case .group, .channel: face = Face(title: snapshot.title, about: snapshot.about, photo: snapshot.photo)
        }
        history = snapshot.history
    }

    private final class Face: Sendable {
        let title: String?
        let about: String?
        let photo: Media?

        init(title: String?, about: String?, photo: Media?) {
            self.title = title
            self.about = about
            self.photo = photo
        }
    }

    var title: String? { face?.title }
    var about: String? { face?.about }
    var photo: Media? { face?.photo }

    /// The part of `wanted` that would change something.
    func differences(in wanted: ConversationUpdate) -> ConversationUpdate {
        var update = ConversationUpdate()
        if let title = wanted.title, title != face?.title { update.title = title }
        if let about = wanted.about, about != face?.about { update.about = .some(about) }
        if let photo = wanted.photo, photo?.id != face?.photo?.id { update.photo = .some(photo) }
        if let history = wanted.history, history != self.history { update.history = history }
        return update
    }

    mutating func apply(_ update: ConversationUpdate) {
        face = Face(
            title: update.title ?? face?.title, about: update.about ?? face?.about, photo: update.photo ?? face?.photo)
        history = update.history ?? history
    }

    func refusal(of action: Rights.Action, for user: UserID) -> RoostError? {
        if isDeleted { return .notFound }
        let standing = Rights.Standing(
            kind: kind, role: members.role(of: user), isReadOnly: isReadOnly, isBlocked: isBlocked)
        return Rights.refusal(of: action, for: standing).map { RoostError($0) }
    }

    func canSee(_ seq: Seq, _ entry: MemberTable.Entry) -> Bool {
        switch history {
        case .full: true
        case .sinceJoined: seq >= entry.sinceSeq
        }
    }

    /// Who sees how much of a message: not those who joined too late for it or have hidden it, and of a quote likewise.
    func audience(of target: MessageTarget) -> ConversationEvent.Audience {
        var audience = ConversationEvent.Audience()
        for entry in members.entries {
            if !canSee(target.message.seq, entry) || target.hiddenBy.contains(entry.userID) {
                audience.blank.append(entry.userID)
            } else if let quote = target.message.replyTo,
                !canSee(quote.seq, entry) || target.quoteHiddenBy.contains(entry.userID)
            {
                audience.withoutQuote.append(entry.userID)
            } else {
                audience.whole.append(entry.userID)
            }
        }
        return audience
    }

    /// The message without a quote of what the user cannot see, or cannot be shown to see from `targets`.
    func shown(_ message: Message, to user: UserID, _ targets: [Seq: MessageTarget]) -> Message {
        guard let quote = message.replyTo else { return message }
        if let target = targets[quote.seq], canSee(target, user) { return message }
        var message = message
        message.replyTo = nil
        return message
    }

    /// Whether the user is a member who sees the message.
    func canSee(_ target: MessageTarget, _ user: UserID) -> Bool {
        guard let index = members.index(of: user) else { return false }
        return canSee(target.message.seq, members[index]) && !target.hiddenBy.contains(user)
    }

    /// What was changed without this actor's telling anyone: who is gone, and who sees the conversation itself differently.
    func news(since known: ConversationFacts) -> [ConversationEvent] {
        var events: [ConversationEvent] = []
        let gone = known.members.ids.filter { !members.contains($0) }
        if !gone.isEmpty { events.append(.removed(gone)) }
        let changed = members.entries.filter { entry in
            let before = known.members.index(of: entry.userID).map { known.members[$0] }
            return before.map { $0.role != entry.role || $0.sinceSeq != entry.sinceSeq } ?? true
        }
        let isOther =
            title != known.title || about != known.about || photo?.id != known.photo?.id || history != known.history
            || isReadOnly != known.isReadOnly
        switch kind {
        case .direct, .group: if isOther || !gone.isEmpty || !changed.isEmpty { events.append(.conversation(members.ids)) }
        case .channel:
            let users = isOther ? members.ids : changed.map(\.userID)
            if !users.isEmpty { events.append(.conversation(users)) }
        }
        return events
    }
}

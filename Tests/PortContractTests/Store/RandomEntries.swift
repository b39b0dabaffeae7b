import Ports
import RoostModel
import TestSupport

extension SeededRandom {
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}

/// What happens in the random test: things that an actor might write, each knowing what those before it did.
struct RandomEntries {
    static let words = ["apple", "banana", "cherry", "damson", "elder"]
    private static let emoji = ["👍", "❤️", "🚀"]

    var random: SeededRandom
    /// Each thing has a time of its own.
    var clock: Timestamp
    let users: [UserID]
    let media: [Media]

    mutating func tick() -> Timestamp {
        clock = clock + .milliseconds(Int.random(in: 1...3, using: &random))
        return clock
    }

    private mutating func text() -> String {
        (0..<Int.random(in: 1...3, using: &random)).map { _ in Self.words.randomElement(using: &random)! }
            .joined(separator: " ")
    }

    /// One to six things in a chat, as one entry.
    mutating func entry(for chat: StoreModel.Chat) -> JournalEntry {
        var build = Build(chat: chat)
        for _ in 0..<Int.random(in: 1...6, using: &random) { add(to: &build) }
        var entry = build.entry
        let takesValues = build.chat.head > chat.head
        if build.changes != EntryChanges() {
            if takesValues { build.changes.firstSeq = chat.head.next }
            entry.changes = build.changes
        }
        entry.marksActive = takesValues && (!chat.isMarked || random.chance(20))
        return entry
    }

    /// An entry in the making, and the chat as it makes it.
    private struct Build {
        var chat: StoreModel.Chat
        var entry: JournalEntry
        var changes = EntryChanges()

        init(chat: StoreModel.Chat) {
            self.chat = chat
            entry = JournalEntry(conversationID: chat.id, messages: [], positions: [], marksActive: false)
        }

        mutating func append(_ message: Message) {
            entry.messages.append(message)
            chat.apply(JournalEntry(conversationID: chat.id, messages: [message], positions: [], marksActive: false))
        }

        mutating func apply(_ body: (inout EntryChanges) -> Void) {
            var single = EntryChanges()
            body(&single)
            chat.apply(
                JournalEntry(conversationID: chat.id, messages: [], positions: [], changes: single, marksActive: false))
            body(&changes)
        }

        mutating func change(_ message: Message) {
            let changed = message.changed(at: chat.head.next)
            apply { changes in
                changes.changedMessages.removeAll { $0.seq == changed.seq }
                changes.changedMessages.append(changed)
            }
            if changed.isDeleted { changes.reactions.removeAll { $0.seq == changed.seq } }
        }

        mutating func tell(_ change: SystemEvent.Change, by user: UserID, at time: Timestamp) {
            append(.system(change, by: user, in: chat.id, chat.head.next, at: time))
        }
    }

    private mutating func add(to build: inout Build) {
        let chat = build.chat
        let time = tick()
        let member = chat.members.keys.sorted().randomElement(using: &random)!
        let message = chat.messages.filter { $0.kind != .system && !$0.isDeleted }.randomElement(using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<40: send(to: &build, from: member, at: time)
        case 40..<50:
            guard var message else { return }
            message.text = text()
            message.editedAt = time
            build.change(message)
        case 50..<56: if let message { build.change(message.asTombstone(at: time)) }
        case 56..<68: if let message { react(to: message, in: &build, by: member, at: time) }
        case 68..<74:
            guard let seq = chat.messages.randomElement(using: &random)?.seq, chat.sees(member, seq) else { return }
            build.apply { $0.hidden.append(HiddenChange(seq: seq, userID: member)) }
        case 74..<84: changeMembers(of: &build, by: member, at: time)
        case 84..<88: update(&build, by: member, at: time)
        default:
            guard !build.entry.positions.contains(where: { $0.userID == member }) else { return }
            let read = Int64.random(in: 0...chat.head.value, using: &random)
            let delivered = Int64.random(in: 0...chat.head.value, using: &random)
            build.entry.positions.append(
                PositionChange(userID: member, readSeq: Seq(read), deliveredSeq: Seq(delivered), at: time))
        }
    }

    private mutating func send(to build: inout Build, from sender: UserID, at time: Timestamp) {
        let chat = build.chat
        var message = Message(
            conversationID: chat.id, seq: chat.head.next, changeSeq: chat.head.next, clientID: "c\(time.milliseconds)",
            senderID: sender, kind: .text, text: text(), fingerprint: Int64.random(in: 1...9, using: &random),
            isForwarded: random.chance(10), createdAt: time)
        if random.chance(20) {
            let media = media.randomElement(using: &random)!
            message = Message(
                conversationID: chat.id, seq: message.seq, changeSeq: message.seq, clientID: message.clientID,
                senderID: sender, kind: .image, text: message.text, media: media, createdAt: time)
        }
        if random.chance(40), let original = chat.messages.randomElement(using: &random) {
            message.replyTo = Quote(original)
        }
        if random.chance(40) { message.mentions = Array(chat.members.keys.sorted().shuffled(using: &random).prefix(2)) }
        build.append(message)
    }

    private mutating func react(to message: Message, in build: inout Build, by user: UserID, at time: Timestamp) {
        let emoji = Self.emoji.randomElement(using: &random)!
        let isThere = build.chat.reactions.contains { $0.seq == message.seq && $0.user == user && $0.emoji == emoji }
        let change = ReactionChange(seq: message.seq, userID: user, emoji: emoji, isPut: !isThere, at: time)
        build.apply { changes in
            changes.reactions.removeAll { $0.seq == message.seq && $0.userID == user && $0.emoji == emoji }
            changes.reactions.append(change)
        }
        build.change(message)
    }

    private mutating func changeMembers(of build: inout Build, by member: UserID, at time: Timestamp) {
        let chat = build.chat
        guard chat.kind != .direct else { return }
        let outsiders = users.filter { chat.members[$0] == nil }.shuffled(using: &random)
        let value = chat.head.next
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            let new = Array(outsiders.prefix(2))
            guard !new.isEmpty else { return }
            build.apply { changes in
                changes.members += new.map { .joined($0, role: .member, at: time, sinceSeq: value, readSeq: chat.head) }
            }
            build.tell(.membersAdded(new), by: member, at: time)
        case 1:
            guard let new = outsiders.first else { return }
            build.apply { $0.members.append(.joined(new, role: .member, at: time, sinceSeq: value, readSeq: chat.head)) }
            build.tell(.memberJoined, by: new, at: time)
        case 2:
            guard chat.members.count > 1 else { return }
            build.apply { $0.members.append(.left(member)) }
            build.entry.positions.removeAll { $0.userID == member }
            build.tell(.memberLeft, by: member, at: time)
        default:
            let role: MemberRole = chat.members[member]!.role == .admin ? .member : .admin
            build.apply { $0.members.append(.role(member, role)) }
            build.tell(.roleChanged(member, role), by: member, at: time)
        }
    }

    private mutating func update(_ build: inout Build, by member: UserID, at time: Timestamp) {
        guard build.chat.kind != .direct else { return }
        var update = ConversationUpdate()
        switch Int.random(in: 0..<4, using: &random) {
        case 0: update.title = "Title \(text())"
        case 1: update.about = random.chance(30) ? .some(nil) : .some("About \(text())")
        case 2: update.photo = random.chance(30) ? .some(nil) : .some(media.randomElement(using: &random)!)
        default: update.history = build.chat.history == .full ? .sinceJoined : .full
        }
        build.apply { changes in
            let old = changes.update ?? ConversationUpdate()
            changes.update = ConversationUpdate(
                title: update.title ?? old.title, about: update.about ?? old.about, photo: update.photo ?? old.photo,
                history: update.history ?? old.history)
        }
        // Of a photo a system message keeps the id alone.
        update.photo = update.photo.map { $0?.asReference }
        build.tell(.updated(update), by: member, at: time)
    }
}

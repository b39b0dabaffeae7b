import LoadCore
import RoostModel

/// A message as it stands in the end.
struct SeedMessage {
    /// Index of the conversation.
    let conversation: Int32
    /// Number of the user.
    let sender: Int32
    let seq: Int64
    var changeSeq: Int64
    let createdAt: Timestamp
    var editedAt: Timestamp?
    var deletedAt: Timestamp?
    let kind: Message.Kind
    /// Index among the texts; nil for an empty one.
    var text: Int?
    var replyTo: Int64?
    var mentioned: Int32?
    var media: MediaID?
    let isForwarded: Bool
    let system: SystemEvent?

    /// Whether something is to be found by words.
    var searchable: Bool { text != nil && deletedAt == nil && kind != .system }
}

/// A membership as it stands in the end.
struct SeedMember {
    let user: Int
    let role: MemberRole
    let joinedAt: Timestamp
    let sinceSeq: Int64
    var readSeq: Int64
    var deliveredSeq: Int64
    var mutedUntil: Timestamp?
    var pinnedAt: Timestamp?
    var archivedAt: Timestamp?
}

struct SeedReaction {
    let seq: Int64
    let user: Int
    let emoji: String
    let at: Timestamp
}

/// What happened in one conversation: every value of the counter is the birth of a message or a change of one, as the journal writes
/// them, and each message is changed once at most.
struct SeedHistory {
    private(set) var messages: [SeedMessage] = []
    private(set) var members: [SeedMember] = []
    private(set) var reactions: [SeedReaction] = []
    private(set) var hidden: [(seq: Int64, user: Int)] = []
    private(set) var head: Int64 = 0

    private let conversation: SeedConversation
    private let number: Int
    private let users: [SeedUser]
    private let textCount: Int
    /// How many of the members are there by now, in the order of joining.
    private var present: Int
    private var since: [Int64]
    private var joined: [Timestamp]
    private var lastOwn: [Int: Int64] = [:]

    init(
        of conversation: SeedConversation, number: Int, users: [SeedUser], textCount: Int, random: inout SeededRandom
    ) {
        self.conversation = conversation
        self.number = number
        self.users = users
        self.textCount = textCount
        let all = conversation.members.count
        // In some groups some come later.
        let late = conversation.kind == .group && conversation.messageCount > 4 && random.happens(0.3) ? min(5, all / 3) : 0
        present = all - late
        since = Array(repeating: 0, count: all)
        joined = Array(repeating: conversation.createdAt, count: all)
        let lateAt = late > 0 ? 1 + random.index(conversation.messageCount - 1) : -1
        if conversation.kind != .direct { addSystem(.created, by: 0) }
        while messages.count < conversation.messageCount {
            if messages.count == lateAt {
                addLate()
            } else if random.happens(0.06), change(&random) {
                continue
            } else {
                send(&random)
            }
        }
        for index in conversation.members.indices { members.append(member(index, &random)) }
        hide(&random)
    }

    /// Of the counter's coming value: spread over the conversation's life.
    private var time: Timestamp {
        let total = max(1, conversation.messageCount)
        let span = conversation.lastActivityAt.milliseconds - conversation.createdAt.milliseconds
        let part = Double(messages.count + 1) / Double(total)
        return Timestamp(milliseconds: conversation.createdAt.milliseconds + Int64(Double(span) * min(1, part)))
    }

    private mutating func add(
        kind: Message.Kind, sender: Int, text: Int?, replyTo: Int64? = nil, mentioned: Int? = nil, media: MediaID? = nil,
        isForwarded: Bool = false, system: SystemEvent? = nil
    ) {
        let time = time
        head += 1
        lastOwn[sender] = head
        messages.append(
            SeedMessage(
                conversation: Int32(number), sender: Int32(conversation.members[sender]), seq: head, changeSeq: head,
                createdAt: time, kind: kind, text: text, replyTo: replyTo,
                mentioned: mentioned.map { Int32(conversation.members[$0]) }, media: media, isForwarded: isForwarded,
                system: system))
    }

    private func id(_ member: Int) -> UserID { users[conversation.members[member]].id }

    private mutating func addSystem(_ change: SystemEvent.Change, by member: Int) {
        add(kind: .system, sender: member, text: nil, system: SystemEvent(actorID: id(member), change: change))
    }

    private mutating func addLate() {
        let added = present..<conversation.members.count
        let time = time
        addSystem(.membersAdded(added.map { id($0) }), by: 0)
        for index in added {
            since[index] = head
            joined[index] = time
        }
        present = conversation.members.count
    }

    private mutating func send(_ random: inout SeededRandom) {
        let eager = random.unit()
        let sender = conversation.kind == .direct ? random.index(2) : Int(eager * eager * Double(min(present, 200)))
        let reply = random.happens(0.08) ? earlier(&random).map { messages[$0].seq } : nil
        let mentioned = conversation.kind != .direct && random.happens(0.03) ? random.index(present) : nil
        let media = random.happens(0.01) ? MediaID(at: time, using: &random) : nil
        add(
            kind: media == nil ? .text : .image, sender: sender, text: media == nil ? random.index(textCount) : nil,
            replyTo: reply,
            mentioned: mentioned == sender ? nil : mentioned, media: media, isForwarded: random.happens(0.01))
    }

    /// One of the latest messages that nothing has been done to.
    private func earlier(_ random: inout SeededRandom) -> Int? {
        guard !messages.isEmpty else { return nil }
        let index = messages.count - 1 - random.index(min(40, messages.count))
        let message = messages[index]
        return message.kind == .system || message.changeSeq > message.seq ? nil : index
    }

    /// Edits, deletes or reacts. False where what was picked cannot be changed.
    private mutating func change(_ random: inout SeededRandom) -> Bool {
        guard let index = earlier(&random) else { return false }
        let time = time
        let what = random.unit()
        if what < 0.35, messages[index].media != nil { return false }
        head += 1
        messages[index].changeSeq = head
        if what < 0.35 {
            messages[index].text = random.index(textCount)
            messages[index].editedAt = time
        } else if what < 0.5 {
            messages[index].deletedAt = time
            (messages[index].text, messages[index].media) = (nil, nil)
            (messages[index].replyTo, messages[index].mentioned) = (nil, nil)
        } else {
            var seen = Set<Int>()
            for _ in 0...random.index(4) {
                let user = conversation.members[random.index(present)]
                guard seen.insert(user).inserted else { continue }
                let emoji = random.element(of: ["👍", "❤️", "😂", "🎉", "😮"])
                reactions.append(SeedReaction(seq: messages[index].seq, user: user, emoji: emoji, at: time))
            }
        }
        return true
    }

    private func member(_ index: Int, _ random: inout SeededRandom) -> SeedMember {
        let since = since[index]
        let behind = random.unit()
        var read: Int64
        if behind < 0.65 {
            read = head
        } else if behind < 0.85 {
            read = head - Int64(1 + random.index(20))
        } else {
            read = since + Int64(random.unit() * Double(head - since))
        }
        read = max(read, since, lastOwn[index] ?? 0)
        let isFirst = index == 0 && conversation.kind != .direct
        var member = SeedMember(
            user: conversation.members[index], role: isFirst ? .admin : .member,
            // Those of channels come one after another.
            joinedAt: joined[index] + .milliseconds(conversation.kind == .channel ? index * 1_000 : 0), sinceSeq: since,
            readSeq: read,
            deliveredSeq: random.happens(0.9) ? head : max(read, head - Int64(random.index(50))))
        member.deliveredSeq = max(member.deliveredSeq, read)
        if random.happens(0.02) { member.pinnedAt = conversation.lastActivityAt }
        if !conversation.isActive, random.happens(0.03) { member.archivedAt = conversation.lastActivityAt + .seconds(60) }
        if random.happens(0.05) { member.mutedUntil = conversation.lastActivityAt + .seconds(86_400 * random.index(400)) }
        return member
    }

    private mutating func hide(_ random: inout SeededRandom) {
        for message in messages where random.happens(0.004) {
            hidden.append((message.seq, conversation.members[random.index(conversation.members.count)]))
        }
    }
}

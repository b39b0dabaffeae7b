import RoostModel
import TestSupport

/// Makes random operations: most that may succeed, some that must not.
struct Generator {
    /// No word begins with another.
    static let words = ["amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "islet", "jasper"]
    private static let reactions: [(String, String?)] = [
        ("👍", "👍"), ("😂", "😂"), ("👍🏽", "👍🏽"), ("\u{2764}", "\u{2764}\u{FE0F}"), ("\u{2764}\u{FE0F}", "\u{2764}\u{FE0F}"),
        ("🇨🇭", "🇨🇭"), ("ab", nil),
    ]
    private static let chatLimit = 14

    private var sends = 0
    /// Of a few sends, to be repeated.
    private var sent: [(user: Int, chat: Int, clientID: String, body: Body)] = []

    mutating func next(_ world: World, _ random: inout SeededRandom, _ secrets: inout Secrets) -> Operation {
        let user = random.below(world.users.count)
        while true {
            let isEmpty = world.chats.filter { !$0.isGone }.count < 4 && random.chance(30)
            let roll = isEmpty ? 700 + random.below(30) : random.below(1_000)
            if let act = act(user, roll, world, &random, &secrets) {
                return Operation(user: user, act: act)
            }
        }
    }

    /// - Parameter roll: below 1,000.
    private mutating func act(
        _ user: Int, _ roll: Int, _ world: World, _ random: inout SeededRandom, _ secrets: inout Secrets
    ) -> Operation.Act? {
        let chat = self.chat(for: user, world, &random)
        switch roll {
        case ..<300: return send(user, chat, world, &random, &secrets)
        case ..<330: return repetition(user, &random, &secrets)
        case ..<395:
            return .edit(chat, seq(chat, user, world, &random), text: random.chance(5) ? "  " : text(&random, &secrets))
        case ..<430: return .deleteForAll(chat, seq(chat, user, world, &random))
        case ..<470: return .hide(chat, seq(chat, user, world, &random, isOwn: false))
        case ..<560:
            let (emoji, full) = random.pick(Self.reactions)!
            return .react(
                chat, seq(chat, user, world, &random, isOwn: false), emoji: emoji, full: full, isPut: random.chance(65))
        case ..<650: return .read(chat, position(chat, world, &random))
        case ..<690: return .delivered(chat, position(chat, world, &random))
        case ..<700: return .typing(chat, random.chance(50))
        case ..<880: return aboutChats(user, chat, roll, world, &random, &secrets)
        case ..<887: return .rename("Person \(user) \(random.pick(Self.words)!)")
        case ..<893: return .shareReads(random.chance(60))
        case ..<905: return .block(someone(world, &random), random.chance(40))
        case ..<915: return .getChat(chat)
        case ..<945: return .getHistory(chat, query(chat, world, &random), limit: 1 + random.below(20))
        case ..<970: return .getChanges(chat, after: position(chat, world, &random), limit: 1 + random.below(30))
        default: return .getReceipts(chat, seq(chat, user, world, &random, isOwn: random.chance(70)))
        }
    }

    /// - Parameter roll: from 700 to 879.
    private func aboutChats(
        _ user: Int, _ chat: Int, _ roll: Int, _ world: World, _ random: inout SeededRandom, _ secrets: inout Secrets
    ) -> Operation.Act? {
        let hasRoom = world.chats.filter { !$0.isGone }.count < Self.chatLimit
        let history: HistorySetting = random.chance(50) ? .full : .sinceJoined
        switch roll {
        case ..<715: return hasRoom || random.chance(10) ? .openDirect(with: someone(world, &random)) : nil
        case ..<725:
            let members = (0..<random.below(5)).map { _ in someone(world, &random) }
            return hasRoom ? .createGroup(title: text(&random, &secrets), members: members, history: history) : nil
        case ..<730:
            let about = random.chance(50) ? text(&random, &secrets) : nil
            return hasRoom ? .createChannel(title: text(&random, &secrets), about: about) : nil
        case ..<755: return .join(chat)
        case ..<770: return .removeMember(chat, user)
        case ..<785: return .removeMember(chat, someone(world, &random))
        case ..<820: return .addMembers(chat, (0..<1 + random.below(3)).map { _ in someone(world, &random) })
        case ..<835: return .setRole(chat, someone(world, &random), random.chance(50) ? .admin : .member)
        case ..<850:
            let title = random.chance(50) ? (random.chance(5) ? " " : text(&random, &secrets)) : nil
            var about: String?? = .none
            if random.chance(40) { about = .some(random.chance(70) ? text(&random, &secrets) : nil) }
            return .update(chat, title: title, about: about, history: random.chance(40) ? history : nil)
        case ..<853: return .deleteChat(chat)
        default:
            let mutes: [String??] = [nil, nil, .some(nil), "2001-01-01T00:00:00.000Z", "2099-12-31T23:59:59.000Z"]
            return .changeSettings(
                chat, pinned: random.chance(40) ? random.chance(50) : nil, archived: random.chance(50) ? random.chance(70) : nil,
                mutedUntil: random.pick(mutes)!)
        }
    }

    private mutating func send(
        _ user: Int, _ chat: Int, _ world: World, _ random: inout SeededRandom, _ secrets: inout Secrets
    ) -> Operation.Act {
        sends += 1
        var body = Body(text: text(&random, &secrets))
        switch random.below(100) {
        case ..<10:
            let source = self.chat(for: user, world, &random)
            body = Body(forward: [source, seq(source, user, world, &random, isOwn: false)])
        case ..<30: body.replyTo = seq(chat, user, world, &random, isOwn: false)
        case ..<45:
            for _ in 0...random.below(2) {
                let other = someone(world, &random)
                if !body.mentions.contains(other) { body.mentions.append(other) }
            }
        case ..<47: body.text = " \n"
        case ..<48: body.text = nil
        default: break
        }
        let clientID = "c\(sends)"
        if random.chance(20) {
            sent.append((user, chat, clientID, body))
            if sent.count > 30 { sent.remove(at: random.below(30)) }
        }
        return .send(chat, clientID: clientID, body)
    }

    /// What was sent before, again, or something else under its name.
    private func repetition(_ user: Int, _ random: inout SeededRandom, _ secrets: inout Secrets) -> Operation.Act? {
        guard let old = random.pick(sent.filter { $0.user == user }) else { return nil }
        if random.chance(30) { return .send(old.chat, clientID: old.clientID, Body(text: text(&random, &secrets))) }
        return .send(old.chat, clientID: old.clientID, old.body)
    }

    // MARK: Parts

    private func text(_ random: inout SeededRandom, _ secrets: inout Secrets) -> String {
        let words = (0...random.below(3)).map { _ in random.pick(Self.words)! }
        return (words + [secrets.make()]).joined(separator: " ")
    }

    /// Mostly one that the user is a member of.
    private func chat(for user: Int, _ world: World, _ random: inout SeededRandom) -> Int {
        let own = world.chats.indices.filter { !world.chats[$0].isGone && world.chats[$0].members[user] != nil }
        if random.chance(88), let index = random.pick(own) { return index }
        return random.chance(90) ? random.pick(Array(world.chats.indices)) ?? World.nobody : World.nobody
    }

    private func someone(_ world: World, _ random: inout SeededRandom) -> Int {
        random.chance(3) ? World.nobody : random.below(world.users.count)
    }

    /// Mostly of a message that is there, and newer ones more often.
    private func seq(_ index: Int, _ user: Int, _ world: World, _ random: inout SeededRandom, isOwn: Bool = true) -> Int {
        guard let chat = world.chat(index), !random.chance(4) else { return 1 + random.below(1_000) }
        var posts = chat.posts
        if isOwn, random.chance(70) { posts = posts.filter { $0.sender == user && $0.system == nil } }
        if random.chance(70) { posts = posts.suffix(6) }
        return random.pick(posts)?.seq ?? 1
    }

    private func position(_ index: Int, _ world: World, _ random: inout SeededRandom) -> Int {
        let counter = world.chat(index)?.counter ?? 10
        return random.chance(60) ? max(0, counter - random.below(3)) : random.below(counter + 5)
    }

    private func query(_ index: Int, _ world: World, _ random: inout SeededRandom) -> Operation.HistoryQuery {
        let seq = position(index, world, &random)
        return random.pick([.newest, .before(seq), .after(seq), .around(seq)])!
    }
}

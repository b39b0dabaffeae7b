import ConversationCore
import RoostModel

/// The property: whatever bytes a user is sent hold only what the rights table allows them at that moment.
///
/// Every text, title and description that a run makes holds a word of its own (`zqx17xqz`), wherever it is shown: in lists, quotes,
/// previews, snippets, events. So bytes can be judged without knowing what they are.
struct Secrets {
    private enum Home: Equatable {
        case post(Int, Int)
        case chat(Int)
    }

    private var homes: [Int: [Home]] = [:]
    private var count = 0

    /// A new word.
    mutating func make() -> String {
        count += 1
        return "zqx\(count)xqz"
    }

    /// Notes where the words of an operation are now.
    mutating func note(_ world: World, chat: Int, seq: Int? = nil) {
        let texts: [String?]
        if let seq, let post = world.chats[chat].post(seq) {
            texts = [post.text, post.system?.title, post.system?.about ?? nil]
        } else {
            texts = [world.chats[chat].title, world.chats[chat].about]
        }
        for text in texts.compactMap({ $0 }) {
            let home = seq.map { Home.post(chat, $0) } ?? .chat(chat)
            for word in Self.words(in: Array(text.utf8)) where !homes[word, default: []].contains(home) {
                homes[word, default: []].append(home)
            }
        }
    }

    /// What a user has written is theirs, wherever they may read: for exports.
    func isOwn(_ word: Int, of user: Int, _ world: World) -> Bool {
        homes[word, default: []].contains { home in
            guard case .post(let index, let seq) = home else { return false }
            return world.chats[index].post(seq)?.sender == user
        }
    }

    func isAllowed(_ word: Int, to user: Int, _ world: World) -> Bool {
        let text = "zqx\(word)xqz"
        return homes[word, default: []].contains { home in
            switch home {
            case .post(let index, let seq):
                guard may(.read, user, world, index), let post = world.chats[index].post(seq) else { return false }
                let holds = [post.text, post.system?.title ?? "", (post.system?.about ?? "") ?? ""].contains { $0.contains(text) }
                return holds && world.chats[index].sees(user, seq)
            case .chat(let index):
                guard may(.see, user, world, index), let chat = world.chat(index) else { return false }
                return [chat.title ?? "", chat.about ?? ""].contains { $0.contains(text) }
            }
        }
    }

    private func may(_ action: Rights.Action, _ user: Int, _ world: World, _ index: Int) -> Bool {
        guard let chat = world.chat(index) else { return false }
        return Rights.refusal(of: action, for: Rights.Standing(kind: chat.kind, role: chat.members[user]?.role)) == nil
    }

    /// The first thing in the bytes that a user may not see in any of some states of the world.
    func leak(in bytes: [UInt8], to user: Int, _ worlds: [World], mayHoldOwn: Bool = false) -> String? {
        for word in Self.words(in: bytes) where !worlds.contains(where: { isAllowed(word, to: user, $0) }) {
            if mayHoldOwn, worlds.contains(where: { isOwn(word, of: user, $0) }) { continue }
            return "the word zqx\(word)xqz is not for user \(user)"
        }
        for other in Self.numbers(in: bytes, between: "zex", and: "xez") where other != user {
            return "the email of user \(other) is not for user \(user)"
        }
        return nil
    }

    private static func words(in bytes: [UInt8]) -> [Int] { numbers(in: bytes, between: "zqx", and: "xqz") }

    /// Numbers between two marks, which are long enough not to stand in a token by chance.
    private static func numbers(in bytes: [UInt8], between start: String, and end: String) -> [Int] {
        let (start, end) = (Array(start.utf8), Array(end.utf8))
        var found: [Int] = []
        var index = 0
        while index + start.count < bytes.count {
            guard bytes[index] == start[0], bytes[index..<index + start.count].elementsEqual(start) else {
                index += 1
                continue
            }
            index += start.count
            var value = 0
            while index < bytes.count, bytes[index] >= UInt8(ascii: "0"), bytes[index] <= UInt8(ascii: "9") {
                value = value * 10 + Int(bytes[index] - UInt8(ascii: "0"))
                index += 1
            }
            if bytes[index...].starts(with: end) { found.append(value) }
        }
        return found
    }
}

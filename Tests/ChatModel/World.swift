import RoostModel

/// Everything there is, as the contract has it: written from docs/protocol.md, without any of the server's code.
///
/// Users and chats are named by their index; a chat that is gone keeps its index. Wrong names that operations may use: ``nobody``.
struct World {
    /// An id that the server never gave.
    static let nobody = -1

    var users: [Account]
    var chats: [Chat] = []
    /// (blocker, blocked)
    var blocks: Set<[Int]> = []

    struct Account {
        let id: String
        let isGuest: Bool
        /// Not to be seen by others, ever.
        let email: String?
        var name: String
        var sharesReads = true
        /// Whether ``sharesReads`` was changed lately, so that not all may have heard of it.
        var hasTurned = false
    }

    func id(ofUser user: Int) -> String { users.indices.contains(user) ? users[user].id : Self.unknownID }

    func id(ofChat chat: Int) -> String { chats.indices.contains(chat) ? chats[chat].id : Self.unknownID }

    func chat(_ chat: Int) -> Chat? { chats.indices.contains(chat) && !chats[chat].isGone ? chats[chat] : nil }

    private static let unknownID = "01890000-0000-7000-8000-000000000000"

    func sharesReads(_ one: Int, with other: Int) -> Bool {
        one == other || (users[one].sharesReads && users[other].sharesReads)
    }

    func isBlocked(_ chat: Chat) -> Bool {
        guard chat.kind == .direct, chat.pair.count == 2 else { return false }
        return blocks.contains(chat.pair) || blocks.contains(chat.pair.reversed())
    }
}

struct Chat {
    /// Empty until the answer to its creation says it.
    var id = ""
    let kind: ConversationKind
    /// Of a direct chat: the two, lower index first.
    var pair: [Int] = []
    var title: String?
    var about: String?
    var history: HistorySetting = .full
    let createdAt = TimeCell()
    var members: [Int: Membership] = [:]
    /// By `seq`, rising.
    var posts: [Post] = []
    var counter = 0
    var isGone = false
    /// By user; outlasts the membership.
    var hidden: [Int: Set<Int>] = [:]
    /// What each value of the counter was taken by, and what the sessions of those who were members then are shown of it.
    var events: [Int: Event] = [:]

    struct Event {
        let seq: Int
        var shown: [Int: Shape] = [:]
    }

    func index(of seq: Int) -> Int? {
        let index = posts.partitioningIndex { $0.seq >= seq }
        return index < posts.count && posts[index].seq == seq ? index : nil
    }

    func post(_ seq: Int) -> Post? { index(of: seq).map { posts[$0] } }

    // MARK: Who sees what

    func sees(_ user: Int, _ seq: Int) -> Bool {
        guard !isGone, let member = members[user] else { return false }
        if hidden[user]?.contains(seq) == true { return false }
        return history == .full || seq >= member.since
    }

    func visible(to user: Int) -> [Post] { posts.filter { sees(user, $0.seq) } }

    func unread(by user: Int) -> [Post] {
        guard let member = members[user] else { return [] }
        return posts.filter { post in
            post.seq > member.read && post.sender != user && post.system == nil && post.deletedAt == nil && sees(user, post.seq)
        }
    }

    /// Members other than its sender who were there when it was sent.
    func recipients(of post: Post) -> [Int] {
        members.filter { $0.key != post.sender && $0.value.since <= post.seq }.map(\.key).sorted()
    }

    /// Longest-standing first.
    func membersInOrder(_ world: World) -> [Int] {
        members.keys.sorted { left, right in
            (members[left]!.since, world.users[left].id) < (members[right]!.since, world.users[right].id)
        }
    }
}

struct Membership {
    var role: MemberRole
    /// The counter's value that made them a member; 0 for those who were there at the beginning.
    let since: Int
    let joinedAt = TimeCell()
    var read: Int
    var delivered: Int
    var mutedUntil: String?
    var pinnedAt: TimeCell?
    var archivedAt: TimeCell?

    /// The operations only know times that are long past or far off.
    var isMuted: Bool { mutedUntil.map { $0 > "2050" } ?? false }
}

struct Post {
    let seq: Int
    var changeSeq: Int
    let sender: Int
    var clientID: String?
    var text = ""
    var replyTo: Int?
    var isForwarded = false
    var mentions: [Int] = []
    /// By emoji, in its full form.
    var reactions: [String: [Int]] = [:]
    var system: SystemNews?
    /// As it was sent: tells a repetition from another body.
    var body: Body?
    let createdAt = TimeCell()
    var editedAt: TimeCell?
    var deletedAt: TimeCell?
}

/// What a system message tells.
struct SystemNews {
    let kind: String
    let actor: Int?
    var user: Int?
    var users: [Int]?
    var role: MemberRole?
    var title: String?
    /// `.some(nil)`: cleared.
    var about: String??
    var history: HistorySetting?
}

/// The body of a new message.
struct Body: Hashable {
    var text: String?
    var replyTo: Int?
    var mentions: [Int] = []
    /// Of which chat, and its number.
    var forward: [Int]?
}

extension Array {
    /// The first index for which `isAfter` holds, where the items are sorted by it.
    func partitioningIndex(where isAfter: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isAfter(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

import RoostModel

/// The members with their positions, sorted by id.
struct MemberTable {
    struct Entry {
        let userID: UserID
        var role: MemberRole
        let joinedAt: Timestamp
        /// The counter's value that made them a member.
        let sinceSeq: Seq
        var readSeq: Seq
        var deliveredSeq: Seq
        var sharesReadReceipts: Bool
    }

    private(set) var entries: [Entry]

    init(_ members: [ConversationSnapshot.Member]) {
        entries = members.map {
            Entry(
                userID: $0.userID, role: $0.role, joinedAt: $0.joinedAt, sinceSeq: $0.sinceSeq, readSeq: $0.readSeq,
                deliveredSeq: $0.deliveredSeq, sharesReadReceipts: $0.sharesReadReceipts)
        }
        entries.sort { $0.userID < $1.userID }
    }

    var count: Int { entries.count }

    /// In order.
    var ids: [UserID] { entries.map(\.userID) }

    func index(of user: UserID) -> Int? {
        let index = insertionIndex(of: user)
        return index < entries.count && entries[index].userID == user ? index : nil
    }

    func contains(_ user: UserID) -> Bool { index(of: user) != nil }

    func role(of user: UserID) -> MemberRole? { index(of: user).map { entries[$0].role } }

    subscript(index: Int) -> Entry {
        get { entries[index] }
        set { entries[index] = newValue }
    }

    /// Does nothing where the user is a member already.
    mutating func insert(_ entry: Entry) {
        let index = insertionIndex(of: entry.userID)
        if index < entries.count, entries[index].userID == entry.userID { return }
        entries.insert(entry, at: index)
    }

    mutating func remove(_ user: UserID) {
        if let index = index(of: user) { entries.remove(at: index) }
    }

    /// The longest-standing member whom `isEligible` takes.
    func longestStanding(where isEligible: (Entry) -> Bool) -> UserID? {
        entries.filter(isEligible)
            .min { ($0.joinedAt, $0.sinceSeq, $0.userID) < ($1.joinedAt, $1.sinceSeq, $1.userID) }?.userID
    }

    var hasAdmin: Bool { entries.contains { $0.role == .admin } }

    private func insertionIndex(of user: UserID) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].userID < user { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Who learns of a change of positions, and how much: read positions are shown only between members who both share theirs.
    func receipt(of entry: Entry, before: Entry) -> ConversationEvent.Receipt {
        var recipients: [UserID] = []
        var withoutRead: [UserID] = []
        let showsToAll = entry.deliveredSeq != before.deliveredSeq
        for other in entries {
            if other.userID == entry.userID || (entry.sharesReadReceipts && other.sharesReadReceipts) {
                recipients.append(other.userID)
            } else if showsToAll {
                withoutRead.append(other.userID)
            }
        }
        return ConversationEvent.Receipt(
            userID: entry.userID, readSeq: entry.readSeq, deliveredSeq: entry.deliveredSeq, recipients: recipients,
            recipientsWithoutRead: withoutRead)
    }
}

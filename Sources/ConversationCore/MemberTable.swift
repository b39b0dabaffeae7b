import RoostModel

/// The members with their positions, sorted by id.
struct MemberTable {
    struct Entry {
        let userID: UserID
        var readSeq: Seq
        var deliveredSeq: Seq
        var sharesReadReceipts: Bool
    }

    private(set) var entries: [Entry]

    init(_ members: [ConversationSnapshot.Member]) {
        entries = members.map {
            Entry(
                userID: $0.userID, readSeq: $0.readSeq, deliveredSeq: $0.deliveredSeq, sharesReadReceipts: $0.sharesReadReceipts)
        }
        entries.sort { $0.userID < $1.userID }
    }

    func index(of user: UserID) -> Int? {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].userID < user { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].userID == user ? low : nil
    }

    func contains(_ user: UserID) -> Bool { index(of: user) != nil }

    subscript(index: Int) -> Entry {
        get { entries[index] }
        set { entries[index] = newValue }
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

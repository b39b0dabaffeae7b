import RoostModel
import RoostProtocol

/// New messages of one session that wait until what they name was looked up, by conversation and in order. Bounded by the frames that a
/// session may have in flight. Pure.
struct UnresolvedSends {
    struct Item: Sendable {
        let id: FrameID?
        let body: SendBody
        let caller: Caller
    }

    /// The first of each is being looked up.
    private var queues: [ConversationID: [Item]] = [:]

    func isWaiting(in conversation: ConversationID) -> Bool { queues[conversation] != nil }

    /// - Returns: the item, where it is to be looked up now.
    mutating func append(_ item: Item, to conversation: ConversationID) -> Item? {
        let isFirst = queues[conversation] == nil
        queues[conversation, default: []].append(item)
        return isFirst ? item : nil
    }

    /// The first one is done.
    /// - Returns: the next to look up.
    mutating func next(in conversation: ConversationID) -> Item? {
        queues[conversation]?.removeFirst()
        if queues[conversation]?.isEmpty == true { queues[conversation] = nil }
        return queues[conversation]?.first
    }
}

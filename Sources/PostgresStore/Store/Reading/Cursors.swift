import Ports
import RoostModel

/// Where a list of conversations goes on: what the first page saw, and the last row.
struct ListPosition {
    let began: Timestamp
    /// `pg_snapshot`: `xmin:xmax:xip,…`
    let snapshot: String
    let isPinned: Bool
    let activity: Timestamp
    let id: ConversationID

    init(began: Timestamp, snapshot: String, isPinned: Bool, activity: Timestamp, id: ConversationID) {
        self.began = began
        self.snapshot = snapshot
        self.isPinned = isPinned
        self.activity = activity
        self.id = id
    }

    init(_ text: String) throws(StoreError) {
        var reader = try CursorReader(text, .conversations)
        began = Timestamp(milliseconds: try reader.integer())
        snapshot = try reader.text()
        isPinned = try reader.integer(UInt8.self) == 1
        activity = Timestamp(milliseconds: try reader.integer())
        id = ConversationID(high: try reader.integer(), low: try reader.integer())
        try reader.end()
        guard began.isStorable, activity.isStorable, Self.isSnapshot(snapshot) else { throw StoreError(.badCursor) }
    }

    var text: String {
        var writer = CursorWriter(.conversations)
        writer.write(began.milliseconds)
        writer.write(snapshot)
        writer.write(isPinned ? 1 : 0 as UInt8)
        writer.write(activity.milliseconds)
        writer.write(id.high)
        writer.write(id.low)
        return writer.text
    }

    /// What `pg_snapshot` takes: positive numbers, xmin ≤ xip… < xmax, rising.
    private static func isSnapshot(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let low = number(parts[0]), let high = number(parts[1]), low <= high else { return false }
        var last: Int64?
        for part in parts[2].split(separator: ",", omittingEmptySubsequences: false) where !parts[2].isEmpty {
            guard let value = number(part), value >= low, value < high, last.map({ $0 < value }) ?? true else { return false }
            last = value
        }
        return true
    }

    private static func number(_ text: Substring) -> Int64? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int64(text), value > 0, value < 1 << 62 else {
            return nil
        }
        return value
    }
}

/// Where a sync goes on.
struct SyncPosition {
    /// Changes of transactions from here on are told; 0 for everything.
    var since: UInt64 = 0
    /// Within a sync of several pages: the horizon of its first page, and the last conversation told.
    var horizon: UInt64?
    var after: ConversationID?

    init() {}

    init(since: UInt64, horizon: UInt64, after: ConversationID) {
        self.since = since
        self.horizon = horizon
        self.after = after
    }

    init(_ text: String) throws(StoreError) {
        var reader = try CursorReader(text, .sync)
        since = try reader.integer()
        if try reader.integer(UInt8.self) == 1 {
            horizon = try reader.integer()
            after = ConversationID(high: try reader.integer(), low: try reader.integer())
        }
        try reader.end()
        guard max(since, horizon ?? 0) < 1 << 62 else { throw StoreError(.badCursor) }
    }

    var text: String {
        var writer = CursorWriter(.sync)
        writer.write(since)
        writer.write(horizon == nil ? 0 : 1 as UInt8)
        if let horizon, let after {
            writer.write(horizon)
            writer.write(after.high)
            writer.write(after.low)
        }
        return writer.text
    }
}

/// The last member of a page.
struct MemberPosition {
    let joinedAt: Timestamp
    let sinceSeq: Seq
    let id: UserID

    init(joinedAt: Timestamp, sinceSeq: Seq, id: UserID) {
        self.joinedAt = joinedAt
        self.sinceSeq = sinceSeq
        self.id = id
    }

    init(_ text: String) throws(StoreError) {
        var reader = try CursorReader(text, .members)
        joinedAt = Timestamp(milliseconds: try reader.integer())
        sinceSeq = Seq(try reader.integer())
        id = UserID(high: try reader.integer(), low: try reader.integer())
        try reader.end()
        guard joinedAt.isStorable else { throw StoreError(.badCursor) }
    }

    var text: String {
        var writer = CursorWriter(.members)
        writer.write(joinedAt.milliseconds)
        writer.write(sinceSeq.value)
        writer.write(id.high)
        writer.write(id.low)
        return writer.text
    }
}

/// The last channel of a page.
struct ChannelPosition {
    let foldedTitle: String
    let id: ConversationID

    init(foldedTitle: String, id: ConversationID) {
        self.foldedTitle = foldedTitle
        self.id = id
    }

    init(_ text: String) throws(StoreError) {
        var reader = try CursorReader(text, .channels)
        foldedTitle = try reader.text()
        id = ConversationID(high: try reader.integer(), low: try reader.integer())
        try reader.end()
    }

    var text: String {
        var writer = CursorWriter(.channels)
        writer.write(foldedTitle)
        writer.write(id.high)
        writer.write(id.low)
        return writer.text
    }
}

/// The place of a message among hits: newest first.
struct SearchPosition: Hashable, Comparable {
    let createdAt: Timestamp
    let conversationID: ConversationID
    let seq: Seq

    init(_ message: Message) {
        self.init(createdAt: message.createdAt, conversationID: message.conversationID, seq: message.seq)
    }

    init(createdAt: Timestamp, conversationID: ConversationID, seq: Seq) {
        self.createdAt = createdAt
        self.conversationID = conversationID
        self.seq = seq
    }

    init(_ text: String) throws(StoreError) {
        var reader = try CursorReader(text, .search)
        createdAt = Timestamp(milliseconds: try reader.integer())
        conversationID = ConversationID(high: try reader.integer(), low: try reader.integer())
        seq = Seq(try reader.integer())
        try reader.end()
        guard createdAt.isStorable else { throw StoreError(.badCursor) }
    }

    var text: String {
        var writer = CursorWriter(.search)
        writer.write(createdAt.milliseconds)
        writer.write(conversationID.high)
        writer.write(conversationID.low)
        writer.write(seq.value)
        return writer.text
    }

    static func < (left: Self, right: Self) -> Bool {
        (left.createdAt, left.conversationID, left.seq) < (right.createdAt, right.conversationID, right.seq)
    }
}

extension Timestamp {
    /// Up to the year 9999: beyond, PostgreSQL's arithmetic could overflow.
    fileprivate var isStorable: Bool { (0...253_402_300_799_999).contains(milliseconds) }
}

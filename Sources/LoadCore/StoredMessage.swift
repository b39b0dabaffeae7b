import RoostProtocol

/// A `Message` of the server, in history, changes or an event.
public struct StoredMessage: Equatable, Sendable {
    public let seq: Int64
    public let changeSeq: Int64
    /// Nil when it is not of this run.
    public let key: SendKey?
    /// Whether its text is byte for byte the one that was sent.
    public let isIntact: Bool

    public init(seq: Int64, changeSeq: Int64, key: SendKey?, isIntact: Bool) {
        self.seq = seq
        self.changeSeq = changeSeq
        self.key = key
        self.isIntact = isIntact
    }

    public init?(_ json: JSONSlice, run: LoadText) {
        var seq: Int64?
        var changeSeq: Int64?
        var key: SendKey?
        var text: JSONSlice?
        json.forEachMember { name, value in
            switch name.raw.count - 2 {
            case 3: if name.equals("seq") { seq = value.integer }
            case 4: if name.equals("text") { text = value }
            case 8: if name.equals("clientId") { key = run.key(fromClientID: value) }
            case 9: if name.equals("changeSeq") { changeSeq = value.integer }
            default: break
            }
        }
        guard let seq else { return nil }
        var isIntact = false
        if let key, let text { isIntact = run.matches(text, key) }
        self.init(seq: seq, changeSeq: changeSeq ?? seq, key: key, isIntact: isIntact)
    }
}

/// A page of `…/messages` or `…/changes`.
public struct MessagePage: Equatable, Sendable {
    public private(set) var items: [StoredMessage] = []
    public private(set) var hasMore = false
    /// `lastSeq` of a page of history, `upToSeq` of a page of changes.
    public private(set) var end: Int64 = 0

    /// Nil when the bytes are no such page.
    public init?(_ bytes: [UInt8], run: LoadText) {
        var page = MessagePage()
        var hasItems = false
        let isObject = bytes.withUnsafeBufferPointer { buffer in
            try? JSONReader.readMembers(of: buffer) { key, value in
                if key.equals("items") {
                    hasItems = value.kind == .array
                    value.forEachElement { if let item = StoredMessage($0, run: run) { page.items.append(item) } }
                } else if key.equals("hasMoreAfter") || key.equals("hasMore") {
                    page.hasMore = value.bool ?? false
                } else if key.equals("lastSeq") || key.equals("upToSeq") {
                    page.end = value.integer ?? 0
                }
            }
        }
        guard isObject == true, hasItems else { return nil }
        self = page
    }

    private init() {}
}

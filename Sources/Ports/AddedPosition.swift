import RoostModel

/// Where a page of users in the order of their adding ends; for the stores.
public struct AddedPosition: Sendable {
    public let time: Timestamp
    public let id: UserID

    /// Nil without a cursor.
    public init?(_ cursor: String?, _ kind: CursorKind) throws(StoreError) {
        guard let cursor else { return nil }
        var reader = try CursorReader(cursor, kind)
        time = Timestamp(milliseconds: try reader.integer())
        id = UserID(high: try reader.integer(), low: try reader.integer())
        try reader.end()
    }

    /// - Parameter rows: one more than `limit` where there are more.
    public static func page<Item>(
        _ rows: [Item], limit: Int, _ kind: CursorKind, position: (Item) -> (Timestamp, UserID)
    ) -> Page<Item> {
        guard rows.count > limit, limit > 0 else { return Page(items: rows, nextCursor: nil) }
        let (time, id) = position(rows[limit - 1])
        var writer = CursorWriter(kind)
        writer.write(time.milliseconds)
        writer.write(id.high)
        writer.write(id.low)
        return Page(items: Array(rows.prefix(limit)), nextCursor: writer.text)
    }
}

import RoostModel

/// The bytes of load reports: `1`, then fixed fields, then lists; integers big endian, costs as 32-bit floats. A later release may append
/// to the end under `1`.
extension ClusterWire {
    /// More than any node owns.
    private static let maximumPins = 4096

    public static func encode(_ report: LoadReport) -> [UInt8] {
        var bytes = LoadBytes()
        bytes.put(UInt8(1))
        bytes.put(report.node.incarnation.high)
        bytes.put(report.node.incarnation.low)
        bytes.put(UInt8(report.node.name.utf8.count))
        bytes.bytes += Array(report.node.name.utf8)
        bytes.put(UInt32(clamping: report.sessions))
        bytes.put(UInt32(clamping: report.conversationActors))
        bytes.put(UInt32(clamping: report.presenceActors))
        bytes.put(UInt64(clamping: report.residentBytes))
        let rates = report.rates
        for rate in [
            rates.commitsPerSecond, rates.deliveriesPerSecond, rates.commitMillisecondsP50, rates.commitMillisecondsP99,
        ] { bytes.put(Float(rate).bitPattern) }
        bytes.put(UInt16(report.shards.count))
        for (shard, cost) in report.shards {
            bytes.put(UInt16(shard.tableIndex))
            bytes.put(Float(cost).bitPattern)
        }
        let pins = report.pins.prefix(maximumPins)
        bytes.put(UInt16(pins.count))
        for (actor, cost) in pins {
            bytes.put(UInt8(actor.kind == .conversation ? 0 : 1))
            bytes.put(actor.high)
            bytes.put(actor.low)
            bytes.put(Float(cost).bitPattern)
        }
        return bytes.bytes
    }

    /// Nil for anything else than a report of a form that this release knows.
    public static func load(_ bytes: [UInt8]) -> LoadReport? {
        var reader = LoadReader(bytes: bytes)
        guard reader.integer(UInt8.self) == 1, let high = reader.integer(UInt64.self), let low = reader.integer(UInt64.self),
            let length = reader.integer(UInt8.self), let name = reader.text(Int(length)),
            let sessions = reader.integer(UInt32.self), let conversations = reader.integer(UInt32.self),
            let presences = reader.integer(UInt32.self), let resident = reader.integer(UInt64.self),
            let commits = reader.cost(), let deliveries = reader.cost(), let p50 = reader.cost(), let p99 = reader.cost(),
            let shardCount = reader.integer(UInt16.self), shardCount <= ShardID.all.count
        else { return nil }
        var report = LoadReport(
            node: NodeIdentity(name: name, incarnation: IncarnationID(high: high, low: low)), sessions: Int(sessions),
            conversationActors: Int(conversations), presenceActors: Int(presences), residentBytes: Int(clamping: resident),
            rates: LoadRates(
                commitsPerSecond: commits, deliveriesPerSecond: deliveries, commitMillisecondsP50: p50,
                commitMillisecondsP99: p99))
        for _ in 0..<shardCount {
            guard let index = reader.integer(UInt16.self), index < ShardID.all.count, let cost = reader.cost() else { return nil }
            report.shards[ShardID.all[Int(index)]] = cost
        }
        guard let pinCount = reader.integer(UInt16.self), pinCount <= maximumPins else { return nil }
        for _ in 0..<pinCount {
            guard let kind = reader.integer(UInt8.self), kind <= 1, let high = reader.integer(UInt64.self),
                let low = reader.integer(UInt64.self), let cost = reader.cost()
            else { return nil }
            report.pins[ActorAddress(kind: kind == 0 ? .conversation : .presence, high: high, low: low)] = cost
        }
        return report
    }
}

private struct LoadBytes {
    var bytes: [UInt8] = []

    mutating func put(_ value: some FixedWidthInteger) { withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) } }
}

private struct LoadReader {
    let bytes: [UInt8]
    var position = 0

    mutating func integer<Integer: FixedWidthInteger & UnsignedInteger>(_: Integer.Type) -> Integer? {
        let size = MemoryLayout<Integer>.size
        guard bytes.count - position >= size else { return nil }
        defer { position += size }
        return bytes[position..<position + size].reduce(Integer.zero) { size == 1 ? Integer($1) : $0 << 8 | Integer($1) }
    }

    /// A cost or a rate; negative ones and those that are no number are refused.
    mutating func cost() -> Double? {
        guard let bits = integer(UInt32.self) else { return nil }
        let value = Double(Float(bitPattern: bits))
        return value.isFinite && value >= 0 ? value : nil
    }

    mutating func text(_ length: Int) -> String? {
        guard bytes.count - position >= length, (1...64).contains(length) else { return nil }
        defer { position += length }
        let name = bytes[position..<position + length]
        return name.allSatisfy(ClusterWire.isNameByte) ? String(decoding: name, as: UTF8.self) : nil
    }
}

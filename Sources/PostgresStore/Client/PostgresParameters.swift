import RoostModel

/// Parameters in PostgreSQL's binary format, big endian, one after another in one buffer.
struct PostgresParameters: Sendable {
    private(set) var bytes: [UInt8] = []
    /// Where each value ends in `bytes`; nil for NULL.
    private(set) var ends: [Int?] = []

    init(capacity: Int = 0) {
        if capacity > 0 { bytes.reserveCapacity(capacity) }
    }

    var count: Int { ends.count }

    private mutating func end() { ends.append(bytes.count) }

    mutating func null() { ends.append(nil) }

    mutating func add<Subject>(_ value: Identifier<Subject>) { bytes.append(value); end() }
    mutating func add(_ value: Int64) { bytes.append(bigEndian: value); end() }
    mutating func add(_ value: Int16) { bytes.append(bigEndian: value); end() }
    mutating func add(_ value: Int32) { bytes.append(bigEndian: value); end() }
    mutating func add(_ value: UInt64) { bytes.append(bigEndian: value); end() }
    mutating func add(_ value: Double) { bytes.append(bigEndian: value.bitPattern); end() }
    mutating func add(_ value: Bool) { bytes.append(value ? 1 : 0); end() }
    mutating func add(_ value: String) { bytes.append(contentsOf: value.utf8); end() }
    mutating func add(_ value: [UInt8]) { bytes.append(contentsOf: value); end() }
    mutating func add(_ value: Seq) { add(value.value) }
    mutating func add(_ value: Timestamp) { add(value.postgresMicroseconds) }

    mutating func add(_ value: String?) { if let value { add(value) } else { null() } }
    mutating func add(_ value: Bool?) { if let value { add(value) } else { null() } }
    mutating func add(_ value: Timestamp?) { if let value { add(value) } else { null() } }
    mutating func add(_ value: Seq?) { if let value { add(value) } else { null() } }
    mutating func add(_ value: Int64?) { if let value { add(value) } else { null() } }
    mutating func add(_ value: UInt64?) { if let value { add(value) } else { null() } }
    mutating func add<Subject>(_ value: Identifier<Subject>?) { if let value { add(value) } else { null() } }

    /// An `interval` of microseconds, no days or months.
    mutating func add(interval: Duration) {
        bytes.append(bigEndian: interval.components.seconds * 1_000_000 + interval.components.attoseconds / 1_000_000_000_000)
        bytes.append(bigEndian: Int64(0))
        end()
    }

    // MARK: Arrays

    mutating func add<Subject>(ids: some Collection<Identifier<Subject>>) {
        array(of: .uuid, count: ids.count)
        for id in ids {
            bytes.append(bigEndian: Int32(16))
            bytes.append(id)
        }
        end()
    }

    mutating func add(integers: some Collection<Int64>) {
        array(of: .int8, count: integers.count)
        for value in integers {
            bytes.append(bigEndian: Int32(8))
            bytes.append(bigEndian: value)
        }
        end()
    }

    mutating func add(shorts: some Collection<Int16>) {
        array(of: .int2, count: shorts.count)
        for value in shorts {
            bytes.append(bigEndian: Int32(2))
            bytes.append(bigEndian: value)
        }
        end()
    }

    mutating func add(times: some Collection<Timestamp>) {
        array(of: .timestamptz, count: times.count)
        for value in times {
            bytes.append(bigEndian: Int32(8))
            bytes.append(bigEndian: value.postgresMicroseconds)
        }
        end()
    }

    mutating func add(booleans: some Collection<Bool>) {
        array(of: .bool, count: booleans.count)
        for value in booleans {
            bytes.append(bigEndian: Int32(1))
            bytes.append(value ? 1 : 0)
        }
        end()
    }

    mutating func add(texts: some Collection<String>) {
        array(of: .text, count: texts.count)
        for value in texts {
            bytes.append(bigEndian: Int32(value.utf8.count))
            bytes.append(contentsOf: value.utf8)
        }
        end()
    }

    private mutating func array(of type: PostgresType, count: Int) {
        bytes.append(bigEndian: Int32(count == 0 ? 0 : 1))
        bytes.append(bigEndian: Int32(0))
        bytes.append(bigEndian: type.rawValue)
        if count > 0 {
            bytes.append(bigEndian: Int32(count))
            bytes.append(bigEndian: Int32(1))
        }
    }
}

/// The OIDs of PostgreSQL's `pg_type.dat` that the store uses; they are the same in every version.
enum PostgresType: Int32 {
    case bool = 16, int8 = 20, int2 = 21, text = 25, timestamptz = 1184, uuid = 2950
}

extension Timestamp {
    /// Microseconds from 1970 to 2000-01-01, PostgreSQL's epoch.
    private static let epochDifference: Int64 = 946_684_800_000_000

    var postgresMicroseconds: Int64 { milliseconds * 1000 - Self.epochDifference }

    init(postgresMicroseconds value: Int64) {
        // Rounded down, also before 1970. The infinities and what no calendar shows are the ends of the years 0…9999.
        let range: ClosedRange<Int64> = -62_167_219_200_000_000...253_402_300_799_999_000
        let (sum, isBeyond) = value.addingReportingOverflow(Self.epochDifference)
        let microseconds = isBeyond ? range.upperBound : min(max(sum, range.lowerBound), range.upperBound)
        self.init(milliseconds: (microseconds - (microseconds % 1000 + 1000) % 1000) / 1000)
    }
}

extension [UInt8] {
    @inline(__always)
    mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    @inline(__always)
    mutating func append<Subject>(_ id: Identifier<Subject>) {
        append(bigEndian: id.high)
        append(bigEndian: id.low)
    }
}

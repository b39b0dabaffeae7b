import CPostgres
import RoostModel

/// The rows of one statement, in binary format. The result itself never changes, so it may be read anywhere.
final class PostgresRows: @unchecked Sendable {
    private let result: OpaquePointer
    let count: Int

    /// Takes the result over.
    init(_ result: OpaquePointer) {
        self.result = result
        count = Int(PQntuples(result))
    }

    deinit { PQclear(result) }

    subscript(row: Int) -> PostgresRow {
        precondition(row >= 0 && row < count)
        return PostgresRow(rows: self, row: Int32(row))
    }

    var first: PostgresRow? { count > 0 ? self[0] : nil }

    func map<Value>(_ transform: (PostgresRow) throws -> Value) rethrows -> [Value] {
        try (0..<count).map { try transform(self[$0]) }
    }

    fileprivate func bytes(_ row: Int32, _ column: Int) -> UnsafeRawBufferPointer? {
        precondition(column < Int(PQnfields(result)), "no such column")
        if PQgetisnull(result, row, Int32(column)) != 0 { return nil }
        return UnsafeRawBufferPointer(
            start: PQgetvalue(result, row, Int32(column)), count: Int(PQgetlength(result, row, Int32(column))))
    }
}

/// The values of a row or of a record within one, by position. Reading a column as another type than its statement gives it is a bug,
/// and traps.
protocol PostgresColumns {
    /// The bytes of a column; nil for NULL. They live as long as the rows.
    func bytes(_ column: Int) -> UnsafeRawBufferPointer?
}

/// One row.
struct PostgresRow: PostgresColumns {
    fileprivate let rows: PostgresRows
    fileprivate let row: Int32

    func bytes(_ column: Int) -> UnsafeRawBufferPointer? { rows.bytes(row, column) }
}

/// A composite value (`ROW(…)`) in a column: a count, then type, length and bytes of each (PostgreSQL's `record_send`).
struct PostgresRecord: PostgresColumns {
    /// Keeps the bytes alive.
    private let owner: any PostgresColumns
    private let columns: [UnsafeRawBufferPointer?]

    fileprivate init(_ bytes: UnsafeRawBufferPointer, of owner: any PostgresColumns) {
        self.owner = owner
        var rest = UnsafeRawBufferPointer(rebasing: bytes[4...])
        columns = (0..<Int(bytes.bigEndianInteger(Int32.self))).map { _ in
            let length = Int(UnsafeRawBufferPointer(rebasing: rest[4...]).bigEndianInteger(Int32.self))
            let value = length < 0 ? nil : UnsafeRawBufferPointer(rebasing: rest[8..<8 + length])
            rest = UnsafeRawBufferPointer(rebasing: rest[(8 + max(0, length))...])
            return value
        }
    }

    func bytes(_ column: Int) -> UnsafeRawBufferPointer? { columns[column] }
}

extension PostgresColumns {
    func isNull(_ column: Int) -> Bool { bytes(column) == nil }

    func id<Subject>(_ column: Int) -> Identifier<Subject> { value(column) { Identifier(postgres: $0) } }
    func int64(_ column: Int) -> Int64 { value(column) { $0.bigEndianInteger(Int64.self) } }
    func uint64(_ column: Int) -> UInt64 { value(column) { $0.bigEndianInteger(UInt64.self) } }
    func int16(_ column: Int) -> Int16 { value(column) { $0.bigEndianInteger(Int16.self) } }
    func double(_ column: Int) -> Double { value(column) { Double(bitPattern: $0.bigEndianInteger(UInt64.self)) } }
    func bool(_ column: Int) -> Bool { value(column) { $0[0] != 0 } }
    func text(_ column: Int) -> String { value(column) { String(decoding: $0, as: UTF8.self) } }
    func data(_ column: Int) -> [UInt8] { value(column) { Array($0) } }
    func seq(_ column: Int) -> Seq { Seq(int64(column)) }
    func time(_ column: Int) -> Timestamp { Timestamp(postgresMicroseconds: int64(column)) }

    /// nil for NULL, else what `read` makes of this column.
    func optional<Value>(_ column: Int, _ read: (Self) -> (Int) -> Value) -> Value? {
        isNull(column) ? nil : read(self)(column)
    }

    func ids<Subject>(_ column: Int) -> [Identifier<Subject>] { elements(column) { Identifier(postgres: $0!) } }
    func optionalIDs<Subject>(_ column: Int) -> [Identifier<Subject>?] {
        elements(column) { $0.map { Identifier(postgres: $0) } }
    }
    func integers(_ column: Int) -> [Int64] { elements(column) { $0!.bigEndianInteger(Int64.self) } }
    func optionalIntegers(_ column: Int) -> [Int64?] { elements(column) { $0.map { $0.bigEndianInteger(Int64.self) } } }
    func shorts(_ column: Int) -> [Int16] { elements(column) { $0!.bigEndianInteger(Int16.self) } }
    func doubles(_ column: Int) -> [Double] { elements(column) { Double(bitPattern: $0!.bigEndianInteger(UInt64.self)) } }
    func texts(_ column: Int) -> [String] { elements(column) { String(decoding: $0!, as: UTF8.self) } }
    func optionalTexts(_ column: Int) -> [String?] { elements(column) { $0.map { String(decoding: $0, as: UTF8.self) } } }
    func booleans(_ column: Int) -> [Bool] { elements(column) { $0![0] != 0 } }
    /// Of `record[]`.
    func records(_ column: Int) -> [PostgresRecord] { elements(column) { PostgresRecord($0!, of: self) } }
    func optionalRecords(_ column: Int) -> [PostgresRecord?] { elements(column) { $0.map { PostgresRecord($0, of: self) } } }
    func record(_ column: Int) -> PostgresRecord? { bytes(column).map { PostgresRecord($0, of: self) } }
    func times(_ column: Int) -> [Timestamp] { integers(column).map { Timestamp(postgresMicroseconds: $0) } }

    private func value<Value>(_ column: Int, _ read: (UnsafeRawBufferPointer) -> Value) -> Value {
        guard let bytes = bytes(column) else { preconditionFailure("NULL in column \(column)") }
        return read(bytes)
    }

    /// A one-dimensional array; NULL is read as empty.
    private func elements<Value>(_ column: Int, _ read: (UnsafeRawBufferPointer?) -> Value) -> [Value] {
        guard let bytes = bytes(column), bytes.bigEndianInteger(Int32.self) != 0 else { return [] }
        let count = Int(UnsafeRawBufferPointer(rebasing: bytes[12...]).bigEndianInteger(Int32.self))
        var rest = UnsafeRawBufferPointer(rebasing: bytes[20...])
        var result: [Value] = []
        result.reserveCapacity(count)
        for _ in 0..<count {
            let length = Int(rest.bigEndianInteger(Int32.self))
            if length < 0 {
                result.append(read(nil))
                rest = UnsafeRawBufferPointer(rebasing: rest[4...])
            } else {
                result.append(read(UnsafeRawBufferPointer(rebasing: rest[4..<4 + length])))
                rest = UnsafeRawBufferPointer(rebasing: rest[(4 + length)...])
            }
        }
        return result
    }
}

extension UnsafeRawBufferPointer {
    func bigEndianInteger<Integer: FixedWidthInteger>(_: Integer.Type) -> Integer {
        Integer(bigEndian: loadUnaligned(as: Integer.self))
    }
}

extension Identifier {
    init(postgres bytes: UnsafeRawBufferPointer) {
        self.init(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
}

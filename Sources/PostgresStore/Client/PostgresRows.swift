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

/// One row. Reading a column as another type than its statement gives it is a bug, and traps.
struct PostgresRow {
    fileprivate let rows: PostgresRows
    fileprivate let row: Int32

    func isNull(_ column: Int) -> Bool { rows.bytes(row, column) == nil }

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
    func optional<Value>(_ column: Int, _ read: (PostgresRow) -> (Int) -> Value) -> Value? {
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
    func times(_ column: Int) -> [Timestamp] { integers(column).map { Timestamp(postgresMicroseconds: $0) } }

    private func value<Value>(_ column: Int, _ read: (UnsafeRawBufferPointer) -> Value) -> Value {
        guard let bytes = rows.bytes(row, column) else { preconditionFailure("NULL in column \(column)") }
        return read(bytes)
    }

    /// A one-dimensional array; NULL is read as empty.
    private func elements<Value>(_ column: Int, _ read: (UnsafeRawBufferPointer?) -> Value) -> [Value] {
        guard let bytes = rows.bytes(row, column), bytes.bigEndianInteger(Int32.self) != 0 else { return [] }
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

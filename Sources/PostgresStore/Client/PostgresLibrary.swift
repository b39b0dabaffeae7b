import CPostgres
import Glibc

/// What of libpq takes arrays of C strings.
enum PostgresLibrary {
    /// `PQconnectStartParams`; nil when out of memory. The first pair is the URL or conninfo string as `dbname`.
    static func start(_ pairs: [(String, String)]) -> OpaquePointer? {
        withCStrings(pairs) { PQconnectStartParams($0, $1, 1) }
    }

    /// `PQconnectdbParams`, which blocks.
    static func connect(_ pairs: [(String, String)]) -> OpaquePointer? {
        withCStrings(pairs) { PQconnectdbParams($0, $1, 1) }
    }

    private static func withCStrings<Value>(
        _ pairs: [(String, String)],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> Value
    ) -> Value {
        let keys = pairs.map { strdup($0.0) }
        let values = pairs.map { strdup($0.1) }
        defer { for pointer in keys + values { free(pointer) } }
        return body(keys.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil])
    }
}

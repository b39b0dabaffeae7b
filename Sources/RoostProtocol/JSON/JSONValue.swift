import RoostModel

/// A JSON document as a tree, for what is not hot.
public enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// As it was written.
    case number(String)
    case string(String)
    case array([JSONValue])
    /// Of duplicate keys the last one counts.
    case object([String: JSONValue])

    public init(_ bytes: some Collection<UInt8>) throws(JSONFault) {
        let bytes = ContiguousArray(bytes)
        let result: Result<JSONValue, JSONFault> = bytes.withUnsafeBufferPointer { buffer in
            do throws(JSONFault) { return .success(try JSONReader.read(buffer) { JSONValue($0) }) } catch {
                return .failure(error)
            }
        }
        self = try result.get()
    }

    public init(_ slice: JSONSlice) {
        switch slice.kind {
        case .null: self = .null
        case .bool: self = .bool(slice.bool == true)
        case .number: self = .number(String(decoding: slice.raw, as: UTF8.self))
        case .string: self = .string(slice.string ?? "")
        case .array:
            var elements: [JSONValue] = []
            slice.forEachElement { elements.append(JSONValue($0)) }
            self = .array(elements)
        case .object:
            var members: [String: JSONValue] = [:]
            slice.forEachMember { members[$0.string ?? ""] = JSONValue($1) }
            self = .object(members)
        }
    }

    public subscript(key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    public var isNull: Bool { self == .null }
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    public var double: Double? { if case .number(let text) = self { Double(text) } else { nil } }

    /// As ``JSONSlice/integer``.
    public var integer: Int64? {
        guard case .number(var text) = self else { return nil }
        return text.withUTF8 {
            JSONSlice(start: $0.baseAddress!, count: $0.count, kind: .number, hasEscapes: false).integer
        }
    }

    public func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .bool(let value): writer.bool(value)
        case .number(let text): writer.raw(text.utf8)
        case .string(let text): writer.string(text)
        case .array(let elements): writer.array(elements) { $1.write(to: &$0) }
        case .object(let members):
            writer.object { writer in
                for (key, value) in members.sorted(by: { $0.key < $1.key }) {
                    writer.key(key)
                    value.write(to: &writer)
                }
            }
        }
    }
}

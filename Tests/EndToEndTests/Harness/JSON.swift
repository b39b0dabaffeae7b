import Foundation

/// What a server said, read with Foundation and not with the project's own parser, so that the two check each other.
enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// - Throws: if the bytes are no JSON.
    init(_ bytes: Data) throws { self.init(try JSONSerialization.jsonObject(with: bytes, options: .fragmentsAllowed)) }

    private init(_ value: Any) {
        switch value {
        case let text as String: self = .string(text)
        case let items as [Any]: self = .array(items.map(JSON.init))
        case let members as [String: Any]: self = .object(members.mapValues(JSON.init))
        // Foundation tells true from 1 by the type of number only.
        case let number as NSNumber where String(cString: number.objCType) == "c": self = .bool(number.boolValue)
        case let number as NSNumber: self = Int(exactly: number).map(JSON.int) ?? .double(number.doubleValue)
        default: self = .null
        }
    }

    subscript(_ key: String) -> JSON {
        if case .object(let members) = self { return members[key] ?? .null }
        return .null
    }

    subscript(_ index: Int) -> JSON {
        if case .array(let items) = self, items.indices.contains(index) { return items[index] }
        return .null
    }

    var string: String? { if case .string(let value) = self { value } else { nil } }
    var int: Int? { if case .int(let value) = self { value } else { nil } }
    /// A number, whole or not.
    var double: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        case .null, .bool, .string, .array, .object: nil
        }
    }
    var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The items of an array; none of anything else.
    var items: [JSON] { if case .array(let value) = self { value } else { [] } }
    /// The members of an object; none of anything else.
    var members: [String: JSON] { if case .object(let members) = self { members } else { [:] } }
    var isNull: Bool { self == .null }

    static func strings(_ values: [String]) -> JSON { .array(values.map(JSON.string)) }

    /// This object with the members of another, which win.
    func adding(_ other: JSON) -> JSON {
        guard case .object(let members) = self, case .object(let more) = other else { return other }
        return .object(members.merging(more) { $1 })
    }

    /// On one line, for a request or a socket.
    var text: String {
        // Encoding values of these types cannot fail.
        String(decoding: (try? JSONEncoder().encode(self)) ?? Data(), as: UTF8.self)
    }
}

extension JSON: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByStringInterpolation
{
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int) { self = .int(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(nilLiteral: ()) { self = .null }
    init(arrayLiteral elements: JSON...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSON)...) { self = .object(Dictionary(elements) { $1 }) }
}

import RoostModel
import RoostProtocol

/// A JSON Schema (draft 2020-12), as OpenAPI 3.1 takes it.
struct Schema: Hashable, Sendable {
    let json: JSONValue

    init(_ json: JSONValue) { self.json = json }

    // MARK: Values

    static let id = Schema(["type": "string", "format": "uuid"])
    static let time = Schema(["type": "string", "format": "date-time"])
    static let counter = Schema(["type": "integer", "format": "int64", "minimum": 0])
    static let count = Schema(["type": "integer", "minimum": 0])
    static let number = Schema(["type": "number", "minimum": 0])
    static let bool = Schema(["type": "boolean"])
    static let text = Schema(["type": "string"])
    static let yes = Schema(["const": true])

    /// Of so many characters (Unicode scalars; limits in graphemes cannot be said in a schema).
    static func text(_ length: ClosedRange<Int>) -> Schema {
        Schema(["type": "string", "minLength": .int(length.lowerBound), "maxLength": .int(length.upperBound)])
    }

    static func words(_ words: String...) -> Schema { Schema(["type": "string", "enum": .strings(words)]) }

    static func words<Word: CaseIterable & RawRepresentable>(_ type: Word.Type) -> Schema where Word.RawValue == String {
        Schema(["type": "string", "enum": .strings(Word.allCases.map(\.rawValue))])
    }

    // MARK: Composition

    /// One of ``components``.
    static func named(_ name: String) -> Schema { Schema(["$ref": .string("#/components/schemas/\(name)")]) }

    static func list(of item: Schema) -> Schema { Schema(["type": "array", "items": item.json]) }

    /// `{"items":[…],"nextCursor":…}`
    static func page(of item: Schema) -> Schema { .object(["items": .list(of: item), "nextCursor": Schema.text.nullable]) }

    static func items(of item: Schema) -> Schema { .object(["items": .list(of: item)]) }

    /// Every key of `required` is there; others may be, and clients ignore what they do not know.
    static func object(
        _ required: KeyValuePairs<String, Schema>, optional: KeyValuePairs<String, Schema> = [:]
    ) -> Schema {
        let properties = (Array(required) + Array(optional)).map { ($0.key, $0.value.json) }
        var json: JSONValue = ["type": "object", "properties": .object(Dictionary(uniqueKeysWithValues: properties))]
        if !required.isEmpty { json = json.merging(["required": .strings(required.map(\.key))]) }
        return Schema(json)
    }

    /// A request's body: null is the same as absent.
    static func request(
        _ required: KeyValuePairs<String, Schema> = [:], optional: KeyValuePairs<String, Schema> = [:]
    ) -> Schema {
        let nullable = optional.map { ($0.key, $0.value.nullable) }
        let properties = required.map { ($0.key, $0.value.json) } + nullable.map { ($0.0, $0.1.json) }
        var json: JSONValue = ["type": "object", "properties": .object(Dictionary(uniqueKeysWithValues: properties))]
        if !required.isEmpty { json = json.merging(["required": .strings(required.map(\.key))]) }
        return Schema(json)
    }

    static func anyOf(_ schemas: Schema...) -> Schema { Schema(["anyOf": .array(schemas.map(\.json))]) }

    /// This, and what `other` asks beside it.
    func and(_ other: Schema) -> Schema { Schema(["allOf": [json, other.json]]) }

    var nullable: Schema {
        if case .string(let type)? = json["type"], json["enum"] == nil, json["const"] == nil {
            return Schema(json.merging(["type": .strings([type, "null"])]))
        }
        return Schema(["anyOf": [json, ["type": "null"]]])
    }

    func described(_ text: String) -> Schema { Schema(json.merging(["description": .string(text)])) }
}

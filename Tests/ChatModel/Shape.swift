import RoostProtocol

/// A time that only the server knows: the first answer that shows it says which it is, and every later one must say the same.
final class TimeCell: @unchecked Sendable {
    // Confined to the one task of a run.
    var value: String?
}

/// What a part of an answer must look like.
indirect enum Shape {
    case null
    case bool(Bool)
    case int(Int)
    case text(String)
    case time(TimeCell)
    /// Some time that nothing else shows.
    case someTime
    case anything
    case array([Shape])
    /// An array in any order.
    case bag([Shape])
    /// Exactly these members, but for those that may be left out.
    case object([String: Shape], maybe: [String: Shape] = [:])

    /// Why a value does not look like this; nil where it does. Times that it shows first are known then.
    func mismatch(_ value: JSONValue?) -> String? {
        var learned: [(TimeCell, String)] = []
        if let fault = check(value ?? .null, "", &learned) { return fault }
        for (cell, text) in learned { cell.value = text }
        return nil
    }

    private func check(_ value: JSONValue, _ path: String, _ learned: inout [(TimeCell, String)]) -> String? {
        switch self {
        case .anything: return nil
        case .null: return value == .null ? nil : differs(path, "null", value)
        case .bool(let flag): return value == .bool(flag) ? nil : differs(path, "\(flag)", value)
        case .int(let number): return value == .number("\(number)") ? nil : differs(path, "\(number)", value)
        case .text(let text): return value == .string(text) ? nil : differs(path, "\"\(text)\"", value)
        case .someTime: return value.string.map(isTime) == true ? nil : differs(path, "a time", value)
        case .time(let cell):
            guard let text = value.string, isTime(text) else { return differs(path, "a time", value) }
            let known = cell.value ?? learned.first { $0.0 === cell }?.1
            if let known { return known == text ? nil : differs(path, known, value) }
            learned.append((cell, text))
            return nil
        case .array(let shapes):
            guard let items = value.array, items.count == shapes.count else {
                return differs(path, "\(shapes.count) items", value)
            }
            for (index, (shape, item)) in zip(shapes, items).enumerated() {
                if let fault = shape.check(item, "\(path)[\(index)]", &learned) { return fault }
            }
            return nil
        case .bag(let shapes):
            guard var items = value.array, items.count == shapes.count else {
                return differs(path, "\(shapes.count) items", value)
            }
            for shape in shapes {
                // Of several that do not fit, the one that should have is worth telling of.
                var fault: String?
                let index = items.firstIndex { item in
                    var trial = learned
                    let found = shape.check(item, "\(path)[?]", &trial)
                    if found == nil { learned = trial } else if fault == nil || isNamed(item, by: shape) { fault = found }
                    return found == nil
                }
                guard let index else { return fault ?? differs(path, "another item", value) }
                items.remove(at: index)
            }
            return nil
        case .object(let shapes, let maybe):
            guard case .object(let members) = value else { return differs(path, "an object", value) }
            for (key, shape) in shapes.sorted(by: { $0.key < $1.key }) {
                guard let member = members[key] else { return "\(path).\(key) is missing" }
                if let fault = shape.check(member, "\(path).\(key)", &learned) { return fault }
            }
            for (key, member) in members where shapes[key] == nil {
                guard let shape = maybe[key] else { return "\(path).\(key) is not expected" }
                if let fault = shape.check(member, "\(path).\(key)", &learned) { return fault }
            }
            return nil
        }
    }

    /// Whether an item has the names of what is expected.
    private func isNamed(_ item: JSONValue, by shape: Shape) -> Bool {
        guard case .object(let members, _) = shape else { return false }
        let names = ["id", "userId", "seq", "conversationId", "message"].filter { members[$0] != nil }
        return names.allSatisfy { name in
            var ignored: [(TimeCell, String)] = []
            let (value, expected) = (item[name] ?? .null, members[name]!)
            return name == "message" ? isNamed(value, by: expected) : expected.check(value, "", &ignored) == nil
        }
    }

    private func differs(_ path: String, _ expected: String, _ value: JSONValue) -> String {
        "\(path) must be \(expected), not \(value.line.prefix(600))"
    }

    /// RFC 3339 in UTC with milliseconds, as the contract has it.
    private func isTime(_ text: String) -> Bool {
        text.utf8.count == 24 && text.hasSuffix("Z") && text.utf8.dropFirst(10).first == UInt8(ascii: "T")
    }
}

extension Shape {
    static func texts(_ texts: [String]) -> Shape { .array(texts.map { .text($0) }) }
    static func optional(_ text: String?) -> Shape { text.map { .text($0) } ?? .null }
    static func optional(_ cell: TimeCell?) -> Shape { cell.map { .time($0) } ?? .null }
}

extension JSONValue {
    /// On one line.
    var line: String { String(decoding: JSONWriter.encoded { write(to: &$0) }, as: UTF8.self) }

    var int: Int? { integer.map { Int($0) } }
}

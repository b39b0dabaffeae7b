import RoostModel

/// What a client reads from the server's JSON. Unknown keys are skipped, so that a newer server can add some.
public protocol WireDecodable {
    /// Nil where a key that this version needs is missing or of a wrong kind.
    init?(json slice: JSONSlice)
}

/// Bytes of a server's answer that are not what this version understands.
public struct WireFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was expected; holds nothing of the bytes.
    public let description: String

    public init(_ description: String) { self.description = description }
}

extension WireDecodable {
    public static func decode(_ bytes: some Collection<UInt8>) throws(WireFault) -> Self {
        let bytes = ContiguousArray(bytes)
        let result: Result<Self?, JSONFault> = bytes.withUnsafeBufferPointer { buffer in
            do throws(JSONFault) { return .success(try JSONReader.read(buffer) { Self(json: $0) }) } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let value?): return value
        case .success(nil): throw WireFault("not a \(Self.self)")
        case .failure(let fault): throw WireFault("\(fault.reason.rawValue) at byte \(fault.offset)")
        }
    }
}

/// The members of an object by name; the last one of a name counts.
struct WireFields {
    private var members: [(key: JSONSlice, value: JSONSlice)] = []

    init(_ slice: JSONSlice) { slice.forEachMember { members.append(($0, $1)) } }

    subscript(name: StaticString) -> JSONSlice? { members.last { $0.key.equals(name) }?.value }

    func seq(_ name: StaticString) -> Seq? { self[name]?.integer.map { Seq($0) } }

    /// Nil where the field is missing, no array, or an element cannot be read.
    func array<Element>(_ name: StaticString, _ read: (JSONSlice) -> Element?) -> [Element]? {
        guard let slice = self[name], slice.kind == .array else { return nil }
        var elements: [Element] = []
        var isWhole = true
        slice.forEachElement { element in
            if let value = read(element) { elements.append(value) } else { isWhole = false }
        }
        return isWhole ? elements : nil
    }

    /// A field that may be null: nil where it is missing or cannot be read, `.some(nil)` where it is null.
    func optional<Value>(_ name: StaticString, _ read: (JSONSlice) -> Value?) -> Value?? {
        guard let slice = self[name] else { return nil }
        if slice.kind == .null { return .some(nil) }
        return read(slice).map { .some($0) }
    }
}

import RoostModel

/// The JSON object of a request, with accessors that fail as the contract says: not JSON or a wrong JSON type is `malformed`, a
/// missing field `validationFailed` with `required`. Unknown fields are ignored; null is the same as absent except in a patch.
public struct JSONBody: Sendable {
    public let members: [String: JSONValue]
    /// What stands before field names in errors, such as `device.`.
    private let path: String

    public init(_ bytes: some Collection<UInt8>) throws(RoostError) {
        let value: JSONValue
        do throws(JSONFault) { value = try JSONValue(bytes) } catch { throw RoostError(error) }
        guard case .object(let members) = value else { throw RoostError(.malformed, "a JSON object is expected") }
        self.init(members: members)
    }

    /// As ``init(_:)``, but no bytes at all are an empty object.
    public init(optional bytes: some Collection<UInt8>) throws(RoostError) {
        if bytes.isEmpty { self.init(members: [:]) } else { try self.init(bytes) }
    }

    public init(members: [String: JSONValue], path: String = "") {
        self.members = members
        self.path = path
    }

    private func present(_ name: String) -> JSONValue? {
        guard let value = members[name], !value.isNull else { return nil }
        return value
    }

    private func wrongType(_ name: String, _ expected: String) -> RoostError {
        RoostError(.malformed, "\(path)\(name) must be \(expected)")
    }

    private func required<Value>(_ name: String, _ value: Value?) throws(RoostError) -> Value {
        guard let value else { throw .invalid(path + name, .required) }
        return value
    }

    public func string(_ name: String) throws(RoostError) -> String? {
        guard let value = present(name) else { return nil }
        guard let text = value.string else { throw wrongType(name, "a string") }
        return text
    }

    public func requiredString(_ name: String) throws(RoostError) -> String { try required(name, string(name)) }

    /// Nil leaves the field, `.some(nil)` clears it.
    public func patchString(_ name: String) throws(RoostError) -> String?? {
        guard let value = members[name] else { return nil }
        if value.isNull { return .some(nil) }
        return .some(try string(name))
    }

    public func bool(_ name: String) throws(RoostError) -> Bool? {
        guard let value = present(name) else { return nil }
        guard let flag = value.bool else { throw wrongType(name, "true or false") }
        return flag
    }

    public func requiredBool(_ name: String) throws(RoostError) -> Bool { try required(name, bool(name)) }

    /// A fraction is `invalid`; a number beyond Int64 is the nearest one.
    public func integer(_ name: String) throws(RoostError) -> Int64? {
        guard let value = present(name) else { return nil }
        guard case .number = value else { throw wrongType(name, "a number") }
        guard let number = value.integer else { throw .invalid(path + name, .invalid) }
        return number
    }

    /// A counter's value; a negative one is `invalid`.
    public func requiredSeq(_ name: String) throws(RoostError) -> Seq {
        let value = try required(name, integer(name))
        guard value >= 0 else { throw .invalid(path + name, .invalid) }
        return Seq(value)
    }

    /// An id; a string that is none counts as one that does not exist: `unknown`.
    public func identifier<Subject>(
        _ name: String, _ type: Identifier<Subject>.Type = Identifier<Subject>.self
    ) throws(RoostError) -> Identifier<Subject>? {
        guard let text = try string(name) else { return nil }
        guard let id = Identifier<Subject>(text) else { throw .invalid(path + name, .unknown) }
        return id
    }

    public func requiredIdentifier<Subject>(
        _ name: String, _ type: Identifier<Subject>.Type = Identifier<Subject>.self
    ) throws(RoostError) -> Identifier<Subject> {
        try required(name, identifier(name, type))
    }

    public func strings(_ name: String) throws(RoostError) -> [String]? {
        guard let value = present(name) else { return nil }
        guard let elements = value.array else { throw wrongType(name, "an array of strings") }
        var texts: [String] = []
        for element in elements {
            guard let text = element.string else { throw wrongType(name, "an array of strings") }
            texts.append(text)
        }
        return texts
    }

    public func object(_ name: String) throws(RoostError) -> JSONBody? {
        guard let value = present(name) else { return nil }
        guard case .object(let members) = value else { throw wrongType(name, "an object") }
        return JSONBody(members: members, path: "\(path)\(name).")
    }
}

extension RoostError {
    public init(_ fault: JSONFault) {
        let what =
            switch fault.reason {
            case .syntax: "not valid JSON"
            case .invalidUTF8: "invalid UTF-8"
            case .loneSurrogate: "a lone surrogate"
            case .nul: "the character U+0000"
            case .tooDeep: "nesting deeper than \(Limits.jsonDepth)"
            case .trailingBytes: "bytes after the JSON value"
            }
        self.init(.malformed, "\(what) at byte \(fault.offset)")
    }
}

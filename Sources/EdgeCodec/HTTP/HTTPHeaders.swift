/// Header fields in the order they came, with case-insensitive lookup (RFC 9110 §5).
public struct HTTPHeaders: Sendable, Sequence, ExpressibleByArrayLiteral {
    public typealias Element = (name: String, value: String)

    private var fields: [(name: String, value: String)]

    public init(_ fields: [(String, String)] = []) {
        self.fields = fields.map { (name: $0.0, value: $0.1) }
    }

    public init(arrayLiteral elements: (String, String)...) { self.init(elements) }

    public var count: Int { fields.count }

    public mutating func append(_ name: String, _ value: String) { fields.append((name: name, value: value)) }

    /// The value of the first field of this name.
    public subscript(name: String) -> String? {
        for field in fields where ASCII.equalIgnoringCase(field.name, name) { return field.value }
        return nil
    }

    /// Values of all fields of this name, in order.
    public func all(_ name: String) -> [String] {
        fields.compactMap { ASCII.equalIgnoringCase($0.name, name) ? $0.value : nil }
    }

    public func count(of name: String) -> Int {
        var count = 0
        for field in fields where ASCII.equalIgnoringCase(field.name, name) { count += 1 }
        return count
    }

    /// The elements of a comma-separated list field over all its lines, trimmed, empty ones left out (RFC 9110 §5.6.1).
    /// Quoted commas are not honoured: use it for lists of tokens only.
    public func tokens(_ name: String) -> [String] {
        var tokens: [String] = []
        for value in all(name) {
            for part in value.utf8.split(separator: UInt8(ascii: ",")) {
                let token = ASCII.trim(Substring(part))
                if !token.isEmpty { tokens.append(String(token)) }
            }
        }
        return tokens
    }

    public func contains(_ name: String, token: String) -> Bool {
        for field in fields where ASCII.equalIgnoringCase(field.name, name) {
            if ASCII.equalIgnoringCase(field.value, token) { return true }
            for part in field.value.utf8.split(separator: UInt8(ascii: ",")) {
                if ASCII.equalIgnoringCase(ASCII.trim(Substring(part)), token) { return true }
            }
        }
        return false
    }

    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> { fields.makeIterator() }
}

import RoostModel

/// A validated JSON value where it stands in the bytes it was read from. Valid only as long as those bytes: never keep one.
public struct JSONSlice {
    public enum Kind: UInt8, Sendable { case null, bool, number, string, array, object }

    let start: UnsafePointer<UInt8>
    let count: Int
    public let kind: Kind
    let hasEscapes: Bool

    /// The value as it was written, with quotes and escapes.
    public var raw: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: start, count: count) }

    /// Whether this is a string of exactly these ASCII characters.
    @inline(__always)
    public func equals(_ text: StaticString) -> Bool {
        guard kind == .string else { return false }
        guard !hasEscapes else { return string == "\(text)" }
        return count - 2 == text.utf8CodeUnitCount && equalBytes(start + 1, text.utf8Start, count - 2)
    }

    @inline(__always)
    public static func ~= (pattern: StaticString, slice: JSONSlice) -> Bool { slice.equals(pattern) }

    public var bool: Bool? { kind == .bool ? start[0] == UInt8(ascii: "t") : nil }

    public var string: String? {
        guard kind == .string else { return nil }
        let content = UnsafeBufferPointer(start: start + 1, count: count - 2)
        guard hasEscapes else { return String(decoding: content, as: UTF8.self) }
        return String(unsafeUninitializedCapacity: content.count) { unescape(content, into: $0) }
    }

    /// A number with an integral value, however it is written; one beyond Int64 is the nearest Int64. Nil for fractions.
    public var integer: Int64? {
        guard kind == .number else { return nil }
        var value: Int64 = 0
        let isNegative = start[0] == UInt8(ascii: "-")
        for index in (isNegative ? 1 : 0)..<count {
            let digit = start[index] &- 0x30
            guard digit < 10 else { return integerOfDouble }
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowsToo) = product.subtractingReportingOverflow(Int64(digit))
            // Negative numbers reach further by one; a fraction or exponent after so many digits is for the slow way.
            guard !overflows, !overflowsToo else { return integerOfDouble }
            value = sum
        }
        if isNegative { return value }
        return value == .min ? .max : -value
    }

    private var integerOfDouble: Int64? {
        guard let value = double, value == value.rounded(.towardZero) else { return nil }
        return Int64(exactly: value) ?? (value < 0 ? .min : .max)
    }

    /// Infinite where the number is beyond a double.
    public var double: Double? { kind == .number ? Double(String(decoding: raw, as: UTF8.self)) : nil }

    public func identifier<Subject>(_ type: Identifier<Subject>.Type = Identifier<Subject>.self) -> Identifier<Subject>? {
        guard kind == .string else { return nil }
        if hasEscapes { return string.flatMap { Identifier($0) } }
        return Identifier(ascii: UnsafeRawBufferPointer(start: start + 1, count: count - 2))
    }

    public var timestamp: Timestamp? { string.flatMap { Timestamp($0) } }

    /// Hands out the members of an object, in order, duplicates too; does nothing for other kinds.
    public func forEachMember(_ body: (_ key: JSONSlice, _ value: JSONSlice) -> Void) {
        guard kind == .object else { return }
        var scanner = JSONScanner(raw)
        // The value was validated, within its depth.
        try? scanner.members(depth: 0) { (key, value) throws(JSONFault) in body(key, value) }
    }

    /// Hands out the elements of an array, in order; does nothing for other kinds.
    public func forEachElement(_ body: (JSONSlice) -> Void) {
        guard kind == .array else { return }
        var scanner = JSONScanner(raw)
        try? scanner.elements(depth: 0) { (element) throws(JSONFault) in body(element) }
    }
}

public enum JSONReader {
    /// Validates `bytes` as one JSON value and hands it out, for the time of the call.
    public static func read<Result>(
        _ bytes: UnsafeBufferPointer<UInt8>, _ body: (JSONSlice) -> Result
    ) throws(JSONFault) -> Result {
        var scanner = JSONScanner(bytes)
        let value = try scanner.value(depth: 0)
        try scanner.end()
        return body(value)
    }

    /// Validates `bytes` as one JSON value, and hands out the members of an object on the way. False where it is no object.
    ///
    /// A fault may be found after members were handed out: nothing may be done with them before this returns.
    @inline(__always)
    public static func readMembers(
        of bytes: UnsafeBufferPointer<UInt8>, _ body: (_ key: JSONSlice, _ value: JSONSlice) -> Void
    ) throws(JSONFault) -> Bool {
        var scanner = JSONScanner(bytes)
        scanner.skipWhiteSpace()
        guard scanner.position < scanner.count, scanner.base[scanner.position] == UInt8(ascii: "{") else {
            _ = try scanner.value(depth: 0)
            try scanner.end()
            return false
        }
        try scanner.members(depth: 0) { (key, value) throws(JSONFault) in body(key, value) }
        try scanner.end()
        return true
    }
}

/// Writes the characters of a validated string with escapes; answers how many bytes. Never more than it reads.
private func unescape(_ source: UnsafeBufferPointer<UInt8>, into target: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var read = 0
    var written = 0
    func put(_ byte: UInt8) {
        target[written] = byte
        written += 1
    }
    while read < source.count {
        let byte = source[read]
        guard byte == UInt8(ascii: "\\") else {
            put(byte)
            read += 1
            continue
        }
        let kind = source[read + 1]
        read += 2
        switch kind {
        case UInt8(ascii: "b"): put(0x08)
        case UInt8(ascii: "f"): put(0x0C)
        case UInt8(ascii: "n"): put(0x0A)
        case UInt8(ascii: "r"): put(0x0D)
        case UInt8(ascii: "t"): put(0x09)
        case UInt8(ascii: "u"):
            var value = hexadecimalUnit(source.baseAddress! + read) ?? 0xFFFD
            read += 4
            if value & 0xFC00 == 0xD800 {
                let second = hexadecimalUnit(source.baseAddress! + read + 2) ?? 0xDC00
                value = 0x10000 + (value - 0xD800) << 10 + (second - 0xDC00)
                read += 6
            }
            for unit in UTF8.encode(Unicode.Scalar(value) ?? "\u{FFFD}")! { put(unit) }
        default: put(kind)
        }
    }
    return written
}

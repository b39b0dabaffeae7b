/// Why bytes are not acceptable JSON.
public struct JSONFault: Error, Hashable, Sendable {
    public enum Reason: String, Sendable { case syntax, invalidUTF8, loneSurrogate, nul, tooDeep, trailingBytes }

    public let reason: Reason
    /// Bytes from the start of what was read.
    public let offset: Int
}

/// A strict, validating reader of JSON (RFC 8259) over bytes that outlive it.
///
/// Refused beyond the RFC's grammar: invalid UTF-8, lone or reversed surrogates, U+0000 in any form, more than ``Limits/jsonDepth``
/// containers within each other. Nothing is allocated, except for keys that hold escapes.
struct JSONScanner {
    let base: UnsafePointer<UInt8>
    let count: Int
    var position = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        // An empty buffer may have no base; the pointer is then never read.
        base = bytes.baseAddress ?? UnsafePointer(bitPattern: 1)!
        count = bytes.count
    }

    func fault(_ reason: JSONFault.Reason) -> JSONFault { JSONFault(reason: reason, offset: position) }

    @inline(__always)
    mutating func skipWhiteSpace() {
        while position < count {
            switch base[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    /// Validates one value, which may have white space before it, inside of `depth` containers.
    mutating func value(depth: Int) throws(JSONFault) -> JSONSlice {
        skipWhiteSpace()
        guard position < count else { throw fault(.syntax) }
        let start = position
        let kind: JSONSlice.Kind
        switch base[position] {
        case UInt8(ascii: "\""):
            let escaped = try string()
            return JSONSlice(start: base + start, count: position - start, kind: .string, hasEscapes: escaped)
        case UInt8(ascii: "{"):
            try members(depth: depth) { (_, _) throws(JSONFault) in }
            kind = .object
        case UInt8(ascii: "["):
            try elements(depth: depth) { (_) throws(JSONFault) in }
            kind = .array
        case UInt8(ascii: "t"):
            try literal("true")
            kind = .bool
        case UInt8(ascii: "f"):
            try literal("false")
            kind = .bool
        case UInt8(ascii: "n"):
            try literal("null")
            kind = .null
        default:
            try number()
            kind = .number
        }
        return JSONSlice(start: base + start, count: position - start, kind: kind, hasEscapes: false)
    }

    /// Validates an object whose `{` is next, and hands out its members in order.
    @inline(__always)
    mutating func members(
        depth: Int, _ body: (JSONSlice, JSONSlice) throws(JSONFault) -> Void
    ) throws(JSONFault) {
        guard depth < maximumDepth else { throw fault(.tooDeep) }
        position += 1
        skipWhiteSpace()
        if position < count, base[position] == UInt8(ascii: "}") {
            position += 1
            return
        }
        while true {
            skipWhiteSpace()
            guard position < count, base[position] == UInt8(ascii: "\"") else { throw fault(.syntax) }
            let start = position
            let escaped = try string()
            let key = JSONSlice(start: base + start, count: position - start, kind: .string, hasEscapes: escaped)
            skipWhiteSpace()
            guard position < count, base[position] == UInt8(ascii: ":") else { throw fault(.syntax) }
            position += 1
            try body(key, try value(depth: depth + 1))
            skipWhiteSpace()
            guard position < count else { throw fault(.syntax) }
            switch base[position] {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "}"):
                position += 1
                return
            default: throw fault(.syntax)
            }
        }
    }

    /// Validates an array whose `[` is next, and hands out its elements in order.
    @inline(__always)
    mutating func elements(depth: Int, _ body: (JSONSlice) throws(JSONFault) -> Void) throws(JSONFault) {
        guard depth < maximumDepth else { throw fault(.tooDeep) }
        position += 1
        skipWhiteSpace()
        if position < count, base[position] == UInt8(ascii: "]") {
            position += 1
            return
        }
        while true {
            try body(try value(depth: depth + 1))
            skipWhiteSpace()
            guard position < count else { throw fault(.syntax) }
            switch base[position] {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "]"):
                position += 1
                return
            default: throw fault(.syntax)
            }
        }
    }

    mutating func end() throws(JSONFault) {
        skipWhiteSpace()
        guard position == count else { throw fault(.trailingBytes) }
    }

    private mutating func literal(_ text: StaticString) throws(JSONFault) {
        let length = text.utf8CodeUnitCount
        guard count - position >= length, equalBytes(base + position, text.utf8Start, length) else { throw fault(.syntax) }
        position += length
    }

    private mutating func number() throws(JSONFault) {
        if peek() == UInt8(ascii: "-") { position += 1 }
        switch peek() {
        case UInt8(ascii: "0"): position += 1
        case UInt8(ascii: "1")...UInt8(ascii: "9"): _ = digits()
        default: throw fault(.syntax)
        }
        if peek() == UInt8(ascii: ".") {
            position += 1
            guard digits() > 0 else { throw fault(.syntax) }
        }
        if peek() | 0x20 == UInt8(ascii: "e") {
            position += 1
            if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { position += 1 }
            guard digits() > 0 else { throw fault(.syntax) }
        }
    }

    @inline(__always)
    private func peek() -> UInt8 { position < count ? base[position] : 0 }

    private mutating func digits() -> Int {
        let start = position
        while position < count, base[position] &- 0x30 < 10 { position += 1 }
        return position - start
    }

    /// Validates the string whose opening quote is next; true where it holds escapes.
    private mutating func string() throws(JSONFault) -> Bool {
        var position = self.position + 1
        defer { self.position = position }
        var escaped = false
        while position < count {
            let byte = base[position]
            if byte < 0x80 {
                if byte == UInt8(ascii: "\"") {
                    position += 1
                    return escaped
                }
                if byte == UInt8(ascii: "\\") {
                    escaped = true
                    let length: Int
                    do throws(JSONFault.Reason) { length = try escape(at: position) } catch {
                        throw JSONFault(reason: error, offset: position)
                    }
                    position += length
                } else if byte < 0x20 {
                    throw JSONFault(reason: byte == 0 ? .nul : .syntax, offset: position)
                } else {
                    position += 1
                }
            } else {
                let length = utf8SequenceLength(base + position, available: count - position)
                guard length > 0 else { throw JSONFault(reason: .invalidUTF8, offset: position) }
                position += length
            }
        }
        throw JSONFault(reason: .syntax, offset: position)
    }

    /// The length in bytes of the escape at `position`: 2, 6, or 12 for a surrogate pair.
    private func escape(at position: Int) throws(JSONFault.Reason) -> Int {
        guard position + 1 < count else { throw .syntax }
        switch base[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            return 2
        case UInt8(ascii: "u"):
            guard let unit = codeUnit(at: position) else { throw .syntax }
            switch unit {
            case 0: throw .nul
            case 0xD800...0xDBFF:
                guard position + 7 < count, base[position + 6] == UInt8(ascii: "\\"), base[position + 7] == UInt8(ascii: "u")
                else { throw .loneSurrogate }
                guard let second = codeUnit(at: position + 6) else { throw .syntax }
                guard (0xDC00...0xDFFF).contains(second) else { throw .loneSurrogate }
                return 12
            case 0xDC00...0xDFFF: throw .loneSurrogate
            default: return 6
            }
        default: throw .syntax
        }
    }

    /// The UTF-16 code unit of the `\uXXXX` at `position`.
    private func codeUnit(at position: Int) -> UInt32? {
        guard position + 6 <= count else { return nil }
        return hexadecimalUnit(base + position + 2)
    }
}

extension JSONFault.Reason: Error {}

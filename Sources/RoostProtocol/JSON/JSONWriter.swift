import RoostModel

/// Writes JSON into a growing array of bytes. Commas are its own affair; that braces match and keys have values is the caller's.
public struct JSONWriter {
    public private(set) var bytes: [UInt8]
    private var needsComma = false

    public init(reserving capacity: Int = 256) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// One object, written by `body`.
    public static func object(reserving capacity: Int = 256, _ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(reserving: capacity)
        writer.object(body)
        return writer.bytes
    }

    /// One value of any kind, written by `body`.
    public static func encoded(reserving capacity: Int = 256, _ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(reserving: capacity)
        body(&writer)
        return writer.bytes
    }

    @inline(__always)
    private mutating func beginValue() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    public mutating func beginObject() {
        beginValue()
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
    }

    public mutating func endObject() {
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    public mutating func beginArray() {
        beginValue()
        bytes.append(UInt8(ascii: "["))
        needsComma = false
    }

    public mutating func endArray() {
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    @inline(__always)
    public mutating func object(_ body: (inout JSONWriter) -> Void) {
        beginObject()
        body(&self)
        endObject()
    }

    @inline(__always)
    public mutating func array<Element>(_ elements: some Sequence<Element>, _ body: (inout JSONWriter, Element) -> Void) {
        beginArray()
        for element in elements { body(&self, element) }
        endArray()
    }

    /// A key that needs no escapes.
    @inline(__always)
    public mutating func key(_ name: StaticString) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func key(_ name: String) {
        string(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func null() { literal("null") }

    public mutating func bool(_ value: Bool) { literal(value ? "true" : "false") }

    public mutating func integer(_ value: some BinaryInteger) {
        beginValue()
        var rest = UInt64(value.magnitude)
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var position = 20
            repeat {
                position -= 1
                digits[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[position..<20]))
        }
    }

    public mutating func identifier<Subject>(_ id: Identifier<Subject>) {
        beginValue()
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 38) { buffer in
            buffer[0] = UInt8(ascii: "\"")
            buffer[37] = UInt8(ascii: "\"")
            id.write(to: buffer.baseAddress! + 1)
            bytes.append(contentsOf: buffer)
        }
    }

    public mutating func timestamp(_ time: Timestamp) {
        beginValue()
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 26) { buffer in
            buffer[0] = UInt8(ascii: "\"")
            buffer[25] = UInt8(ascii: "\"")
            time.write(to: buffer.baseAddress! + 1)
            bytes.append(contentsOf: buffer)
        }
    }

    public mutating func string(_ text: String) {
        beginValue()
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { appendEscaped($0) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// A value that is JSON already.
    public mutating func raw(_ json: some Collection<UInt8>) {
        beginValue()
        bytes.append(contentsOf: json)
    }

    private mutating func literal(_ text: StaticString) {
        beginValue()
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func appendEscaped(_ source: UnsafeBufferPointer<UInt8>) {
        var runStart = 0
        for index in 0..<source.count {
            let byte = source[index]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: source[runStart..<index]))
            runStart = index + 1
            bytes.append(UInt8(ascii: "\\"))
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
            case 0x0A: bytes.append(UInt8(ascii: "n"))
            case 0x0D: bytes.append(UInt8(ascii: "r"))
            case 0x09: bytes.append(UInt8(ascii: "t"))
            default:
                let digits: StaticString = "0123456789abcdef"
                bytes.append(contentsOf: [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
                bytes.append(digits.utf8Start[Int(byte >> 4)])
                bytes.append(digits.utf8Start[Int(byte & 0xF)])
            }
        }
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: source[runStart...]))
    }
}

/// Members with a key and a value in one, and null where there is none.
extension JSONWriter {
    @inline(__always)
    public mutating func member(_ name: StaticString, _ value: String?) {
        key(name)
        if let value { string(value) } else { null() }
    }

    public mutating func member(_ name: StaticString, _ value: Bool) {
        key(name)
        bool(value)
    }

    public mutating func member(_ name: StaticString, _ value: Int) {
        key(name)
        integer(value)
    }

    public mutating func member(_ name: StaticString, _ value: Seq?) {
        key(name)
        if let value { integer(value.value) } else { null() }
    }

    public mutating func member<Subject>(_ name: StaticString, _ value: Identifier<Subject>?) {
        key(name)
        if let value { identifier(value) } else { null() }
    }

    public mutating func member(_ name: StaticString, _ value: Timestamp?) {
        key(name)
        if let value { timestamp(value) } else { null() }
    }

    public mutating func nullMember(_ name: StaticString) {
        key(name)
        null()
    }
}

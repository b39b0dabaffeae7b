/// Validates UTF-8 (RFC 3629) piece by piece, and fails at the first byte that cannot be continued well.
public struct UTF8Validator: Sendable {
    /// Continuation bytes still due, and the range of the next one: it bars overlong forms, surrogates and what is above U+10FFFF.
    private var due: UInt8 = 0
    private var low: UInt8 = 0x80
    private var high: UInt8 = 0xBF

    public init() {}

    /// Whether the text may end here.
    public var isComplete: Bool { due == 0 }

    /// - Returns: false once the text is not valid, whatever may follow.
    public mutating func consume(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return true }
        let count = bytes.count
        var offset = 0
        while offset < count {
            if due == 0 {
                while offset + 16 <= count {
                    let word = base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                    let next = base.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
                    if (word | next) & 0x8080_8080_8080_8080 != 0 { break }
                    offset += 16
                }
                while offset < count, base.load(fromByteOffset: offset, as: UInt8.self) < 0x80 { offset += 1 }
                if offset == count { break }
                guard lead(base.load(fromByteOffset: offset, as: UInt8.self)) else { return false }
                offset += 1
            } else {
                let byte = base.load(fromByteOffset: offset, as: UInt8.self)
                guard byte >= low, byte <= high else { return false }
                low = 0x80
                high = 0xBF
                due -= 1
                offset += 1
            }
        }
        return true
    }

    @inline(__always)
    private mutating func lead(_ byte: UInt8) -> Bool {
        switch byte {
        case 0xC2...0xDF: due = 1
        case 0xE0:
            due = 2
            low = 0xA0
        case 0xED:
            due = 2
            high = 0x9F
        case 0xE1...0xEF: due = 2
        case 0xF0:
            due = 3
            low = 0x90
        case 0xF1...0xF3: due = 3
        case 0xF4:
            due = 3
            high = 0x8F
        default: return false
        }
        return true
    }

    public static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var validator = UTF8Validator()
        return validator.consume(bytes) && validator.isComplete
    }
}

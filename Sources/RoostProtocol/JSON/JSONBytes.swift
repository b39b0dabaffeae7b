import Glibc
import RoostModel

let maximumDepth = Limits.jsonDepth

@inline(__always)
func equalBytes(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    memcmp(left, right, count) == 0
}

/// The value of four hexadecimal digits, in either case.
func hexadecimalUnit(_ bytes: UnsafePointer<UInt8>) -> UInt32? {
    var value: UInt32 = 0
    for index in 0..<4 {
        let byte = bytes[index]
        let digit: UInt8
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
        default: return nil
        }
        value = value << 4 | UInt32(digit)
    }
    return value
}

/// The length of the well-formed UTF-8 sequence of a non-ASCII scalar at `bytes` (RFC 3629 §4), or 0 where there is none.
@inline(__always)
func utf8SequenceLength(_ bytes: UnsafePointer<UInt8>, available: Int) -> Int {
    @inline(__always)
    func continuation(_ index: Int) -> Bool { bytes[index] & 0xC0 == 0x80 }
    let first = bytes[0]
    switch first {
    case 0xC2...0xDF:
        return available >= 2 && continuation(1) ? 2 : 0
    case 0xE0...0xEF:
        guard available >= 3, continuation(1), continuation(2) else { return 0 }
        // Overlong forms and surrogates.
        if first == 0xE0, bytes[1] < 0xA0 { return 0 }
        if first == 0xED, bytes[1] > 0x9F { return 0 }
        return 3
    case 0xF0...0xF4:
        guard available >= 4, continuation(1), continuation(2), continuation(3) else { return 0 }
        // Overlong forms and what is beyond U+10FFFF.
        if first == 0xF0, bytes[1] < 0x90 { return 0 }
        if first == 0xF4, bytes[1] > 0x8F { return 0 }
        return 4
    default:
        return 0
    }
}

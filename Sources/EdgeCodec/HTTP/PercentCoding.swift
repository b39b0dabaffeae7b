/// Percent-encoding of paths and queries (RFC 3986 §2.1), strict: what is not valid UTF-8, has a NUL or a broken escape is refused.
public enum PercentCoding {
    /// - Parameter plusIsSpace: as in `application/x-www-form-urlencoded` queries.
    /// - Returns: nil for a broken escape, a NUL, or bytes that are not UTF-8.
    public static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        var needsWork = false
        for byte in text.utf8 where byte == UInt8(ascii: "%") || (plusIsSpace && byte == UInt8(ascii: "+")) || byte == 0 {
            needsWork = true
            break
        }
        if !needsWork { return String(text) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var iterator = text.utf8.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let first = iterator.next().flatMap(ASCII.hexValue), let second = iterator.next().flatMap(ASCII.hexValue)
                else { return nil }
                let value = first << 4 | second
                if value == 0 { return nil }
                bytes.append(value)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(ASCII.space)
            case 0: return nil
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Escapes all but the unreserved characters of RFC 3986 §2.3: right for one path segment or one query value.
    public static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                let digits = Array("0123456789ABCDEF".utf8)
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The segments of an absolute path, decoded one by one, so that an escaped slash stays inside its segment.
    /// `/` has none; a slash at the end gives an empty last one.
    static func segments(_ path: Substring) -> [String]? {
        if path.utf8.count <= 1 { return [] }
        var segments: [String] = []
        for part in path.dropFirst().utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let segment = decode(Substring(part)) else { return nil }
            segments.append(segment)
        }
        return segments
    }

    static func query(_ text: Substring) -> [(name: String, value: String)]? {
        var items: [(name: String, value: String)] = []
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decode(Substring(pair[0]), plusIsSpace: true),
                let value = pair.count > 1 ? decode(Substring(pair[1]), plusIsSpace: true) : ""
            else { return nil }
            items.append((name: name, value: value))
        }
        return items
    }
}

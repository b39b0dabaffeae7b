import Glibc

/// The `Date` field (RFC 9110 §5.6.7), made once a second. Confined to one loop.
final class HTTPDate {
    private var second: time_t = 0
    private var text = ""

    func now() -> String {
        let current = time(nil)
        if current != second {
            second = current
            text = Self.format(current)
        }
        return text
    }

    static func format(_ time: time_t) -> String {
        var time = time
        var parts = tm()
        gmtime_r(&time, &parts)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(twoDigits).joined(separator: ":")
        return
            "\(days[Int(parts.tm_wday)]), \(twoDigits(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900) \(clock) GMT"
    }

    private static func twoDigits(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
}

/// Request ids: unique over processes by a random start, 16 hexadecimal digits. Confined to one loop.
final class RequestIDs {
    private var next: UInt64 = .random(in: .min ... .max)

    func make() -> String {
        // A Weyl step by an odd constant visits every value, and neighbours do not look alike.
        next &+= 0x9E37_79B9_7F4A_7C15
        var value = next
        return String(unsafeUninitializedCapacity: 16) { buffer in
            for index in 0..<16 {
                value = value << 4 | value >> 60
                let digit = UInt8(truncatingIfNeeded: value & 15)
                buffer[index] = digit < 10 ? digit + UInt8(ascii: "0") : digit - 10 + UInt8(ascii: "a")
            }
            return 16
        }
    }
}

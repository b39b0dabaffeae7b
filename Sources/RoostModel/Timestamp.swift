import Glibc

/// A moment of the server's clock, in milliseconds since 1970-01-01T00:00:00Z.
public struct Timestamp: Hashable, Comparable, Sendable {
    public let milliseconds: Int64

    @inlinable
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The system's real-time clock.
    public static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    @inlinable
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    public static func + (time: Timestamp, duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        return Timestamp(milliseconds: time.milliseconds + seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }

    public static func - (left: Timestamp, right: Timestamp) -> Duration {
        .milliseconds(left.milliseconds - right.milliseconds)
    }

    /// The 24 bytes of `2026-11-30T17:00:00.123Z` (RFC 3339). Years outside 0…9999 are not representable.
    public func write(to buffer: UnsafeMutablePointer<UInt8>) {
        var days = milliseconds / 86_400_000
        var rest = milliseconds % 86_400_000
        if rest < 0 {
            rest += 86_400_000
            days -= 1
        }
        let date = CivilDate(daysSinceEpoch: Int(days))
        func digits(_ value: Int, _ count: Int, at position: Int) {
            var value = value
            for index in stride(from: position + count - 1, through: position, by: -1) {
                buffer[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10)
                value /= 10
            }
        }
        let seconds = Int(rest / 1000)
        digits(date.year, 4, at: 0)
        buffer[4] = UInt8(ascii: "-")
        digits(date.month, 2, at: 5)
        buffer[7] = UInt8(ascii: "-")
        digits(date.day, 2, at: 8)
        buffer[10] = UInt8(ascii: "T")
        digits(seconds / 3600, 2, at: 11)
        buffer[13] = UInt8(ascii: ":")
        digits(seconds / 60 % 60, 2, at: 14)
        buffer[16] = UInt8(ascii: ":")
        digits(seconds % 60, 2, at: 17)
        buffer[19] = UInt8(ascii: ".")
        digits(Int(rest % 1000), 3, at: 20)
        buffer[23] = UInt8(ascii: "Z")
    }

    /// Reads a date-time of RFC 3339, section 5.6, in any of its forms; what is finer than a millisecond is cut off.
    ///
    /// Nil for anything else, for days that no calendar has, for leap seconds, and outside the years 0…9999.
    public init?(_ text: some StringProtocol) {
        var parts = DateTimeParts(rest: Array(text.utf8)[...])
        guard let year = parts.number(4), parts.take("-"), let month = parts.number(2), parts.take("-"),
            let day = parts.number(2),
            parts.take("Tt"), let hour = parts.number(2), parts.take(":"), let minute = parts.number(2), parts.take(":"),
            let second = parts.number(2), let fraction = parts.fraction(), let offset = parts.offset(), parts.rest.isEmpty
        else { return nil }
        let date = CivilDate(year: year, month: month, day: day)
        guard date.isInCalendar, hour < 24, minute < 60, second < 60 else { return nil }
        let seconds = date.daysSinceEpoch * 86_400 + (hour * 60 + minute - offset) * 60 + second
        guard (-62_167_219_200..<253_402_300_800).contains(seconds) else { return nil }
        milliseconds = Int64(seconds) * 1000 + Int64(fraction)
    }
}

/// Takes the parts of a date-time off its beginning.
private struct DateTimeParts {
    var rest: ArraySlice<UInt8>

    mutating func take(_ choice: StaticString) -> Bool {
        guard let first = rest.first, choice.withUTF8Buffer({ $0.contains(first) }) else { return false }
        rest.removeFirst()
        return true
    }

    /// Exactly so many digits.
    mutating func number(_ digits: Int) -> Int? {
        guard rest.count >= digits, rest.prefix(digits).allSatisfy(isDigit) else { return nil }
        defer { rest.removeFirst(digits) }
        return rest.prefix(digits).reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Milliseconds; 0 where there is no fraction.
    mutating func fraction() -> Int? {
        guard take(".") else { return 0 }
        let digits = rest.prefix(while: isDigit)
        guard !digits.isEmpty else { return nil }
        rest.removeFirst(digits.count)
        return (0..<3).reduce(0) { $0 * 10 + ($1 < digits.count ? Int(digits[digits.startIndex + $1] - 0x30) : 0) }
    }

    /// Minutes east of UTC.
    mutating func offset() -> Int? {
        if take("Zz") { return 0 }
        let isWest = rest.first == UInt8(ascii: "-")
        guard take("+-"), let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60 else { return nil }
        return (hours * 60 + minutes) * (isWest ? -1 : 1)
    }

    private func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

extension Timestamp: CustomStringConvertible {
    public var description: String {
        String(unsafeUninitializedCapacity: 24) { buffer in
            write(to: buffer.baseAddress!)
            return 24
        }
    }
}

extension Timestamp: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an RFC 3339 time")
        }
        self = value
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// A day of the proleptic Gregorian calendar, by the arithmetic of eras of 400 years.
struct CivilDate {
    var year: Int
    var month: Int
    var day: Int

    init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    init(daysSinceEpoch: Int) {
        // Days are counted from 0000-03-01, so that the leap day ends a year.
        let shifted = daysSinceEpoch + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Whether there is such a day. Every other one reads as the day that many further on.
    var isInCalendar: Bool {
        let same = CivilDate(daysSinceEpoch: daysSinceEpoch)
        return (1...12).contains(month) && same.month == month && same.day == day
    }

    var daysSinceEpoch: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}

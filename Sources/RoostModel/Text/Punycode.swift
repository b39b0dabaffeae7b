/// Punycode (RFC 3492): Unicode in the letters of a domain name, without the `xn--`.
enum Punycode {
    private static let base = 36
    private static let minimumThreshold = 1
    private static let maximumThreshold = 26
    private static let skew = 38
    private static let damp = 700
    private static let initialBias = 72
    private static let initialCode = 0x80

    /// Nil where the numbers do not fit; that takes labels far beyond a domain name's bounds.
    static func encode(_ text: String) -> String? {
        let input = text.unicodeScalars.map { Int($0.value) }
        var output = input.filter { $0 < 0x80 }.map { UInt8($0) }
        let basicCount = output.count
        if basicCount > 0 { output.append(UInt8(ascii: "-")) }
        var code = initialCode
        var delta = 0
        var bias = initialBias
        var handled = basicCount
        while handled < input.count {
            let next = input.lazy.filter { $0 >= code }.min()!
            let (step, overflows) = (next - code).multipliedReportingOverflow(by: handled + 1)
            let (sum, overflowsToo) = delta.addingReportingOverflow(step)
            guard !overflows, !overflowsToo, sum <= Int(Int32.max) else { return nil }
            delta = sum
            code = next
            for value in input {
                if value < code { delta += 1 }
                guard value == code else { continue }
                var rest = delta
                var position = base
                while true {
                    let threshold = threshold(position, bias)
                    if rest < threshold { break }
                    output.append(digit(threshold + (rest - threshold) % (base - threshold)))
                    rest = (rest - threshold) / (base - threshold)
                    position += base
                }
                output.append(digit(rest))
                bias = adapted(delta, count: handled + 1, isFirst: handled == basicCount)
                delta = 0
                handled += 1
            }
            delta += 1
            code += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Nil where `text` is no Punycode.
    static func decode(_ text: some StringProtocol) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
        let delimiter = bytes.lastIndex(of: UInt8(ascii: "-"))
        var output = bytes[..<(delimiter ?? 0)].map { Unicode.Scalar($0) }
        var position = delimiter.map { $0 + 1 } ?? 0
        var code = initialCode
        var index = 0
        var bias = initialBias
        while position < bytes.count {
            let oldIndex = index
            var weight = 1
            var step = base
            while true {
                guard position < bytes.count, let digit = value(bytes[position]) else { return nil }
                position += 1
                index += digit * weight
                guard index <= Int(Int32.max) else { return nil }
                let threshold = threshold(step, bias)
                if digit < threshold { break }
                weight *= base - threshold
                guard weight <= Int(Int32.max) else { return nil }
                step += base
            }
            let count = output.count + 1
            bias = adapted(index - oldIndex, count: count, isFirst: oldIndex == 0)
            code += index / count
            index %= count
            guard let value = UInt32(exactly: code), let scalar = Unicode.Scalar(value) else { return nil }
            output.insert(scalar, at: index)
            index += 1
        }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: output)
        return String(scalars)
    }

    private static func threshold(_ position: Int, _ bias: Int) -> Int {
        min(max(position - bias, minimumThreshold), maximumThreshold)
    }

    private static func adapted(_ delta: Int, count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / damp : delta / 2
        delta += delta / count
        var steps = 0
        while delta > (base - minimumThreshold) * maximumThreshold / 2 {
            delta /= base - minimumThreshold
            steps += base
        }
        return steps + (base - minimumThreshold + 1) * delta / (delta + skew)
    }

    private static func digit(_ value: Int) -> UInt8 {
        value < 26 ? UInt8(ascii: "a") + UInt8(value) : UInt8(ascii: "0") + UInt8(value - 26)
    }

    private static func value(_ digit: UInt8) -> Int? {
        switch digit {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(digit - UInt8(ascii: "a"))
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(digit - UInt8(ascii: "0")) + 26
        default: nil
        }
    }
}

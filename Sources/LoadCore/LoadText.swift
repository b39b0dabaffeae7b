import RoostProtocol

/// Names one message of a run: the pair it belongs to, which of the two sent it, and the sender's count from 0.
public struct SendKey: Hashable, Sendable {
    public let pair: Int
    public let side: Int
    public let number: Int

    public init(pair: Int, side: Int, number: Int) {
        self.pair = pair
        self.side = side
        self.number = number
    }
}

/// Makes the texts and client ids of a run, and recognises them. Both follow from the key alone, so that no text need be kept.
public struct LoadText: Sendable {
    /// Tells this run's messages from those of an earlier one.
    public let run: String
    /// Length of a text in UTF-8 bytes; the key's own digits are never cut.
    public let bytes: Int
    private let runBytes: [UInt8]
    private let plain: [UInt8]
    private let varied: [UInt8]

    public init(run: String, bytes: Int, seed: UInt64) {
        self.run = run
        self.bytes = bytes
        runBytes = Array(run.utf8)
        var random = SeededRandom(seed: seed)
        let letters = Array("abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLM 0123456789 ".utf8)
        plain = (0..<max(bytes, 1)).map { _ in letters[Int(random.next() % UInt64(letters.count))] }
        varied = Array("“Grüße”, \"q\\b\"\n\tпривет 你好 שלום 👩‍👩‍👧 ".utf8)
    }

    /// `<run>.<pair>.<side>.<number>`.
    public func clientID(_ key: SendKey) -> String { "\(run).\(key.pair).\(key.side).\(key.number)" }

    /// The key of a client id as it stands in JSON; nil for one of another run.
    public func key(fromClientID json: JSONSlice) -> SendKey? {
        guard json.kind == .string else { return nil }
        // An id of ours needs no escapes.
        return key(fromClientID: UnsafeBufferPointer(rebasing: json.raw[1..<json.raw.count - 1]))
    }

    func key(fromClientID id: UnsafeBufferPointer<UInt8>) -> SendKey? {
        guard id.count > runBytes.count, id[runBytes.count] == UInt8(ascii: ".") else { return nil }
        for index in runBytes.indices where id[index] != runBytes[index] { return nil }
        var numbers = (0, 0, 0)
        var field = 0
        var digits = 0
        for byte in id[(runBytes.count + 1)...] {
            if byte == UInt8(ascii: ".") {
                guard digits > 0, field < 2 else { return nil }
                field += 1
                digits = 0
                continue
            }
            let digit = Int(byte) - 0x30
            guard (0...9).contains(digit), digits < 10 else { return nil }
            digits += 1
            switch field {
            case 0: numbers.0 = numbers.0 * 10 + digit
            case 1: numbers.1 = numbers.1 * 10 + digit
            default: numbers.2 = numbers.2 * 10 + digit
            }
        }
        guard field == 2, digits > 0, numbers.1 < 2 else { return nil }
        return SendKey(pair: numbers.0, side: numbers.1, number: numbers.2)
    }

    /// Every sixteenth text is in several scripts with characters that JSON escapes; a server that mangles them is found out.
    public func text(_ key: SendKey) -> [UInt8] {
        var result = Array("\(key.pair).\(key.side).\(key.number) ".utf8)
        if key.number % 16 == 15 { result += varied }
        let missing = bytes - result.count
        if missing > 0 {
            let start = (key.number &* 7 &+ key.pair) % plain.count
            for index in 0..<missing { result.append(plain[(start + index) % plain.count]) }
        }
        // White space at the end might be trimmed one day; it is not what is tested here.
        if result.last == UInt8(ascii: " ") { result[result.count - 1] = UInt8(ascii: ".") }
        return result
    }

    /// Whether the JSON string is this message's text, however it is escaped.
    public func matches(_ json: JSONSlice, _ key: SendKey) -> Bool {
        guard json.kind == .string else { return false }
        let expected = text(key)
        if json.raw.contains(UInt8(ascii: "\\")) { return json.string.map { $0.utf8.elementsEqual(expected) } ?? false }
        return json.raw.count == expected.count + 2 && json.raw.dropFirst().dropLast().elementsEqual(expected)
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and the same in every process.
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

/// Finds the end of a head (start line and header lines) over any split of the input, and refuses bare CR and LF on the way.
///
/// A head that arrives in one piece is parsed where it lies; only a partial one is copied.
struct HeadCollector {
    enum Outcome {
        case needMore
        /// The head is complete up to this offset of the input (its last CRLF included).
        case complete(Int)
        case fault(HTTPFault)
    }

    /// What came in earlier pieces.
    private(set) var held: [UInt8] = []
    private var previous: UInt8 = 0
    private var lineLength = 0
    private var headerBytes = 0
    private var isFirstLine = true
    private var skippedEmptyLine = false
    private let lineOverhead: Int

    /// - Parameter lineOverhead: what the start line may have beside the target.
    init(lineOverhead: Int) { self.lineOverhead = lineOverhead }

    var isEmpty: Bool { held.isEmpty }

    mutating func scan(_ input: UnsafeRawBufferPointer, limits: HTTPLimits) -> Outcome {
        var index = 0
        while index < input.count {
            let byte = input[index]
            index += 1
            if byte == ASCII.lf {
                guard previous == ASCII.cr else { return .fault(.malformed) }
                previous = byte
                if lineLength == 1 {
                    if !isFirstLine { return .complete(index) }
                    // RFC 9112 §2.2: one empty line before a request is ignored.
                    if skippedEmptyLine { return .fault(.malformed) }
                    skippedEmptyLine = true
                } else {
                    isFirstLine = false
                }
                lineLength = 0
                continue
            }
            if previous == ASCII.cr { return .fault(.malformed) }
            if byte == 0 { return .fault(.malformed) }
            previous = byte
            lineLength += 1
            if isFirstLine {
                // Anything but a method or HTTP version (a TLS hello, say) is answered without waiting for a line end.
                if lineLength == 1, byte != ASCII.cr, !ASCII.isToken(byte) { return .fault(.malformed) }
                if lineLength > limits.targetBytes + lineOverhead { return .fault(.targetTooLong) }
            } else {
                headerBytes += 1
                if headerBytes > limits.headerBytes { return .fault(.headersTooLarge) }
            }
        }
        return .needMore
    }

    mutating func hold(_ bytes: UnsafeRawBufferPointer) { held.append(contentsOf: bytes) }
}

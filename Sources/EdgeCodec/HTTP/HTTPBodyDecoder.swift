/// Takes a body's framing off (RFC 9112 §7). Data is handed out as slices of the input, never copied.
struct HTTPBodyDecoder {
    enum Event {
        case needMore
        case data(UnsafeRawBufferPointer)
        case end
        case fault(HTTPFault)
    }

    private enum State {
        case length(Int)
        case untilClose
        case size(value: Int, digits: Int)
        case chunkExtension
        case sizeLineFeed
        case chunk(Int)
        case chunkReturn
        case chunkLineFeed
        case trailer
        case trailerLineFeed
        case finished
    }

    private var state: State
    private var chunkSize = 0
    private var extensionBytes = 0
    private var trailerBytes = 0
    private var line: [UInt8] = []
    /// Fields after the last chunk: checked, and kept apart from the header fields as they must not override them.
    private(set) var trailers = HTTPHeaders()

    init(_ framing: HTTPBodyFraming) {
        switch framing {
        case .none: state = .finished
        case .length(let length): state = length == 0 ? .finished : .length(length)
        case .chunked: state = .size(value: 0, digits: 0)
        case .untilClose: state = .untilClose
        }
    }

    /// Whether the end of the connection ends the body well.
    var endsAtClose: Bool {
        if case .untilClose = state { return true }
        return false
    }

    mutating func next(_ input: inout UnsafeRawBufferPointer, limits: HTTPLimits) -> Event {
        while true {
            switch state {
            case .finished: return .end
            case .length(let remaining):
                guard let data = take(&input, remaining) else { return .needMore }
                state = data.count == remaining ? .finished : .length(remaining - data.count)
                return .data(data)
            case .untilClose:
                guard let data = take(&input, .max) else { return .needMore }
                return .data(data)
            case .chunk(let remaining):
                guard let data = take(&input, remaining) else { return .needMore }
                state = data.count == remaining ? .chunkReturn : .chunk(remaining - data.count)
                return .data(data)
            case .size, .chunkExtension, .sizeLineFeed, .chunkReturn, .chunkLineFeed, .trailer, .trailerLineFeed:
                guard let byte = input.first else { return .needMore }
                input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
                do { try framingByte(byte, limits) } catch { return .fault(error) }
            }
        }
    }

    private func take(_ input: inout UnsafeRawBufferPointer, _ limit: Int) -> UnsafeRawBufferPointer? {
        if input.isEmpty { return nil }
        let count = min(input.count, limit)
        let data = UnsafeRawBufferPointer(rebasing: input[..<count])
        input = UnsafeRawBufferPointer(rebasing: input[count...])
        return data
    }

    private mutating func framingByte(_ byte: UInt8, _ limits: HTTPLimits) throws(HTTPFault) {
        switch state {
        case .size(let value, let digits):
            if let digit = ASCII.hexValue(byte) {
                // 15 digits: no overflow, and no room for a padded size that others cut.
                if digits == 15 { throw .malformed }
                state = .size(value: value << 4 | Int(digit), digits: digits + 1)
                return
            }
            if digits == 0 { throw .malformed }
            chunkSize = value
            switch byte {
            case ASCII.cr: state = .sizeLineFeed
            case UInt8(ascii: ";"): state = .chunkExtension
            default: throw .malformed
            }
        case .chunkExtension:
            if byte == ASCII.cr {
                state = .sizeLineFeed
                return
            }
            extensionBytes += 1
            if byte < 0x20 && byte != ASCII.tab || byte == 0x7F || extensionBytes > limits.chunkExtensionBytes {
                throw .malformed
            }
        case .sizeLineFeed:
            if byte != ASCII.lf { throw .malformed }
            state = chunkSize == 0 ? .trailer : .chunk(chunkSize)
        case .chunkReturn:
            if byte != ASCII.cr { throw .malformed }
            state = .chunkLineFeed
        case .chunkLineFeed:
            if byte != ASCII.lf { throw .malformed }
            state = .size(value: 0, digits: 0)
        case .trailer:
            if byte == ASCII.cr {
                state = .trailerLineFeed
                return
            }
            trailerBytes += 1
            if byte == ASCII.lf { throw .malformed }
            if trailerBytes > limits.headerBytes { throw .headersTooLarge }
            line.append(byte)
        case .trailerLineFeed:
            if byte != ASCII.lf { throw .malformed }
            if line.isEmpty {
                state = .finished
                return
            }
            if trailers.count >= limits.headerCount { throw .headersTooLarge }
            let line = self.line
            self.line = []
            try line.withUnsafeBytes { bytes in
                Result { () throws(HTTPFault) in try HTTPFields.parseLine(bytes, into: &trailers) }
            }.get()
            state = .trailer
        case .length, .untilClose, .chunk, .finished:
            preconditionFailure("not a framing state")
        }
    }
}

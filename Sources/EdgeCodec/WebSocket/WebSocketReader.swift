/// What the reader found. Buffers are valid until the next call of ``WebSocketReader/next(_:_:)`` or until the input changes.
public enum WebSocketEvent {
    /// All input is consumed.
    case needMore
    /// A whole text message, valid UTF-8.
    case text(UnsafeRawBufferPointer)
    case binary(UnsafeRawBufferPointer)
    case ping(UnsafeRawBufferPointer)
    case pong(UnsafeRawBufferPointer)
    /// A well-formed close frame; `code` is nil where it has none. Nothing after it is read.
    case close(code: UInt16?, reason: UnsafeRawBufferPointer)
    /// The peer broke the protocol: close with this code (1002, 1007 or 1009). Nothing after it is read.
    case failure(closeCode: UInt16)
}

/// Reads WebSocket frames and puts messages together (RFC 6455 §5, RFC 7692), without I/O.
///
/// A frame that lies whole in the input is unmasked in place and handed out from there; only partial frames and fragmented or
/// compressed messages take memory, and give it back when done.
public struct WebSocketReader {
    private struct Header {
        var opcode: WebSocketOpcode
        var fin: Bool
        var compressed: Bool
        var length: Int
        var key: UInt32
    }

    /// A data message under way, over fragments or over reads.
    private final class Message {
        let isText: Bool
        let isCompressed: Bool
        let bytes = ByteChunk(capacity: 256)
        var validator = UTF8Validator()
        var inflater: Inflater?
        /// What came over the wire for it, compressed.
        var received = 0

        init(isText: Bool, isCompressed: Bool) {
            self.isText = isText
            self.isCompressed = isCompressed
        }
    }

    private enum State {
        case header
        /// Inside a payload of which `received` bytes have come.
        case payload(Header, received: Int)
        case finished
    }

    private let role: WebSocketRole
    private let limit: Int
    private let deflate: WebSocketDeflate?
    private var state = State.header
    /// Header bytes that came before a read ended.
    private var partial: (UInt64, UInt64) = (0, 0)
    private var partialCount = 0
    private var message: Message?
    private var control: [UInt8] = []
    private var controlHeld: [UInt8] = []
    /// Kept until the next call, as the last event points into it.
    private var delivered: Message?
    /// Kept between messages only where the sender refers back to earlier ones.
    private var ownInflater: Inflater?

    /// - Parameters:
    ///   - maxMessageBytes: of a message after inflation; a longer one fails with 1009.
    ///   - deflate: what the handshake agreed on, if anything.
    public init(role: WebSocketRole, maxMessageBytes: Int, deflate: WebSocketDeflate? = nil) {
        self.role = role
        limit = maxMessageBytes
        self.deflate = deflate
    }

    /// Whether part of a frame or message is held.
    public var isMidMessage: Bool {
        if message != nil || partialCount > 0 { return true }
        if case .payload = state { return true }
        return false
    }

    /// Takes what the next event needs off the front of `input`, which is unmasked in place.
    /// - Parameter pool: zlib states and scratch room of the caller's loop.
    public mutating func next(
        _ input: inout UnsafeMutableRawBufferPointer, _ pool: WebSocketCompressionPool
    ) -> WebSocketEvent {
        if delivered != nil { delivered = nil }
        if !controlHeld.isEmpty { controlHeld = [] }
        while true {
            switch state {
            case .finished:
                return .needMore
            case .header:
                switch takeHeader(&input) {
                case .none: return .needMore
                case .some(.failure(let failure)): return fail(failure.code)
                case .some(.success(let header)):
                    if let event = begin(header, &input, pool) { return event }
                }
            case .payload(let header, let received):
                let count = min(header.length - received, input.count)
                if count == 0 && header.length > received { return .needMore }
                let piece = Self.take(&input, count)
                if header.key != 0 { WebSocketFraming.mask(piece, with: WebSocketFraming.rotate(header.key, by: received)) }
                state = .payload(header, received: received + count)
                if let event = continuePayload(
                    header, UnsafeRawBufferPointer(piece), isLast: received + count == header.length, pool)
                {
                    return event
                }
            }
        }
    }

    private struct Failure: Error { let code: UInt16 }

    private mutating func fail(_ code: UInt16) -> WebSocketEvent {
        state = .finished
        message = nil
        control = []
        return .failure(closeCode: code)
    }

    // MARK: Headers

    private mutating func takeHeader(_ input: inout UnsafeMutableRawBufferPointer) -> Result<Header, Failure>? {
        if partialCount == 0, input.count >= 2 {
            let size = Self.headerSize(second: input[1])
            if input.count >= size {
                let header = Self.take(&input, size)
                return checked(UnsafeRawBufferPointer(header))
            }
        }
        while true {
            let size = partialCount < 2 ? 2 : withUnsafeBytes(of: partial) { Self.headerSize(second: $0[1]) }
            if partialCount >= 2, partialCount == size {
                let header = partial
                partialCount = 0
                return withUnsafeBytes(of: header) { checked(UnsafeRawBufferPointer(rebasing: $0[..<size])) }
            }
            guard let byte = input.first else { return nil }
            _ = Self.take(&input, 1)
            let index = partialCount
            withUnsafeMutableBytes(of: &partial) { $0[index] = byte }
            partialCount += 1
        }
    }

    @inline(__always)
    private static func take(_ input: inout UnsafeMutableRawBufferPointer, _ count: Int) -> UnsafeMutableRawBufferPointer {
        let piece = UnsafeMutableRawBufferPointer(rebasing: input[..<count])
        input = UnsafeMutableRawBufferPointer(rebasing: input[count...])
        return piece
    }

    @inline(__always)
    private static func headerSize(second: UInt8) -> Int {
        let length = second & 0x7F
        return (length < 126 ? 2 : length == 126 ? 4 : 10) + (second & 0x80 != 0 ? 4 : 0)
    }

    /// The rules of RFC 6455 §5.2 to §5.5 that a header alone can break.
    private func checked(_ bytes: UnsafeRawBufferPointer) -> Result<Header, Failure> {
        let violation = Result<Header, Failure>.failure(Failure(code: WebSocketCloseCode.protocolError))
        let first = bytes[0]
        guard first & 0x30 == 0, let opcode = WebSocketOpcode(rawValue: first & 0x0F) else { return violation }
        let fin = first & 0x80 != 0
        let compressed = first & 0x40 != 0
        let masked = bytes[1] & 0x80 != 0
        switch role {
        case .server: if !masked { return violation }
        case .client: if masked { return violation }
        }
        var length = Int(bytes[1] & 0x7F)
        if opcode.isControl, !fin || length > 125 || compressed { return violation }
        switch length {
        case 126:
            length = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
            if length < 126 { return violation }
        case 127:
            let long = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            if long <= 0xFFFF || long > UInt64(Int64.max) { return violation }
            length = Int(long)
        default: break
        }
        if !opcode.isControl {
            if opcode == .continuation {
                guard let message else { return violation }
                if compressed { return violation }
                if tooLong(received: message.received, isCompressed: message.isCompressed, adding: length) {
                    return .failure(Failure(code: WebSocketCloseCode.messageTooBig))
                }
            } else {
                if message != nil || (compressed && deflate == nil) { return violation }
                if tooLong(received: 0, isCompressed: compressed, adding: length) {
                    return .failure(Failure(code: WebSocketCloseCode.messageTooBig))
                }
            }
        }
        let key = masked ? bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self) : 0
        return .success(Header(opcode: opcode, fin: fin, compressed: compressed, length: length, key: key))
    }

    /// Compressed data may be a little longer than what it inflates to; the inflated size is checked for itself.
    private func tooLong(received: Int, isCompressed: Bool, adding length: Int) -> Bool {
        let bound = isCompressed ? limit + limit / 8 + 1024 : limit
        return length > bound - received
    }

    // MARK: Payloads

    private mutating func begin(
        _ header: Header, _ input: inout UnsafeMutableRawBufferPointer, _ pool: WebSocketCompressionPool
    ) -> WebSocketEvent? {
        if input.count >= header.length, header.opcode.isControl || (header.fin && header.opcode != .continuation) {
            // The fast path: nothing is held, nothing is copied.
            let mutable = Self.take(&input, header.length)
            if header.key != 0 { WebSocketFraming.mask(mutable, with: header.key) }
            let payload = UnsafeRawBufferPointer(mutable)
            if header.opcode.isControl { return controlEvent(header.opcode, payload) }
            if !header.compressed { return whole(isText: header.opcode == .text, payload) }
            return inflateWhole(isText: header.opcode == .text, payload, pool)
        }
        if !header.opcode.isControl, header.opcode != .continuation {
            message = Message(isText: header.opcode == .text, isCompressed: header.compressed)
        }
        state = .payload(header, received: 0)
        return nil
    }

    private mutating func whole(isText: Bool, _ payload: UnsafeRawBufferPointer) -> WebSocketEvent {
        if !isText { return .binary(payload) }
        return UTF8Validator.isValid(payload) ? .text(payload) : fail(WebSocketCloseCode.invalidData)
    }

    private mutating func inflateWhole(
        isText: Bool, _ payload: UnsafeRawBufferPointer, _ pool: WebSocketCompressionPool
    ) -> WebSocketEvent {
        guard let inflater = ownInflater ?? pool.takeInflater() else { return fail(WebSocketCloseCode.internalError) }
        let output = pool.cleared(\.inflated)
        var outcome = inflater.inflate(payload, into: output, limit: limit)
        if outcome == .ok { outcome = inflater.finish(into: output, limit: limit) }
        release(inflater, pool)
        switch outcome {
        case .ok: return whole(isText: isText, output.bytes)
        case .tooLarge: return fail(WebSocketCloseCode.messageTooBig)
        case .corrupt: return fail(WebSocketCloseCode.invalidData)
        }
    }

    private mutating func release(_ inflater: Inflater, _ pool: WebSocketCompressionPool) {
        if deflate?.peerKeepsContext == true {
            ownInflater = inflater
        } else {
            pool.giveBack(inflater)
        }
    }

    private mutating func continuePayload(
        _ header: Header, _ piece: UnsafeRawBufferPointer, isLast: Bool, _ pool: WebSocketCompressionPool
    ) -> WebSocketEvent? {
        if header.opcode.isControl {
            control.append(contentsOf: piece)
            if !isLast { return nil }
            state = .header
            // Handed out from where it stays until the next control frame.
            controlHeld = control
            control = []
            return controlHeld.withUnsafeBytes { controlEvent(header.opcode, $0) }
        }
        guard let message else { return fail(WebSocketCloseCode.protocolError) }
        if let code = append(piece, to: message, pool) { return fail(code) }
        if !isLast { return nil }
        state = .header
        if !header.fin { return nil }
        if message.isCompressed {
            guard let inflater = message.inflater ?? ownInflater ?? pool.takeInflater() else {
                return fail(WebSocketCloseCode.internalError)
            }
            let start = message.bytes.count
            let outcome = inflater.finish(into: message.bytes, limit: limit)
            message.inflater = nil
            release(inflater, pool)
            if let code = check(outcome, message, from: start) { return fail(code) }
        }
        if message.isText, !message.validator.isComplete { return fail(WebSocketCloseCode.invalidData) }
        self.message = nil
        delivered = message
        return message.isText ? .text(message.bytes.bytes) : .binary(message.bytes.bytes)
    }

    /// - Returns: the close code where the message cannot be accepted.
    private mutating func append(
        _ piece: UnsafeRawBufferPointer, to message: Message, _ pool: WebSocketCompressionPool
    ) -> UInt16? {
        message.received += piece.count
        let start = message.bytes.count
        if !message.isCompressed {
            message.bytes.append(piece, limit: limit)
            return check(.ok, message, from: start)
        }
        if message.inflater == nil {
            message.inflater = ownInflater ?? pool.takeInflater()
            ownInflater = nil
        }
        guard let inflater = message.inflater else { return WebSocketCloseCode.internalError }
        return check(inflater.inflate(piece, into: message.bytes, limit: limit), message, from: start)
    }

    private func check(_ outcome: Inflater.Outcome, _ message: Message, from start: Int) -> UInt16? {
        switch outcome {
        case .tooLarge: return WebSocketCloseCode.messageTooBig
        case .corrupt: return WebSocketCloseCode.invalidData
        case .ok:
            if !message.isText { return nil }
            let added = UnsafeRawBufferPointer(rebasing: message.bytes.bytes[start...])
            return message.validator.consume(added) ? nil : WebSocketCloseCode.invalidData
        }
    }

    // MARK: Control frames

    private mutating func controlEvent(_ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer) -> WebSocketEvent {
        switch opcode {
        case .ping: return .ping(payload)
        case .pong: return .pong(payload)
        case .close: return closeEvent(payload)
        case .continuation, .text, .binary: preconditionFailure("not a control frame")
        }
    }

    /// RFC 6455 §5.5.1: nothing, or a code and a reason in UTF-8.
    private mutating func closeEvent(_ payload: UnsafeRawBufferPointer) -> WebSocketEvent {
        state = .finished
        message = nil
        if payload.isEmpty { return .close(code: nil, reason: payload) }
        guard payload.count >= 2 else { return .failure(closeCode: WebSocketCloseCode.protocolError) }
        let code = UInt16(bigEndian: payload.loadUnaligned(as: UInt16.self))
        let reason = UnsafeRawBufferPointer(rebasing: payload[2...])
        guard WebSocketCloseCode.isValid(code) else { return .failure(closeCode: WebSocketCloseCode.protocolError) }
        guard UTF8Validator.isValid(reason) else { return .failure(closeCode: WebSocketCloseCode.invalidData) }
        return .close(code: code, reason: reason)
    }
}

extension WebSocketCompressionPool {
    /// Scratch room, emptied; replaced where one big message has blown it up.
    func cleared(_ scratch: ReferenceWritableKeyPath<WebSocketCompressionPool, ByteChunk>) -> ByteChunk {
        if self[keyPath: scratch].capacity > 256 * 1024 { self[keyPath: scratch] = ByteChunk(capacity: 16 * 1024) }
        let chunk = self[keyPath: scratch]
        chunk.count = 0
        return chunk
    }
}

import CZlib

/// Compresses messages for permessage-deflate (RFC 7692 §7.2.1). Confined to one thread at a time.
final class Deflater {
    /// zlib keeps the address of its stream, so that must hold still.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    /// - Parameters:
    ///   - windowBits: 9…15. zlib's raw deflate has no 8.
    ///   - level: of zlib, 1…9.
    init?(windowBits: Int, level: Int = 1) {
        // Memory is 2^(windowBits+2) + 2^(memLevel+9) bytes.
        stream.initialize(to: z_stream())
        let memoryLevel = Int32(min(8, windowBits - 7))
        guard
            deflateInit2_(
                stream, Int32(level), Z_DEFLATED, Int32(-windowBits), memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)) == Z_OK
        else { return nil }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Appends the compressed message to `output`, without the empty block `00 00 ff ff` at its end.
    /// - Parameter keepsContext: whether the next message may refer back to this one.
    func compress(_ input: UnsafeRawBufferPointer, into output: ByteChunk, keepsContext: Bool) {
        let start = output.count
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(input.count)
        output.reserve(Int(deflateBound(stream, UInt(input.count))) + 16)
        repeat {
            output.reserve(64)
            stream.pointee.next_out = (output.base + output.count).assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(output.room)
            let before = output.room
            let result = deflate(stream, Z_SYNC_FLUSH)
            precondition(result == Z_OK || result == Z_BUF_ERROR, "deflate failed")
            output.count += before - Int(stream.pointee.avail_out)
        } while stream.pointee.avail_out == 0
        if output.count - start >= 4 { output.count -= 4 }
        // RFC 7692 §7.2.3.6: an empty message is one 0x00 byte.
        if output.count == start { output.append([0]) }
        if !keepsContext { deflateReset(stream) }
    }
}

extension ByteChunk {
    fileprivate func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }
}

/// Takes permessage-deflate off (RFC 7692 §7.2.2), with the result's size checked while it grows. Confined to one thread at a time.
final class Inflater {
    enum Outcome {
        case ok
        case tooLarge
        case corrupt
    }

    /// zlib keeps the address of its stream, so that must hold still.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    init?() {
        stream.initialize(to: z_stream())
        guard inflateInit2_(stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    func reset() { inflateReset(stream) }

    /// Appends what `input` inflates to; stops as soon as `output` would pass `limit` bytes.
    func inflate(_ input: UnsafeRawBufferPointer, into output: ByteChunk, limit: Int) -> Outcome {
        guard let base = input.baseAddress, input.count > 0 else { return .ok }
        stream.pointee.next_in = UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(input.count)
        while true {
            // One byte more than allowed, to tell "full" from "too much".
            output.reserve(min(max(64, Int(stream.pointee.avail_in) * 2), limit + 1 - output.count), limit: limit + 1)
            let room = min(output.room, limit + 1 - output.count)
            stream.pointee.next_out = (output.base + output.count).assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(room)
            let pending = stream.pointee.avail_in
            let result = CZlib.inflate(stream, Z_SYNC_FLUSH)
            let produced = room - Int(stream.pointee.avail_out)
            output.count += produced
            if output.count > limit { return .tooLarge }
            switch result {
            case Z_OK, Z_BUF_ERROR:
                if stream.pointee.avail_out > 0 {
                    // Output was left over, so all input was used.
                    return stream.pointee.avail_in == 0 ? .ok : .corrupt
                }
            case Z_STREAM_END:
                // A final block (RFC 7692 §7.2.3.4): another stream follows, over the same window.
                inflateResetKeep(stream)
                if stream.pointee.avail_in == 0 { return .ok }
                if stream.pointee.avail_in == pending && produced == 0 { return .corrupt }
            default:
                return .corrupt
            }
        }
    }

    /// Feeds the empty block that the sender left out at the end of a message.
    func finish(into output: ByteChunk, limit: Int) -> Outcome {
        let tail: [UInt8] = [0, 0, 0xFF, 0xFF]
        return tail.withUnsafeBytes { inflate($0, into: output, limit: limit) }
    }
}

/// zlib states in reserve for the connections of one loop: those that keep no context between messages borrow one for each message,
/// so that an idle connection holds none. Confined to its loop.
public final class WebSocketCompressionPool {
    private var inflaters: [Inflater] = []
    private var deflaters: [Int: Deflater] = [:]
    /// Two, as a message that was inflated into one may be compressed into the other.
    var inflated = ByteChunk(capacity: 16 * 1024)
    var deflated = ByteChunk(capacity: 16 * 1024)

    public init() {}

    func takeInflater() -> Inflater? { inflaters.popLast() ?? Inflater() }

    func giveBack(_ inflater: Inflater) {
        guard inflaters.count < 8 else { return }
        inflater.reset()
        inflaters.append(inflater)
    }

    /// The loop's deflater for messages that stand alone.
    func deflater(windowBits: Int) -> Deflater? {
        if let known = deflaters[windowBits] { return known }
        let made = Deflater(windowBits: windowBits)
        deflaters[windowBits] = made
        return made
    }
}

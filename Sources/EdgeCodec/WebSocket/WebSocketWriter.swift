import Glibc

/// Writes frames into an ``Outbox`` (RFC 6455 §5, RFC 7692 §7.2.1). One per connection; holds memory only where context is kept.
public struct WebSocketWriter {
    private let role: WebSocketRole
    private let deflate: WebSocketDeflate?
    private let compressionThreshold: Int
    private var ownDeflater: Deflater?

    /// - Parameter compressionThreshold: messages below this size go uncompressed, whatever was agreed.
    public init(role: WebSocketRole, deflate: WebSocketDeflate? = nil, compressionThreshold: Int = 1024) {
        self.role = role
        self.deflate = deflate
        self.compressionThreshold = compressionThreshold
    }

    /// The most that a message of this size can take in the outbox.
    @inline(__always)
    public static func bound(payload: Int) -> Int { payload + WebSocketFraming.longestHeader }

    /// Appends one whole message in one frame.
    /// - Parameter mask: the client's key, unpredictable and new for each frame (RFC 6455 §5.3); nil for the server.
    public mutating func message(
        _ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer, to outbox: Outbox, pool: WebSocketCompressionPool,
        mask: UInt32? = nil
    ) {
        if let deflate, payload.count >= compressionThreshold, let deflater = deflater(deflate, pool) {
            let output = pool.cleared(\.deflated)
            deflater.compress(payload, into: output, keepsContext: deflate.keepsContext)
            // With context the peer's window must follow ours, so the result goes out even where it did not shrink.
            if deflate.keepsContext || output.count < payload.count {
                Self.frame(opcode, compressed: true, output.bytes, to: outbox, mask: mask)
                return
            }
        }
        Self.frame(opcode, compressed: false, payload, to: outbox, mask: mask)
    }

    private mutating func deflater(_ deflate: WebSocketDeflate, _ pool: WebSocketCompressionPool) -> Deflater? {
        if !deflate.keepsContext { return pool.deflater(windowBits: deflate.windowBits) }
        if ownDeflater == nil {
            // A window of 4 KiB is within any agreed bound that is larger, and takes 32 kB instead of 256.
            ownDeflater = Deflater(windowBits: min(deflate.windowBits, 12))
        }
        return ownDeflater
    }

    /// Appends one frame as it is: control frames and fragments.
    @inline(__always)
    public static func frame(
        _ opcode: WebSocketOpcode, fin: Bool = true, compressed: Bool = false, _ payload: UnsafeRawBufferPointer,
        to outbox: Outbox,
        mask: UInt32? = nil
    ) {
        let header = WebSocketFraming.headerCount(payload: payload.count, masked: mask != nil)
        let target = outbox.extend(header + payload.count)
        WebSocketFraming.writeHeader(target, opcode, fin: fin, compressed: compressed, payload: payload.count, mask: mask)
        guard let source = payload.baseAddress, payload.count > 0 else { return }
        memcpy(target + header, source, payload.count)
        if let mask {
            WebSocketFraming.mask(UnsafeMutableRawBufferPointer(start: target + header, count: payload.count), with: mask)
        }
    }

    /// Appends a close frame; a reason beyond 123 bytes of UTF-8 is cut at a character.
    /// - Parameter code: nil for a close frame without one.
    public static func close(_ code: UInt16?, reason: String = "", to outbox: Outbox, mask: UInt32? = nil) {
        var payload: [UInt8] = []
        if let code {
            payload = [UInt8(code >> 8), UInt8(code & 0xFF)]
            for scalar in reason.unicodeScalars {
                let encoded = UTF8.encode(scalar)!
                if payload.count + encoded.count > 125 { break }
                payload.append(contentsOf: encoded)
            }
        }
        payload.withUnsafeBytes { frame(.close, $0, to: outbox, mask: mask) }
    }
}

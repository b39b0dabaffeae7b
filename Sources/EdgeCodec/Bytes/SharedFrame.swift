import Glibc

/// One outgoing WebSocket frame of the server, encoded once and queued by reference on any number of connections. Immutable.
public final class SharedFrame: Sendable {
    /// Header and payload.
    public nonisolated(unsafe) let bytes: UnsafeRawBufferPointer
    public let payloadCount: Int

    /// A whole, uncompressed text message. The payload must be valid UTF-8 (not checked here).
    public static func text(_ payload: some Sequence<UInt8>) -> SharedFrame { SharedFrame(.text, payload) }

    public static func binary(_ payload: some Sequence<UInt8>) -> SharedFrame { SharedFrame(.binary, payload) }

    init(_ opcode: WebSocketOpcode, _ payload: some Sequence<UInt8>) {
        let built = payload.withContiguousStorageIfAvailable { Self.build(opcode, UnsafeRawBufferPointer($0)) }
        if let built {
            (bytes, payloadCount) = built
        } else {
            (bytes, payloadCount) = Array(payload).withUnsafeBytes { Self.build(opcode, $0) }
        }
    }

    private static func build(_ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer) -> (UnsafeRawBufferPointer, Int) {
        let header = WebSocketFraming.headerCount(payload: payload.count, masked: false)
        let base = malloc(header + payload.count)!
        WebSocketFraming.writeHeader(base, opcode, payload: payload.count)
        if let source = payload.baseAddress { memcpy(base + header, source, payload.count) }
        return (UnsafeRawBufferPointer(start: base, count: header + payload.count), payload.count)
    }

    deinit { free(UnsafeMutableRawPointer(mutating: bytes.baseAddress)) }
}

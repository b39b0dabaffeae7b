import Glibc

/// A growable run of bytes outside Swift's heap, so that its address holds still while the kernel reads it.
///
/// Confined to one thread at a time.
final class ByteChunk {
    private(set) var base: UnsafeMutableRawPointer
    private(set) var capacity: Int
    var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        base = malloc(capacity)!
    }

    deinit { free(base) }

    var room: Int { capacity - count }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Makes room for `extra` more bytes, doubling up to `limit` (at which it grows by no more than is asked).
    func reserve(_ extra: Int, limit: Int = .max) {
        let needed = count + extra
        if needed <= capacity { return }
        capacity = max(needed, min(capacity * 2, limit))
        base = realloc(base, capacity)!
    }

    func append(_ bytes: UnsafeRawBufferPointer, limit: Int = .max) {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        reserve(bytes.count, limit: limit)
        memcpy(base + count, source, bytes.count)
        count += bytes.count
    }
}

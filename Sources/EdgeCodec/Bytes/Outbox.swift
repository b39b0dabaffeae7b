import Glibc

/// Bytes on their way to one socket: what was appended is copied into pooled chunks, shared frames are queued by reference.
///
/// It has no bound of its own: its owner compares ``count`` with one before it appends. Confined to its owner's loop.
public final class Outbox {
    private enum Item {
        case chunk(ByteChunk)
        case frame(SharedFrame)

        @inline(__always)
        var bytes: UnsafeRawBufferPointer {
            switch self {
            case .chunk(let chunk): chunk.bytes
            case .frame(let frame): frame.bytes
            }
        }
    }

    /// Frames up to this size are copied: that costs less than one more segment in the kernel's list.
    private static let copyLimit = 256
    static let chunkBytes = 8 * 1024

    private var items: [Item] = []
    private var head = 0
    private var headOffset = 0
    private unowned let pool: OutboxPool
    /// Bytes not yet taken by the socket.
    public private(set) var count = 0

    init(pool: OutboxPool) { self.pool = pool }

    public var isEmpty: Bool { count == 0 }

    /// Room for exactly `size` bytes, which the caller must fill at once.
    @inline(__always)
    public func extend(_ size: Int) -> UnsafeMutableRawPointer {
        count += size
        if let last = items.last, case .chunk(let chunk) = last, chunk.room >= size {
            defer { chunk.count += size }
            return chunk.base + chunk.count
        }
        let chunk = pool.chunk(size)
        items.append(.chunk(chunk))
        chunk.count = size
        return chunk.base
    }

    public func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        memcpy(extend(bytes.count), source, bytes.count)
    }

    public func append(_ frame: SharedFrame) {
        if frame.bytes.count <= Self.copyLimit {
            append(frame.bytes)
        } else {
            items.append(.frame(frame))
            count += frame.bytes.count
        }
    }

    /// Describes the first bytes for one gathered write, and calls `body` with them.
    public func withSegments<Result>(_ body: (UnsafeMutableBufferPointer<iovec>) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: 64) { segments in
            var used = 0
            while used < segments.count, head + used < items.count {
                var bytes = items[head + used].bytes
                if used == 0, headOffset > 0 { bytes = UnsafeRawBufferPointer(rebasing: bytes[headOffset...]) }
                segments[used] = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
                used += 1
            }
            return body(UnsafeMutableBufferPointer(rebasing: segments[..<used]))
        }
    }

    /// Forgets the first `written` bytes.
    public func advance(_ written: Int) {
        count -= written
        if count == 0 {
            removeAll()
            return
        }
        var remaining = written
        while remaining > 0 {
            let left = items[head].bytes.count - headOffset
            if remaining < left {
                headOffset += remaining
                break
            }
            remaining -= left
            if case .chunk(let chunk) = items[head] { pool.recycle(chunk) }
            head += 1
            headOffset = 0
        }
        // Moved up seldom, so that a long queue is not copied for every write.
        if head > 64, head * 2 > items.count {
            items.removeFirst(head)
            head = 0
        }
    }

    public func removeAll() {
        for item in items[head...] {
            if case .chunk(let chunk) = item { pool.recycle(chunk) }
        }
        items.removeAll(keepingCapacity: items.capacity <= 256)
        head = 0
        headOffset = 0
        count = 0
    }
}

/// Outboxes and chunks in reserve for the connections of one loop, so that an idle connection holds none. Confined to its loop.
public final class OutboxPool {
    private var outboxes: [Outbox] = []
    private var chunks: [ByteChunk] = []
    private let limit: Int

    /// - Parameter limit: how many spare outboxes, and spare chunks of 8 KiB, are kept.
    public init(limit: Int = 128) { self.limit = limit }

    public func take() -> Outbox { outboxes.popLast() ?? Outbox(pool: self) }

    /// Takes an outbox back; what it still holds is dropped.
    public func giveBack(_ outbox: Outbox) {
        outbox.removeAll()
        if outboxes.count < limit { outboxes.append(outbox) }
    }

    func chunk(_ size: Int) -> ByteChunk {
        if size <= Outbox.chunkBytes {
            return chunks.popLast() ?? ByteChunk(capacity: Outbox.chunkBytes)
        }
        return ByteChunk(capacity: size)
    }

    func recycle(_ chunk: ByteChunk) {
        guard chunk.capacity == Outbox.chunkBytes, chunks.count < limit else { return }
        chunk.count = 0
        chunks.append(chunk)
    }
}

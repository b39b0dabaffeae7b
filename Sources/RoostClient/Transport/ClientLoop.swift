import EdgeCodec
import EventLoop
import Glibc

/// What the client sockets of one loop share: read buffer, spare outboxes, zlib states, and a sweep for time-outs.
///
/// Make one for each loop and use it for all sockets there. Confined to its loop, but for making it.
public final class ClientLoop: @unchecked Sendable {
    public let loop: EventLoop
    let outboxes = OutboxPool()
    let compression = WebSocketCompressionPool()
    let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 64)
    private var sockets: [ClientSocket] = []
    private var dirty: [ClientSocket] = []
    private var endOfTurnPlanned = false
    private var isSweeping = false
    private var masks: [UInt32] = []

    /// - Parameter loop: a running loop; the caller stops it, after closing the sockets.
    public init(_ loop: EventLoop) { self.loop = loop }

    deinit { readBuffer.deallocate() }

    /// A masking key nobody can foresee (RFC 6455 §5.3), from the system's generator.
    func mask() -> UInt32 {
        if masks.isEmpty {
            masks = [UInt32](repeating: 0, count: 64)
            let filled = masks.withUnsafeMutableBytes { getentropy($0.baseAddress!, $0.count) }
            precondition(filled == 0, "no randomness")
        }
        return masks.removeLast()
    }

    // MARK: For sockets

    func add(_ socket: ClientSocket) {
        socket.slot = sockets.count
        sockets.append(socket)
        if !isSweeping {
            isSweeping = true
            planSweep()
        }
    }

    func remove(_ socket: ClientSocket) {
        guard socket.slot >= 0 else { return }
        let last = sockets.removeLast()
        if socket.slot < sockets.count {
            sockets[socket.slot] = last
            last.slot = socket.slot
        }
        socket.slot = -1
    }

    func flushAtEndOfTurn(_ socket: ClientSocket) {
        dirty.append(socket)
        if endOfTurnPlanned { return }
        endOfTurnPlanned = true
        loop.atEndOfTurn(endTurn)
    }

    /// Made once: a closure for every turn would be an allocation for every turn.
    private lazy var endTurn: () -> Void = { [unowned self] in
        self.endOfTurnPlanned = false
        var index = 0
        while index < self.dirty.count {
            self.dirty[index].flush()
            index += 1
        }
        self.dirty.removeAll(keepingCapacity: self.dirty.count < 4096)
    }

    private func planSweep() {
        loop.schedule(after: .milliseconds(250)) { [weak self] in
            guard let self else { return }
            let now = MonotonicTime.now
            for index in stride(from: self.sockets.count - 1, through: 0, by: -1) where index < self.sockets.count {
                self.sockets[index].sweep(now)
            }
            self.isSweeping = !self.sockets.isEmpty
            if self.isSweeping { self.planSweep() }
        }
    }
}

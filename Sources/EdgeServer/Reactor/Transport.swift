import CEpoll
import EventLoop
import Glibc

/// A connected, non-blocking socket with its outbox, as part of a connection's state. Confined to its loop.
struct Transport {
    enum FlushOutcome {
        /// Nothing is left.
        case done
        /// The peer is slow; the loop reports when it goes on.
        case blocked
        case broken
    }

    let descriptor: Int32
    let edge: EdgeLoop
    private(set) var outbox: Outbox?
    private var wantsWrite = false
    private(set) var readPaused = false
    /// When the peer last took a byte, or the first byte began to wait.
    private(set) var lastProgress: MonotonicTime

    init(descriptor: Int32, edge: EdgeLoop, now: MonotonicTime) {
        self.descriptor = descriptor
        self.edge = edge
        lastProgress = now
    }

    var pending: Int { outbox?.count ?? 0 }

    /// The outbox to append to, taken from the loop's reserve.
    mutating func open() -> Outbox {
        if let outbox { return outbox }
        let taken = edge.outboxes.take()
        outbox = taken
        lastProgress = MonotonicTime.now
        return taken
    }

    mutating func flush() -> FlushOutcome {
        guard let outbox else { return .done }
        // Nothing can be taken before the loop says so.
        while !outbox.isEmpty {
            let written = outbox.withSegments { roost_send(descriptor, $0.baseAddress, $0.count) }
            if written < 0 {
                switch errno {
                case EINTR: continue
                case EAGAIN:
                    if !wantsWrite {
                        wantsWrite = true
                        updateInterest()
                    }
                    return .blocked
                default: return .broken
                }
            }
            edge.counters.writes.bump()
            edge.counters.bytesSent.bump(written)
            outbox.advance(written)
            if wantsWrite { lastProgress = MonotonicTime.now }
        }
        edge.outboxes.giveBack(outbox)
        self.outbox = nil
        if wantsWrite {
            wantsWrite = false
            updateInterest()
        }
        return .done
    }

    enum ReadOutcome {
        case bytes(UnsafeMutableRawBufferPointer)
        case nothing
        case end
        case broken
    }

    /// Reads into the loop's shared buffer.
    func read() -> ReadOutcome {
        while true {
            let count = recv(descriptor, edge.readBuffer.baseAddress, edge.readBuffer.count, 0)
            if count > 0 {
                edge.counters.bytesReceived.bump(count)
                return .bytes(UnsafeMutableRawBufferPointer(rebasing: edge.readBuffer[..<count]))
            }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .nothing
            default: return .broken
            }
        }
    }

    mutating func pauseReading(_ paused: Bool) {
        if readPaused == paused { return }
        readPaused = paused
        updateInterest()
    }

    private func updateInterest() {
        var interest: Readiness = []
        if !readPaused { interest.insert(.readable) }
        if wantsWrite { interest.insert(.writable) }
        edge.loop.update(descriptor, interest)
    }

    /// Says that no more will be sent.
    func shutDownWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    mutating func close() {
        if let outbox { edge.outboxes.giveBack(outbox) }
        outbox = nil
        edge.loop.unwatch(descriptor)
        Glibc.close(descriptor)
    }
}

import CEpoll
import EdgeCodec
import EventLoop
import Glibc

/// Why a connection of the client ended or never stood.
public enum ClientFailure: Error, Sendable, Equatable {
    case cannotConnect(errno: Int32)
    case timeout
    /// FIN or RST in the middle of something.
    case broken
    /// The server's bytes make no sense.
    case malformed
    /// A bound of the client's own is reached.
    case overloaded
    case cancelled
}

/// Told of a socket's fate, on its loop.
protocol ClientSocketOwner: AnyObject {
    func connected()
    /// The bytes may be changed in place, and are valid only during the call.
    func received(_ bytes: UnsafeMutableRawBufferPointer)
    /// Nothing waits to be sent any more.
    func flushed()
    /// About four times a second.
    func swept(_ now: MonotonicTime)
    /// Once, unless closed by the owner.
    func ended(_ failure: ClientFailure)
}

/// One outgoing TCP connection with its outbox. Confined to its loop.
final class ClientSocket: ReadinessHandler {
    private enum State {
        case idle
        case connecting
        case connected
        case closed
    }

    var slot = -1
    let context: ClientLoop
    private unowned let owner: any ClientSocketOwner
    private var descriptor: Int32 = -1
    private var state = State.idle
    private var outbox: Outbox?
    private var isDirty = false
    private var wantsWrite = false
    private var readPaused = false

    init(_ context: ClientLoop, owner: any ClientSocketOwner) {
        self.context = context
        self.owner = owner
    }

    func connect(host: String, port: Int, source: String?) throws(EventLoopError) {
        descriptor = try SocketAddress.connect(host: host, port: port, source: source)
        do {
            try context.loop.watch(descriptor, .writable, handler: self)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        state = .connecting
        context.add(self)
    }

    var pending: Int { outbox?.count ?? 0 }

    func open() -> Outbox {
        if let outbox { return outbox }
        let taken = context.outboxes.take()
        outbox = taken
        return taken
    }

    func markDirty() {
        if isDirty { return }
        isDirty = true
        context.flushAtEndOfTurn(self)
    }

    func pauseReading(_ paused: Bool) {
        guard readPaused != paused, case .connected = state else { return }
        readPaused = paused
        updateInterest()
    }

    func ready(_ readiness: Readiness) {
        switch state {
        case .idle, .closed: return
        case .connecting:
            let error = SocketAddress.connectError(descriptor)
            if error != 0 {
                fail(.cannotConnect(errno: error))
                return
            }
            state = .connected
            updateInterest()
            owner.connected()
        case .connected:
            if readiness.contains(.writable) { flush() }
            guard case .connected = state else { return }
            if readiness.contains(.readable) {
                if !readPaused { readAvailable() }
            } else if readiness.contains(.error) || readiness.contains(.hangUp) {
                fail(.broken)
            }
        }
    }

    private func readAvailable() {
        let buffer = context.readBuffer
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        if count > 0 {
            owner.received(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            fail(.broken)
        }
    }

    func flush() {
        isDirty = false
        guard case .connected = state, let outbox else { return }
        while !outbox.isEmpty {
            let written = outbox.withSegments { roost_send(descriptor, $0.baseAddress, $0.count) }
            if written < 0 {
                if errno == EINTR { continue }
                if errno != EAGAIN { return fail(.broken) }
                if !wantsWrite {
                    wantsWrite = true
                    updateInterest()
                }
                return
            }
            outbox.advance(written)
        }
        context.outboxes.giveBack(outbox)
        self.outbox = nil
        if wantsWrite {
            wantsWrite = false
            updateInterest()
        }
        owner.flushed()
    }

    func sweep(_ now: MonotonicTime) { owner.swept(now) }

    private func updateInterest() {
        var interest: Readiness = []
        if !readPaused { interest.insert(.readable) }
        if wantsWrite { interest.insert(.writable) }
        context.loop.update(descriptor, interest)
    }

    func shutDownWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Ends it without telling the owner.
    func close() {
        switch state {
        case .idle, .closed: return
        case .connecting, .connected: break
        }
        state = .closed
        context.remove(self)
        if let outbox { context.outboxes.giveBack(outbox) }
        outbox = nil
        context.loop.unwatch(descriptor)
        Glibc.close(descriptor)
    }

    private func fail(_ failure: ClientFailure) {
        // The owner lives on through the call, though closing may drop the last other reference to it.
        let owner = self.owner
        close()
        owner.ended(failure)
    }
}

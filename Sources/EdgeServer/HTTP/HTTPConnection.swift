import EventLoop
import Glibc

/// One HTTP/1.1 connection: requests are served one after the other, and nothing is read ahead while one is being answered.
///
/// Confined to its loop.
final class HTTPConnection: EdgeConnection, @unchecked Sendable {
    /// What happens to the body of the request under way.
    enum Intake {
        case buffer(limit: Int)
        case stream(HTTPBodyStream, remaining: Int?)
        case discard
    }

    /// One request and its response.
    struct Exchange {
        let head: HTTPRequestHead
        var intake: Intake
        var body: [UInt8] = []
        var isReceived = false
        var hasResponse = false
        var isAnswered = false
        var keepAlive: Bool
        var chunked = false
        var pump: Task<Void, Never>?
        var pumpWaiting: CheckedContinuation<Bool, Never>?
        /// Body bytes since `windowStart`, for the least progress that is asked for.
        var windowBytes = 0
        var windowStart: MonotonicTime
    }

    enum Phase {
        /// Waiting for a request or reading its head.
        case head
        case exchange
        /// The last response is in the outbox; `lingers` where unread input would turn our close into a reset.
        case closing(lingers: Bool)
        case lingering(until: MonotonicTime)
        case closed
    }

    var slot = -1
    var transport: Transport
    let remoteAddress: String
    var parser: HTTPRequestParser
    var phase = Phase.head
    var exchange = Exchange?.none
    /// Counts requests: a late answer must not meet the next one.
    var exchangeNumber = 0
    /// Read, but behind the request that is being served.
    var held: [UInt8] = []
    var isProcessing = false
    var isDirty = false
    var peerEnded = false
    /// When the connection began to wait for a head, or the first byte of one came.
    var headSince: MonotonicTime
    var hasPartialHead = false

    /// Set between the handshake and the hand-over of what was read behind it.
    var upgraded: WebSocketConnection?

    var edge: EdgeLoop { transport.edge }
    var loop: EventLoop { transport.edge.loop }

    init(descriptor: Int32, edge: EdgeLoop, remoteAddress: String) {
        let now = MonotonicTime.now
        transport = Transport(descriptor: descriptor, edge: edge, now: now)
        parser = HTTPRequestParser(limits: edge.configuration.http)
        self.remoteAddress = remoteAddress
        headSince = now
    }

    // MARK: Readiness

    func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        if case .closed = phase { return }
        if readiness.contains(.readable), !transport.readPaused {
            readAvailable()
        } else if readiness.contains(.error) || readiness.contains(.hangUp) {
            drop()
        }
    }

    func readAvailable() {
        switch transport.read() {
        case .nothing: break
        case .broken: drop()
        case .end: peerFinished()
        case .bytes(let bytes): process(UnsafeRawBufferPointer(bytes))
        }
    }

    /// The peer sends no more: it may still wait for an answer to what it sent.
    func peerFinished() {
        switch phase {
        case .head, .lingering, .closed: drop()
        case .closing:
            peerEnded = true
            transport.pauseReading(true)
        case .exchange:
            guard exchange?.isReceived == true else {
                drop()
                return
            }
            peerEnded = true
            exchange?.keepAlive = false
            transport.pauseReading(true)
        }
    }

    // MARK: End

    func close(lingers: Bool) {
        phase = .closing(lingers: lingers)
        held = []
        markDirty()
    }

    /// RFC 9112 §9.6: with input unread, closing at once would reset the connection and may take the response with it.
    func flushed(lingers: Bool) {
        guard lingers, !peerEnded else {
            drop()
            return
        }
        transport.shutDownWriting()
        phase = .lingering(until: MonotonicTime.now + edge.configuration.lingerTimeout)
        transport.pauseReading(false)
    }

    func windDown() {
        switch phase {
        case .head: if parser.isBetweenRequests { drop() }
        case .exchange: exchange?.keepAlive = false
        case .closing, .lingering, .closed: break
        }
    }

    func drop() {
        if case .closed = phase { return }
        phase = .closed
        if let current = exchange {
            if case .stream(let body, _) = current.intake { body.finish(.failure(.broken)) }
            current.pump?.cancel()
            current.pumpWaiting?.resume(returning: false)
        }
        exchange = nil
        exchangeNumber += 1
        held = []
        edge.remove(self)
        transport.close()
    }

    func sweep(_ now: MonotonicTime) {
        let configuration = edge.configuration
        if transport.pending > 0, now - transport.lastProgress > configuration.writeStallTimeout {
            timeOut()
            return
        }
        switch phase {
        case .head:
            if hasPartialHead {
                if now - headSince > configuration.headTimeout {
                    edge.counters.timeouts.bump()
                    refuse(.timeout)
                }
            } else if now - headSince > (exchangeNumber == 0 ? configuration.headTimeout : configuration.idleTimeout) {
                timeOut()
            }
        case .exchange:
            guard let current = exchange, !current.isReceived, !transport.readPaused,
                now - current.windowStart > configuration.bodyProgressInterval
            else { return }
            if current.windowBytes < configuration.bodyProgressBytes {
                edge.counters.timeouts.bump()
                refuse(.timeout)
            } else {
                exchange!.windowStart = now
                exchange!.windowBytes = 0
            }
        case .lingering(let until): if now > until { drop() }
        case .closing, .closed: break
        }
    }

    func timeOut() {
        edge.counters.timeouts.bump()
        drop()
    }
}

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
    private var parser: HTTPRequestParser
    var phase = Phase.head
    var exchange = Exchange?.none
    /// Counts requests: a late answer must not meet the next one.
    private(set) var exchangeNumber = 0
    /// Read, but behind the request that is being served.
    private var held: [UInt8] = []
    private var isProcessing = false
    private var isDirty = false
    private var peerEnded = false
    /// When the connection began to wait for a head, or the first byte of one came.
    private var headSince: MonotonicTime
    private var hasPartialHead = false

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

    private func readAvailable() {
        switch transport.read() {
        case .nothing: break
        case .broken: drop()
        case .end: peerFinished()
        case .bytes(let bytes): process(UnsafeRawBufferPointer(bytes))
        }
    }

    /// The peer sends no more: it may still wait for an answer to what it sent.
    private func peerFinished() {
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

    // MARK: Input

    private func process(_ bytes: UnsafeRawBufferPointer) {
        precondition(!isProcessing, "requests are parsed one at a time")
        isProcessing = true
        defer { isProcessing = false }
        var input = bytes
        while true {
            switch phase {
            case .closing, .lingering, .closed: return
            case .head, .exchange: break
            }
            if let exchange, exchange.isReceived || transport.readPaused {
                if !input.isEmpty {
                    held.append(contentsOf: input)
                    transport.pauseReading(true)
                }
                return
            }
            switch parser.next(&input) {
            case .needMore:
                if exchange == nil, !parser.isBetweenRequests, !hasPartialHead {
                    hasPartialHead = true
                    headSince = MonotonicTime.now
                }
                return
            case .fault(let fault): refuse(fault)
            case .head(let head, let framing):
                hasPartialHead = false
                if begin(head, framing) { continue }
                upgraded?.take(over: input)
                upgraded = nil
                return
            case .body(let piece): take(piece)
            case .end: received()
            }
        }
    }

    /// Set between the handshake and the hand-over of what was read behind it.
    private var upgraded: WebSocketConnection?

    /// - Returns: false where the connection is no longer HTTP.
    private func begin(_ parsed: HTTPRequestHead, _ framing: HTTPBodyFraming) -> Bool {
        var head = parsed
        head.remoteAddress = remoteAddress
        head.requestID = edge.requestIDs.make()
        exchangeNumber += 1
        edge.counters.requests.bump()
        phase = .exchange
        exchange = Exchange(
            head: head, intake: .discard, keepAlive: head.keepAlive && !edge.isStopping, windowStart: MonotonicTime.now)
        let length: Int? =
            switch framing {
            case .none: 0
            case .length(let length): length
            case .chunked, .untilClose: nil
            }
        let expects = length != 0 && head.version == .http11 && head.headers["Expect"] != nil
        switch edge.handler.admit(head) {
        case .respond(let response):
            // A small body is read away, so that the connection can go on; a client that waits for 100 may never send it.
            if expects || length.map({ $0 > 64 * 1024 }) ?? true { exchange?.keepAlive = false }
            send(response)
        case .buffer(let limit):
            exchange?.intake = .buffer(limit: limit)
            if let length, length > limit { refuse(.bodyTooLarge) } else if expects { sendContinue() }
        case .stream(let limit):
            if let length, let limit, length > limit {
                refuse(.bodyTooLarge)
                return true
            }
            let body = HTTPBodyStream(limit: edge.configuration.bodyStreamBytes) { [self] in
                loop.execute { self.resumeBody() }
            }
            exchange?.intake = .stream(body, remaining: limit)
            if expects { sendContinue() }
            edge.handler.handleStream(head, body: body, responder(head))
        case .webSocket(let acceptance):
            return upgrade(head, hasBody: length != 0, acceptance)
        }
        return true
    }

    private func responder(_ head: HTTPRequestHead) -> HTTPResponder {
        HTTPResponder(connection: self, exchange: exchangeNumber, requestID: head.requestID)
    }

    private func sendContinue() { write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }

    private func take(_ piece: UnsafeRawBufferPointer) {
        guard exchange != nil else { return }
        exchange!.windowBytes += piece.count
        switch exchange!.intake {
        case .discard: break
        case .buffer(let limit):
            if exchange!.body.count + piece.count > limit {
                refuse(.bodyTooLarge)
            } else {
                exchange!.body.append(contentsOf: piece)
            }
        case .stream(let body, let remaining):
            if let remaining {
                if piece.count > remaining {
                    body.finish(.failure(.tooLarge))
                    refuse(.bodyTooLarge)
                    return
                }
                exchange!.intake = .stream(body, remaining: remaining - piece.count)
            }
            if body.push(Array(piece)) { transport.pauseReading(true) }
        }
    }

    private func received() {
        guard let current = exchange else { return }
        exchange!.isReceived = true
        switch current.intake {
        case .discard: break
        case .buffer:
            exchange!.body = []
            edge.handler.handle(HTTPRequest(head: current.head, body: current.body), responder(current.head))
        case .stream(let body, _): body.finish(.success(()))
        }
        finishIfDone()
    }

    /// The application has room for more of the body.
    private func resumeBody() {
        guard let exchange, !exchange.isReceived, transport.readPaused else { return }
        self.exchange!.windowStart = MonotonicTime.now
        self.exchange!.windowBytes = 0
        readOn()
    }

    /// Goes on with what was held back, then with the socket.
    private func readOn() {
        if isProcessing || peerEnded { return }
        transport.pauseReading(false)
        if held.isEmpty { return }
        let bytes = held
        held = []
        bytes.withUnsafeBytes { process($0) }
    }

    // MARK: Output

    /// Refuses what the peer sends: the answer is the last thing on this connection.
    func refuse(_ fault: HTTPFault) {
        edge.counters.faults.bump()
        if case .stream(let body, _) = exchange?.intake {
            body.finish(.failure(fault == .malformed ? .malformed : fault == .bodyTooLarge ? .tooLarge : .broken))
        }
        if exchange?.hasResponse == true {
            // An answer has begun: it is cut off or complete, but no second one may follow.
            if exchange?.isAnswered == true { close(lingers: true) } else { drop() }
            return
        }
        let requestID = exchange?.head.requestID ?? edge.requestIDs.make()
        var response = edge.handler.fault(fault.status, code: fault.code, requestID: requestID)
        if fault == .upgradeRequired { response.headers += [("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")] }
        let framing = ResponseEncoder.framing(response, version: .http11)
        write(
            ResponseEncoder.head(
                response, framing: framing, keepAlive: false, version: .http11, date: edge.date.now(), requestID: requestID))
        if case .bytes(let bytes) = response.body, exchange?.head.method != "HEAD" { write(bytes) }
        exchangeNumber += 1
        exchange = nil
        close(lingers: true)
    }

    func respondFault(_ fault: HTTPFault, exchange number: Int) {
        guard number == exchangeNumber, let exchange, !exchange.hasResponse else { return }
        edge.counters.faults.bump()
        respond(edge.handler.fault(fault.status, code: fault.code, requestID: exchange.head.requestID), exchange: number)
    }

    func respond(_ response: HTTPResponse, exchange number: Int) {
        guard number == exchangeNumber, let exchange, !exchange.hasResponse else { return }
        // Answered before the whole body came: what follows cannot be told from it by a client that has given up.
        if !exchange.isReceived { self.exchange!.keepAlive = false }
        send(response)
    }

    private func send(_ response: HTTPResponse) {
        guard let current = exchange else { return }
        let version = current.head.version
        let framing = ResponseEncoder.framing(response, version: version)
        var keepAlive = current.keepAlive && !edge.isStopping
        if case .untilClose = framing { keepAlive = false }
        exchange!.keepAlive = keepAlive
        exchange!.hasResponse = true
        write(
            ResponseEncoder.head(
                response, framing: framing, keepAlive: keepAlive, version: version, date: edge.date.now(),
                requestID: current.head.requestID))
        var hasBody = current.head.method != "HEAD"
        if case .none = framing { hasBody = false }
        switch response.body {
        case .bytes(let bytes) where hasBody: write(bytes)
        case .stream(let producer) where hasBody:
            if case .chunked = framing { exchange!.chunked = true }
            exchange!.pump = ResponsePump(connection: self, exchange: exchangeNumber, producer: producer).start()
            return
        case .empty, .bytes, .stream: break
        }
        exchange!.isAnswered = true
        finishIfDone()
    }

    func streamWrite(_ piece: [UInt8], exchange number: Int, _ continuation: CheckedContinuation<Bool, Never>) {
        guard number == exchangeNumber, let exchange else {
            continuation.resume(returning: false)
            return
        }
        if exchange.chunked { write(Array(String(piece.count, radix: 16).utf8) + Array("\r\n".utf8)) }
        write(piece)
        if exchange.chunked { write(Array("\r\n".utf8)) }
        self.exchange!.pumpWaiting = continuation
        resumePump()
    }

    private func resumePump() {
        guard transport.pending < 256 * 1024, let waiting = exchange?.pumpWaiting else { return }
        exchange!.pumpWaiting = nil
        waiting.resume(returning: true)
    }

    func streamEnded(exchange number: Int, complete: Bool) {
        guard number == exchangeNumber, let exchange else { return }
        guard complete else {
            drop()
            return
        }
        if exchange.chunked { write(Array("0\r\n\r\n".utf8)) }
        self.exchange!.isAnswered = true
        finishIfDone()
    }

    private func finishIfDone() {
        guard let current = exchange, current.isAnswered, current.isReceived || !current.keepAlive else { return }
        if case .stream(let body, _) = current.intake { body.finish(.failure(.broken)) }
        exchange = nil
        exchangeNumber += 1
        if !current.keepAlive || peerEnded {
            close(lingers: !current.isReceived)
            return
        }
        phase = .head
        headSince = MonotonicTime.now
        if !isProcessing { readOn() }
    }

    func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { transport.open().append($0) }
        markDirty()
    }

    private func markDirty() {
        if isDirty { return }
        isDirty = true
        edge.flushAtEndOfTurn(self)
    }

    func flush() {
        isDirty = false
        if case .closed = phase { return }
        switch transport.flush() {
        case .broken: drop()
        case .blocked: resumePump()
        case .done:
            resumePump()
            if case .closing(let lingers) = phase { flushed(lingers: lingers) }
        }
    }

    // MARK: End

    private func close(lingers: Bool) {
        phase = .closing(lingers: lingers)
        held = []
        markDirty()
    }

    /// RFC 9112 §9.6: with input unread, closing at once would reset the connection and may take the response with it.
    private func flushed(lingers: Bool) {
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

    private func timeOut() {
        edge.counters.timeouts.bump()
        drop()
    }

    // MARK: Upgrade

    private func upgrade(_ head: HTTPRequestHead, hasBody: Bool, _ acceptance: WebSocketAcceptance) -> Bool {
        let key: String
        do throws(HTTPFault) {
            if hasBody { throw .malformed }
            key = try WebSocketHandshake.validate(head)
        } catch {
            refuse(error)
            return true
        }
        var agreed: WebSocketDeflate?
        var lines = [
            ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", WebSocketHandshake.accept(key)),
        ]
        if let subprotocol = acceptance.subprotocol { lines.append(("Sec-WebSocket-Protocol", subprotocol)) }
        if acceptance.compression {
            let offers = WebSocketHandshake.extensions(head.headers)
            if let accepted = WebSocketDeflate.accept(offers, contextTakeover: acceptance.contextTakeover) {
                agreed = accepted.agreed
                lines.append(("Sec-WebSocket-Extensions", accepted.header))
            }
        }
        write(
            ResponseEncoder.head(
                HTTPResponse(status: 101, headers: lines), framing: .none, keepAlive: true, version: .http11, date: edge.date.now(),
                requestID: head.requestID))
        phase = .closed
        exchange = nil
        upgraded = WebSocketConnection(
            transport: transport, remoteAddress: remoteAddress, acceptance: acceptance, deflate: agreed, replacing: self)
        return false
    }
}

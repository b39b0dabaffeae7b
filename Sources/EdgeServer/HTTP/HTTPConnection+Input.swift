import EventLoop

/// Requests: parsing, admission, bodies.
extension HTTPConnection {
    func process(_ bytes: UnsafeRawBufferPointer) {
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
            if exchange == nil, transport.pending > Self.responseHighWater {
                // A client that pipelines requests and does not read the answers gets no further ones.
                held.append(contentsOf: input)
                transport.pauseReading(true)
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

    /// - Returns: false where the connection is no longer HTTP.
    func begin(_ parsed: HTTPRequestHead, _ framing: HTTPBodyFraming) -> Bool {
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

    func responder(_ head: HTTPRequestHead) -> HTTPResponder {
        HTTPResponder(connection: self, exchange: exchangeNumber, requestID: head.requestID)
    }

    func sendContinue() { write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }

    func take(_ piece: UnsafeRawBufferPointer) {
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

    func received() {
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
    func resumeBody() {
        guard let exchange, !exchange.isReceived, transport.readPaused else { return }
        self.exchange!.windowStart = MonotonicTime.now
        self.exchange!.windowBytes = 0
        readOn()
    }

    /// Goes on with what was held back, then with the socket.
    func readOn() {
        if isProcessing || peerEnded { return }
        transport.pauseReading(false)
        if held.isEmpty { return }
        let bytes = held
        held = []
        bytes.withUnsafeBytes { process($0) }
    }
}

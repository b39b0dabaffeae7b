import EventLoop

/// Responses: the application's, the server's own, and streams.
extension HTTPConnection {
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

    func send(_ response: HTTPResponse) {
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

    func resumePump() {
        guard transport.pending < Self.responseHighWater, let waiting = exchange?.pumpWaiting else { return }
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

    func finishIfDone() {
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

    func markDirty() {
        if isDirty { return }
        isDirty = true
        edge.flushAtEndOfTurn(self)
    }

    func flush() {
        isDirty = false
        if case .closed = phase { return }
        switch transport.flush() {
        case .broken: drop()
        case .blocked: hasRoom()
        case .done:
            // In this order: serving a held request may fill the outbox again, and end the connection after it.
            if case .closing(let lingers) = phase { flushed(lingers: lingers) } else { hasRoom() }
        }
    }

    /// Response bytes that may wait before a stream is pulled, or a next request served.
    static let responseHighWater = 256 * 1024

    private func hasRoom() {
        resumePump()
        if case .head = phase, transport.readPaused, transport.pending <= Self.responseHighWater / 2 { readOn() }
    }
}

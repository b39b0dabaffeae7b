/// The change to WebSocket (RFC 6455 §4.2).
extension HTTPConnection {
    func upgrade(_ head: HTTPRequestHead, hasBody: Bool, _ acceptance: WebSocketAcceptance) -> Bool {
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
                HTTPResponse(status: 101, headers: lines), framing: .none, keepAlive: true, version: .http11,
                date: edge.date.now(),
                requestID: head.requestID))
        phase = .closed
        exchange = nil
        upgraded = WebSocketConnection(
            transport: transport, remoteAddress: remoteAddress, acceptance: acceptance, deflate: agreed, replacing: self)
        return false
    }
}

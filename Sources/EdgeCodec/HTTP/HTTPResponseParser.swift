public struct HTTPResponseHead: Sendable {
    public var status: Int
    public var headers: HTTPHeaders
    public var version: HTTPVersion

    /// Whether the connection may carry another request after this response.
    public var keepAlive: Bool {
        switch version {
        case .http11: !headers.contains("Connection", token: "close")
        case .http10: headers.contains("Connection", token: "keep-alive")
        }
    }
}

/// An incremental, strict HTTP/1.1 response parser (RFC 9112) without I/O.
public struct HTTPResponseParser {
    public enum Event {
        case needMore
        /// A final response, or 101; other interim responses are skipped.
        case head(HTTPResponseHead)
        case body(UnsafeRawBufferPointer)
        case end
        /// The server's bytes make no sense.
        case malformed
    }

    private enum State {
        case head
        case body(HTTPBodyDecoder)
        case failed
    }

    private var state = State.head
    private var collector = HeadCollector(lineOverhead: 0)
    private var limits = HTTPLimits()
    private var answersHead = false

    public init() {
        limits.headerBytes = 64 * 1024
    }

    /// Names the request that the next response answers: to HEAD there is no body.
    public mutating func expect(method: String) { answersHead = method == "HEAD" }

    /// Whether a response has begun.
    public var isMidResponse: Bool {
        if case .head = state { return !collector.isEmpty }
        return true
    }

    public mutating func next(_ input: inout UnsafeRawBufferPointer) -> Event {
        while true {
            switch state {
            case .failed: return .malformed
            case .body(var decoder):
                state = .head
                switch decoder.next(&input, limits: limits) {
                case .end: return .end
                case .fault:
                    state = .failed
                    return .malformed
                case .needMore:
                    state = .body(decoder)
                    return .needMore
                case .data(let bytes):
                    state = .body(decoder)
                    return .body(bytes)
                }
            case .head:
                if input.isEmpty { return .needMore }
                do {
                    guard let (head, framing) = try nextHead(&input) else { return .needMore }
                    collector = HeadCollector(lineOverhead: 0)
                    if head.status < 200 && head.status != 101 { continue }
                    state = .body(HTTPBodyDecoder(framing))
                    return .head(head)
                } catch {
                    state = .failed
                    return .malformed
                }
            }
        }
    }

    /// The connection has ended.
    /// - Returns: whether that ended a response's body well.
    public mutating func finish() -> Bool {
        if case .body(let decoder) = state, decoder.endsAtClose {
            state = .head
            return true
        }
        return false
    }

    private mutating func nextHead(
        _ input: inout UnsafeRawBufferPointer
    ) throws(HTTPFault) -> (HTTPResponseHead, HTTPBodyFraming)? {
        switch collector.scan(input, limits: limits) {
        case .fault(let fault): throw fault
        case .needMore:
            collector.hold(input)
            input = UnsafeRawBufferPointer(rebasing: input[input.count...])
            return nil
        case .complete(let end):
            collector.hold(UnsafeRawBufferPointer(rebasing: input[..<end]))
            input = UnsafeRawBufferPointer(rebasing: input[end...])
            let parser = self
            return try collector.held.withUnsafeBytes { bytes in
                Result { () throws(HTTPFault) in try parser.parse(bytes) }
            }.get()
        }
    }

    private func parse(_ bytes: UnsafeRawBufferPointer) throws(HTTPFault) -> (HTTPResponseHead, HTTPBodyFraming) {
        var end = 0
        while bytes[end] != ASCII.cr { end += 1 }
        // `HTTP/1.x SSS[ reason]`
        guard end >= 12, bytes.starts(with: "HTTP/1.".utf8), bytes[7] == 0x30 || bytes[7] == 0x31, bytes[8] == ASCII.space,
            end == 12 || bytes[12] == ASCII.space
        else { throw .malformed }
        var status = 0
        for index in 9..<12 {
            guard (0x30...0x39).contains(bytes[index]) else { throw .malformed }
            status = status * 10 + Int(bytes[index] - 0x30)
        }
        let version: HTTPVersion = bytes[7] == 0x31 ? .http11 : .http10
        let headers = try HTTPFields.parse(UnsafeRawBufferPointer(rebasing: bytes[(end + 2)..<(bytes.count - 2)]), limits: limits)
        let head = HTTPResponseHead(status: status, headers: headers, version: version)
        if answersHead || status < 200 || status == 204 || status == 304 { return (head, .none) }
        return (head, try HTTPFields.framing(headers, version: version) ?? .untilClose)
    }
}

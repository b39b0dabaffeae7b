/// An incremental, strict HTTP/1.1 request parser (RFC 9112) without I/O. The same bytes give the same events however they are split.
///
/// After a fault the connection cannot be trusted: answer and close.
public struct HTTPRequestParser {
    public enum Event {
        /// All input is consumed.
        case needMore
        case head(HTTPRequestHead, HTTPBodyFraming)
        /// A piece of the body, valid as long as the input is.
        case body(UnsafeRawBufferPointer)
        /// The request is complete; the next call begins with the next one.
        case end
        case fault(HTTPFault)
    }

    private enum State {
        case head
        case body(HTTPBodyDecoder)
        case failed(HTTPFault)
    }

    private var state = State.head
    private var collector = HeadCollector(lineOverhead: Self.lineOverhead)
    private let limits: HTTPLimits

    /// The longest method taken here, and ` HTTP/1.1` with its CR.
    private static let longestMethod = 24
    private static let lineOverhead = longestMethod + 12

    public init(limits: HTTPLimits = HTTPLimits()) { self.limits = limits }

    /// Whether nothing of a next request has come.
    public var isBetweenRequests: Bool {
        if case .head = state { return collector.isEmpty }
        return false
    }

    /// Takes what the next event needs off the front of `input`.
    public mutating func next(_ input: inout UnsafeRawBufferPointer) -> Event {
        switch state {
        case .failed(let fault): return .fault(fault)
        case .head:
            if input.isEmpty { return .needMore }
            do {
                guard let (head, framing) = try nextHead(&input) else { return .needMore }
                collector = HeadCollector(lineOverhead: Self.lineOverhead)
                state = .body(HTTPBodyDecoder(framing))
                return .head(head, framing)
            } catch {
                return fail(error)
            }
        case .body(var decoder):
            state = .head
            let event = decoder.next(&input, limits: limits)
            switch event {
            case .end: return .end
            case .fault(let fault): return fail(fault)
            case .needMore:
                state = .body(decoder)
                return .needMore
            case .data(let bytes):
                state = .body(decoder)
                return .body(bytes)
            }
        }
    }

    private mutating func fail(_ fault: HTTPFault) -> Event {
        state = .failed(fault)
        return .fault(fault)
    }

    private mutating func nextHead(
        _ input: inout UnsafeRawBufferPointer
    ) throws(HTTPFault) -> (HTTPRequestHead, HTTPBodyFraming)? {
        switch collector.scan(input, limits: limits) {
        case .fault(let fault): throw fault
        case .needMore:
            collector.hold(input)
            input = UnsafeRawBufferPointer(rebasing: input[input.count...])
            return nil
        case .complete(let end):
            let piece = UnsafeRawBufferPointer(rebasing: input[..<end])
            input = UnsafeRawBufferPointer(rebasing: input[end...])
            if collector.isEmpty { return try Self.parse(piece, limits) }
            collector.hold(piece)
            let limits = limits
            return try collector.held.withUnsafeBytes { bytes in
                Result { () throws(HTTPFault) in try Self.parse(bytes, limits) }
            }.get()
        }
    }

    /// - Parameter bytes: a whole head with its last empty line; every CR in it is followed by LF.
    private static func parse(
        _ bytes: UnsafeRawBufferPointer, _ limits: HTTPLimits
    ) throws(HTTPFault) -> (HTTPRequestHead, HTTPBodyFraming) {
        var start = 0
        if bytes[0] == ASCII.cr { start = 2 }
        var end = start
        while bytes[end] != ASCII.cr { end += 1 }
        let line = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
        let fields = UnsafeRawBufferPointer(rebasing: bytes[(end + 2)..<(bytes.count - 2)])

        var methodEnd = 0
        while methodEnd < line.count, ASCII.isToken(line[methodEnd]) { methodEnd += 1 }
        guard methodEnd > 0, methodEnd < line.count, line[methodEnd] == ASCII.space else { throw .malformed }
        if methodEnd > longestMethod { throw .notImplemented }
        var targetEnd = methodEnd + 1
        while targetEnd < line.count, isTarget(line[targetEnd]) { targetEnd += 1 }
        guard targetEnd > methodEnd + 1, targetEnd < line.count, line[targetEnd] == ASCII.space else { throw .malformed }
        if targetEnd - methodEnd - 1 > limits.targetBytes { throw .targetTooLong }
        let version = try version(UnsafeRawBufferPointer(rebasing: line[(targetEnd + 1)...]))
        let method = String(decoding: line[..<methodEnd], as: UTF8.self)
        let target = String(decoding: line[(methodEnd + 1)..<targetEnd], as: UTF8.self)

        let headers = try HTTPFields.parse(fields, limits: limits)
        let host = try HTTPTarget.host(headers, version: version)
        let framing = try HTTPFields.framing(headers, version: version) ?? .none
        let origin = try HTTPTarget.originForm(target, method: method, host: host)
        let head = try HTTPRequestHead(method: method, target: origin, headers: headers, version: version)
        if let expectation = headers["Expect"], !ASCII.equalIgnoringCase(expectation, "100-continue") {
            throw .expectationFailed
        }
        return (head, framing)
    }

    /// Visible ASCII without what no URI may have unescaped, and the fragment mark, which is never sent.
    @inline(__always)
    private static func isTarget(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"): false
        default: byte > 0x20 && byte < 0x7F
        }
    }

    private static func version(_ bytes: UnsafeRawBufferPointer) throws(HTTPFault) -> HTTPVersion {
        guard bytes.count == 8, bytes.starts(with: "HTTP/".utf8), bytes[6] == UInt8(ascii: "."),
            (0x30...0x39).contains(bytes[5]), (0x30...0x39).contains(bytes[7])
        else { throw .malformed }
        switch (bytes[5], bytes[7]) {
        case (0x31, 0x31): return .http11
        case (0x31, 0x30): return .http10
        default: throw .versionNotSupported
        }
    }
}

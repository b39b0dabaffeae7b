/// Strict parsing of header lines and of the fields that decide a body's length (RFC 9112 §5 and §6).
///
/// Whatever two parsers could read in two ways is refused: that is how requests are smuggled past a proxy.
enum HTTPFields {
    /// Parses lines ended by CRLF, the last one's CRLF left out.
    static func parse(_ bytes: UnsafeRawBufferPointer, limits: HTTPLimits) throws(HTTPFault) -> HTTPHeaders {
        var headers = HTTPHeaders()
        var start = 0
        while start < bytes.count {
            var end = start
            while end < bytes.count, bytes[end] != ASCII.cr { end += 1 }
            if headers.count >= limits.headerCount { throw .headersTooLarge }
            try parseLine(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), into: &headers)
            start = end + 2
        }
        return headers
    }

    /// A line that begins with white space (obs-fold) fails here too, as a name may not be empty.
    static func parseLine(_ line: UnsafeRawBufferPointer, into headers: inout HTTPHeaders) throws(HTTPFault) {
        var colon = 0
        while colon < line.count, ASCII.isToken(line[colon]) { colon += 1 }
        guard colon > 0, colon < line.count, line[colon] == UInt8(ascii: ":") else { throw .malformed }
        var first = colon + 1
        var last = line.count
        while first < last, line[first] == ASCII.space || line[first] == ASCII.tab { first += 1 }
        while last > first, line[last - 1] == ASCII.space || line[last - 1] == ASCII.tab { last -= 1 }
        for index in first..<last {
            let byte = line[index]
            if byte < 0x20 && byte != ASCII.tab || byte == 0x7F { throw .malformed }
        }
        guard let value = String(validating: line[first..<last], as: UTF8.self) else { throw .malformed }
        headers.append(String(decoding: line[..<colon], as: UTF8.self), value)
    }

    /// - Returns: nil where neither length nor coding is given.
    static func framing(_ headers: HTTPHeaders, version: HTTPVersion) throws(HTTPFault) -> HTTPBodyFraming? {
        let codings = headers.all("Transfer-Encoding")
        let lengths = headers.all("Content-Length")
        if let coding = codings.first {
            guard codings.count == 1, lengths.isEmpty, version == .http11, ASCII.equalIgnoringCase(coding, "chunked") else {
                throw .malformed
            }
            return .chunked
        }
        guard let length = lengths.first else { return nil }
        guard lengths.count == 1, (1...18).contains(length.utf8.count),
            length.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }), let value = Int(length)
        else { throw .malformed }
        return .length(value)
    }
}

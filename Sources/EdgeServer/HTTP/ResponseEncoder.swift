/// How a response's body goes over the wire (RFC 9112 §6).
enum ResponseFraming {
    /// No body, and no length: 1xx, 204, 304.
    case none
    case length(Int)
    case chunked
    case untilClose
}

/// Serialises response heads.
enum ResponseEncoder {
    static func head(
        _ response: HTTPResponse, framing: ResponseFraming, keepAlive: Bool, version: HTTPVersion, date: String, requestID: String
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(320)
        bytes += "HTTP/1.1 ".utf8
        bytes += String(response.status).utf8
        bytes.append(UInt8(ascii: " "))
        bytes += reason(response.status).utf8
        bytes += "\r\n".utf8
        field("Date", date, &bytes)
        field("X-Request-Id", requestID, &bytes)
        for (name, value) in response.headers { field(name, value, &bytes) }
        switch framing {
        case .none, .untilClose: break
        case .length(let length): field("Content-Length", String(length), &bytes)
        case .chunked: field("Transfer-Encoding", "chunked", &bytes)
        }
        if !keepAlive {
            field("Connection", "close", &bytes)
        } else if version == .http10 {
            field("Connection", "keep-alive", &bytes)
        }
        bytes += "\r\n".utf8
        return bytes
    }

    /// Line breaks in a value would begin another field or response: they become spaces.
    static func field(_ name: String, _ value: String, _ bytes: inout [UInt8]) {
        bytes += name.utf8
        bytes += ": ".utf8
        for byte in value.utf8 { bytes.append(byte < 0x20 && byte != 0x09 || byte == 0x7F ? 0x20 : byte) }
        bytes += "\r\n".utf8
    }

    static func framing(_ response: HTTPResponse, version: HTTPVersion) -> ResponseFraming {
        if response.status < 200 || response.status == 204 || response.status == 304 { return .none }
        switch response.body {
        case .empty: return .length(0)
        case .bytes(let bytes): return .length(bytes.count)
        case .stream(let producer):
            if let length = producer.length { return .length(length) }
            switch version {
            case .http11: return .chunked
            case .http10: return .untilClose
            }
        }
    }

    static func reason(_ status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 460: "Checksum Mismatch"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Status"
        }
    }
}

/// The forms of a request target (RFC 9112 §3.2) and the Host field that goes with them.
enum HTTPTarget {
    /// - Throws: `malformed` without exactly one well-formed Host in HTTP/1.1 (RFC 9112 §3.2).
    static func host(_ headers: HTTPHeaders, version: HTTPVersion) throws(HTTPFault) -> String? {
        let hosts = headers.all("Host")
        guard let host = hosts.first else {
            if version == .http11 { throw .malformed }
            return nil
        }
        guard hosts.count == 1, host.utf8.allSatisfy(isHost) else { throw .malformed }
        return host
    }

    /// `uri-host [":" port]`: letters, digits and the marks of names, IPv6 literals and escapes; no user information.
    private static func isHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "%"), UInt8(ascii: ":"),
            UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"),
            UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ";"), UInt8(ascii: "="):
            true
        default: false
        }
    }

    /// Absolute form must be accepted (RFC 9112 §3.2.2), but only where it names the same authority as Host, so that no proxy
    /// before us can have read another. Authority form is for proxies, and refused.
    static func originForm(_ target: String, method: String, host: String?) throws(HTTPFault) -> String {
        if target.utf8.first == UInt8(ascii: "/") { return target }
        if target == "*" {
            if method == "OPTIONS" { return target }
            throw .malformed
        }
        guard let colon = target.utf8.firstIndex(of: UInt8(ascii: ":")) else { throw .malformed }
        let scheme = target[..<colon]
        let rest = target[colon...]
        guard ASCII.equalIgnoringCase(scheme, "http") || ASCII.equalIgnoringCase(scheme, "https"),
            rest.utf8.starts(with: "://".utf8)
        else { throw .malformed }
        let remainder = rest.dropFirst(3)
        let authorityEnd = remainder.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? remainder.endIndex
        let authority = remainder[..<authorityEnd]
        guard !authority.isEmpty, let host, ASCII.equalIgnoringCase(authority, host) else { throw .malformed }
        let origin = remainder[authorityEnd...]
        return origin.utf8.first == UInt8(ascii: "/") ? String(origin) : "/" + String(origin)
    }
}

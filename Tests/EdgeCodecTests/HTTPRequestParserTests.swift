import TestSupport
import Testing

@testable import EdgeCodec

/// What a parser says about some bytes, whatever the pieces they come in.
struct ParsedRequests: Equatable {
    var requests: [String] = []
    var fault: HTTPFault?
    var isIncomplete = false

    init(_ text: String, pieces: [Int] = [], limits: HTTPLimits = HTTPLimits()) {
        self.init(Array(text.utf8), pieces: pieces, limits: limits)
    }

    /// - Parameter pieces: offsets at which the input is cut.
    init(_ bytes: [UInt8], pieces: [Int] = [], limits: HTTPLimits = HTTPLimits()) {
        var parser = HTTPRequestParser(limits: limits)
        var current = ""
        var start = 0
        for end in pieces + [bytes.count] {
            let stop = Array(bytes[start..<end]).withUnsafeBytes { piece -> Bool in
                var input = piece
                while true {
                    switch parser.next(&input) {
                    case .needMore: return false
                    case .head(let head, _):
                        current = "\(head.method) \(head.target) \(head.pathSegments) "
                        current += head.headers.filter { $0.name != "Host" }.map { "\($0.name)=\($0.value)" }.joined(
                            separator: ",")
                    case .body(let bytes): current += " " + String(decoding: bytes, as: UTF8.self)
                    case .end:
                        requests.append(current)
                        current = ""
                    case .fault(let found):
                        fault = found
                        return true
                    }
                }
            }
            if stop { return }
            start = end
        }
        isIncomplete = !parser.isBetweenRequests
    }
}

@Suite struct HTTPRequestParserTests {
    private let get = "GET /v1/a%2Fb?x=1&y=%20z HTTP/1.1\r\nHost: h:1\r\nAccept: */*\r\n\r\n"
    private let post = "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
    private let chunked =
        "PUT /c HTTP/1.1\r\nhost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=\"b\"\r\n world\r\n0\r\nDigest: x\r\n\r\n"

    @Test func pipelinedRequestsOfAllFramings() {
        let parsed = ParsedRequests(get + post + chunked + "\r\n" + get)
        #expect(parsed.fault == nil)
        #expect(!parsed.isIncomplete)
        #expect(
            parsed.requests == [
                #"GET /v1/a%2Fb?x=1&y=%20z ["v1", "a/b"] Accept=*/*"#, #"POST /p ["p"] Content-Length=5 hello"#,
                #"PUT /c ["c"] host=h,Transfer-Encoding=chunked hello  world"#,
                #"GET /v1/a%2Fb?x=1&y=%20z ["v1", "a/b"] Accept=*/*"#,
            ])
    }

    /// Body pieces follow the cuts, so spaces between them are taken out.
    private func joined(_ parsed: ParsedRequests) -> [String] {
        parsed.requests.map { $0.filter { $0 != " " } }
    }

    @Test func everySplitGivesTheSame() {
        let text = Array((get + post + chunked).utf8)
        let whole = joined(ParsedRequests(text))
        for cut in 0...text.count { #expect(joined(ParsedRequests(text, pieces: [cut])) == whole) }
        #expect(joined(ParsedRequests(text, pieces: Array(0..<text.count))) == whole)
    }

    @Test func queryIsDecoded() throws {
        let head = try HTTPRequestHead(method: "GET", target: "/s?query=a+b%26c&empty=&flag&query=2")
        #expect(head.query.map { "\($0.name)=\($0.value)" } == ["query=a b&c", "empty=", "flag=", "query=2"])
        #expect(head.queryValue("query") == "a b&c")
        #expect(head.path == "/s")
    }

    @Test func pathsAreSplitThenDecoded() throws {
        func segments(_ target: String) throws -> [String] { try HTTPRequestHead(method: "GET", target: target).pathSegments }
        #expect(try segments("/") == [])
        #expect(try segments("/a/") == ["a", ""])
        #expect(try segments("//a") == ["", "a"])
        #expect(try segments("/%F0%9F%91%8D%EF%B8%8F") == ["👍️"])
        #expect(try segments("/a/../b") == ["a", "..", "b"])
    }

    @Test(arguments: [
        // Framing that two parsers may read in two ways.
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4, 4\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +4\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x4\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \"chunked\"\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\u{0B}chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding\t: chunked\r\n\r\n",
        "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
        // Lines.
        "GET / HTTP/1.1\nHost: h\n\n", "GET / HTTP/1.1\r\nHost: h\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nX: a\u{0}b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX\u{0}: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nX: a\u{7F}\r\n\r\n",
        "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
        // Hosts.
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        // Targets.
        "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", "GET /  HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /a\tb HTTP/1.1\r\nHost: h\r\n\r\n", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", "GET /#f HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /é HTTP/1.1\r\nHost: h\r\n\r\n", "GET * HTTP/1.1\r\nHost: h\r\n\r\n", "GET a HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET http://other/ HTTP/1.1\r\nHost: h\r\n\r\n", "GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n", "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n",
        "GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /?a=%00 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /% HTTP/1.1\r\nHost: h\r\n\r\n", "GET /%2 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /%FF HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /%ED%A0%80 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /%C0%AF HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /?%FF HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / http/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", "GET / HTTP/11\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1x\r\nHost: h\r\n\r\n", "GET /\r\nHost: h\r\n\r\n", "\u{16}\u{3}\u{1}", "G@T / HTTP/1.1\r\nHost: h\r\n\r\n",
        // Chunks.
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n 5\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5 \r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r5",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nbad trailer\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\n\r\n",
    ])
    func ambiguousInputIsRefused(_ text: String) {
        let bytes = Array(text.utf8)
        #expect(ParsedRequests(bytes).fault == .malformed)
        #expect(ParsedRequests(bytes, pieces: Array(0..<bytes.count)).fault == .malformed)
        #expect(ParsedRequests(bytes).requests.isEmpty)
    }

    @Test(arguments: [
        ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", HTTPFault.versionNotSupported),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HTTPFault.versionNotSupported),
        ("GET / HTTP/1.2\r\nHost: h\r\n\r\n", HTTPFault.versionNotSupported),
        ("GET / HTTP/1.1\r\nHost: h\r\nExpect: 200-maybe\r\n\r\n", HTTPFault.expectationFailed),
        ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\nHost: h\r\n\r\n", HTTPFault.notImplemented),
    ])
    func otherFaults(_ text: String, _ fault: HTTPFault) { #expect(ParsedRequests(text).fault == fault) }

    @Test func acceptedForms() {
        for text in [
            "GET http://h/x HTTP/1.1\r\nHost: H\r\n\r\n", "GET http://h HTTP/1.1\r\nHost: h\r\n\r\n",
            "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost:\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: [::1]:80\r\nX:\t a b \t\r\nY: ü\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n00\r\n\r\n",
        ] {
            #expect(ParsedRequests(text).fault == nil, "\(text)")
            #expect(ParsedRequests(text).requests.count == 1, "\(text)")
        }
    }

    @Test func limitsAreInclusive() {
        var limits = HTTPLimits()
        limits.targetBytes = 10
        limits.headerBytes = 40
        limits.headerCount = 3
        limits.chunkExtensionBytes = 4
        func fault(_ text: String) -> HTTPFault? { ParsedRequests(text, limits: limits).fault }
        #expect(fault("GET /123456789 HTTP/1.1\r\nHost: h\r\n\r\n") == nil)
        #expect(fault("GET /1234567890 HTTP/1.1\r\nHost: h\r\n\r\n") == .targetTooLong)
        // An endless line is refused before it ends.
        #expect(fault("GET /" + String(repeating: "a", count: 100)) == .targetTooLong)
        #expect(fault("GET / HTTP/1.1\r\nHost: h\r\nX: " + String(repeating: "a", count: 60)) == .headersTooLarge)
        #expect(fault("GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\n\r\n") == nil)
        #expect(fault("GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n") == .headersTooLarge)
        let head = "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:chunked\r\n\r\n"
        limits.headerBytes = 60
        #expect(fault(head + "1;abcd\r\nx\r\n0\r\n\r\n") == nil)
        #expect(fault(head + "1;abc\r\nx\r\n1;de\r\nx\r\n0\r\n\r\n") == .malformed)
    }

    @Test func randomBytesNeverTrap() {
        var generator = SeededRandom(seed: 7)
        let alphabet = Array(
            "GETPOST /:?%\r\n\r\n0123456789abcHost: hTransfer-Encoding: chunkedContent-Length HTTP/1.1\u{0}é".utf8)
        for _ in 0..<3000 {
            var bytes = Array("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[index] = alphabet.randomElement(using: &generator)!
                case 1: bytes.insert(alphabet.randomElement(using: &generator)!, at: index)
                default: bytes.remove(at: index)
                }
            }
            let cut = Int.random(in: 0...bytes.count, using: &generator)
            let whole = ParsedRequests(bytes)
            let split = ParsedRequests(bytes, pieces: [cut])
            #expect(whole.fault == split.fault)
            #expect(whole.requests.count == split.requests.count)
        }
    }
}

import RoostModel

extension JSONWriter {
    /// A problem (RFC 9457). `errors` is there where fields are at fault, `requestId` where one is given; `retryAfterSeconds`, an
    /// extension for the socket, which has no `Retry-After`, where the same may succeed later.
    public mutating func problem(_ error: RoostError, requestID: String? = nil) {
        object { writer in
            writer.member("type", "about:blank")
            writer.member("title", error.code.title)
            writer.member("status", error.code.status)
            writer.member("code", error.code.rawValue)
            writer.member("detail", error.detail.isEmpty ? error.code.title : error.detail)
            if !error.fields.isEmpty {
                writer.key("errors")
                writer.array(error.fields) { writer, fault in
                    writer.object {
                        $0.member("field", fault.field)
                        $0.member("code", fault.code.rawValue)
                    }
                }
            }
            if let retryAfter = error.retryAfter { writer.member("retryAfterSeconds", retryAfter) }
            if let requestID { writer.member("requestId", requestID) }
        }
    }
}

/// A problem as a client reads it. Codes may be newer than this version: the word itself is kept.
public struct Problem: Error, Hashable, Sendable, WireDecodable {
    public var status: Int
    public var code: String
    public var detail: String
    public var fields: [FieldFault]
    public var retryAfterSeconds: Int?
    public var requestID: String?

    /// Nil where this version does not know the word.
    public var errorCode: ErrorCode? { ErrorCode(rawValue: code) }

    public var isRetryable: Bool { status == 429 || status == 503 }

    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let status = fields["status"]?.integer, let code = fields["code"]?.string else { return nil }
        self.status = Int(status)
        self.code = code
        detail = fields["detail"]?.string ?? ""
        self.fields =
            fields.array("errors") { slice in
                let fields = WireFields(slice)
                guard let field = fields["field"]?.string, let code = fields["code"]?.string.flatMap(FieldFault.Code.init) else {
                    return nil
                }
                return FieldFault(field, code)
            } ?? []
        retryAfterSeconds = fields["retryAfterSeconds"]?.integer.map { Int($0) }
        requestID = fields["requestId"]?.string
    }
}

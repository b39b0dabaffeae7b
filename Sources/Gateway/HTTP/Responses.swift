import EdgeServer
import RoostModel
import RoostProtocol

extension HTTPResponse {
    static let noContent = HTTPResponse(status: 204)

    static func json(status: Int = 200, _ write: (inout JSONWriter) -> Void) -> HTTPResponse {
        json(JSONWriter.written(write), status: status)
    }

    /// RFC 9457, with what its status calls for beside the body.
    static func problem(_ error: RoostError, requestID: String) -> HTTPResponse {
        var headers = [("Content-Type", "application/problem+json")]
        if let retryAfter = error.retryAfter { headers.append(("Retry-After", String(retryAfter))) }
        switch error.code {
        // RFC 6750 §3.1: what is wrong is said only to those who showed a token.
        case .tokenExpired: headers.append(("WWW-Authenticate", #"Bearer realm="roost", error="invalid_token""#))
        case _ where error.code.status == 401: headers.append(("WWW-Authenticate", #"Bearer realm="roost""#))
        case _: break
        }
        return HTTPResponse(
            status: error.code.status, headers: headers,
            body: .bytes(JSONWriter.written { $0.problem(error, requestID: requestID) }))
    }

    static func methodNotAllowed(_ allowed: [String], requestID: String) -> HTTPResponse {
        var response = problem(RoostError(.methodNotAllowed), requestID: requestID)
        response.headers.append(("Allow", allowed.joined(separator: ", ")))
        return response
    }
}

extension JSONWriter {
    static func written(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        write(&writer)
        return writer.bytes
    }
}

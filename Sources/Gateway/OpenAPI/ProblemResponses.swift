import EdgeServer
import RoostModel
import RoostProtocol

/// A problem's stable word and its status.
struct ProblemWord: Hashable, Sendable {
    let status: Int
    let code: String

    init(_ code: ErrorCode) {
        status = code.status
        self.code = code.rawValue
    }

    init(_ fault: HTTPFault) {
        status = fault.status
        code = fault.code
    }
}

/// The problems of all operations as shared responses: one for each set of words that occurs.
struct ProblemResponses {
    private(set) var all: [String: JSONValue] = [:]

    /// For each status a reference to the response with all of its words.
    mutating func references(_ words: [ProblemWord]) -> [Int: JSONValue] {
        let byStatus = Dictionary(grouping: Set(words), by: \.status)
        return Dictionary(
            uniqueKeysWithValues: byStatus.map { status, words in
                let codes = words.map(\.code).sorted()
                let name = codes.joined(separator: ".")
                all[name] = Self.response(status, codes)
                return (status, ["$ref": .string("#/components/responses/\(name)")])
            })
    }

    private static func response(_ status: Int, _ codes: [String]) -> JSONValue {
        var headers: JSONValue = ["X-Request-Id": ["$ref": "#/components/headers/RequestId"]]
        if status == 429 || status == 503 {
            headers = headers.merging(["Retry-After": ["$ref": "#/components/headers/RetryAfter"]])
        }
        let schema = Schema.problem.and(
            Schema(["properties": ["status": ["const": .int(status)], "code": ["enum": .strings(codes)]]]))
        return [
            "description": .string(codes.map { "`\($0)`" }.joined(separator: ", ")), "headers": headers,
            "content": ["application/problem+json": ["schema": schema.json]],
        ]
    }
}

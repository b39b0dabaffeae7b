import EdgeServer
import RoostModel
import RoostProtocol

/// The OpenAPI 3.1 document of a table of routes. https://spec.openapis.org/oas/v3.1.1.html
///
/// To add a route: put it into its table, and an ``Operation`` of the same method and path into one of the lists beside this file.
/// What follows from the route itself is added here: its token, parameters of the path, and the problems that any such route has.
struct OpenAPIDocument {
    static let path: StaticString = "/openapi.json"

    let json: JSONValue

    init(_ routes: [Route], operations: [Operation] = Operation.all, version: String) {
        var responses = ProblemResponses()
        var paths: [String: JSONValue] = [:]
        for route in routes {
            let found = operations.first { $0.method == route.method && $0.path == route.template.text }
            guard let operation = found else { continue }
            let method = route.method.rawValue.lowercased()
            paths[operation.path] = (paths[operation.path] ?? [:]).merging([
                method: Self.operation(operation, route, &responses)
            ])
        }
        json = [
            "openapi": "3.1.0",
            "info": [
                "title": "Roost", "version": .string(version), "description": .string(Self.description),
                "license": ["name": "Apache-2.0", "identifier": "Apache-2.0"],
            ],
            "servers": [["url": "/"]],
            "tags": .array(Operation.Tag.allCases.map { ["name": .string($0.rawValue)] }),
            "paths": .object(paths),
            "components": [
                "schemas": .object(Dictionary(uniqueKeysWithValues: Schema.components.map { ($0.key, $0.value.json) })),
                "responses": .object(responses.all),
                "headers": [
                    "RequestId": ["required": true, "schema": Schema.text.json],
                    "RetryAfter": [
                        "required": true, "description": "Seconds.", "schema": ["type": "integer", "minimum": 1],
                    ],
                ],
                "securitySchemes": [
                    "bearer": ["type": "http", "scheme": "bearer", "description": "The `accessToken` of a `Session`."]
                ],
            ],
        ]
    }

    /// Answers with the document of `routes` and of itself.
    static func route(describing routes: [Route], version: String) -> Route {
        func route(_ bytes: [UInt8]) -> Route {
            .instant(.get, path, limit: .usual) { () throws(RoostError) in .json(bytes) }
        }
        let document = OpenAPIDocument(routes + [route([])], version: version)
        return route(JSONWriter.written { document.json.write(to: &$0) })
    }

    private static let description = """
        A chat server. Ids are UUIDs made by the server, times RFC 3339 in UTC, texts NFC. Unknown fields are ignored, and in requests \
        null is the same as absent, but in a PATCH it clears. Every error is a problem (RFC 9457) with a stable word in `code`. Events \
        come over the WebSocket at /v1/ws, which AsyncAPI describes.
        """

    private static func operation(
        _ operation: Operation, _ route: Route, _ responses: inout ProblemResponses
    ) -> JSONValue {
        var json: JSONValue = [
            "operationId": .string(operationID(operation)), "tags": [.string(operation.tag.rawValue)],
            "summary": .string(operation.summary), "responses": .object(answers(operation, route, &responses)),
        ]
        let parameters =
            route.template.parameterNames.map(pathParameter)
            + operation.query.map { parameter -> JSONValue in
                [
                    "name": .string(parameter.name), "in": "query", "required": .bool(parameter.isRequired),
                    "description": .string(parameter.description), "schema": parameter.schema.json,
                ]
            }
        if !parameters.isEmpty { json = json.merging(["parameters": .array(parameters)]) }
        if let body = operation.body {
            json = json.merging([
                "requestBody": [
                    "required": .bool(route.requiresBody), "content": ["application/json": ["schema": body.json]],
                ]
            ])
        }
        if route.requiresToken { json = json.merging(["security": [["bearer": []]]]) }
        return json
    }

    /// `getConversationsConversationIdMessages`
    private static func operationID(_ operation: Operation) -> String {
        let words = operation.path.split { !$0.isLetter && !$0.isNumber }.drop { $0 == "v1" }
        return operation.method.rawValue.lowercased() + words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    private static func pathParameter(_ name: String) -> JSONValue {
        let schema: Schema =
            switch name {
            case "seq": Schema(["type": "integer", "format": "int64", "minimum": 1])
            case "emoji": .text(1...64)
            case _: .id
            }
        return ["name": .string(name), "in": "path", "required": true, "schema": schema.json]
    }

    private static func answers(
        _ operation: Operation, _ route: Route, _ responses: inout ProblemResponses
    ) -> [String: JSONValue] {
        var answers: [String: JSONValue] = [:]
        for answer in operation.answers {
            var json: JSONValue = [
                "description": .string(answer.description),
                "headers": ["X-Request-Id": ["$ref": "#/components/headers/RequestId"]],
            ]
            if let schema = answer.schema {
                json = json.merging(["content": ["application/json": ["schema": schema.json]]])
            }
            answers[String(answer.status)] = json
        }
        for (status, reference) in responses.references(Self.problems(operation, route)) { answers[String(status)] = reference }
        return answers
    }

    private static func problems(_ operation: Operation, _ route: Route) -> [ProblemWord] {
        var codes: [ErrorCode] = [.malformed, .requestTimeout, .headersTooLarge] + operation.problems
        switch route.limit {
        case .none: break
        case .usual, .signIn, .lookup: codes.append(.rateLimited)
        }
        switch route.handler {
        case .instant: break
        // Bodies are gathered, with a limit, even where they are not looked at.
        case .open, .admin: codes += [.unavailable, .tooLarge]
        case .user: codes += [.unavailable, .tooLarge, .unauthenticated, .tokenExpired]
        }
        if route.needsProfile { codes.append(.profileIncomplete) }
        switch route.body {
        case .ignored: break
        case .optional, .required: codes += [.unsupportedMediaType, .validationFailed]
        }
        if !route.template.parameterNames.isEmpty { codes.append(.notFound) }
        if !operation.query.isEmpty { codes.append(.badParameter) }
        if operation.query.contains(where: { $0.name == "cursor" || $0.name == "since" }) { codes.append(.badCursor) }
        return codes.map { ProblemWord($0) } + [ProblemWord(.targetTooLong)]
    }
}

extension Route {
    fileprivate var requiresToken: Bool {
        switch handler {
        case .instant, .open: false
        case .user, .admin: true
        }
    }

    fileprivate var requiresBody: Bool {
        switch body {
        case .ignored, .optional: false
        case .required: true
        }
    }
}

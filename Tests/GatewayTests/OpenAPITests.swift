import RoostModel
import RoostProtocol
import Testing

@testable import Gateway

@Suite struct OpenAPITests {
    private func name(_ route: Route) -> String { "\(route.method.rawValue) \(route.template.text)" }
    private func name(_ operation: Operation) -> String { "\(operation.method.rawValue) \(operation.path)" }

    @Test func everyRouteIsDescribedOnceAndNothingElse() async throws {
        try await withGateway(.router) { world, _ in
            let routes = Set(world.gateway.routes.map(name))
            let described = Operation.all.map(name)
            #expect(Set(described).count == described.count, "described twice")
            #expect(routes.subtracting(described).sorted() == [], "routes without a description")
            #expect(Set(described).subtracting(routes).sorted() == [], "descriptions without a route")
        }
    }

    @Test(arguments: Transport.allCases) func theDocumentIsServedToAnybody(_ transport: Transport) async throws {
        try await withGateway(transport) { world, client in
            let answer = try await client.call("GET", "/openapi.json")
            #expect(answer.status == 200 && answer.header("Content-Type") == "application/json")
            #expect(answer["openapi"]?.string == "3.1.0")
            guard case .object(let paths)? = answer["paths"] else {
                Issue.record("no paths")
                return
            }
            for route in world.gateway.routes {
                let operation = paths[route.template.text]?[route.method.rawValue.lowercased()]
                #expect(operation?["summary"]?.string != nil, "\(name(route))")
                let isGuarded = operation?["security"] != nil
                switch route.handler {
                case .instant, .open: #expect(!isGuarded, "\(name(route))")
                case .user, .admin: #expect(isGuarded, "\(name(route))")
                }
                switch route.body {
                case .ignored: #expect(operation?["requestBody"] == nil, "\(name(route))")
                case .optional, .required: #expect(operation?["requestBody"] != nil, "\(name(route))")
                }
            }
        }
    }

    @Test func everyReferenceLeadsSomewhere() throws {
        let document = OpenAPIDocument(routes(), version: "1").json
        var count = 0
        func walk(_ value: JSONValue) {
            switch value {
            case .null, .bool, .number, .string: break
            case .array(let elements): elements.forEach(walk)
            case .object(let members):
                if let reference = members["$ref"]?.string {
                    count += 1
                    let target = reference.split(separator: "/").dropFirst().reduce(Optional(document)) { $0?[String($1)] }
                    #expect(reference.hasPrefix("#/") && target != nil, "\(reference)")
                }
                members.values.forEach(walk)
            }
        }
        walk(document)
        #expect(count > 20)
    }

    @Test func operationsHaveNamesOfTheirOwn() throws {
        guard case .object(let paths)? = OpenAPIDocument(routes(), version: "1").json["paths"] else {
            Issue.record("no paths")
            return
        }
        var names: [String] = []
        for case .object(let methods) in paths.values { names += methods.values.compactMap { $0["operationId"]?.string } }
        #expect(names.count == Operation.all.count && Set(names).count == names.count)
    }

    /// All that is described, as if it were there.
    private func routes() -> [Route] {
        Operation.all.map { operation in
            Route(operation.method, operation.path, limit: .usual, .instant { () throws(RoostError) in throw .notFound })
        }
    }
}

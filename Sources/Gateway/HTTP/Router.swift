import EdgeServer

/// Finds the route of a request in a fixed table.
struct Router: Sendable {
    struct Match: Sendable {
        /// Its place in ``Router/routes``.
        let index: Int
        let route: Route
        let parameters: [String: String]
    }

    enum Outcome: Sendable {
        case found(Match)
        /// The path is known, the method is not: these are.
        case otherMethods([String])
        case unknownPath
    }

    let routes: [Route]
    /// By number of segments: most tables of a few dozen lines need no more of an index.
    private let byLength: [Int: [Int]]

    init(_ routes: [Route]) {
        self.routes = routes
        byLength = Dictionary(grouping: routes.indices) { routes[$0].template.segmentCount }
    }

    func find(_ method: String, _ path: [String]) -> Outcome {
        // A HEAD is a GET whose body is left out on the way (RFC 9110 §9.3.2).
        let wanted = Route.Method(rawValue: method == "HEAD" ? "GET" : method)
        var others: Set<Route.Method> = []
        for index in byLength[path.count] ?? [] {
            let route = routes[index]
            guard let parameters = route.template.match(path) else { continue }
            if route.method == wanted { return .found(Match(index: index, route: route, parameters: parameters)) }
            others.insert(route.method)
        }
        if others.isEmpty { return .unknownPath }
        let names = Route.Method.allCases.filter(others.contains).flatMap { $0 == .get ? ["GET", "HEAD"] : [$0.rawValue] }
        return .otherMethods(names + ["OPTIONS"])
    }
}

import ClusterOperations
import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// What operators see of the cluster and do with it: nodes, shards, actors, plans and operations.
public struct AdminCluster: Sendable {
    let inspector: any ClusterInspector
    let operations: any OperationStore
    let operators: any OperatorStore
    let backend: Backend

    public init(
        inspector: any ClusterInspector, operations: any OperationStore, operators: any OperatorStore, backend: Backend
    ) {
        self.inspector = inspector
        self.operations = operations
        self.operators = operators
        self.backend = backend
    }

    var routes: [Route] {
        [
            .admin(.get, "/admin/v1/nodes") { (_) async throws(RoostError) in
                items(try await nodes()) { $0.nodeStatus($1) }
            },
            .admin(.post, "/admin/v1/nodes/{name}/cordon") { (request) async throws(RoostError) in
                try await setUse(.cordoned, request)
            },
            .admin(.post, "/admin/v1/nodes/{name}/uncordon") { (request) async throws(RoostError) in
                try await setUse(.open, request)
            },
            .admin(.post, "/admin/v1/nodes/{name}/drain", body: .optional, drain),
            .admin(.post, "/admin/v1/rebalance", body: .optional, rebalance),
            .admin(.get, "/admin/v1/shards", shards),
            .admin(.get, "/admin/v1/pins") { (_) async throws(RoostError) in
                items(try await backend.ask { try await inspector.pins() }) { $0.pin($1) }
            },
            .admin(.get, "/admin/v1/actors", actors),
            .admin(.get, "/admin/v1/actors/{kind}/{id}", actor),
            .admin(.put, "/admin/v1/actors/{kind}/{id}/pin", body: .required, pin),
            .admin(.delete, "/admin/v1/actors/{kind}/{id}/pin", unpin),
            .admin(.get, "/admin/v1/operations", list),
            .admin(.get, "/admin/v1/operations/{operationId}", operation),
            .admin(.post, "/admin/v1/operations/{operationId}/pause") { (request) async throws(RoostError) in
                try await change(.pause, request)
            },
            .admin(.post, "/admin/v1/operations/{operationId}/resume") { (request) async throws(RoostError) in
                try await change(.resume, request)
            },
            .admin(.post, "/admin/v1/operations/{operationId}/cancel") { (request) async throws(RoostError) in
                try await change(.cancel, request)
            },
        ]
    }

    private func items<Item>(_ items: [Item], _ write: (inout JSONWriter, Item) -> Void) -> HTTPResponse {
        .json { writer in
            writer.object { writer in
                writer.key("items")
                writer.array(items, write)
            }
        }
    }

    // MARK: Nodes

    private func nodes() async throws(RoostError) -> [NodeStatus] { try await backend.ask { try await inspector.nodes() } }

    private func setUse(_ use: NodeUse, _ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let (name, by) = (request.nodeName, request.operatorName)
        let node = try await nodes().first { $0.name == name }
        let isUp = try await backend.ask { try await operations.setUse(use, of: name, by: by) }
        guard isUp else { throw node == nil ? .notFound : RoostError(.conflict) }
        await inspector.announce()
        guard let node else { return .noContent }
        return .json { $0.nodeStatus(node.after(use)) }
    }

    private func drain(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let (name, by) = (request.nodeName, request.operatorName)
        let input = try DrainInput(try JSONBody(optional: request.body))
        if input.isDryRun {
            let plan = try await backend.ask { try await inspector.drainPlan(of: name) }
            guard let plan else {
                throw try await nodes().contains { $0.name == name } ? RoostError(.conflict) : .notFound
            }
            return .json { $0.plan(plan) }
        }
        return try await accepted(
            try await backend.ask { try await operations.beginDrain(of: name, timeout: input.timeout, by: by) })
    }

    private func shards(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let (version, shards) = try await backend.ask { try await inspector.shards() }
        return .json { writer in
            writer.object { writer in
                writer.key("version")
                writer.integer(version)
                writer.key("items")
                writer.array(shards) { $0.shard($1) }
            }
        }
    }

    // MARK: Rebalancing

    private func rebalance(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let input = try RebalanceInput(try JSONBody(optional: request.body))
        let by = request.operatorName
        let plan = try await plan(input)
        if input.isDryRun {
            if input.planID == nil { try await backend.ask { try await operations.save(plan) } }
            return .json { $0.plan(plan) }
        }
        return try await accepted(
            try await backend.ask {
                try await operations.beginRebalance(
                    plan, maxConcurrentMoves: input.maxConcurrentMoves ?? RebalanceInput.concurrentMoves, reason: nil, by: by)
            })
    }

    private func plan(_ input: RebalanceInput) async throws(RoostError) -> RebalancePlan {
        if let id = input.planID {
            guard let plan = try await backend.ask({ try await operations.plan(id) }) else { throw .notFound }
            return plan.limited(to: input.maxMoves)
        }
        let plan = try await backend.ask { try await inspector.rebalancePlan(maxMoves: input.maxMoves) }
        guard let plan else { throw RoostError(.unavailable, "A node has not told of its work lately") }
        return plan
    }

    // MARK: Actors

    private func actors(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        var query = ActorQuery(cursor: try request.query.cursor, limit: try request.query.limit)
        query.node = request.query.text("node")
        if let node = query.node, try await !nodes().contains(where: { $0.name == node }) { throw .notFound }
        if let text = request.query.text("kind") {
            guard let kind = ShardKind(rawValue: text) else {
                throw RoostError(.badParameter, "kind is neither conversation nor presence")
            }
            query.kind = kind
        }
        if let sort = request.query.text("sort") {
            guard sort == "load" else { throw RoostError(.badParameter, "sort can only be load") }
            query.byLoad = true
        }
        let page = try await backend.ask { [query] in try await inspector.actors(query) }
        return .json { writer in
            writer.object { writer in
                writer.key("items")
                writer.array(page.items) { $0.actor($1) }
                writer.member("nextCursor", page.nextCursor)
                writer.key("missing")
                writer.array(page.missing) { $0.string($1) }
            }
        }
    }

    private func actor(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let address = try await existing(request)
        guard let status = await inspector.actor(address) else { throw .unavailable }
        return .json { $0.actor(status) }
    }

    private func existing(_ request: RequestContext) async throws(RoostError) -> ActorAddress {
        let address = try request.actor
        guard try await backend.ask({ try await operators.exists(address) }) else { throw .notFound }
        return address
    }

    private func pin(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let address = try await existing(request)
        let (node, by) = (try JSONBody(request.body).requiredString("node"), request.operatorName)
        return try await accepted(try await backend.ask { try await operations.pin(address, to: node, by: by) })
    }

    private func unpin(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let (address, by) = (try request.actor, request.operatorName)
        guard let operation = try await backend.ask({ try await operations.unpin(address, by: by) }) else {
            // Only now: the pin of one that is gone can be taken away all the same.
            _ = try await existing(request)
            return .noContent
        }
        await inspector.announce()
        return .json(status: 202) { $0.operation(operation) }
    }

    // MARK: Operations

    private func list(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let (limit, cursor) = (try request.query.limit, try request.query.cursor)
        let page = try await backend.ask { try await operations.operations(cursor: cursor, limit: limit) }
        return .json { $0.page(page) { $0.operation($1) } }
    }

    private func operation(_ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let id = try request.operationID
        guard let operation = try await backend.ask({ try await operations.operation(id) }) else { throw .notFound }
        return .json { $0.operation(operation) }
    }

    private func change(_ change: OperationChange, _ request: RequestContext) async throws(RoostError) -> HTTPResponse {
        let (id, by) = (try request.operationID, request.operatorName)
        let outcome = try await backend.ask { try await operations.change(id, change, by: by) }
        return try await answer(outcome, status: 200)
    }

    private func accepted(_ outcome: OperationOutcome) async throws(RoostError) -> HTTPResponse {
        try await answer(outcome, status: 202)
    }

    private func answer(_ outcome: OperationOutcome, status: Int) async throws(RoostError) -> HTTPResponse {
        switch outcome {
        case .operation(let operation):
            await inspector.announce()
            return .json(status: status) { $0.operation(operation) }
        case .notFound: throw .notFound
        case .conflict: throw RoostError(.conflict)
        case .planOutdated: throw RoostError(.planOutdated)
        }
    }
}

extension NodeStatus {
    /// As the act leaves it.
    fileprivate func after(_ use: NodeUse) -> NodeStatus {
        let next: State =
            switch (state, use) {
            case (.up, .cordoned): .cordoned
            case (.cordoned, .open), (.draining, .open), (.drained, .open): .up
            case (_, _): state
            }
        return NodeStatus(
            name: name, incarnation: incarnation, state: next, version: version, startedAt: startedAt, url: url,
            isLeader: isLeader, report: report, places: places)
    }
}

extension RebalancePlan {
    /// The first moves are those that even out most.
    fileprivate func limited(to count: Int?) -> RebalancePlan {
        guard let count, count < moves.count else { return self }
        return RebalancePlan(
            id: id, viewVersion: viewVersion, moves: Array(moves.prefix(count)), before: before, after: after)
    }
}

extension RequestContext {
    fileprivate var nodeName: String { parameters["name"] ?? "" }

    fileprivate var operationID: OperationID {
        get throws(RoostError) {
            guard let id = parameters["operationId"].flatMap({ OperationID($0) }) else { throw .notFound }
            return id
        }
    }

    fileprivate var actor: ActorAddress {
        get throws(RoostError) {
            guard let kind = parameters["kind"], let id = parameters["id"], let actor = ActorAddress("\(kind)/\(id)") else {
                throw .notFound
            }
            return actor
        }
    }
}

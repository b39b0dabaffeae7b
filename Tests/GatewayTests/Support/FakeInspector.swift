import ClusterOperations
import Locks
import Ports
import RoostModel

/// A cluster that says what the test has set.
final class FakeInspector: ClusterInspector {
    struct State {
        var nodes: [NodeStatus] = []
        var plan: RebalancePlan?
        var drainPlans: [String: RebalancePlan] = [:]
        var actors: [ActorStatus] = []
        var pins: [PinRecord] = []
        var shards: (version: Int64, shards: [ShardStatus]) = (0, [])
        var queries: [ActorQuery] = []
    }

    let state = Locked(State())

    func announce() async {}
    func nodes() async -> [NodeStatus] { state.withLock { $0.nodes } }
    func shards() async -> (version: Int64, shards: [ShardStatus]) { state.withLock { $0.shards } }
    func pins() async -> [PinRecord] { state.withLock { $0.pins } }
    func rebalancePlan(maxMoves: Int?) async throws(StoreError) -> RebalancePlan? { state.withLock { $0.plan } }

    func drainPlan(of node: String) async throws(StoreError) -> RebalancePlan? { state.withLock { $0.drainPlans[node] } }

    func actors(_ query: ActorQuery) async throws(StoreError) -> ActorPage {
        if query.cursor == "bad" { throw StoreError(.badCursor) }
        let items = state.withLock { state in
            state.queries.append(query)
            return state.actors
        }
        return ActorPage(items: items, nextCursor: nil, missing: ["node9"])
    }

    func actor(_ address: ActorAddress) async -> ActorStatus? {
        state.withLock { $0.actors.first { $0.actor == address } }
    }
}

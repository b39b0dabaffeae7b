import Ports
import RoostModel

/// What the operators' routes ask about the cluster. ``ClusterConsole`` answers it in a node; tests have their own.
///
/// - Throws: ``Ports/StoreError`` with `unavailable` before this node has seen the cluster at all.
public protocol ClusterInspector: Sendable {
    /// By name: nodes that are up, and those that died within the last hour.
    func nodes() async throws(StoreError) -> [NodeStatus]

    /// All shards, and the version of the view that they are from.
    func shards() async throws(StoreError) -> (version: Int64, shards: [ShardStatus])

    func pins() async throws(StoreError) -> [PinRecord]

    /// Something was done by an operator. Returns when the nodes have heard of it; soon in any case.
    func announce() async

    /// What would be moved to even the nodes out; nil while a node has not told of its work lately.
    func rebalancePlan(maxMoves: Int?) async throws(StoreError) -> RebalancePlan?

    /// What would be moved off a node that is up; nil where there is none of that name.
    func drainPlan(of node: String) async throws(StoreError) -> RebalancePlan?

    /// - Throws: ``Ports/StoreError`` with `badCursor`.
    func actors(_ query: ActorQuery) async throws(StoreError) -> ActorPage

    /// Where the actor lives, or would; nil where no node owns it at this moment.
    func actor(_ address: ActorAddress) async -> ActorStatus?
}

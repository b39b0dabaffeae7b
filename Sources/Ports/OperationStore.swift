import RoostModel

/// What operators wish of the cluster, stored with it. Each act is noted in the audit in the same transaction, under `by`, and
/// raises the view's version: nodes hear of it as of any change.
public protocol OperationStore: Sendable {
    /// Sets what is wanted of a node that is up: `cordoned` or `open`. Opening one that drains cancels its drain.
    ///
    /// - Returns: false where no node of that name is up.
    func setUse(_ use: NodeUse, of node: String, by name: String) async throws(StoreError) -> Bool

    /// Begins a drain of a node that is up: it is `draining` from now on. Where one of it runs already, that one is the answer.
    ///
    /// - Parameter timeout: after this it fails, and the node is cordoned; nil for never.
    func beginDrain(of node: String, timeout: Duration?, by name: String) async throws(StoreError) -> OperationOutcome

    /// Says that a draining node has sent its clients elsewhere: it is `drained`, and its drain is done. Nothing happens where it
    /// still owns something or no longer drains.
    func endDrain(of node: NodeIdentity) async throws(StoreError) -> Bool

    /// Stores a plan, and forgets all but the newest 100.
    func save(_ plan: RebalancePlan) async throws(StoreError)

    func plan(_ id: PlanID) async throws(StoreError) -> RebalancePlan?

    /// Begins a rebalance with the moves of `plan`, if the view still has the plan's version. With no moves it is done at once.
    /// One rebalance runs at a time.
    func beginRebalance(_ plan: RebalancePlan, maxConcurrentMoves: Int, reason: String?, by name: String)
        async throws(StoreError) -> OperationOutcome

    /// Pins an actor to a node that is up. An earlier operation of this pin is cancelled.
    func pin(_ actor: ActorAddress, to node: String, by name: String) async throws(StoreError) -> OperationOutcome

    /// Lets an actor go back to its shard.
    ///
    /// - Returns: nil where it was not pinned.
    func unpin(_ actor: ActorAddress, by name: String) async throws(StoreError) -> OperationRecord?

    /// Newest first.
    func operations(cursor: String?, limit: Int) async throws(StoreError) -> Page<OperationRecord>

    func operation(_ id: OperationID) async throws(StoreError) -> OperationRecord?

    /// Pauses, resumes or cancels. The end of a drain cordons its node; the end of a pin leaves the pin where it is.
    func change(_ id: OperationID, _ change: OperationChange, by name: String) async throws(StoreError) -> OperationOutcome

    // MARK: The leader's

    /// Stores how far an operation is; with `end`, ends it. Nothing happens, and false comes back, where `term` is over.
    func note(_ progress: OperationProgress, of id: OperationID, end: OperationEnd?, term: Int64) async throws(StoreError) -> Bool
}

public enum OperationChange: String, Hashable, Sendable, CaseIterable { case pause, resume, cancel }

public enum OperationOutcome: Hashable, Sendable {
    case operation(OperationRecord)
    /// No node, plan or operation of that name.
    case notFound
    /// The node is not up or not in use, another rebalance runs, the operation has ended, or there are too many pins.
    case conflict
    /// The plan was drawn up from an older view.
    case planOutdated
}

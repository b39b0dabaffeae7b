import RoostModel

/// The cluster's truth: who is alive, who owns which shard, who leads. All times are the database's.
public protocol ClusterStore: Sendable {
    /// Mends rows that were lost, restored by halves or changed by hand, so that nodes can start and a leader can lead. Called before a
    /// node registers and by each new leader.
    ///
    /// - Returns: what was mended, each as a word, how many, and up to ten of them; empty where all was well.
    func mend() async throws(StoreError) -> [String]

    /// Enters a node as a new incarnation, with open fences for `lanes` lanes and a fresh lease. An older incarnation of the name
    /// is declared dead in the same transaction (its fences closed first), and its shards pass to the new one with the next epoch.
    func register(_ node: NodeIdentity, lanes: Int, url: String, adminURL: String, version: String, leaseSeconds: Double)
        async throws(StoreError)

    /// Prolongs the lease. False where the incarnation was declared dead.
    func renewLease(_ node: NodeIdentity, leaseSeconds: Double) async throws(StoreError) -> Bool

    /// Leaves in good order: fences closed, state `left`; shards stay until the leader places them.
    func leave(_ node: NodeIdentity) async throws(StoreError)

    /// Rises by one with every change of nodes, shards or leader; cheap to poll.
    func viewVersion() async throws(StoreError) -> Int64

    /// All in one snapshot.
    func view() async throws(StoreError) -> ClusterSnapshot

    /// Takes or prolongs the leadership; nil where another holds it. With `displacing`, takes it from that incarnation even
    /// though its lease runs. Answers the term, which rises with each change of leader.
    func lead(_ node: NodeIdentity, displacing: IncarnationID?, leaseSeconds: Double) async throws(StoreError) -> Int64?

    /// Declares an incarnation dead: closes its fences (waiting for its commits in flight), then applies `placements`, in one
    /// transaction. Nothing happens, and false comes back, where `term` is no longer the leader's.
    func declareDead(_ incarnation: IncarnationID, placements: [ShardPlacement], term: Int64) async throws(StoreError) -> Bool

    /// Gives shards without a live owner to nodes at once, and marks owned ones as moving to a target. Each placement holds only
    /// if the shard's epoch is still the stated one. False where `term` is no longer the leader's.
    func place(_ placements: [ShardPlacement], term: Int64) async throws(StoreError) -> Bool

    /// Marks pinned actors as moving. Each placement holds only if the pin's epoch is still the stated one and it does not move.
    /// False where `term` is no longer the leader's.
    func move(_ pins: [PinPlacement], term: Int64) async throws(StoreError) -> Bool

    /// The owner itself hands over places that are moving, after its last commit in them: target becomes owner, epoch + 1. A pin
    /// that went back to its shard and is wanted nowhere is gone.
    ///
    /// - Parameter closedFor: since when nothing was admitted there, for the record of the longest pause.
    func release(_ places: [Place], by owner: NodeIdentity, closedFor: Duration) async throws(StoreError)
}

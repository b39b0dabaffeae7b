import ClusterCore
import RoostModel

/// What the rest of the node does when its place in the cluster changes.
///
/// The asynchronous calls come one at a time, in order, and never overlap; while one takes its time, the lease and the heartbeats
/// go on. ``servingChanged(_:)`` does not wait for them.
public protocol ClusterDelegate: AnyObject, Sendable {
    /// A new incarnation is registered, the first or one after another: whatever the one before owned or subscribed to is over.
    /// Subscribe here; the others hear of the incarnation once this returns.
    func joined(_ identity: NodeIdentity) async

    /// A newer view, with what changed for this node since the one before. The first of an incarnation counts all as changed.
    func viewChanged(_ view: ClusterView) async

    /// Whether the lease lets this node serve, after each change. Must not block.
    func servingChanged(_ isServing: Bool)

    /// Stop taking commands for these places, and return when none is in flight. They are then handed over. They serve here again
    /// when a later view has them here under another epoch, or without the target that they had: the move was called off.
    /// May be asked again for places that are quiet already.
    func quiesce(_ places: [Place]) async

    /// What this node has to do, for the plans of the leader; nil where it does not know. Asked beside the calls above.
    func loadSample() async -> LoadReport?
}

extension ClusterDelegate {
    public func loadSample() async -> LoadReport? { nil }
}

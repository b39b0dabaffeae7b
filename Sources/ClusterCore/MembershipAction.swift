import RoostModel

/// What the shell has to do for the membership machine. Each that asks something of the store or the bus names the node for which
/// it is asked; the shell reports its end with the same node, and the end of an earlier incarnation's errand is ignored.
public enum MembershipAction: Hashable, Sendable {
    // Of the store.
    /// Register as a new incarnation; report with `registered` or `registrationFailed`.
    case register
    case renew(NodeIdentity)
    case pollVersion(NodeIdentity)
    case loadView(NodeIdentity)
    case lead(NodeIdentity, displacing: IncarnationID?)
    case perform(NodeIdentity, LeaderDuties.Duty, term: Int64)
    /// Quiesce what is there, then release it.
    case release(NodeIdentity, [Place])

    // Of the bus.
    case sendHeartbeat(Heartbeat)
    case announceView(version: Int64)
    case probe(NodeIdentity, of: NodeIdentity)

    // Of the delegate.
    /// A new incarnation is registered: subscribe for it, then report `announced`.
    case joined(NodeIdentity)
    case publish(ClusterView)
    /// Another process has taken this node's name; this one must end.
    case displaced(by: NodeIdentity)
}

/// How an errand to the store ended.
public enum StoreOutcome<Value: Sendable>: Sendable {
    case success(Value)
    /// The store could not be asked, or gave no answer.
    case failed
}

import ClusterCore
import Ports
import RoostModel

/// What the cluster loop is told. The ends of its own errands are never dropped: there are only as many as errands.
enum ClusterEvent: Sendable {
    /// `done` is called once everything that was due is under way.
    case tick(done: @Sendable () -> Void)

    // From others, through the bus: dropped when too many wait.
    case heartbeat([UInt8])
    case hint([UInt8])
    case load([UInt8])
    case probed(reply: @Sendable ([UInt8]) -> Void)
    case bus(BusEvent)

    // Ends of errands.
    case registered(NodeIdentity, startedAt: Duration)
    case registrationFailed(StoreError)
    case announced(NodeIdentity)
    case renewed(NodeIdentity, LeaseMachine.Outcome, startedAt: Duration)
    case polled(NodeIdentity, StoreOutcome<Int64>)
    case loaded(NodeIdentity, StoreOutcome<ClusterSnapshot>, startedAt: Duration)
    case led(NodeIdentity, StoreOutcome<Int64?>, startedAt: Duration)
    case performed(NodeIdentity, LeaderDuties.Duty, StoreOutcome<Bool>)
    case quiesced(NodeIdentity, [Place], since: Duration)
    case released(NodeIdentity, [Place], StoreOutcome<Void>)
    case probeEnded(NodeIdentity, of: NodeIdentity, answered: Bool)

    case loadSampled(NodeIdentity, LoadReport?)

    // From the owner of the node.
    case refresh
    case leave
    case quiescedToLeave(NodeIdentity)
    case left
    case thaw
}

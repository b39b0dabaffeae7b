import ActorRuntime
import RoostModel

/// The live sessions of this node, as the actors see them. Called on any thread.
public protocol SessionHub: AnyObject, Sendable {
    func hasSessions(of user: UserID) -> Bool

    /// Passes an event to the sessions of those recipients that are here, in order per conversation and calling thread.
    func deliver(_ event: FanoutEvent)
}

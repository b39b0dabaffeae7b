import ClusterCore
import RoostModel

/// What has another owner in one view than in the view before.
public struct OwnerChanges: Sendable {
    let old: ShardTable
    let new: ShardTable

    public func hasMoved(presenceOf user: UserID) -> Bool { hasMoved(ActorAddress(user)) }

    public func hasMoved(_ conversation: ConversationID) -> Bool { hasMoved(ActorAddress(conversation)) }

    /// It may have been away and back between two views that were seen here: its owner is the same then, and knows nothing any more.
    private func hasMoved(_ actor: ActorAddress) -> Bool {
        old.owner(of: actor) != new.owner(of: actor) || old.epoch(of: actor) != new.epoch(of: actor)
    }
}

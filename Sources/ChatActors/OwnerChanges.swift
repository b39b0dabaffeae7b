import ClusterCore
import RoostModel

/// What has another owner in one view than in the view before.
public struct OwnerChanges: Sendable {
    let old: ShardTable
    let new: ShardTable

    public func hasMoved(presenceOf user: UserID) -> Bool { hasMoved(ActorAddress(user)) }

    public func hasMoved(_ conversation: ConversationID) -> Bool { hasMoved(ActorAddress(conversation)) }

    private func hasMoved(_ actor: ActorAddress) -> Bool { old.owner(of: actor) != new.owner(of: actor) }
}

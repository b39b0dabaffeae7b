import ClusterCore
import RoostModel

/// What has another owner in one view than in the view before.
public struct OwnerChanges: Sendable {
    let old: ShardTable
    let new: ShardTable

    public func hasMoved(presenceOf user: UserID) -> Bool { hasMoved(ShardID(of: user)) }

    public func hasMoved(_ conversation: ConversationID) -> Bool { hasMoved(ShardID(of: conversation)) }

    private func hasMoved(_ shard: ShardID) -> Bool { old.owner(of: shard) != new.owner(of: shard) }
}

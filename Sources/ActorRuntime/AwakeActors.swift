import ClusterCore
import RoostModel

/// The awake actors of a lane, by shard: what happens to one shard touches no others, and a walk over all can be taken in pieces.
struct AwakeActors {
    /// By ``RoostModel/ShardID/tableIndex``.
    private var byShard = [[ActorAddress: any HostedActor]](repeating: [:], count: ShardID.all.count)
    private(set) var count = 0

    subscript(address: ActorAddress) -> (any HostedActor)? { byShard[address.shard.tableIndex][address] }

    /// Those of one shard, pinned ones too.
    subscript(shard: ShardID) -> [ActorAddress: any HostedActor] { byShard[shard.tableIndex] }

    /// - Precondition: the address is not awake.
    mutating func insert(_ actor: any HostedActor, at address: ActorAddress) {
        byShard[address.shard.tableIndex][address] = actor
        count += 1
    }

    /// Whether it was awake.
    @discardableResult
    mutating func remove(_ address: ActorAddress) -> Bool {
        let index = address.shard.tableIndex
        guard byShard[index].removeValue(forKey: address) != nil else { return false }
        // A shard that was busy once does not keep the room for it.
        if byShard[index].isEmpty { byShard[index] = [:] }
        count -= 1
        return true
    }
}

import ClusterCore
import RoostModel

/// What an endpoint knows of the cluster: a copy on every loop, replaced as a whole.
public struct Routing: Sendable {
    /// Nil until this node has joined.
    public var identity: NodeIdentity?
    public var table: ShardTable
    public var live: Set<NodeIdentity>
    /// Whether this node's lease lets it serve.
    public var isServing: Bool

    public init(identity: NodeIdentity?, table: ShardTable, live: Set<NodeIdentity>, isServing: Bool) {
        self.identity = identity
        self.table = table
        self.live = live
        self.isServing = isServing
    }

    public func isOwnedHere(_ shard: ShardID) -> Bool {
        guard let identity, let owner = table.owner(of: shard) else { return false }
        return owner.incarnation == identity.incarnation
    }

    /// Whether this node owns the actor, by its shard or apart from it.
    public func isOwnedHere(_ address: ActorAddress) -> Bool {
        guard let identity, let owner = table.owner(of: address) else { return false }
        return owner.incarnation == identity.incarnation
    }

    func isOwnedHere(_ place: Place) -> Bool {
        guard let identity, let owner = table.owner(of: place) else { return false }
        return owner.incarnation == identity.incarnation
    }

    /// Whether the actor, or its shard, is on its way to this node: whoever calls it here knows that it has arrived.
    func isArriving(_ address: ActorAddress) -> Bool {
        guard let identity else { return false }
        var target = table.target(of: address.shard)
        if !table.pins.isEmpty, let pin = table.pins[address] {
            // One that is called home goes to whoever has its shard.
            if pin.isMoving { target = pin.target ?? table.owner(of: address.shard) } else if pin.owner != nil { target = nil }
        }
        return target?.incarnation == identity.incarnation
    }

    public func isHere(_ node: NodeIdentity) -> Bool { node.incarnation == identity?.incarnation }

    /// The live owner of an actor; nil while its shard has none.
    public func owner(of address: ActorAddress) -> NodeIdentity? {
        guard let owner = table.owner(of: address), live.contains(owner) else { return nil }
        return owner
    }
}

import RoostModel

/// Who owns each shard, as of one version of the cluster's view. Lookup is an array access.
public struct ShardTable: Hashable, Sendable {
    public let version: Int64
    /// All shards of all kinds, by ``ShardID/tableIndex``.
    public let records: [ShardRecord]
    /// Actors that live, or are to live, apart from their shards.
    public let pins: [ActorAddress: PinRecord]

    /// Shards that `records` does not name are unowned, with epoch 0.
    public init(version: Int64, records: [ShardRecord], pins: [PinRecord] = []) {
        var table = ShardID.all.map { ShardRecord(id: $0, owner: nil, epoch: Epoch(0), target: nil) }
        for record in records where record.id.isValid { table[record.id.tableIndex] = record }
        self.version = version
        self.records = table
        self.pins = Dictionary(pins.map { ($0.actor, $0) }, uniquingKeysWith: { first, _ in first })
    }

    public init(_ snapshot: ClusterSnapshot) {
        self.init(version: snapshot.version, records: snapshot.shards, pins: snapshot.pins)
    }

    /// The table before anything is known: nobody owns anything.
    public static let empty = ShardTable(version: 0, records: [])

    /// - Precondition: `shard` is one of ``RoostModel/ShardKind/count``.
    @inlinable
    public subscript(shard: ShardID) -> ShardRecord { records[shard.tableIndex] }

    @inlinable
    public func owner(of shard: ShardID) -> NodeIdentity? { records[shard.tableIndex].owner }

    @inlinable
    public func epoch(of shard: ShardID) -> Epoch { records[shard.tableIndex].epoch }

    /// Where the shard is moving to, if it is.
    @inlinable
    public func target(of shard: ShardID) -> NodeIdentity? { records[shard.tableIndex].target }

    /// What the actor moves with: itself where it lives apart, its shard otherwise.
    public func place(of actor: ActorAddress) -> Place {
        if !pins.isEmpty, pins[actor]?.owner != nil { return .actor(actor) }
        return .shard(actor.shard)
    }

    /// Who owns the actor, wherever it lives; nil where nobody does.
    public func owner(of actor: ActorAddress) -> NodeIdentity? {
        if !pins.isEmpty, let owner = pins[actor]?.owner { return owner }
        return owner(of: actor.shard)
    }

    public func owner(of place: Place) -> NodeIdentity? {
        switch place {
        case .shard(let shard): owner(of: shard)
        case .actor(let actor): owner(of: actor)
        }
    }

    /// Of the place alone; 0 for an actor that is not pinned.
    public func epoch(of place: Place) -> Epoch {
        switch place {
        case .shard(let shard): epoch(of: shard)
        case .actor(let actor): pins[actor]?.epoch ?? Epoch(0)
        }
    }

    /// Rises with every owner that the actor gets, pinned or not: the sum of its shard's and its pin's.
    public func epoch(of actor: ActorAddress) -> Epoch {
        let shard = epoch(of: actor.shard)
        guard !pins.isEmpty, let pin = pins[actor] else { return shard }
        return Epoch(shard.value + pin.epoch.value)
    }

    /// Whether the place is on its way to another owner.
    public func isMoving(_ place: Place) -> Bool {
        switch place {
        case .shard(let shard): target(of: shard) != nil
        case .actor(let actor): pins[actor]?.isMoving ?? false
        }
    }

    /// What `node` has to hand over now, under which epoch.
    func moving(from node: NodeIdentity) -> [(place: Place, epoch: Epoch)] {
        let shards = records.filter { $0.owner == node && $0.target != nil }.map { (place: Place.shard($0.id), epoch: $0.epoch) }
        if pins.isEmpty { return shards }
        let actors = pins.values.filter { $0.isMoving && owner(of: $0.actor) == node }
        return actors.map { (place: Place.actor($0.actor), epoch: $0.epoch) } + shards
    }

    /// Everything that `node` would have to hand over to be empty.
    public func places(ownedBy node: NodeIdentity) -> [Place] {
        shards(ownedBy: node).map { .shard($0) } + pins.values.filter { $0.owner == node }.map { .actor($0.actor) }
    }

    /// Whether `node` owns nothing, and nothing is on its way to it.
    public func isEmpty(_ node: NodeIdentity) -> Bool {
        !records.contains { $0.owner == node || $0.target == node }
            && !pins.values.contains { $0.owner == node || ($0.isMoving && $0.target == node) }
    }

    public func shards(ownedBy node: NodeIdentity) -> [ShardID] {
        records.filter { $0.owner == node }.map(\.id)
    }

    /// What happened to `node`'s shards between `old` and this table.
    public func changes(since old: ShardTable, for node: NodeIdentity) -> ShardChanges {
        var changes = ShardChanges()
        for (before, after) in zip(old.records, records) where before != after {
            let owned = before.owner == node
            let owns = after.owner == node
            // A higher epoch means that another owner may have come between, or a new life of the shard began.
            if owns && (!owned || before.epoch != after.epoch) { changes.gained.append(after) }
            if owned && (!owns || before.epoch != after.epoch) { changes.lost.append(before) }
            let wasMoving = owned && before.target != nil && before.epoch == after.epoch
            if owns, after.target != nil, !wasMoving || before.target != after.target { changes.leaving.append(after) }
            if !owns, after.target == node, before.target != node || before.owner != after.owner {
                changes.arriving.append(after)
            }
        }
        return changes
    }
}

/// One node's part in the difference of two shard tables. A shard that was lost and gained again stands in both lists.
public struct ShardChanges: Hashable, Sendable {
    /// Owned now and not before, or with another epoch. As they are now.
    public var gained: [ShardRecord] = []
    /// Owned before and no longer, or with another epoch. As they were.
    public var lost: [ShardRecord] = []
    /// Owned, and newly told to move to a target.
    public var leaving: [ShardRecord] = []
    /// Owned by another, and newly told to move here.
    public var arriving: [ShardRecord] = []

    public init() {}

    public var isEmpty: Bool { gained.isEmpty && lost.isEmpty && leaving.isEmpty && arriving.isEmpty }
}

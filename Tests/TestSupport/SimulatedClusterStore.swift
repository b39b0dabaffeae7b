import MemoryAdapters
import Ports
import RoostModel

/// The cluster's tables in virtual time: what simulations of membership run against. Leases last 6 s.
public struct SimulatedClusterStore: Sendable {
    public var tables = ClusterTables()
    /// Of the latest call that told it.
    private var now = Duration.zero

    private static let lease = Duration.seconds(6)
    /// The calendar at time zero.
    private static let epoch = Timestamp(milliseconds: 1_700_000_000_000)

    public init() {}

    public var time: DatabaseTime { DatabaseTime(elapsed: now, wall: Self.epoch + now) }

    public var version: Int64 { tables.version }
    public var term: Int64 { tables.term }
    public var leader: IncarnationID? { tables.leader }
    public var shards: [ShardRecord] { tables.shards }
    /// Nodes declared dead by leaders, in order.
    public var deaths: [NodeIdentity] { tables.deaths }

    public func isFenceOpen(_ node: NodeIdentity) -> Bool { tables.isFenceOpen(node.incarnation) }

    public mutating func advance(to now: Duration) { self.now = max(self.now, now) }

    public mutating func register(_ node: NodeIdentity, at now: Duration) {
        advance(to: now)
        tables.register(node, lease: Self.lease, at: time)
    }

    public mutating func renew(_ node: NodeIdentity, at now: Duration) -> Bool {
        advance(to: now)
        return tables.renew(node, lease: Self.lease, at: time)
    }

    public mutating func leave(_ node: NodeIdentity) { tables.leave(node, at: time) }

    public mutating func lead(_ node: NodeIdentity, displacing: IncarnationID?, at now: Duration) -> Int64? {
        advance(to: now)
        return tables.lead(node, displacing: displacing, lease: Self.lease, at: time)
    }

    public mutating func declareDead(_ victim: NodeIdentity, _ placements: [ShardPlacement], term: Int64) -> Bool {
        tables.declareDead(victim.incarnation, placements, term: term, at: time)
    }

    public mutating func place(_ placements: [ShardPlacement], term: Int64) -> Bool {
        tables.place(placements, term: term, at: time)
    }

    public mutating func move(_ pins: [PinPlacement], term: Int64) -> Bool { tables.move(pins, term: term) }

    public mutating func release(_ places: [Place], by node: NodeIdentity, pause: Duration = .zero) {
        tables.release(places, by: node, pause: pause, at: time)
    }

    public mutating func note(
        _ progress: OperationProgress, of id: OperationID, end: OperationEnd?, term: Int64
    ) -> Bool { tables.note(progress, of: id, end: end, term: term, at: time) }

    public mutating func snapshot(at now: Duration) -> ClusterSnapshot {
        advance(to: now)
        return tables.snapshot(at: time)
    }
}

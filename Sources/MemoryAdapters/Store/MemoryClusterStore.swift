import Ports
import RoostModel

/// The memory twin of the cluster's tables. Its database clock is the process's.
public struct MemoryClusterStore: ClusterStore {
    private let database: MemoryDatabase

    public init(_ database: MemoryDatabase) { self.database = database }

    /// Nobody changes these tables by hand.
    public func mend() async throws(StoreError) -> [String] { [] }

    public func register(
        _ node: NodeIdentity, lanes: Int, url: String, adminURL: String, version: String, leaseSeconds: Double
    ) async throws(StoreError) {
        try await database.writeExclusively({ $0.cluster.olderLives(of: node).map(\.incarnation) }) { tables in
            for lane in 0..<lanes { tables.fences.insert(JournalFence(incarnation: node.incarnation, lane: lane)) }
            tables.cluster.register(
                node, url: url, adminURL: adminURL, version: version, lease: .seconds(leaseSeconds), at: database.time)
        }
    }

    public func renewLease(_ node: NodeIdentity, leaseSeconds: Double) async throws(StoreError) -> Bool {
        try database.write { $0.cluster.renew(node, lease: .seconds(leaseSeconds), at: database.time) }
    }

    public func leave(_ node: NodeIdentity) async throws(StoreError) {
        try await database.writeExclusively({ _ in [node.incarnation] }) { $0.cluster.leave(node, at: database.time) }
    }

    public func viewVersion() async throws(StoreError) -> Int64 { try database.read { $0.cluster.version } }

    public func view() async throws(StoreError) -> ClusterSnapshot {
        try database.read { $0.cluster.snapshot(at: database.time) }
    }

    public func lead(_ node: NodeIdentity, displacing: IncarnationID?, leaseSeconds: Double) async throws(StoreError) -> Int64? {
        try database.write {
            $0.cluster.lead(node, displacing: displacing, lease: .seconds(leaseSeconds), at: database.time)
        }
    }

    public func declareDead(
        _ incarnation: IncarnationID, placements: [ShardPlacement], term: Int64
    ) async throws(StoreError) -> Bool {
        try await database.writeExclusively({ $0.cluster.term == term ? [incarnation] : [] }) {
            $0.cluster.declareDead(incarnation, placements, term: term, at: database.time)
        }
    }

    public func place(_ placements: [ShardPlacement], term: Int64) async throws(StoreError) -> Bool {
        try database.write { $0.cluster.place(placements, term: term, at: database.time) }
    }

    public func move(_ pins: [PinPlacement], term: Int64) async throws(StoreError) -> Bool {
        try database.write { $0.cluster.move(pins, term: term) }
    }

    public func release(_ places: [Place], by owner: NodeIdentity, closedFor: Duration) async throws(StoreError) {
        try database.write { $0.cluster.release(places, by: owner, pause: closedFor, at: database.time) }
    }
}

extension MemoryDatabase {
    private static let start = ContinuousClock.now

    var time: DatabaseTime { DatabaseTime(elapsed: ContinuousClock.now - Self.start, wall: .now) }
}

import Ports
import RoostModel

/// The cluster's tables. Every change is one call of a function in migrations/0003_cluster.sql, and so one round trip.
public struct PostgresClusterStore: ClusterStore {
    private let pool: PostgresPool

    public init(pool: PostgresPool) { self.pool = pool }

    public func mend() async throws(StoreError) -> [String] {
        try await pool.query(Statements.mend) { $0.add(false) }[0].texts(0)
    }

    public func register(
        _ node: NodeIdentity, lanes: Int, url: String, adminURL: String, version: String, leaseSeconds: Double
    ) async throws(StoreError) {
        _ = try await pool.query(Statements.register) {
            $0.add(node.name)
            $0.add(node.incarnation)
            $0.add(Int32(lanes))
            $0.add(url)
            $0.add(adminURL)
            $0.add(version)
            $0.add(leaseSeconds)
        }
    }

    public func renewLease(_ node: NodeIdentity, leaseSeconds: Double) async throws(StoreError) -> Bool {
        let rows = try await pool.query(Statements.renew) {
            $0.add(node.incarnation)
            $0.add(leaseSeconds)
        }
        return rows.count == 1
    }

    public func leave(_ node: NodeIdentity) async throws(StoreError) {
        _ = try await pool.query(Statements.leave) { $0.add(node.incarnation) }
    }

    public func viewVersion() async throws(StoreError) -> Int64 {
        try Self.only(await pool.query(Statements.version)).int64(0)
    }

    public func view() async throws(StoreError) -> ClusterSnapshot {
        Self.snapshot(try Self.only(await pool.query(Statements.view)))
    }

    /// What ``mend()`` puts back.
    private static func only(_ rows: PostgresRows) throws(StoreError) -> PostgresRow {
        guard let row = rows.first else { throw StoreError(.failed, detail: "the row of cluster_state is missing") }
        return row
    }

    public func lead(_ node: NodeIdentity, displacing: IncarnationID?, leaseSeconds: Double) async throws(StoreError) -> Int64? {
        let rows = try await pool.query(Statements.lead) {
            $0.add(node.incarnation)
            $0.add(displacing)
            $0.add(leaseSeconds)
        }
        return rows[0].optional(0) { $0.int64 }
    }

    public func declareDead(
        _ incarnation: IncarnationID, placements: [ShardPlacement], term: Int64
    ) async throws(StoreError) -> Bool {
        try await pool.query(Statements.declareDead) {
            $0.add(incarnation)
            $0.add(term)
            $0.add(placements)
        }[0].bool(0)
    }

    public func place(_ placements: [ShardPlacement], term: Int64) async throws(StoreError) -> Bool {
        try await pool.query(Statements.place) {
            $0.add(term)
            $0.add(placements)
        }[0].bool(0)
    }

    public func move(_ pins: [PinPlacement], term: Int64) async throws(StoreError) -> Bool {
        try await pool.query(Statements.movePins) {
            $0.add(term)
            $0.add(shorts: pins.map(\.actor.kind.stored))
            $0.add(ids: pins.map(\.actor.conversationID))
            $0.add(ids: pins.map { $0.to?.incarnation ?? .none })
            $0.add(integers: pins.map(\.ifEpoch.value))
        }[0].bool(0)
    }

    public func release(_ places: [Place], by owner: NodeIdentity, closedFor: Duration) async throws(StoreError) {
        let shards = places.compactMap { if case .shard(let shard) = $0 { shard } else { nil } }
        let actors = places.compactMap { if case .actor(let actor) = $0 { actor } else { nil } }
        _ = try await pool.query(Statements.release) {
            $0.add(owner.incarnation)
            $0.add(shorts: shards.map(\.kind.stored))
            $0.add(shorts: shards.map { Int16($0.number) })
            $0.add(shorts: actors.map(\.kind.stored))
            $0.add(ids: actors.map(\.conversationID))
            $0.add(closedFor / .milliseconds(1))
        }
    }

    private static func snapshot(_ row: PostgresRow) -> ClusterSnapshot {
        let names = row.texts(5)
        let incarnations: [IncarnationID] = row.ids(4)
        let (states, remaining, urls, adminURLs) = (row.texts(6), row.doubles(7), row.texts(8), row.texts(9))
        let (versions, starts, uses) = (row.texts(10), row.times(11), row.texts(17))
        let nodes = names.indices.map { index in
            NodeRecord(
                identity: NodeIdentity(name: names[index], incarnation: incarnations[index]),
                state: NodeRecord.State(rawValue: states[index]) ?? .dead, leaseRemaining: remaining[index], url: urls[index],
                adminURL: adminURLs[index], version: versions[index], startedAt: starts[index],
                use: NodeUse(rawValue: uses[index]) ?? .open)
        }
        let identities = Dictionary(nodes.map { ($0.identity.incarnation, $0.identity) }, uniquingKeysWith: { first, _ in first })
        let (kinds, numbers, epochs) = (row.shorts(12), row.shorts(13), row.integers(15))
        let owners: [IncarnationID?] = row.optionalIDs(14)
        let targets: [IncarnationID?] = row.optionalIDs(16)
        let (sinces, reasons) = (row.optionalIntegers(18), row.texts(19))
        let operations: [OperationID?] = row.optionalIDs(20)
        let shards = kinds.indices.map { index in
            ShardRecord(
                id: ShardID(kind: ShardKind(stored: kinds[index]), number: Int(numbers[index])),
                owner: owners[index].flatMap { identities[$0] }, epoch: Epoch(epochs[index]),
                target: targets[index].flatMap { identities[$0] },
                since: sinces[index].map { Timestamp(postgresMicroseconds: $0) },
                reason: PlacementReason(rawValue: reasons[index]) ?? .placement, operation: operations[index])
        }
        let pins = row.records(21).map { PinRecord($0, identities) }
        return ClusterSnapshot(
            version: row.int64(0), nodes: nodes, shards: shards, leader: row.optional(1) { $0.id }, leaderTerm: row.int64(2),
            leaderLeaseRemaining: row.double(3), pins: pins,
            operations: row.records(22).map { OperationRecord($0) }, time: row.time(23))
    }
}

extension PostgresParameters {
    fileprivate mutating func add(_ placements: [ShardPlacement]) {
        add(shorts: placements.map(\.shard.kind.stored))
        add(shorts: placements.map { Int16($0.shard.number) })
        add(ids: placements.map(\.to.incarnation))
        add(integers: placements.map(\.ifEpoch.value))
        add(booleans: placements.map(\.isMove))
        add(texts: placements.map(\.reason.rawValue))
        add(ids: placements.map { $0.operation ?? .none })
    }
}

private enum Statements {
    static let mend = PostgresStatement("mend", "SELECT mend_cluster($1::boolean)")
    static let register = PostgresStatement(
        "register", "SELECT register_node($1::text, $2::uuid, $3::int, $4::text, $5::text, $6::text, $7::float8)::text")

    static let renew = PostgresStatement(
        "renew",
        """
        UPDATE cluster_nodes SET lease_until = clock_timestamp() + $2::float8 * interval '1 second'
        WHERE incarnation = $1::uuid AND state = 'up' RETURNING 1
        """)

    static let leave = PostgresStatement("leave", "SELECT leave_cluster($1::uuid)::text")
    static let version = PostgresStatement("view version", "SELECT version FROM cluster_state")
    static let lead = PostgresStatement("lead", "SELECT lead_cluster($1::uuid, $2::uuid, $3::float8)")
    static let place = PostgresStatement(
        "place",
        """
        SELECT place_shards($1::bigint, $2::smallint[], $3::smallint[], $4::uuid[], $5::bigint[], $6::boolean[], $7::text[],
            $8::uuid[])
        """)
    static let declareDead = PostgresStatement(
        "declare dead",
        """
        SELECT declare_dead($1::uuid, $2::bigint, $3::smallint[], $4::smallint[], $5::uuid[], $6::bigint[], $7::boolean[],
            $8::text[], $9::uuid[])
        """)
    static let movePins = PostgresStatement(
        "move pins", "SELECT move_pins($1::bigint, $2::smallint[], $3::uuid[], $4::uuid[], $5::bigint[])")
    static let release = PostgresStatement(
        "release",
        """
        SELECT release_places($1::uuid, $2::smallint[], $3::smallint[], $4::smallint[], $5::uuid[], $6::float8)::text
        """)

    /// Seconds until a moment, which may be infinite.
    private static func remaining(_ moment: String) -> String {
        """
        EXTRACT(epoch FROM LEAST(GREATEST(\(moment), '1970-01-01'), clock_timestamp() + interval '1 day') - clock_timestamp())::float8
        """
    }

    /// One statement, so one snapshot. Rows that the model has no place for are left out. The newest incarnation of each name, and older
    /// ones that still stand in the shard table. Every node asks it at every change, and what moves waits for it: the shards are sorted
    /// once, before they are gathered, and not in each array.
    static let view = PostgresStatement(
        "view",
        """
        SELECT c.version, c.leader, c.leader_term,
            COALESCE(\(remaining("c.leader_lease_until")), 0),
            n.incarnations, n.names, n.states, n.remaining, n.urls, n.admin_urls, n.versions, n.starts,
            s.kinds, s.numbers, s.owners, s.epochs, s.targets, n.uses, s.sinces, s.reasons, s.operations,
            COALESCE((SELECT array_agg(ROW(\(PinRecord.columns("p"))) ORDER BY p.kind, p.id) FROM actor_pins p WHERE p.kind IN (0, 1)), '{}'),
            COALESCE(
                (SELECT array_agg(ROW(\(OperationRecord.columns("o"))) ORDER BY o.started_at, o.id)
                    FROM operations o WHERE o.ended_at IS NULL), '{}'),
            clock_timestamp()
        FROM cluster_state c
        CROSS JOIN (
            SELECT array_agg(incarnation) AS incarnations, array_agg(name::text) AS names, array_agg(state) AS states,
                array_agg(\(remaining("lease_until"))) AS remaining, array_agg(url) AS urls,
                array_agg(admin_url) AS admin_urls, array_agg(version) AS versions, array_agg(started_at) AS starts,
                array_agg(use) AS uses
            FROM cluster_nodes n
            WHERE incarnation IN (
                    SELECT DISTINCT ON (name) incarnation FROM cluster_nodes ORDER BY name, started_at DESC, incarnation DESC)
                OR incarnation IN (
                    SELECT owner FROM shards UNION ALL SELECT target FROM shards
                    UNION ALL SELECT owner FROM actor_pins UNION ALL SELECT target FROM actor_pins)
        ) n
        CROSS JOIN (
            SELECT array_agg(kind) AS kinds, array_agg(number) AS numbers, array_agg(owner) AS owners, array_agg(epoch) AS epochs,
                array_agg(target) AS targets, array_agg(since) AS sinces, array_agg(reason) AS reasons,
                array_agg(operation) AS operations
            FROM (
                SELECT * FROM shards WHERE number >= 0 AND (kind = 0 AND number < 1024 OR kind = 1 AND number < 256)
                ORDER BY kind, number
            ) ordered
        ) s
        """)
}

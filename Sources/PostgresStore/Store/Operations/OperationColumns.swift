import RoostModel

// How pins, operations and plans stand in their rows; see migrations/0007_operations.sql.

extension Identifier {
    /// What stands for nothing in an array that cannot hold null.
    static var none: Self { Self(high: 0, low: 0) }
}

extension PinRecord {
    static func columns(_ alias: String) -> String {
        [
            "kind", "id", "node::text", "owner", "epoch", "is_moving", "target", "since", "operation",
        ].map { "\(alias).\($0)" }.joined(separator: ", ")
    }

    /// - Parameter identities: of the nodes in the same snapshot; others are nobody.
    init(_ row: some PostgresColumns, _ identities: [IncarnationID: NodeIdentity]) {
        let owner: IncarnationID? = row.optional(3) { $0.id }
        let target: IncarnationID? = row.optional(6) { $0.id }
        self.init(
            actor: ActorAddress(stored: row.int16(0), row.id(1)), node: row.optional(2) { $0.text },
            owner: owner.flatMap { identities[$0] }, epoch: Epoch(row.int64(4)), isMoving: row.bool(5),
            target: target.flatMap { identities[$0] }, since: row.time(7), operation: row.optional(8) { $0.id })
    }
}

extension ActorAddress {
    init(stored kind: Int16, _ id: ConversationID) {
        self.init(kind: ShardKind(stored: kind), high: id.high, low: id.low)
    }
}

extension OperationRecord {
    static func columns(_ alias: String) -> String {
        [
            "id", "kind", "state", "reason", "node::text", "incarnation", "actor_kind", "actor_id", "moves",
            "max_moves::bigint", "started_at", "ended_at", "deadline", "started_by", "moves_planned::bigint",
            "moves_done::bigint",
            "moves_failed::bigint", "longest_pause",
        ].map { "\(alias).\($0)" }.joined(separator: ", ")
            + ", array_remove(ARRAY(SELECT unnest(\(alias).blocked_by)), NULL)"
    }

    init(_ row: some PostgresColumns) {
        let actor: ConversationID? = row.optional(7) { $0.id }
        self.init(
            id: row.id(0), kind: Kind(rawValue: row.text(1)) ?? .rebalance, state: State(rawValue: row.text(2)) ?? .failed,
            reason: row.optional(3) { $0.text }, node: row.optional(4) { $0.text }, incarnation: row.optional(5) { $0.id },
            actor: actor.map { ActorAddress(stored: row.isNull(6) ? 0 : row.int16(6), $0) }, moves: PlanText.moves(row.text(8)),
            maxConcurrentMoves: max(1, Int(row.int64(9))), startedAt: row.time(10), endedAt: row.optional(11) { $0.time },
            deadline: row.optional(12) { $0.time }, startedBy: row.text(13),
            progress: OperationProgress(
                movesPlanned: Int(row.int64(14)), movesDone: Int(row.int64(15)), movesFailed: Int(row.int64(16)),
                longestPauseMilliseconds: row.optional(17) { $0.double }.flatMap { $0.isFinite ? $0 : nil },
                blockedBy: row.texts(18)))
    }
}

/// Moves and loads as texts: `conversation 12 node1 node2 3.5 20;…` and `node1=3.5;…`. Names of nodes have none of the separators.
enum PlanText {
    static func text(_ moves: [PlannedMove]) -> String {
        moves.map { move in
            let place =
                switch move.place {
                case .shard(let shard): "\(shard.kind.rawValue) \(shard.number)"
                case .actor(let actor): "\(actor.kind.rawValue) \(actor.conversationID)"
                }
            return "\(place) \(move.from) \(move.to) \(move.load) \(move.expectedPauseMilliseconds)"
        }.joined(separator: ";")
    }

    /// What cannot be read is left out: a row that somebody changed by hand must not stop the cluster.
    static func moves(_ text: String) -> [PlannedMove] {
        text.split(separator: ";").compactMap { part in
            let words = part.split(separator: " ")
            guard words.count == 6, let kind = ShardKind(rawValue: String(words[0])), let load = Double(words[4]),
                let pause = Double(words[5]), load.isFinite, pause.isFinite
            else { return nil }
            let place: Place
            if let number = Int(words[1]) {
                guard (0..<kind.count).contains(number) else { return nil }
                place = .shard(ShardID(kind: kind, number: number))
            } else if let id = ConversationID(words[1]) {
                place = .actor(ActorAddress(kind: kind, high: id.high, low: id.low))
            } else {
                return nil
            }
            return PlannedMove(
                place: place, from: String(words[2]), to: String(words[3]), load: load, expectedPauseMilliseconds: pause)
        }
    }

    static func text(_ loads: [NodeLoad]) -> String {
        loads.map { "\($0.node)=\($0.load)" }.joined(separator: ";")
    }

    static func loads(_ text: String) -> [NodeLoad] {
        text.split(separator: ";").compactMap { part in
            let words = part.split(separator: "=")
            guard words.count == 2, let load = Double(words[1]), load.isFinite else { return nil }
            return NodeLoad(node: String(words[0]), load: load)
        }
    }
}

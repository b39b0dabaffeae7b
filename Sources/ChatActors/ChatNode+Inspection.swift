import ActorRuntime
import ClusterCore
import EventLoop
import RoostModel

/// What operators and the planner learn of this node's actors.
extension ChatNode {
    /// What the node's actors do, averaged over some seconds; without sessions and memory, of which others know. Nil before it has joined.
    public func loadSample() async -> LoadReport? {
        guard let identity = system.identity else { return nil }
        let table = currentTable
        var report = LoadReport(node: identity)
        var times: [Float] = []
        for context in lanes {
            let sample = await onLoop(of: context) { LaneSample(context, identity, table) }
            report.conversationActors += sample.conversations
            report.presenceActors += sample.presences
            report.rates.commitsPerSecond += sample.look.commitsPerSecond
            report.rates.deliveriesPerSecond += sample.look.deliveriesPerSecond
            times += sample.look.commitTimes
            for (index, cost) in sample.costs { report.shards[ShardID.all[index], default: 0] += cost }
            for (actor, cost) in sample.pins { report.pins[actor, default: 0] += cost }
        }
        // The smallest cost of a shard is added once, however many lanes it has actors on.
        for shard in report.shards.keys { report.shards[shard]! += LoadReport.idleCost }
        times.sort()
        if !times.isEmpty {
            report.rates.commitMillisecondsP50 = Double(times[times.count / 2])
            report.rates.commitMillisecondsP99 = Double(times[min(times.count - 1, times.count * 99 / 100)])
        }
        return report
    }

    private struct LaneSample: Sendable {
        var look: LaneLoad.Look
        var costs: [(index: Int, cost: Double)] = []
        var pins: [(actor: ActorAddress, cost: Double)] = []
        var conversations = 0
        var presences = 0

        init(_ context: ChatLane, _ identity: NodeIdentity, _ table: ShardTable) {
            look = context.load.look(at: .now)
            // After the look: what comes back begins anew.
            context.load.forget { place in
                // An actor that came home is counted with its shard again.
                if case .actor(let actor) = place, table.place(of: actor) != place { return true }
                return table.owner(of: place) != identity
            }
            for record in table.records where record.owner == identity {
                let awake = context.lane.awakeCount(in: record.id)
                switch record.id.kind {
                case .conversation: conversations += awake
                case .presence: presences += awake
                }
                let index = record.id.tableIndex
                costs.append((index, look.shards[index] + Double(awake) * LoadReport.costOfActor))
            }
            for pin in table.pins.values where pin.owner == identity {
                guard context.lane.existing(pin.actor) != nil else { continue }
                switch pin.actor.kind {
                case .conversation: conversations += 1
                case .presence: presences += 1
                }
                pins.append((pin.actor, (look.pins[pin.actor] ?? 0) + LoadReport.costOfActor))
            }
        }
    }

    /// Awake actors in the order asked for, after a place in that order, at most `limit`.
    ///
    /// - Parameter after: the last one of the page before, with its rate where the order is by load.
    public func actors(
        of kind: ShardKind?, byLoad: Bool, after: (rate: Double, actor: ActorAddress)?, limit: Int
    ) async -> [ActorStatus] {
        guard let identity = system.identity else { return [] }
        let table = currentTable
        var found: [ActorStatus] = []
        let shards = ShardID.all.filter { kind == nil || $0.kind == kind }
        for context in lanes {
            var next = 0
            while next < shards.count {
                // In pieces, so that a lane with many actors is not held up.
                let (piece, end) = await onLoop(of: context) { [next] in
                    Self.piece(of: shards, from: next, context.lane, identity, table)
                }
                next = end
                if !piece.isEmpty { found = Self.first(limit, of: found + piece, byLoad: byLoad, after: after) }
            }
        }
        return await withRoutes(found)
    }

    /// How many actors are looked at in one turn of a lane: about half a millisecond's worth.
    private static let inspectedAtOnce = 500

    /// The actors of some of the shards, and where to go on.
    private static func piece(
        of shards: [ShardID], from start: Int, _ lane: Lane, _ identity: NodeIdentity, _ table: ShardTable
    ) -> ([ActorStatus], end: Int) {
        var statuses: [ActorStatus] = []
        var index = start
        while index < shards.count, statuses.count < inspectedAtOnce {
            lane.forEachAwake(in: shards[index]) { address, actor in
                statuses.append(status(address, Lane.activity(of: actor), identity, table))
            }
            index += 1
        }
        return (statuses, index)
    }

    public static func first(
        _ limit: Int, of statuses: [ActorStatus], byLoad: Bool, after: (rate: Double, actor: ActorAddress)?
    ) -> [ActorStatus] {
        func isBefore(_ left: (rate: Double, actor: ActorAddress), _ right: (rate: Double, actor: ActorAddress)) -> Bool {
            if byLoad, left.rate != right.rate { return left.rate > right.rate }
            return left.actor < right.actor
        }
        let keyed = statuses.map { (key: (rate: $0.activity?.messagesPerSecond ?? 0, actor: $0.actor), status: $0) }
        let rest = after.map { after in keyed.filter { isBefore(after, $0.key) } } ?? keyed
        return rest.sorted { isBefore($0.key, $1.key) }.prefix(limit).map(\.status)
    }

    /// One actor of this node; asleep where nobody has called it lately.
    public func actor(_ address: ActorAddress) async -> ActorStatus? {
        guard let identity = system.identity else { return nil }
        let table = currentTable
        let context = lanes[address.lane(of: lanes.count)]
        let status = await onLoop(of: context) {
            Self.status(address, context.lane.existing(address).map { Lane.activity(of: $0) }, identity, table)
        }
        return await withRoutes([status]).first
    }

    private func withRoutes(_ statuses: [ActorStatus]) async -> [ActorStatus] {
        var statuses = statuses
        for index in statuses.indices where statuses[index].activity != nil {
            let address = statuses[index].actor
            let context = lanes[address.lane(of: lanes.count)]
            statuses[index].activity?.routes = await onLoop(of: context) {
                context.lane.existing(address).map { Lane.routes(of: $0) } ?? []
            }
        }
        return statuses
    }

    private static func status(
        _ address: ActorAddress, _ activity: ActorActivity?, _ identity: NodeIdentity, _ table: ShardTable
    ) -> ActorStatus {
        let pin = table.pins[address].flatMap { $0.owner == nil ? nil : $0 }
        let shard = table[address.shard]
        return ActorStatus(
            actor: address, node: identity.name, epoch: table.epoch(of: address), since: pin?.since ?? shard.since,
            reason: pin == nil ? shard.reason : .pin, activity: activity)
    }

    private func onLoop<Value: Sendable>(of context: ChatLane, _ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            context.lane.loop.execute { continuation.resume(returning: body()) }
        }
    }
}

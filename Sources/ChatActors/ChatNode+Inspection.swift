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
            context.load.forget { table.owner(of: $0) != identity }
            look = context.load.look(at: .now)
            for record in table.records where record.owner == identity {
                let awake = context.lane.awakeCount(in: record.id)
                switch record.id.kind {
                case .conversation: conversations += awake
                case .presence: presences += awake
                }
                let index = record.id.tableIndex
                costs.append((index, look.rates[index] + Double(awake) * LoadReport.costOfActor))
            }
            for pin in table.pins.values where pin.owner == identity {
                guard let actor = context.lane.existing(pin.actor) else { continue }
                switch pin.actor.kind {
                case .conversation: conversations += 1
                case .presence: presences += 1
                }
                pins.append((pin.actor, Lane.activity(of: actor).messagesPerSecond + LoadReport.costOfActor))
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
        for context in lanes {
            let addresses = await onLoop(of: context) { context.lane.awake.filter { kind == nil || $0.kind == kind } }
            // In pieces, so that a lane with many actors is not held up.
            for start in stride(from: 0, to: addresses.count, by: Self.inspectedAtOnce) {
                let piece = addresses[start..<min(start + Self.inspectedAtOnce, addresses.count)]
                found += await onLoop(of: context) {
                    piece.compactMap { address in
                        context.lane.existing(address).map {
                            Self.status(address, Lane.activity(of: $0), identity, table)
                        }
                    }
                }
                found = Self.first(limit, of: found, byLoad: byLoad, after: after)
            }
        }
        return await withRoutes(found)
    }

    private static let inspectedAtOnce = 1000

    public static func first(
        _ limit: Int, of statuses: [ActorStatus], byLoad: Bool, after: (rate: Double, actor: ActorAddress)?
    ) -> [ActorStatus] {
        func key(_ status: ActorStatus) -> (Double, String) {
            (byLoad ? -(status.activity?.messagesPerSecond ?? 0) : 0, "\(status.actor)")
        }
        let bound = after.map { (byLoad ? -$0.rate : 0, "\($0.actor)") }
        let rest = statuses.map { (key: key($0), status: $0) }.filter { item in bound.map { item.key > $0 } ?? true }
        return rest.sorted { $0.key < $1.key }.prefix(limit).map(\.status)
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

import ChatActors
import ClusterCore
import ClusterMembership
import Ports
import RoostModel

/// Answers operators from what this node knows of the cluster, and from what the other nodes tell when they are asked.
public final class ClusterConsole: ClusterInspector {
    private let membership: ClusterNode
    private let store: any ClusterStore
    private let inspection: ActorInspection
    /// A node that died longer ago is history.
    private static let deathsShown = 3600.0
    /// A report of this age still says something to people.
    private static let oldestReport: Duration = .seconds(15)

    /// - Parameter store: plans are drawn from the newest view, not from the one that this node last loaded.
    public init(membership: ClusterNode, store: any ClusterStore, inspection: ActorInspection) {
        self.membership = membership
        self.store = store
        self.inspection = inspection
    }

    // MARK: What there is

    /// What the store says, and nothing older; while it is away, what this node saw last.
    private func view() async throws(StoreError) -> ClusterView {
        guard let current = membership.currentView else { throw StoreError(.unavailable) }
        guard let snapshot = try? await store.view() else { return current }
        return ClusterView(of: current.identity, snapshot: snapshot, previous: nil)
    }

    public func announce() async {
        membership.viewWasChanged()
        guard let version = try? await store.viewVersion() else { return }
        await withTaskGroup(of: Void.self) { group in
            for node in membership.liveNodes {
                group.addTask { [inspection] in await inspection.wait(for: node.identity, view: version) }
            }
        }
    }

    public func nodes() async throws(StoreError) -> [NodeStatus] {
        let view = try await view()
        let (loads, suspects) = (membership.loads, membership.suspects)
        let dead = view.gone.filter { $0.leaseRemaining > -Self.deathsShown }
        return (view.nodes + dead).map { record in
            let load = loads[record.identity.incarnation]
            return NodeStatus(
                name: record.identity.name, incarnation: record.identity.incarnation,
                state: Self.state(of: record, isSuspect: suspects.contains(record.identity)), version: record.version,
                startedAt: record.startedAt, url: record.url, isLeader: record.identity.incarnation == view.leader,
                report: load.flatMap { $0.age <= Self.oldestReport ? $0.report : nil },
                places: record.state == .up ? view.table.places(ownedBy: record.identity).count : 0)
        }.sorted { $0.name < $1.name }
    }

    private static func state(of record: NodeRecord, isSuspect: Bool) -> NodeStatus.State {
        switch record.state {
        case .dead, .left: return .dead
        case .up: break
        }
        if isSuspect { return .suspect }
        switch record.use {
        case .open: return .up
        case .cordoned: return .cordoned
        case .draining: return .draining
        case .drained: return .drained
        }
    }

    public func shards() async throws(StoreError) -> (version: Int64, shards: [ShardStatus]) {
        let view = try await view()
        let loads = membership.loads
        let shards = view.table.records.map { record in
            ShardStatus(record: record, load: record.owner.flatMap { loads[$0.incarnation]?.report.shards[record.id] })
        }
        return (view.version, shards)
    }

    public func pins() async throws(StoreError) -> [PinRecord] {
        try await view().table.pins.values.sorted { "\($0.actor)" < "\($1.actor)" }
    }

    // MARK: Plans

    public func rebalancePlan(maxMoves: Int?) async throws(StoreError) -> RebalancePlan? {
        let snapshot = try await wholeView()
        let up = snapshot.nodes.filter { $0.state == .up }.map(\.identity)
        guard let reports = membership.freshLoads(of: up) else { return nil }
        var options = RebalancePlanner.Options()
        if let maxMoves { options.maximumMoves = maxMoves }
        return RebalancePlanner(snapshot, reports: reports, now: snapshot.time).rebalance(options, id: .make())
    }

    public func drainPlan(of node: String) async throws(StoreError) -> RebalancePlan? {
        let snapshot = try await wholeView()
        guard let identity = snapshot.nodes.first(where: { $0.identity.name == node && $0.state == .up })?.identity else {
            return nil
        }
        let reports = membership.loads.mapValues(\.report)
        return RebalancePlanner(snapshot, reports: reports, now: snapshot.time).drain(identity, id: .make())
    }

    /// With a row for each shard; where some are missing, the next node that leads or comes puts them back.
    private func wholeView() async throws(StoreError) -> ClusterSnapshot {
        let snapshot = try await store.view()
        guard snapshot.shards.count == ShardID.all.count else { throw StoreError(.unavailable, detail: "shards have no row") }
        return snapshot
    }

    // MARK: Actors

    public func actors(_ query: ActorQuery) async throws(StoreError) -> ActorPage {
        let after = try query.cursor.map { (text) throws(StoreError) in try ActorPosition(text, byLoad: query.byLoad) }
        let nodes = (membership.currentView?.nodes.map(\.identity) ?? []).filter { node in
            query.node.map { node.name == $0 } ?? true
        }
        let question = ActorInspection.Question(
            kind: query.kind, byLoad: query.byLoad, after: after, limit: query.limit + 1)
        var (found, missing): ([ActorStatus], [String]) = ([], [])
        await withTaskGroup(of: (NodeIdentity, [ActorStatus]?).self) { group in
            for node in nodes {
                group.addTask { [inspection] in (node, await inspection.ask(node, question)) }
            }
            for await (node, answer) in group {
                if let answer { found += answer } else { missing.append(node.name) }
            }
        }
        let items = ChatNode.first(
            query.limit + 1, of: found, byLoad: query.byLoad, after: after.map { ($0.rate, $0.actor) })
        guard items.count > query.limit, let last = items.dropLast().last else {
            return ActorPage(items: items, nextCursor: nil, missing: missing.sorted())
        }
        return ActorPage(
            items: items.dropLast(), nextCursor: ActorPosition(last).text(byLoad: query.byLoad), missing: missing.sorted())
    }

    public func actor(_ address: ActorAddress) async -> ActorStatus? {
        guard let table = try? await view().table, let owner = table.owner(of: address) else { return nil }
        let pin = table.pins[address].flatMap { $0.owner == nil ? nil : $0 }
        let shard = table[address.shard]
        // Where it belongs is known even if its node does not answer.
        return ActorStatus(
            actor: address, node: owner.name, epoch: table.epoch(of: address), since: pin?.since ?? shard.since,
            reason: pin == nil ? shard.reason : .pin, activity: await inspection.ask(owner, address)?.activity)
    }
}

import ClusterCore
import EventLoop
import MemoryAdapters
import Ports
import RoostModel
import Runtime

@testable import ActorRuntime

/// Some nodes on one bus in memory, with a table of shards that the test decides.
final class ClusterFixture: Sendable {
    struct Member: Sendable {
        let identity: NodeIdentity
        let system: RoostActorSystem
        let bus: MemoryBus
        let loops: [EventLoop]
    }

    let hub = MemoryBusHub()
    let members: [Member]
    let events = Locked<[String: [FanoutEvent]]>([:])
    let notices = Locked<[String: [NodeNotice]]>([:])

    init(_ count: Int) async throws {
        var members: [Member] = []
        for index in 0..<count {
            let name = "node\(index + 1)"
            let lanes = [try EventLoop(name: "lane"), try EventLoop(name: "lane")]
            let edges = [try EventLoop(name: "edge")]
            for loop in lanes + edges { loop.start() }
            let bus = hub.connect(name)
            let (events, notices) = (events, notices)
            let system = RoostActorSystem(
                laneLoops: lanes, edgeLoops: edges, bus: bus, logger: .silent, metrics: Metrics(), onStaleRouting: {},
                onEvent: { event in events.withLock { $0[name, default: []].append(event) } },
                onNotice: { notice in notices.withLock { $0[name, default: []].append(notice) } })
            for lane in system.lanes {
                lane.register(.conversation) { _, lane in EchoActor(lane: lane, actorSystem: system) }
            }
            system.start()
            let identity = NodeIdentity(name: name, incarnation: .make())
            try await system.join(as: identity)
            members.append(Member(identity: identity, system: system, bus: bus, loops: lanes + edges))
        }
        self.members = members
        bus { $0.busChanged($1) }
    }

    private func bus(_ body: @escaping @Sendable (RoostActorSystem, BusEvent) -> Void) {
        for member in members { member.bus.observe { body(member.system, $0) } }
    }

    /// Gives all conversation shards to one member, moving to `target` if given, in every member's view or only in those of
    /// `viewers`. `pins` are actors apart from them.
    func own(
        _ owner: Int, epoch: Int64 = 1, movingTo target: Int? = nil, pins: [PinRecord] = [], live: [Int]? = nil,
        viewers: [Int]? = nil
    ) {
        let records = (0..<ShardKind.conversation.count).map {
            ShardRecord(
                id: ShardID(kind: .conversation, number: $0), owner: members[owner].identity, epoch: Epoch(epoch),
                target: target.map { members[$0].identity })
        }
        let live = Set((live ?? Array(members.indices)).map { members[$0].identity })
        for viewer in viewers ?? Array(members.indices) {
            members[viewer].system.apply(
                Routing(
                    identity: members[viewer].identity, table: ShardTable(version: epoch, records: records, pins: pins),
                    live: live,
                    isServing: true))
        }
    }

    /// The record of a conversation that is pinned to, or on its way to or from, a member; at home with its shard where `owner` is nil.
    func pin(_ conversation: ConversationID, at owner: Int?, epoch: Int64, moving: Bool = false, to target: Int? = nil)
        -> PinRecord
    {
        PinRecord(
            actor: ActorAddress(conversation), node: (target ?? owner).map { members[$0].identity.name },
            owner: owner.map { members[$0].identity }, epoch: Epoch(epoch), isMoving: moving,
            target: target.map { members[$0].identity }, since: .now)
    }

    /// The place of a conversation that lives apart.
    func close(_ places: Set<Place>, at member: Int) async { await members[member].system.close(places) }

    func call(
        _ conversation: ConversationID, _ payload: [UInt8], from member: Int, timeout: Duration = .seconds(5)
    ) async -> Result<[UInt8], RoostError> {
        let endpoint = members[member].system.endpoints.last!
        return await withCheckedContinuation { continuation in
            endpoint.loop.execute {
                endpoint.call(
                    ActorAddress(conversation), verb: CommonVerb.firstOfKind, payload: payload, timeout: timeout
                ) { continuation.resume(returning: $0) }
            }
        }
    }

    func stop() async {
        for member in members {
            await member.system.leave()
            for loop in member.loops { await loop.stop() }
        }
    }
}

extension ClusterFixture {
    /// The conversations that are awake at a member.
    func awake(at member: Int) async -> Set<ActorAddress> {
        var found: Set<ActorAddress> = []
        for lane in members[member].system.lanes {
            let awake = await withCheckedContinuation { (continuation: CheckedContinuation<[ActorAddress], Never>) in
                lane.loop.execute {
                    var addresses: [ActorAddress] = []
                    for shard in ShardID.all { lane.forEachAwake(in: shard) { address, _ in addresses.append(address) } }
                    continuation.resume(returning: addresses)
                }
            }
            found.formUnion(awake)
        }
        return found
    }
}
